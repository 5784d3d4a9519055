# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What /diagnostics say of joint states, by what has happened when."""

from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.nodes.hosting import statuses
from screw_dynamics_ros.nodes.hosting.load import Load
from screw_dynamics_ros.ros.description import Description, DescriptionSource
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.policies import Policies, Reason
from support.host_bench import Clock
from support.robots import urdf_path

TIMEOUT = 0.5  # s


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    made.rule(monkeypatch)
    return made


@pytest.fixture
def host(clock):
    """Return a host whose robot has been there for a minute, and to which messages come."""
    now = clock.monotonic()
    load = Load()
    load.arrived(now)
    parameter = SimpleNamespace(value=False)
    return SimpleNamespace(
        load=load,
        model_since=now - 60.0,
        node=SimpleNamespace(get_parameter=lambda name: parameter),
        model=SimpleNamespace(
            joints=('a',), robot=SimpleNamespace(backend='native'), backend='native'
        ),
        mapper=JointStateMapper(['a'], clock=clock.time_ns),
    )


def joint_state_status(host):
    return statuses.joint_state_status(
        host.node,
        host.model,
        host.mapper,
        host.load,
        [],
        timeout=TIMEOUT,
        model_since=host.model_since,
        scheduling_fault='',
    )


def test_messages_of_no_use(host):
    status = joint_state_status(host)
    assert status.level == Level.ERROR
    assert 'no valid joint state' in status.summary


def test_a_robot_that_has_just_come_waits_for_its_first_state(host, clock):
    """While messages come already: those of before could not be used, and nothing is wrong."""
    host.model_since = clock.monotonic()
    clock.offset += 0.99 * TIMEOUT
    host.load.arrived(clock.monotonic())
    assert joint_state_status(host).level == Level.OK
    clock.offset += 0.02 * TIMEOUT
    assert joint_state_status(host).level == Level.ERROR


def test_states_of_use(host, clock):
    numbers = np.zeros((3, 1))
    assert host.mapper.update(JointStateMessage.of(('a',), *numbers, clock.time_ns()))
    assert joint_state_status(host).level == Level.OK


def test_silence(host, clock):
    clock.offset += 2 * TIMEOUT
    status = joint_state_status(host)
    assert status.level == Level.ERROR
    assert 'no joint state for 1.0 s' in status.summary


# --- incidents ------------------------------------------------------------------------------------


def test_before_there_is_a_robot_or_a_message(host, clock):
    host.load, model = Load(), host.model
    host.model = None
    status = joint_state_status(host)
    assert (status.level, status.summary) == (Level.WARN, 'waiting for the robot description')
    host.model = SimpleNamespace(joints=())
    status = joint_state_status(host)
    assert (status.level, status.summary) == (Level.OK, 'the robot has no joints to report')
    host.model, host.model_since = model, clock.monotonic()
    host.node.resolve_topic_name = lambda name: f'/arm/{name}'
    host.node.count_publishers = {'/arm/joint_states': 2}.get
    clock.offset += 0.3
    status = joint_state_status(host)
    assert status.summary == ('no message has arrived on /arm/joint_states, which has 2 publishers')
    assert status.level == Level.OK
    for after, level in ((2.7, Level.OK), (0.1, Level.ERROR)):
        clock.offset += after
        assert joint_state_status(host).level == level


@pytest.mark.parametrize(
    ('simulated', 'now', 'warns'), [(True, 0, True), (True, 1, False), (False, 0, False)]
)
def test_simulated_time_that_does_not_come(host, simulated, now, warns):
    host.node.get_parameter = lambda name: SimpleNamespace(
        value=simulated if name == 'use_sim_time' else None
    )
    moment = SimpleNamespace(nanoseconds=now)
    host.node.get_clock = lambda: SimpleNamespace(now=lambda: moment)
    assert ('/clock' in joint_state_status(host).summary) == warns


def test_faults_of_scheduling_are_reported(host):
    host.model = None
    status = statuses.joint_state_status(
        host.node, None, None, host.load, [], timeout=1.0, model_since=0.0, scheduling_fault='slow'
    )
    assert status.summary == 'slow; waiting for the robot description'
    assert status.level == Level.WARN


#: What has happened, and what is said of it for three seconds.
INCIDENTS = {
    'late': (
        lambda load, now: load.was_late(now, 0.25),
        'a joint state was received 0.250 s after its publication, later than max_delay: 1 skipped',
    ),
    'overflow': (
        lambda load, now: load.overflowed(now),
        'positions or velocities that are too large: 1 states without results so far',
    ),
    'unreadable': (
        lambda load, now: load.unreadable(now, ValueError('a\nb')),
        'unreadable message: a',
    ),
}


