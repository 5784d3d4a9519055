# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a host does with faults, references and clocks; in this process, without listeners."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import rclpy
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import screw_dynamics_ros
from screw_dynamics_ros.core.compile import kernels
from screw_dynamics_ros.nodes.model.parts import HostPart, Stage, python_step
from screw_dynamics_ros.nodes.model.running_model import place_joints
from screw_dynamics_ros.nodes.outputs.dynamics import command_step
from screw_dynamics_ros.ros.diagnostics import Level
from screw_dynamics_ros.ros.process.faults import FAULTS
from support.host_bench import Bench, serialized
from support.robots import urdf_path

PLANAR = urdf_path('planar_2r').read_text()
BOUNDED = PLANAR.replace('continuous', 'revolute').replace(
    '<limit ', '<limit lower="-3" upper="3" '
)
JOINTS = ('joint1', 'joint2')

#: The files that the numbers of a state pass from the message to a topic; each costs time.
WALK = {
    'nodes/hosting/state_pipeline.py',
    'nodes/hosting/state_input.py',
    'nodes/hosting/loop_tables.py',
    'ros/data_path/externals.py',
    'ros/data_path/loop.py',
    'ros/data_path/rcl.py',
    'ros/topics/channel.py',
    'core/compile/typed/memory.py',
    'core/compile/typed/external.py',
    'core/compile/typed/library.py',
    'ros/joint_states/mapper.py',
    'ros/joint_states/reported_states.py',
}
#: Those that see times only.
BOOKKEEPING = {
    'core/state_clock.py',
    'core/compile/typed/functions.py',
    'core/compile/typed/records.py',
    'nodes/hosting/load.py',
    'nodes/hosting/stamp_clock.py',
    'ros/data_path/records.py',
    'ros/joint_states/policies.py',
    'ros/messages/cdr.py',
    'ros/process/timers.py',
    'ros/process/faults.py',
    'ros/process/state_lock.py',
    'ros/topics/transport.py',
}


@pytest.fixture
def bench(request, monkeypatch, keep):
    made = keep(Bench(monkeypatch, **getattr(request, 'param', {})))
    return made


def send(bench, q=(0.1, 0.2)):
    """Let a joint state come; return the topics of its outputs."""
    bench.clock.offset += 0.002
    bench.sent.clear()
    bench.host.states.receive(serialized(JOINTS, q, bench.clock.time_ns()), {})
    return {topic.rpartition('/')[2] for topic, _ in bench.sent}


@pytest.mark.parametrize('bench', [{'backend': 'native'}], indirect=True)
def test_a_robot_too_large_to_be_compiled_is_served(bench, monkeypatch):
    """Its results are those of the compiled model; the limits lowered for a robot of two joints."""
    topics, results = [], []
    for text in (BOUNDED, BOUNDED.replace('planar_2r', 'large')):
        bench.describe(text)
        topics.append(send(bench))
        model = bench.host.states.model
        results.append({name: array.copy() for name, array in model.results.items()})
        monkeypatch.setattr(kernels, 'LARGE', 1)
        monkeypatch.setattr(kernels, 'LONGEST_OF_LARGE', 10)
    assert model.robot.description.name == 'large'
    assert (model.backend, model.robot.backend) == ('reference', 'native')
    assert topics[0] == topics[1] != set()
    for name, array in results[1].items():
        np.testing.assert_allclose(array, results[0][name], rtol=1e-12, atol=1e-12)


def reference(positions=(0.5, -0.5), names=JOINTS, **fields):
    point = JointTrajectoryPoint(positions=positions, **fields)
    return JointTrajectory(joint_names=names, points=[point])


def test_an_error_in_one_joint_state_drops_it_and_the_next_is_answered(bench):
    bench.describe(BOUNDED)
    fail = [True]

    def consume():
        if fail[0]:
            raise FloatingPointError('nobody thought of this')

    bench.host.states.stages = [
        *bench.host.states.stages,
        Stage(consume=python_step('a step', consume)),
    ]
    assert not send(bench)
    status = FAULTS.status()
    assert status.level == Level.ERROR
    assert 'FloatingPointError' in status.values['a step']
    fail[0] = False
    assert 'gravity' in send(bench)


def test_parts_take_part_by_their_row(bench):
    """In joint states, models, parameters, periodic work, times that go back, and the status."""
    host, called = bench.host, []

    class Watching(HostPart):
        PARAMETERS = frozenset({'gravity'})

        def stages(self):
            return [Stage(prepare=python_step('a part', lambda: called.append('state')))]

        def use(self, model):
            called.append(model)

        def keep_house(self):
            called.append('work')

        def update_parameters(self):
            called.append('parameters')

        def restart_time(self):
            called.append('restart')

        def report(self, status):
            status.values['a part'] = 'reported'

    host.parts.append(Watching())
    host.states.stages = host.stages()
    bench.describe(BOUNDED)
    assert host.model in called
    called.clear()
    send(bench)
    host.keep_house()
    host.node.set_parameters([Parameter('gravity', value=[0.0, 0.0, -1.0])])
    host._restart_time(-1)
    assert called == ['state', 'work', 'parameters', 'restart']
    assert host.payload_status().values['a part'] == 'reported'


