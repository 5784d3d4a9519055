# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robot descriptions in absolute coordinates, beside the same robot in joint coordinates."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.urdf import read_urdf
from screw_dynamics_ros.core.errors import (
    ArgumentError,
    DescriptionError,
    InertiaError,
    InfeasibleConstraintsError,
    UnknownNameError,
)
from screw_dynamics_ros.core.integration import RungeKutta
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import (
    GROUND,
    SE3,
    SPHERICAL,
    AbsoluteSystem,
    ConstraintJoint,
    SO3xR3,
    Stabilization,
    frame,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.constraint_projection import (
    consistent_velocity,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.from_description import (
    absolute_system,
    loop_closures,
    merged_links,
    on_bodies,
)
from screw_dynamics_ros.core.types import Array
from support.linkages import CLOSURES, FOUR_BAR, bar
from support.models import random_description
from support.paths import URDF

ARM = URDF / 'panda.urdf'


def absolute_state(system: AbsoluteSystem, robot: Robot, q: Array, v: Array) -> tuple[Array, Array]:
    """Return the state of the bodies where the joints of a robot are in the state q, v."""
    poses = {body.name: robot.link_pose(q, body.name) for body in system.bodies}
    velocities = []
    for body in system.bodies:
        V = robot.jacobian(q, body.name, 'body') @ v
        R = poses[body.name][:3, :3]
        velocities.append(V if body.group == SE3 else np.append(V[:3], R @ V[3:]))
    return system.configuration_of(poses), np.concatenate(velocities)


@pytest.mark.parametrize(
    ('groups', 'floating', 'backend'),
    [('auto', False, 'auto'), (SE3, True, 'sparse'), (SO3xR3, False, 'sparse')],
)
def test_accelerations_and_energy(groups: str, floating: bool, backend: str) -> None:
    """Joint accelerations of the arm with its coupled gripper agree with those of `Robot`."""
    robot = Robot.from_urdf(ARM, floating_base=floating, backend='reference')
    options = {'floating_base': floating, 'groups': groups, 'backend': backend}
    system = absolute_system(read_urdf(ARM), **options)
    rng = np.random.default_rng(1)
    q_r, v_r, tau = (
        robot.random_configuration(rng),
        rng.normal(size=robot.nv),
        rng.normal(size=robot.nv),
    )
    if floating:
        tau[:6] = 0.0
    q, v = absolute_state(system, robot, q_r, v_r)
    assert max(x.gap + x.velocity for x in system.violation(q, v).values()) < 1e-13
    positions = system.joint_positions(q)
    torques = {}
    for name in robot.joint_names:
        place, rate = robot.joint_coordinates(name)
        assert positions[name] == pytest.approx(q_r[place][0], abs=1e-12)
        assert system.joint_rates(q, v)[name][0] == pytest.approx(v_r[rate][0], abs=1e-12)
        torques[name] = tau[rate]
    a = system.forward_dynamics(q, v, system.joint_forces(q, torques))
    a_r, h = robot.forward_dynamics(q_r, v_r, tau), 1e-6
    later = [system.joint_rates(system.integrate(q, s * v), v + s * a) for s in (h, -h)]
    for name in robot.joint_names:
        rate = (later[0][name][0] - later[1][name][0]) / (2 * h)
        assert rate == pytest.approx(a_r[robot.joint_coordinates(name)[1]][0], rel=1e-6, abs=1e-6)
    assert system.energy(q, v).kinetic == pytest.approx(robot.kinetic_energy(q_r, v_r), rel=1e-12)


def test_relative_and_absolute_simulations_agree() -> None:
    """The 7-joint arm falls for 0.2 s against viscous joints: the order of the integrator is 4."""
    robot = Robot.from_urdf(ARM)
    system = absolute_system(read_urdf(ARM))
    q_0 = np.array([0.3, -0.4, 0.2, -1.9, 0.1, 1.6, 0.4, 0.02])
    v_0 = np.array([0.5, -0.3, 0.4, 0.2, -0.5, 0.6, 0.3, 0.0])
    damping = np.array([8.0, 8, 8, 8, 1, 1, 0.5, 20])  # without it the fall is chaotic

    def in_joints(dt: float) -> Array:
        q, v, integrator = q_0, v_0, RungeKutta(robot)
        for _ in range(round(0.2 / dt)):
            q, v = integrator.step(q, v, lambda t, q, v: -damping * v, dt)
        return robot.link_pose(q, 'panda_link7')

    def torques(t: float, q: Array, v: Array) -> Array:
        rates = system.joint_rates(q, v)
        forces = {name: -d * rates[name] for name, d in zip(robot.joint_names, damping)}
        return system.joint_forces(q, forces)

    def in_bodies(dt: float) -> Array:
        q, v = absolute_state(system, robot, q_0, v_0)
        integrator = RungeKutta(system)
        for _ in range(round(0.2 / dt)):
            q, v = integrator.step(q, v, torques, dt)
        return system.poses(q)['panda_link7']

    reference = in_joints(1e-3)
    errors = [float(np.abs(in_bodies(dt) - reference).max()) for dt in (4e-3, 2e-3)]
    assert errors[1] < 1e-7
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.4), errors


@pytest.fixture
def closures() -> list[ConstraintJoint]:
    """The loop of the four-bar, from the text of a file."""
    return loop_closures(yaml.safe_load(CLOSURES))


def test_loop_from_a_file(closures: list[ConstraintJoint]) -> None:
    """The loop is closed from where the joints are put, and stays so in motion."""
    system = absolute_system(
        read_urdf(FOUR_BAR),
        closures=closures,
        positions={'a': 1.0, 'b': -0.5, 'c': -1.5},
        gravity=(0, -9.81, 0),
        stabilization=Stabilization(20.0, 20.0),
    )
    q = system.configuration
    assert max(x.gap for x in system.violation(q, np.zeros(system.nv)).values()) < 1e-12
    assert len(system.redundant) == 3
    assert system.groups == (SE3, SO3xR3, SE3)  # on the ground: crank and rocker
    angles = system.joint_positions(q)
    closing = sum(
        length * np.exp(1j * angle)
        for length, angle in zip((0.2, 0.5, 0.4), np.cumsum([angles[name] for name in 'abc']))
    )
    assert closing == pytest.approx(0.5, abs=1e-12)
    v = consistent_velocity(system, q, {'crank': np.array([0, 0, 5.0])})
    integrator, E = RungeKutta(system), system.energy(q, v).total
    for _ in range(500):
        q, v = integrator.step(q, v, np.zeros(system.nv), 0.002)
    assert max(x.gap for x in system.violation(q, v).values()) < 1e-7
    assert system.energy(q, v).total == pytest.approx(E, rel=1e-5)


def test_loops_that_do_not_close(closures: list[ConstraintJoint]) -> None:
    """Out of reach, unknown links, and joints that stand nowhere."""
    description = read_urdf(FOUR_BAR)
    far = ConstraintJoint('d', SPHERICAL, 'base', 'tip', frame([3, 0, 0]))
    with pytest.raises(InfeasibleConstraintsError, match='open by'):
        absolute_system(description, closures=[far], positions={'a': 1.0, 'b': -0.5})
    with pytest.raises(UnknownNameError, match="no link named 'hand'"):
        absolute_system(description, closures=[ConstraintJoint('d', SPHERICAL, 'base', 'hand')])
    with pytest.raises(UnknownNameError, match="no joint named 'x'"):
        absolute_system(description, closures=closures, positions={'x': 1.0})
    with pytest.raises(ArgumentError, match="'panda_finger_joint2' follows 'panda_finger_joint1'"):
        absolute_system(read_urdf(ARM), positions={'panda_finger_joint2': 0.01})
    sliding = FOUR_BAR.replace('name="a" type="continuous"', 'name="a" type="planar"')
    with pytest.raises(ArgumentError, match="joint 'a' is planar: it has no single position"):
        absolute_system(read_urdf(sliding), positions={'a': 1.0})
    massless = FOUR_BAR.replace(bar('crank', 0.2), '<link name="crank"/>')
    with pytest.raises(InertiaError, match="body 'crank' has mass 0"):
        absolute_system(read_urdf(massless))


def test_positions_of_every_kind_of_joint() -> None:
    """Also of screws of either hand; all links are where `Robot` has them."""
    description = random_description(11, 7, ('helical', 'revolute', 'prismatic'))
    robot = Robot(description, backend='reference')
    q = np.random.default_rng(5).uniform(-1.0, 1.0, robot.nq)
    system = absolute_system(
        description, positions=dict(zip(robot.joint_names, q)), backend='sparse'
    )
    for name, pose in system.poses(system.configuration).items():
        np.testing.assert_allclose(pose, robot.link_pose(q, name), atol=1e-12)
    violations = system.violation(system.configuration, np.zeros(system.nv))
    assert max(each.gap for each in violations.values()) < 1e-12


def test_followers_stand_where_their_leaders_let_them() -> None:
    """Position 0.4 of the leader is -2 * 0.4 + 0.3 of the follower, which moves after it."""
    text = FOUR_BAR.replace(
        'name="c" type="continuous">',
        'name="c" type="continuous"><mimic joint="b" multiplier="-2" offset="0.3"/>',
    )
    system = absolute_system(read_urdf(text), positions={'b': 0.4}, backend='sparse')
    assert system.joint_positions(system.configuration) == pytest.approx(
        {'a': 0.0, 'b': 0.4, 'c': -0.5}, abs=1e-12
    )
    assert system.constraint_count == 16
    assert np.abs(system.constraint_residuals(system.configuration)).max() < 1e-12


def test_options_reach_the_system() -> None:
    system = absolute_system(
        read_urdf(FOUR_BAR),
        groups=SO3xR3,
        gravity=(1, 2, 3),
        stabilization=Stabilization(1.0, 2.0),
        backend='reference',
    )
    assert set(system.groups) == {SO3xR3}
    np.testing.assert_array_equal(system.gravity, [1, 2, 3])
    assert (system.stabilization, system.backend) == ((1.0, 2.0), 'reference')
    plain = absolute_system(read_urdf(FOUR_BAR))
    np.testing.assert_array_equal(plain.gravity, [0, 0, -9.81])
    assert (plain.stabilization, plain.groups) == ((0.0, 0.0), (SE3, SO3xR3, SO3xR3))
    with pytest.raises(UnknownNameError, match=r"no group named 'SE\(2\)' for a body"):
        absolute_system(read_urdf(FOUR_BAR), groups='SE(2)')


def test_frames_of_closures() -> None:
    """xyz and rpy of a file, as SciPy turns; on a fixed link; and leading to the ground."""
    turned = FOUR_BAR.replace('xyz="0.4 0 0"', 'xyz="0.4 0 0" rpy="0.3 -0.2 1.1"')
    ends = {'link': 'tip', 'xyz': [0.1, 0.2, 0.3], 'rpy': [0.4, 0.5, -0.6]}, {'link': 'base'}
    entry = {'name': 'd', 'type': 'helical', 'pitch': 0.02, 'parent': ends[0], 'child': ends[1]}
    (closure,) = loop_closures({'closures': [entry]})
    assert (closure.name, closure.pair.name, closure.pair.pitch) == ('d', 'helical', 0.02)
    assert (closure.parent, closure.child) == ('tip', 'base')
    in_tip, tip = np.eye(4), np.eye(4)
    in_tip[:3, :3] = Rotation.from_euler('xyz', ends[0]['rpy']).as_matrix()
    in_tip[:3, 3] = 0.1, 0.2, 0.3
    np.testing.assert_allclose(closure.parent_frame, in_tip, atol=1e-15)
    np.testing.assert_array_equal(closure.child_frame, np.eye(4))

    placements, _ = merged_links(read_urdf(turned), False)
    joint = on_bodies(closure, placements)  # on the rocker, and the other way round
    tip[:3, :3] = Rotation.from_euler('xyz', [0.3, -0.2, 1.1]).as_matrix()
    tip[0, 3] = 0.4
    assert (joint.parent, joint.child, joint.name) == (GROUND, 'rocker', 'd')
    assert joint.pair is closure.pair
    np.testing.assert_allclose(joint.child_frame, tip @ in_tip, atol=1e-15)
    np.testing.assert_array_equal(joint.parent_frame, np.eye(4))
    on_ground = ConstraintJoint('e', SPHERICAL, GROUND, 'tip')
    assert on_bodies(on_ground, placements).parent == GROUND


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('', 'must have a list named closures'),
        ('closures: {}', 'must have a list'),
        ('[]', 'must have a list'),
        ('closures: [1]', 'entry 1 must be a mapping with the keys child, name'),
        (
            'closures: [{name: d, type: revolute, parent: {link: a}}]',
            "entry 1 lacks 'child'; keys are child, name, parent, type, optional pitch",
        ),
        (CLOSURES.replace('name: d', 'nam: d'), "entry 1 lacks 'name'"),
        (CLOSURES + '  - {}', "entry 2 lacks 'child'"),
        (
            CLOSURES.replace('    type: revolute', '    type: revolute\n    axis: x'),
            "entry 1 has an unknown key 'axis'",
        ),
        (
            CLOSURES.replace('{link: tip}', '{link: tip, x: 1}'),
            "entry 1, child has an unknown key 'x'; keys",
        ),
        (
            CLOSURES.replace('{link: tip}', 'tip'),
            'entry 1, child must be a mapping with the keys link',
        ),
        (CLOSURES.replace('revolute', 'universal'), 'entry 1: no joint type .universal'),
        (CLOSURES.replace('revolute', 'helical'), 'entry 1: a helical joint needs a pitch'),
        (CLOSURES.replace('[0.5, 0, 0]', '[0.5, 0]'), 'entry 1, parent, xyz must be 3 finite'),
        (CLOSURES.replace('[0.5, 0, 0]', 'here'), 'entry 1, parent, xyz must be 3 finite'),
        (CLOSURES.replace('[0.5, 0, 0]', '[.nan, 0, 0]'), 'entry 1, parent, xyz must be 3 finite'),
    ],
)
def test_bad_files(text: str, message: str) -> None:
    """Each refusal names the entry and what is wrong with it."""
    with pytest.raises(DescriptionError, match=f'^loops.yaml.*{message}'):
        loop_closures(yaml.safe_load(text), 'loops.yaml')
