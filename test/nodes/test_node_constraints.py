# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Wrenches of constraints from `dynamics` (C-072), through DDS, against dense equations.

Golden case 8.3 of doc/spec/golden_numbers.md; `constraint_oracle` has the equations of motion
and constraints as one dense system, with the bias of the constraints by differences.
"""

import re

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

from oracles.constraints import dense_kkt
from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.constraints.motion_constraint import fixed_point
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.nodes.parameters.constraint_parameters import (
    BlockedMotions,
    check,
    choose,
    read,
)
from support.robots import urdf_path
from support.ros_harness import ERROR, OK, WARN, vector

POINT_MASS = (
    '<inertial><origin xyz="1 0 0"/><mass value="1"/>'
    '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial>'
)
#: The arm of case 8.2: unit lengths, unit point masses at the tips, axes z.
PLANAR = f"""<robot name="planar">
  <link name="base"/> <link name="one">{POINT_MASS}</link> <link name="two">{POINT_MASS}</link>
  <link name="tip"/>
  <joint name="j1" type="continuous">
    <parent link="base"/> <child link="one"/> <axis xyz="0 0 1"/> </joint>
  <joint name="j2" type="continuous">
    <parent link="one"/> <child link="two"/> <axis xyz="0 0 1"/> <origin xyz="1 0 0"/> </joint>
  <joint name="j3" type="fixed">
    <parent link="two"/> <child link="tip"/> <origin xyz="1 0 0"/> </joint>
</robot>"""
GRAVITY = '[0.0, -9.81, 0.0]'
CASE = ['j1', 'j2'], [0.3, 0.4], [0.5, -0.2], [1.0, 2.0]
TIP = 'dynamics/constraint_wrench/tip'
FRICTION = '<dynamics damping="0.4" friction="0.9"/>'
PANDA = re.sub('(<axis [^>]*/>)', rf'\1{FRICTION}', urdf_path('panda').read_text())
TOOL, ELBOW = 'panda_hand_tcp', 'panda_link4'


# --- the parameter -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('text', 'link', 'motions', 'axes'),
    [
        ('tip', 'tip', ('rx', 'ry', 'rz', 'x', 'y', 'z'), ''),
        (' tip :  y ', 'tip', ('y',), ''),
        ('tip: z position', 'tip', ('x', 'y', 'z'), ''),
        ('tip: orientation x', 'tip', ('rx', 'ry', 'rz', 'x'), ''),
        ('tip: x in tip', 'tip', ('x',), 'tip'),
        ('arm::tip: x', 'arm::tip', ('x',), ''),
    ],
)
def test_what_a_text_means(text, link, motions, axes):
    assert BlockedMotions.parse(text) == BlockedMotions(link, motions, axes)


@pytest.mark.parametrize(
    ('texts', 'reason'),
    [
        (['tip: up'], "contains 'up', which is not a motion"),
        (['tip:'], 'incomplete'),
        ([': x'], 'incomplete'),
        (['tip: x in '], 'incomplete'),
        (['tip: in tip'], 'incomplete'),
        (['tip: x', 'tip: y'], "'tip' is named twice"),
    ],
)
def test_texts_that_cannot_be_read(texts, reason):
    with pytest.raises(ArgumentError, match=reason):
        read(texts)


def test_texts_that_do_not_fit_the_robot():
    robot = Robot.from_urdf(PLANAR, backend='reference')
    with pytest.raises(UnknownNameError, match="no link 'nose'; it has base, one, two, tip"):
        check({'constraints': ['nose: x']}, robot)
    with pytest.raises(UnknownNameError, match=r'write "in tip".*root link, base'):
        check({'constraints': ['tip: x in one']}, robot)
    check({'constraints': ['tip: x in base', 'one: y in one']}, robot)
    constraints, faults = choose(['nose', 'tip: y'], robot)
    assert [str(blocked) for blocked in constraints] == ['tip: y']
    assert len(faults) == 1


@pytest.mark.parametrize(
    ('text', 'representation'), [('tip: ry y', 'hybrid'), ('tip: ry y in tip', 'body')]
)
def test_constraint_of_a_text(text, representation):
    """Rows are those of a twist (omega, v); own axes move with the link."""
    robot = Robot.from_urdf(PLANAR, backend='reference')
    (constraint,) = choose([text], robot)[0].values()
    np.testing.assert_array_equal(constraint.wrenches.T, np.eye(6)[[1, 4]])
    assert constraint.representation == representation
    assert constraint.link == 'tip'
    assert constraint.name == text


# --- the golden case -----------------------------------------------------------------------------


@pytest.fixture(scope='module')
def golden(start, connect):
    start(
        'dynamics',
        {'constraints': "['tip: y']", 'gravity': GRAVITY, 'constraint_rate': 1000.0},
        ['-r', '__ns:=/golden'],
    )
    client = connect('golden')
    client.describe(PLANAR)
    client.subscribe(WrenchStamped, TIP)
    return client


@pytest.fixture
def constrained(golden):
    """Let the robot have other constraints for one test."""

    def constrain(*texts):
        result = golden.set_parameter('dynamics', 'constraints', list(texts))
        assert result.successful, result.reason
        expected = ', '.join(str(BlockedMotions.parse(text)) for text in texts)
        golden.wait(
            lambda: (
                golden.diagnostics.get('golden/dynamics: constraints', (0, '', {}))[2].get(
                    'constraints'
                )
                == expected
            ),
            what=texts,
        )

    yield constrain
    constrain('tip: y')


def parts(message):
    """Return (moment, force)."""
    return np.array([*vector(message.wrench.torque), *vector(message.wrench.force)])


def test_golden_case(golden):
    """C-072, 8.3: the support force on the tip is 11.858227541 N up; A nu, E-21's sign: on it."""
    _, message = golden.ask(TIP, *CASE)
    assert message.header.frame_id == 'tip'
    moment, force = np.split(parts(message), 2)
    angle = 0.3 + 0.4
    up = np.array([np.sin(angle), np.cos(angle), 0.0])  # in axes of the tip
    np.testing.assert_allclose(force, 11.858227541 * up, rtol=0, atol=1e-9)
    np.testing.assert_allclose(moment, 0.0, atol=1e-12)