@pytest.mark.parametrize('bench', [{'backend': 'auto'}], indirect=True)
def test_the_walk_of_a_state_to_a_topic_is_short(bench):
    bench.describe(BOUNDED)
    states, folder = bench.host.states, f'{screw_dynamics_ros.__path__[0]}/'
    states.stages, states.channels = [], [c for c in states.channels if c.topic.endswith('gravity')]
    states.look_for_listeners()
    files = set()

    def enter(frame, event, _):
        if event == 'call' and frame.f_code.co_filename.startswith(folder):
            files.add(frame.f_code.co_filename.removeprefix(folder))

    for k in range(4):  # regular from the second one on
        bench.clock.offset += 0.01
        now = bench.clock.time_ns()
        data, info = serialized(JOINTS, (0.1, 0.2), now), {'source_timestamp': now}
        before, sent = sys.getprofile(), len(bench.sent)
        sys.setprofile(enter if k == 3 else before)
        states.receive(data, info)
        sys.setprofile(before)
        assert len(bench.sent) == sent + 1
    entry = {'core/compile/kernels.py'}  # only without entry points in machine code
    assert files - BOOKKEEPING - entry == WALK


def test_stages_act_in_the_order_in_which_they_are_listed(bench):
    bench.describe(BOUNDED)
    states, seen = bench.host.states, []
    evaluate = bench.host.model.evaluate
    bench.host.model.evaluate = lambda: seen.append('evaluate') or evaluate()
    bench.sent = SimpleNamespace(append=lambda _: seen.append('publish'), clear=lambda: None)

    def stage(name):
        note = {
            phase: lambda *_, phase=phase: seen.append(f'{phase} {name}')
            for phase in ('prepare', 'consume', 'observe', 'use_refused')
        }
        steps = {phase: python_step(name, note.pop(phase)) for phase in ('prepare', 'consume')}
        return Stage(**steps, **note)

    states.stages = [*states.stages, stage('a'), stage('b')]
    states.listened = [c for c in states.listened if c.topic.endswith('gravity')]
    bench.clock.offset += 0.002
    states.receive(serialized(JOINTS, (0.1, 0.2), bench.clock.time_ns()), {})
    assert seen == [
        *('prepare a', 'prepare b', 'evaluate', 'consume a', 'consume b', 'publish'),
        *('observe a', 'observe b'),
    ]
    seen.clear()
    bench.clock.offset += 0.002
    states.receive(serialized(JOINTS, (float('nan'), 0.0), bench.clock.time_ns()), {})
    assert seen == ['use_refused a', 'use_refused b']


def test_the_stages_of_a_group_come_after_those_of_the_host(bench):
    stages = bench.host.states.stages
    commands = [s for s in stages if s.consume and s.consume.function is command_step.command]
    assert commands == [stages[-1]]
    assert stages[0].prepare.function is place_joints


@pytest.mark.parametrize('stamp', [2147483647 * 10**9 + 10**9 - 1, -1, -(2**31) * 10**9])
def test_stamps_at_the_ends_of_time_are_answered_or_refused(bench, stamp):
    bench.describe(BOUNDED)
    message = bytearray(serialized(JOINTS, (0.0, 0.0), 0))
    message[4:12] = (stamp // 10**9).to_bytes(4, 'little', signed=True) + (stamp % 10**9).to_bytes(
        4, 'little'
    )
    before = FAULTS.status().values.get('a joint state')
    bench.host.states.receive(bytes(message), {})
    assert FAULTS.status().values.get('a joint state') == before
    bench.host.mapper.reset()
    assert 'gravity' in send(bench)


def test_a_joint_state_that_was_under_way_for_too_long_is_not_answered(bench):
    bench.describe(BOUNDED)
    for late, is_answered in ((0.0, True), (0.0, True), (0.03, False), (0.0, True)):
        bench.clock.offset += 0.01
        bench.sent.clear()
        now = bench.clock.time_ns()
        bench.host.states.receive(
            serialized(JOINTS, (0.0, 0.0), now), {'source_timestamp': now - round(late * 1e9)}
        )
        assert bool(bench.sent) == is_answered
    status = bench.host.joint_state_status()
    assert status.level == Level.WARN
    assert 'later than max_delay' in status.summary