@pytest.mark.parametrize('incident', INCIDENTS)
def test_incidents_stay_for_three_seconds(host, clock, incident):
    happen, text = INCIDENTS[incident]
    assert host.mapper.update(
        JointStateMessage.of(('a',), *np.zeros((3, 1)), clock.time_ns()), clock.monotonic() + 3.0
    )
    assert joint_state_status(host).summary == 'ok'
    happen(host.load, clock.monotonic())
    for after, is_shown in ((2.9, True), (0.1, False)):
        clock.offset += after
        host.load.arrived(clock.monotonic())
        status = joint_state_status(host)
        assert (text in status.summary) == is_shown
        assert status.level == (Level.WARN if is_shown else Level.OK)


@pytest.mark.parametrize(
    ('backend', 'wanted', 'remedy'),
    [
        ('native', 'native', None),
        ('python', 'python', 'install llvmlite'),
        ('reference', 'native', 'describe a part of the robot'),  # too large to compile
    ],
)
def test_a_slow_process_is_told_what_makes_it_faster(host, clock, backend, wanted, remedy):
    host.model.backend, host.model.robot.backend = backend, wanted
    host.load.was_late(clock.monotonic(), 0.25)
    host.load.lost = 7
    status = joint_state_status(host)
    assert '7 joint states so far were lost in transport or merged' in status.summary
    for text in ('install llvmlite', 'describe a part of the robot'):
        assert status.summary.count(f'; {text}') == (2 if text == remedy else 0)
    assert (status.values['late, skipped'], status.values['lost or merged']) == ('1', '7')


# --- records of the mapper ------------------------------------------------------------------------


def topic(name='~/x', **needed):
    return SimpleNamespace(
        topic=name,
        published=3,
        listeners=2,
        explain=None,
        explained='',
        **{'velocity': False, 'effort': False, **needed},
    )


def test_what_outputs_need_is_a_warning_when_it_is_missing():
    """Other fields are mentioned, or with `only_needs` counted."""
    mapper = JointStateMapper(['a'], policies=Policies(velocity='reject'), clock=lambda: 10**18)
    assert mapper.update(JointStateMessage.of(('a',), [0.0], [], [], 10**18 - 2_500_000), 50.0)
    needed = statuses.needs([topic(), topic(velocity=True)])
    assert needed == {'velocity'}
    assert statuses.needs([topic(effort=True), topic(velocity=True)]) == {'velocity', 'effort'}
    records = mapper.records
    assert set(records) == {Reason.VELOCITY_MISSING, Reason.EFFORT_MISSING}
    last = records[Reason.EFFORT_MISSING].last
    status = Status('joint states')
    statuses.report_records(status, mapper, needed, last + 2.9)
    assert status.level == Level.WARN
    velocity, effort = status.texts
    assert velocity.startswith('a velocity is missing or not a finite number: a')
    assert effort.startswith('an effort is missing or not a finite number: a')
    assert status.values['velocity_missing count'] == '1'
    assert status.values['effort_missing count'] == '1'
    assert status.values['age [ms]'] == '2.500'
    assert status.values['states'] == '1'
    for options, texts in (({}, ['velocity', 'effort']), ({'only_needs': True}, ['velocity'])):
        status = Status('joint states')
        statuses.report_records(status, mapper, needed, last, **options)
        assert [text.split()[1] for text in status.texts] == texts
    status = Status('joint states')
    statuses.report_records(status, mapper, (), last)
    assert status.level == Level.OK
    assert len(status.texts) == 2
    for reason, other in ((Reason.VELOCITY_MISSING, 'effort'), (Reason.EFFORT_MISSING, 'velocity')):
        records[reason].last -= 10.0  # one is over, whichever comes first
        for options in ({}, {'only_needs': True}):
            status = Status('joint states')
            statuses.report_records(status, mapper, {'velocity', 'effort'}, last, **options)
            assert [text.split()[1] for text in status.texts] == [other]
        records[reason].last += 10.0
    status = Status('joint states')
    statuses.report_records(status, mapper, {'effort'}, last, only_needs=True)
    assert [text.split()[1] for text in status.texts] == ['effort']
    status = Status('joint states')
    statuses.report_records(status, mapper, needed, last + 3.0)
    assert status.summary == 'ok'
    assert status.values['effort_missing count'] == '1'


def test_records_are_part_of_the_status(host, clock):
    host.mapper.policies = Policies(velocity='reject')
    message = JointStateMessage.of(('a',), [0.0], [], [1.0], clock.time_ns())
    assert host.mapper.update(message, clock.monotonic())
    host.mapper.records[Reason.VELOCITY_MISSING].last = clock.monotonic()
    status = joint_state_status(host)
    assert status.values['velocity_missing count'] == '1'
    assert (status.level, len(status.texts)) == (Level.OK, 1)  # no output needs it