def test_robot_moves_as_constrained_under_the_wrench(golden):
    """Applied as an external wrench it gives the accelerations of the golden case."""
    _, message = golden.ask(TIP, *CASE)
    robot = Robot.from_urdf(PLANAR, gravity=(0, -9.81, 0), backend='reference')
    a = robot.forward_dynamics(*CASE[1:], {'tip': parts(message)})
    np.testing.assert_allclose(a, [-10.051187672, 22.778160828], rtol=0, atol=1e-9)


def test_constraint_in_axes_of_the_link(golden, constrained):
    """A blade: the velocity across it stays, in axes that turn with it."""
    constrained('tip: y in tip')
    _, message = golden.ask(TIP, *CASE)
    robot = Robot.from_urdf(PLANAR, gravity=(0, -9.81, 0), backend='reference')
    a = robot.forward_dynamics(*CASE[1:], {'tip': parts(message)})
    rate = robot.acceleration(*CASE[1:3], a, 'tip', 'body')
    np.testing.assert_allclose(rate[4], 0.0, atol=1e-9)
    np.testing.assert_allclose(np.delete(parts(message), 4), 0.0, atol=1e-12)


def test_conflicts_are_reported_and_nothing_is_published(golden, constrained):
    """C-073, C-145: two joints cannot keep three velocities of a moving tip."""
    constrained('tip: x y rz')
    stamps = []
    values = golden.expect(
        'golden/dynamics: constraints',
        ERROR,
        'no constraint wrenches',
        'tip: ',
        'parameter constraints',
        meanwhile=lambda: stamps.append(golden.send(*CASE)),
    )
    assert values['directions'] == '3, 2 independent'
    constrained('tip: y')
    golden.ask(TIP, *CASE)
    assert not {*stamps[1:]} & {*golden.stamps(TIP)}  # the first one may come with the old ones


def test_redundant_constraints_are_flagged(golden, constrained):
    """C-073: at rest six directions can be met, by many wrenches; the smallest one is given."""
    constrained('tip')
    names, q, _, tau = CASE
    rest = names, q, [0.0, 0.0], tau
    golden.expect(
        'golden/dynamics: constraints',
        WARN,
        'not unique',
        '2 of them are independent',
        meanwhile=lambda: golden.send(*rest),
    )
    _, message = golden.ask(TIP, *rest)
    robot = Robot.from_urdf(PLANAR, gravity=(0, -9.81, 0), backend='reference')
    a = robot.forward_dynamics(q, [0.0, 0.0], tau, {'tip': parts(message)})
    np.testing.assert_allclose(a, 0.0, atol=1e-9)


