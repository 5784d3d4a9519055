# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Frames on /tf and /tf_static in all cases of robot_state_publisher, in this process.

Joints turn about z or move along x: their transforms are known in closed form.
"""

import math

import pytest
import rclpy
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.nodes.outputs.kinematics import kinematics_outputs
from screw_dynamics_ros.ros.diagnostics import Level
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.rate_limit import RateLimit
from support.host_bench import Bench, serialized
from support.ros_harness import LATCHED

MS = 10**6  # ns
INERTIAL = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
)


def moving(name, kind, parent, child, axis, mimic=''):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0 0 1"/><axis xyz="{axis}"/>{mimic}'
        '<limit effort="9" velocity="9" lower="-3" upper="3"/></joint>'
    )


def urdf(*joints, links):
    bodies = ''.join(f'<link name="{name}">{INERTIAL}</link>' for name in links)
    return f'<robot name="r">{bodies}{"".join(joints)}</robot>'


ARM = (
    moving('a', 'revolute', 'base', 'upper', '0 0 1'),
    moving('b', 'revolute', 'upper', 'lower', '0 0 1'),
)
TOOL = (
    '<joint name="f" type="fixed"><parent link="lower"/><child link="tool"/>'
    '<origin xyz="0 2 0"/></joint>'
)
GRIPPER = (
    moving('g', 'prismatic', 'lower', 'left', '1 0 0'),
    moving(
        'm',
        'prismatic',
        'lower',
        'right',
        '1 0 0',
        '<mimic joint="g" multiplier="-1" offset="0.25"/>',
    ),
    moving('c', 'prismatic', 'lower', 'third', '1 0 0', '<mimic joint="m" multiplier="2"/>'),
)
FREE = (
    '<joint name="ball" type="floating"><parent link="base"/><child link="ball"/></joint>',
    '<joint name="cart" type="planar"><parent link="base"/><child link="cart"/></joint>',
)
LINKS = ('base', 'upper', 'lower', 'tool', 'left', 'right', 'third')
ROBOT = urdf(*ARM, TOOL, *GRIPPER, links=LINKS)


@pytest.fixture
def launch(monkeypatch, keep):
    """Make the node with a robot, alone on /tf unless configured otherwise."""

    def make(text=ROBOT, **parameters):
        parameters = {'max_delay': 10.0, **parameters}
        bench = keep(Bench(monkeypatch, kinematics_outputs.Kinematics, 'kinematics', **parameters))
        bench.describe(text)
        bench.part._transforms.look()
        bench.host.states.look_for_listeners()
        return bench

    return make


@pytest.mark.parametrize('text', ['', '<robot name="r"><link name="a"/></robot>'])
def test_joint_states_without_joints_are_no_fault(monkeypatch, keep, text):
    """Before a description comes, and of a robot without any; they are counted."""
    monkeypatch.setattr(FAULTS, '_faults', {})
    bench = keep(Bench(monkeypatch, kinematics_outputs.Kinematics, 'kinematics', max_delay=10.0))
    if text:
        bench.describe(text)
    assert not send(bench, ['a'], [0.1])
    assert FAULTS._faults == {}
    assert bench.host.states.load.arrivals == 1
    assert bench.host.mapper is None or not bench.host.mapper.accepted


def test_links_that_the_robot_does_not_have_are_reported(launch):
    """Those that it has are served."""
    status = launch(frames=['nose', 'tool', 'ear']).part.status()
    assert status.level == Level.ERROR
    assert 'has no link nose, ear: correct the parameter frames' in status.summary
    assert status.values['frames'] == 'tool'


def send(bench, names, position, stamp=None, delay=0.002):
    """Let a joint state come; return (stamp, {child: transform}) of each message on /tf."""
    bench.clock.offset += delay
    bench.sent.clear()
    stamp = bench.clock.time_ns() if stamp is None else stamp
    bench.host.states.receive(serialized(names, position, stamp), {})
    messages = [deserialize_message(d, TFMessage) for topic, d in bench.sent if topic == '/tf']
    return [
        (
            message.transforms[0].header.stamp.sec * 10**9
            + message.transforms[0].header.stamp.nanosec,
            {each.child_frame_id: each for each in message.transforms},
        )
        for message in messages
    ]


def frames(bench, names, position, **more):
    """Return {child: transform} of the one message that a joint state makes, {} for none."""
    sent = send(bench, names, position, **more)
    assert len(sent) <= 1
    return sent[0][1] if sent else {}


def angle(transform):
    r = transform.transform.rotation
    assert math.hypot(r.x, r.y) < 1e-15
    return 2 * math.atan2(r.z, r.w)


def along(transform):
    return transform.transform.translation.x


def static(bench):
    """Return {child: parent} that a new listener of /tf_static gets."""
    received = []
    node = rclpy.create_node('listener')
    node.create_subscription(TFMessage, '/tf_static', received.append, LATCHED)
    bench.wait(lambda: rclpy.spin_once(node, timeout_sec=0.05) or received)
    node.destroy_node()
    return {each.child_frame_id: each.header.frame_id for each in received[-1].transforms}


# --- which joints -------------------------------------------------------------------------------


def test_joints_that_nobody_reports_do_not_stop_the_others(launch):
    """As robot_state_publisher: the gripper has no driver, and the arm moves."""
    bench = launch()
    sent = frames(bench, ['b', 'a'], [0.5, -0.25])
    assert set(sent) == {'upper', 'lower'}
    assert angle(sent['upper']) == pytest.approx(-0.25)
    assert angle(sent['lower']) == pytest.approx(0.5)
    assert sent['lower'].header.frame_id == 'upper'
    assert sent['lower'].transform.translation.z == 1.0
    sent = frames(bench, ['g'], [0.1])  # now all have been reported
    assert set(sent) == set(LINKS) - {'base', 'tool'}
    assert angle(sent['upper']) == pytest.approx(-0.25)


def test_a_joint_that_falls_silent_does_not_stop_the_others(launch):
    bench = launch()
    assert len(frames(bench, ['a', 'b', 'g'], [0.0, 0.0, 0.0])) == 5
    frames(bench, ['a', 'b'], [0.1, 0.2])
    sent = frames(bench, ['a', 'b'], [0.3, 0.4], delay=1.0)
    assert {child: angle(each) for child, each in sent.items()} == pytest.approx(
        {'upper': 0.3, 'lower': 0.4}
    )


@pytest.mark.parametrize('nothing', [math.nan, math.inf])
def test_positions_that_are_no_numbers_are_left_out(launch, nothing):
    bench = launch()
    sent = frames(bench, ['a', 'b', 'g'], [0.1, nothing, 0.2])
    assert set(sent) == {'upper', 'left', 'right', 'third'}
    assert frames(bench, ['b'], [nothing]) == {}
    assert frames(bench, ['a'], [1e308]) != {}


@pytest.mark.parametrize(
    ('names', 'position'),
    [([], []), (['a', 'a'], [0.1, 0.2]), (['a', 'b'], [0.1]), (['a'], []), (['stranger'], [0.1])],
)
def test_messages_of_no_use(launch, names, position):
    bench = launch()
    assert frames(bench, names, position) == {}
    assert set(frames(bench, ['a', 'stranger', 'f'], [0.1, 0.2, 0.3])) == {'upper'}


@pytest.mark.parametrize('others', [[], ['a', 'b']])
def test_mimic_joints_are_exact_through_chains(launch, others):
    """Also where the message tells another position of them, and in any order of names."""
    bench = launch()
    sent = frames(bench, ['c', *others, 'g', 'm'], [9.0, *[0.0] * len(others), 0.5, 9.0])
    assert along(sent['left']) == 0.5
    assert along(sent['right']) == 0.25 - 0.5
    assert along(sent['third']) == 2 * (0.25 - 0.5)


def test_free_joints_are_skipped(launch):
    bench = launch(urdf(*ARM, *FREE, links=['base', 'upper', 'lower', 'ball', 'cart']))
    assert set(frames(bench, ['a', 'b'], [0.1, 0.2])) == {'upper', 'lower'}
    assert set(frames(bench, ['a'], [0.1], delay=1.0)) == {'upper'}


def test_the_prefix_is_on_parents_and_children(launch):
    bench = launch(frame_prefix='left/')
    (one,) = frames(bench, ['b'], [0.1]).values()
    assert (one.header.frame_id, one.child_frame_id) == ('left/upper', 'left/lower')
    assert static(bench) == {'left/tool': 'left/lower'}


# --- when ---------------------------------------------------------------------------------------


def test_every_state_has_transforms_of_its_own_stamp(launch):
    """At 1 kHz, none is left out and none has another stamp."""
    bench = launch()
    start = bench.clock.time_ns()
    stamps = [start + k * MS for k in range(1, 51)]
    sent = [send(bench, ['a', 'b', 'g'], [0.0] * 3, stamp=s, delay=0.001) for s in stamps]
    assert [stamp for ((stamp, _),) in sent] == stamps


@pytest.mark.parametrize(('period', 'expected'), [(1, 20), (3, 20), (20, 20), (50, 20), (60, 17)])
def test_frequency_counts_stamps(period, expected):
    """In one second at 20 Hz, as often as the states allow."""
    limit = RateLimit(20.0)
    assert sum(limit.use(k * MS) for k in range(0, 1000, period)) == expected


@pytest.mark.parametrize('names', [['a', 'b', 'g'], ['a', 'b']])
def test_frequency_of_states(launch, names):
    """Whether they are complete or not."""
    bench = launch(publish_frequency=20.0)
    start, position = bench.clock.time_ns(), [0.0] * len(names)
    stamps = [start + k * 20 * MS for k in range(20)]
    sent = [send(bench, names, position, stamp=stamp, delay=0.02) for stamp in stamps]
    assert [k for k, each in enumerate(sent) if each] == [0, 3, 5, 8, 10, 13, 15, 18]


def test_frequency_of_each_source(launch):
    """The arm does not take the turn of the gripper; changes count at once."""
    bench = launch(publish_frequency=1.0)
    assert frames(bench, ['a', 'b'], [0.0, 0.0])
    assert frames(bench, ['a'], [0.0])
    assert not frames(bench, ['a', 'b'], [0.0, 0.0])
    bench.node.set_parameters([Parameter('publish_frequency', value=0.0)])
    assert frames(bench, ['a', 'b'], [0.0, 0.0])


@pytest.mark.parametrize('names', [['a', 'b', 'g'], ['a']])
def test_time_that_goes_back_begins_anew(launch, names):
    bench = launch(publish_frequency=1.0)
    position = [0.0] * len(names)
    now = bench.clock.time_ns()
    assert send(bench, names, position, stamp=now)
    assert not send(bench, names, position, stamp=now + 10 * MS)
    back = now - 60 * 10**9
    ((stamp, _),) = send(bench, names, position, stamp=back)
    assert stamp == back
    assert not send(bench, names, position, stamp=back + 10 * MS)
    assert send(bench, names, position, stamp=back + 1000 * MS)


@pytest.mark.parametrize('names', [['a', 'b', 'g'], ['a']])
@pytest.mark.parametrize('ignore', [False, True])
def test_stamps_are_ignored_on_request(launch, names, ignore):
    """Seen before, out of order, far in the past: each one with its own stamp, or none."""
    bench = launch(ignore_timestamp=ignore, publish_frequency=1.0, max_stamp_age=30.0)
    now = bench.clock.time_ns()
    stamps = [now, now, now - 100 * MS, now - 60 * 10**9, now + 60 * 10**9]
    sent = [send(bench, names, [0.2] * len(names), stamp=stamp) for stamp in stamps]
    expected = stamps if ignore else stamps[:1]
    assert [each[0][0] for each in sent if each] == expected


def test_messages_without_stamp_get_the_time_of_arrival(launch):
    bench = launch()
    before = bench.clock.time_ns()
    ((stamp, _),) = send(bench, ['a'], [0.1], stamp=0)
    assert before <= stamp <= bench.clock.time_ns()


def test_late_messages_are_not_passed_on(launch):
    """What a node finds after it stood still is not where the robot is."""
    bench = launch(max_delay=0.01)
    now = bench.clock.time_ns()
    for late in (0, 50 * MS):
        bench.sent.clear()
        stamp = now + late + 1
        info = {'source_timestamp': bench.clock.time_ns() - late}
        bench.host.states.receive(serialized(['a'], [0.1], stamp), info)
        assert bool(bench.sent) == (not late)


# --- a robot after another ----------------------------------------------------------------------


def test_fixed_frames_follow_the_description(launch):
    """New ones are there, changed ones changed, removed ones gone for later subscribers."""
    bench = launch()
    assert static(bench) == {'tool': 'lower'}
    camera = TOOL.replace('"tool"', '"camera"').replace('"f"', '"k"')
    links = ('base', 'upper', 'lower', 'tool', 'camera')
    bench.describe(urdf(*ARM, TOOL.replace('"lower"', '"upper"'), camera, links=links))
    assert static(bench) == {'tool': 'upper', 'camera': 'lower'}
    bench.describe(urdf(*ARM, camera, links=('base', 'upper', 'lower', 'camera')))
    assert static(bench) == {'camera': 'lower'}
    bench.describe(urdf(*ARM, links=LINKS[:3]))
    assert static(bench) == {}
    assert set(frames(bench, ['a'], [0.1])) == {'upper'}


def test_a_refused_description_changes_no_frame(launch):
    bench = launch()
    bench.describe('<robot name="r"/>')
    assert static(bench) == {'tool': 'lower'}
    assert set(frames(bench, ['a'], [0.1])) == {'upper'}


def test_switched_off_they_are_taken_back(launch):
    """So that another node can have them, and later listeners do not get them from here."""
    bench = launch()
    assert static(bench) == {'tool': 'lower'}
    bench.node.set_parameters([Parameter('publish_tf', value=False)])
    assert static(bench) == {}  # at once, before the model is compiled again
    bench.finish()
    assert static(bench) == {}
    assert not frames(bench, ['a'], [0.1])
    bench.node.set_parameters([Parameter('publish_tf', value=True)])
    bench.finish()
    assert static(bench) == {'tool': 'lower'}
    assert frames(bench, ['a'], [0.1])


def test_impossible_frequencies_are_refused(launch):
    bench = launch()
    for value in (-1.0, 1000.1, math.nan):
        (result,) = bench.node.set_parameters([Parameter('publish_frequency', value=value)])
        assert not result.successful
        assert 'publish_frequency' in result.reason