def test_policies_of_parameters_hold_at_once_and_for_the_next_robot(bench):
    bench.describe(BOUNDED)
    bench.node.set_parameters([Parameter('max_delay', value=0.5)])
    bench.node.set_parameters([Parameter('max_stamp_age', value=2.0)])
    for text in (BOUNDED, BOUNDED.replace('joint2', 'elbow')):
        bench.describe(text)
        assert bench.host.states.policies.max_delay == 0.5
        assert bench.host.mapper.policies is bench.host.states.policies
        assert bench.host.mapper.policies.max_stamp_age == 2.0


# --- references -----------------------------------------------------------------------------------


def test_a_reference_that_comes_before_the_robot_is_followed(bench):
    bench.part.reference.receive(reference())
    bench.describe(BOUNDED)
    assert bench.part.status().values['feedforward follows'] == 'reference'
    np.testing.assert_array_equal(bench.part.outputs.reference[2:4], [0.5, -0.5])


def test_a_reference_that_came_too_long_before_the_robot_is_told(bench):
    bench.part.reference.receive(reference())
    bench.clock.offset += 1.0
    bench.describe(BOUNDED)
    status = bench.part.status()
    assert status.level == Level.WARN
    assert 'older than reference_timeout' in status.summary
    assert status.values['feedforward follows'] == 'measured state'


@pytest.mark.parametrize(
    ('message', 'reason'),
    [
        (reference((99.0, 0.0)), "positions of joint 'joint1'"),
        (reference((0.0, -99.0)), "positions of joint 'joint2'"),
        (reference(velocities=[0.0, 1e9]), "velocities of joint 'joint2'"),
        (reference(accelerations=[-1e9, 0.0]), "accelerations of joint 'joint1'"),
        (reference((float('nan'), 0.0)), "positions of joint 'joint1'"),
        (reference((0.0,)), '1 positions for 2 joints'),
        (reference(names=('joint1', 'nose')), "'nose'"),
        (JointTrajectory(joint_names=JOINTS), 'no points'),
    ],
)
def test_a_reference_outside_the_limits_is_refused_by_name(bench, message, reason):
    """And the one before stays active."""
    bench.describe(BOUNDED)
    bench.part.reference.receive(reference((0.25, 0.25)))
    bench.part.reference.receive(message)
    status = bench.part.status()
    assert 'reference refused' in status.summary
    assert reason in status.summary
    np.testing.assert_array_equal(bench.part.outputs.reference[2:4], 0.25)


def test_a_reference_for_the_robot_before_is_forgotten(bench):
    bench.describe(BOUNDED)
    bench.part.reference.receive(reference())
    bench.describe(BOUNDED.replace('joint2', 'elbow'))
    status = bench.part.status()
    assert status.values['feedforward follows'] == 'measured state'
    assert 'refused' not in status.summary


# --- clocks and descriptions ----------------------------------------------------------------------


def test_ages_follow_use_sim_time_when_it_is_set_later(bench):
    bench.describe(BOUNDED)
    send(bench)
    assert abs(bench.host.mapper.age) < 60.0
    assert bench.node.set_parameters_atomically([Parameter('use_sim_time', value=True)]).successful
    assert bench.host.mapper.clock() == 0  # nothing has come on /clock
    bench.host.mapper.reset()
    send(bench)
    assert bench.host.mapper.age < -1e9


def test_a_volatile_robot_description_is_told_from_none(bench):
    assert 'volatile' not in bench.host.description_status().summary
    other = rclpy.create_node('volatile_publisher', enable_rosout=False)
    other.create_publisher(
        String, '/life/robot_description', QoSProfile(depth=1, durability=DurabilityPolicy.VOLATILE)
    )

    def is_reported():
        return '/volatile_publisher publishes /life/robot_description with volatile durability' in (
            bench.host.description_status().summary
        )

    bench.wait(is_reported)
    other.destroy_node()


def test_a_description_that_comes_again_is_not_compiled_again(bench):
    bench.describe(BOUNDED)
    model = bench.host.model
    bench.describe(BOUNDED)
    assert bench.host.model.text == model.text


def test_the_good_description_again_ends_a_refusal(bench):
    bench.describe(BOUNDED)
    model = bench.host.model
    bench.describe('<robot name="x"/>')
    assert bench.host.source.descriptions.reason
    assert bench.host.model.text == model.text
    bench.describe(BOUNDED)
    assert not bench.host.source.descriptions.reason


def test_a_robot_with_too_many_joints_is_refused(bench):
    """Anyone can publish one, whose mass matrix would fill the memory to compile."""
    bench.describe(BOUNDED)
    count = 301
    links = ''.join(f'<link name="l{k}"/>' for k in range(count + 1))
    ends = '<parent link="l{}"/><child link="l{}"/>'
    joints = ''.join(
        f'<joint name="j{k}" type="continuous">{ends.format(k, k + 1)}</joint>'
        for k in range(count)
    )
    model = bench.host.model
    bench.describe(f'<robot name="many">{links}{joints}</robot>')
    assert 'robot many has 301 degrees of freedom' in bench.host.source.descriptions.reason
    assert bench.host.model.text == model.text