def test_noise_of_velocities_is_no_conflict(golden, constrained):
    """C-073: what it makes a blocked motion move is within constraint_tolerance."""
    constrained('tip')
    names, q, _, tau = CASE
    nearly = names, q, [0.01, -0.004], tau
    golden.ask(TIP, *nearly)
    try:
        assert golden.set_parameter('dynamics', 'constraint_tolerance', 1e-6).successful
        golden.expect(
            'golden/dynamics: constraints',
            ERROR,
            'inconsistent',
            meanwhile=lambda: golden.send(*nearly),
        )
    finally:
        assert golden.set_parameter('dynamics', 'constraint_tolerance', 0.01).successful


def test_no_effort_no_wrench(golden):
    """The torques are those measured; without them nothing is made up."""
    stamps = []
    golden.expect(
        'golden/dynamics: outputs',
        WARN,
        'not published: joint states contain no effort',
        'constraint_wrench/tip',
        meanwhile=lambda: stamps.append(golden.send(*CASE[:3])),
    )
    golden.ask(TIP, *CASE)
    assert not {*stamps} & {*golden.stamps(TIP)}


# --- an arm with friction and a payload ----------------------------------------------------------

LOAD = {
    'payload_link': TOOL,
    'payload_mass': 2.0,
    'payload_center_of_mass': [0.0, 0.0, 0.1],
    'payload_inertia': [0.01, 0.0, 0.0, 0.01, 0.0, 0.01],
}
DEFAULTS = {
    'payload_link': '',
    'compensated_terms': [''],
    'constraint_torques': 'measured',
    'effort_terms': ['gravity', 'coriolis', 'friction', 'inertia', 'payload'],
}


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(PANDA)


@pytest.fixture(scope='module')
def arm(start, connect):
    texts = f"['{TOOL}: position', '{ELBOW}: z']"
    start(
        'dynamics',
        {'constraints': texts, 'frame_prefix': 'left_', 'constraint_rate': 1000.0},
        ['-r', '__ns:=/held'],
    )
    client = connect('held')
    client.describe(PANDA)
    client.subscribe(
        WrenchStamped, *(f'dynamics/constraint_wrench/{link}' for link in (TOOL, ELBOW))
    )
    client.subscribe(JointState, 'dynamics/feedforward')
    return client


@pytest.fixture
def configured(arm):
    def configure(**values):
        for name, value in values.items():
            result = arm.set_parameter('dynamics', name, value)
            assert result.successful, result.reason

    yield configure
    configure(**DEFAULTS)


@pytest.fixture
def state(robot):
    rng, limits = np.random.default_rng(21), robot.limits
    return (
        rng.uniform(limits.lower, limits.upper),
        rng.normal(size=robot.nv),
        rng.normal(size=robot.nv) * 20.0,
    )


def held(arm, robot, state):
    """Return the wrenches on both links for one state."""
    topics = [f'dynamics/constraint_wrench/{link}' for link in (TOOL, ELBOW)]
    _, messages = arm.ask_all(topics, robot.joint_names, *state)
    assert [m.header.frame_id for m in messages] == [f'left_{TOOL}', f'left_{ELBOW}']
    return np.array([parts(message) for message in messages])


def expected(robot, q, v, tau):
    """Return the wrenches of the dense equations, at and in the link frames."""
    constraints = [fixed_point(TOOL), fixed_point(ELBOW, [(0, 0, 1)])]
    _, multipliers = dense_kkt(robot, q, v, tau, constraints)
    forces = [multipliers[:3], [0.0, 0.0, multipliers[3]]]
    return np.array(
        [
            np.concatenate([np.zeros(3), robot.link_pose(q, c.link)[:3, :3].T @ force])
            for c, force in zip(constraints, forces)
        ]
    )


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def friction(robot, v):
    """Return the friction in the description; the first finger moves the second one as well."""
    torques = 0.4 * v + 0.9 * v / np.hypot(v, 0.01)
    torques[-1] *= 2
    return torques


def test_two_links_against_dense_equations(arm, robot, state):
    """C-072, C-074: measured torques, of which friction takes its part."""
    q, v, tau = state
    close(held(arm, robot, state), expected(robot, q, v, tau - friction(robot, v)))


def test_efforts_of_torque_sensors(arm, robot, state, configured):
    """They have no friction in them, so that none is removed."""
    q, v, tau = state
    configured(effort_terms=['gravity', 'coriolis', 'inertia', 'payload'])
    close(held(arm, robot, state), expected(robot, q, v, tau))