def test_topics_that_lack_a_field_are_named():
    topics = [topic('~/q'), topic('~/v', velocity=True), topic('~/f', velocity=True, effort=True)]
    mapper = JointStateMapper(['a'], policies=Policies(velocity='reject'), clock=lambda: 10**18)
    status = Status('outputs')
    statuses.report_channels(status, topics, mapper)  # no state yet
    statuses.report_channels(status, topics, None)
    assert status.summary == 'ok'
    assert status.values == dict.fromkeys(('~/q', '~/v', '~/f'), '3 messages, 2 subscribers')
    assert mapper.update(JointStateMessage.of(('a',), [0.0], [], [1.0], 10**18), 0.0)
    statuses.report_channels(status, topics, mapper)
    assert status.level == Level.WARN
    assert status.summary == 'not published: joint states contain no velocity: ~/v, ~/f'


# --- descriptions ---------------------------------------------------------------------------------


def endpoint(name, namespace, durability):
    return SimpleNamespace(
        node_name=name, node_namespace=namespace, qos_profile=SimpleNamespace(durability=durability)
    )


def description_status(descriptions=None, robot=None, held=(), publishers=(), **options):
    node = SimpleNamespace(
        resolve_topic_name=lambda name: f'/arm/{name}',
        get_publishers_info_by_topic={'/arm/robot_description': publishers}.get,
    )
    model = None if robot is None else SimpleNamespace(robot=robot, held=held, backend='reference')
    return statuses.description_status(
        node,
        descriptions or DescriptionSource(),
        model,
        options.pop('load', None) or Load(),
        **{'drives': (), 'compiling': False, **options},
    )


@pytest.fixture(scope='module')
def planar():
    return Robot.from_urdf(urdf_path('planar_2r'), backend='reference')


def test_the_robot_in_use(planar):
    descriptions = DescriptionSource()
    descriptions.active = Description('<robot/>', 'topic')
    status = description_status(descriptions, planar, drives=('joint2', 'joint1'))
    assert status.level == Level.OK
    assert status.values == {
        'robot': 'planar_2r',
        'backend': 'reference',
        'source': 'topic',
        'total mass [kg]': '3',
        'joints': 'joint1, joint2',
        'root link': 'base',
        'drives': 'joint2, joint1',
    }
    assert description_status(robot=planar).values['source'] == ''
    values = description_status(robot=planar).values
    assert values['drives'] == 'friction of the description'


def test_no_robot_yet(clock):
    load = Load()
    for after, level in ((0.0, Level.OK), (3.0, Level.OK), (0.1, Level.ERROR)):
        clock.offset += after
        status = description_status(load=load)
        assert status.level == level
        assert 'no message on the topic robot_description' in status.summary
    status = description_status(load=load, compiling=True)
    assert (status.level, status.summary) == (Level.OK, 'compiling a robot description')


def test_a_refused_description(planar):
    descriptions = DescriptionSource()
    descriptions.reason = 'it has\nno root'
    status = description_status(descriptions)
    assert status.level == Level.ERROR
    assert status.texts[0].startswith('robot description refused: it has')
    assert '\n' not in status.summary
    assert len(status.texts) == 1
    status = description_status(descriptions, planar)
    assert status.texts[0].endswith('; the previous one stays in use')


def test_publishers_that_late_subscribers_miss(planar):
    publishers = [
        endpoint('good', '/', DurabilityPolicy.TRANSIENT_LOCAL),
        endpoint('old', '/', DurabilityPolicy.VOLATILE),
        endpoint('bad', '/left/', DurabilityPolicy.VOLATILE),
    ]
    status = description_status(publishers=publishers)
    assert status.level == Level.ERROR
    assert status.summary.startswith(
        '/old, /left/bad publishes /arm/robot_description with volatile durability'
    )
    assert description_status(robot=planar, publishers=publishers).level == Level.OK
    assert 'volatile' not in description_status(publishers=publishers[:1]).summary


def test_a_topic_that_is_ignored_joints_that_are_held_and_findings(planar):
    descriptions = DescriptionSource()
    descriptions.from_parameter = 'a'
    descriptions.active = Description('a', 'parameter')
    descriptions.from_topic = 'b'
    status = description_status(descriptions, planar, held=('sway', 'heave'))
    assert status.level == Level.WARN
    assert 'clear the parameter to follow the topic' in status.texts[0]
    assert status.texts[1].endswith(
        'which are held at zero: sway, heave; set multi_dof_joint_states if a topic contains them'
    )
    for severity, level in (('info', Level.OK), ('warning', Level.WARN)):
        described = SimpleNamespace(name='x', root='y', findings=[Finding(severity)])
        robot = SimpleNamespace(
            description=described, backend='native', total_mass=1.0, joint_names=()
        )
        status = description_status(robot=robot)
        assert (status.level, status.summary) == (level, f'a finding of {severity}')


class Finding:
    """A finding about a description."""

    def __init__(self, severity):
        self.severity = severity

    def __str__(self):
        return f'a finding of {self.severity}'