def test_weight_of_the_payload_is_no_constraint_wrench(arm, robot, state, configured):
    configured(**LOAD)
    q, v, tau = state
    xx, xy, xz, yy, yz, zz = LOAD['payload_inertia']
    body = RigidBody(
        LOAD['payload_mass'],
        np.array(LOAD['payload_center_of_mass']),
        np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]),
    )
    load = robot.payload_torques(q, v, np.zeros(robot.nv), {TOOL: body})
    close(held(arm, robot, state), expected(robot, q, v, tau - friction(robot, v) - load))


def test_feedforward_instead_of_efforts(arm, robot, state, configured):
    """No efforts are needed; what the robot adds by itself acts as well."""
    q, v, _ = state
    configured(constraint_torques='feedforward', compensated_terms=['gravity', 'friction'])
    wanted = expected(robot, q, v, robot.inverse_dynamics(q, v, np.zeros(robot.nv)))

    def agrees():
        found = held(arm, robot, (q, v))
        return np.abs(found - wanted).max() < 1e-8 * np.abs(wanted).max()

    arm.wait(agrees, what='wrenches of feedforward')


def test_nothing_is_computed_for_nobody(arm, robot, state):
    """Without listeners the constraints are named, and not solved."""
    held(arm, robot, state)
    named = f'{TOOL}: x y z, {ELBOW}: z'

    def solved(listened):
        level, _, values = arm.diagnostics.get('held/dynamics: constraints', (ERROR, '', {}))
        reported = values.get('constraints') == named and ('directions' in values) == listened
        return level == OK and reported

    def still_solved():
        held(arm, robot, state)
        return solved(True)

    arm.wait(still_solved, what='solutions')
    topics = [f'dynamics/constraint_wrench/{link}' for link in (TOOL, ELBOW)]
    arm.unsubscribe(*topics)
    try:
        arm.wait(lambda: solved(False), what='no more solutions')
    finally:
        arm.subscribe(WrenchStamped, *topics)
    held(arm, robot, state)


# --- joints that no joint state can tell of ------------------------------------------------------


def riding(kind, inertial=''):
    """Return the arm of case 8.2 on a joint of several freedoms."""
    axis = '<axis xyz="0 0 1"/>' if kind == 'planar' else ''
    return PLANAR.replace(
        '<link name="base"/>', f'<link name="ground"/> <link name="base">{inertial}</link>'
    ).replace(
        '<joint name="j1"',
        f'<joint name="ride" type="{kind}">{axis}<parent link="ground"/><child link="base"/>'
        '</joint> <joint name="j1"',
    )


@pytest.fixture(scope='module')
def rides(start, connect):
    start('dynamics', {'constraints': "['tip: y']", 'gravity': GRAVITY}, ['-r', '__ns:=/rides'])
    return connect('rides')


@pytest.mark.parametrize('kind', ['planar', 'floating'])
def test_joints_that_are_held(rides, kind):
    """They stay where they are: the wrenches are those of the robot with these joints fixed."""
    rides.describe(
        riding(
            kind,
            '<inertial><mass value="3"/>'
            '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>',
        )
    )
    rides.subscribe(WrenchStamped, TIP)
    rides.expect('rides/dynamics: robot description', WARN, 'held at zero: ride')
    _, message = rides.ask(TIP, *CASE)
    up = np.array([np.sin(0.7), np.cos(0.7), 0.0])
    np.testing.assert_allclose(parts(message)[3:], 11.858227541 * up, rtol=0, atol=1e-8)

    def directions(_):  # reported from the moment on when the node has seen a subscriber
        status = rides.diagnostics.get('rides/dynamics: constraints', (OK, '', {}))
        return status[0] == OK and status[2].get('directions')

    assert rides.drive(directions, *CASE, what='directions') == '1, 1 independent'


def test_robot_without_accelerations(rides):
    """Where forward dynamics is not defined there are no constraint wrenches, but all the rest."""
    rides.describe(riding('planar'))
    values = rides.expect(
        'rides/dynamics: constraints', ERROR, 'no constraint wrenches', "'ride' moves no mass"
    )
    assert values['constraints'] == 'none'
    rides.subscribe(JointState, 'dynamics/gravity')
    rides.ask('dynamics/gravity', *CASE)


def test_link_of_another_robot_is_reported(rides):
    rides.describe(PLANAR.replace('tip', 'end'))
    values = rides.expect('rides/dynamics: constraints', ERROR, "no link 'tip'; it has base")
    assert values['constraints'] == 'none'


def test_text_that_cannot_be_read_stops_the_start(start):
    node = start('dynamics', {'constraints': "['tip: up']"}, ['-r', '__ns:=/bad'])
    assert node.wait() != 0
    assert "contains 'up', which is not a motion" in node.output
