# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Each law of the library: written by hand with Pinocchio, and a property that defines it."""

import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from support.paths import ROOT
from support.robots import urdf_path

pin = pytest.importorskip('pinocchio')

from oracles.pinocchio_model import SWAP, Pinocchio  # noqa: E402
from screw_dynamics_ros.core import Robot  # noqa: E402
from screw_dynamics_ros.core.description import (  # noqa: E402
    Inertia,
    Joint,
    Link,
    RobotDescription,
)
from screw_dynamics_ros.core.law import LAWS  # noqa: E402
from screw_dynamics_ros.core.motion.laws import library  # noqa: E402
from screw_dynamics_ros.core.motion.laws.law import options_of  # noqa: E402
from screw_dynamics_ros.core.motion.laws.library import (  # noqa: E402
    FORCE_REGULARIZATION,
    PROJECTION_REGULARIZATION,
)
from screw_dynamics_ros.core.simulation import SimulatedRobot  # noqa: E402

LINKS = {'urdf/panda': 'panda_hand_tcp', 'ur5_robot': 'tool0'}

HAND = {}


def by_hand(function):
    HAND[function.__name__] = function
    return function


@cache
def built(name):
    path = urdf_path(name)
    robot = Robot.from_urdf(path)
    return robot, Pinocchio(path.read_text(encoding='utf-8'), robot)


@cache
def law_of(name, law):
    robot, _ = built(name)
    return LAWS[law].on(robot, **dict.fromkeys(options_of(LAWS[law].function), LINKS[name]))


def link_pose(name, q):
    robot, oracle = built(name)
    return oracle.link_poses(q)[robot.link_names.index(LINKS[name])]


def state_of(name, q, v):
    """Return what Pinocchio computes for a state."""
    _, oracle = built(name)
    index = oracle.frame_id(LINKS[name])
    (J,) = oracle.jacobians(q, [LINKS[name]], 'hybrid')
    v_pin = oracle.G(q) @ v
    pin.forwardKinematics(oracle.model, oracle.data, oracle.q(q), v_pin, 0.0 * v_pin)
    drift = pin.getFrameClassicalAcceleration(
        oracle.model, oracle.data, index, pin.LOCAL_WORLD_ALIGNED
    )
    h = oracle.G(q).T @ pin.nonLinearEffects(oracle.model, oracle.data, oracle.q(q), v_pin)
    M, g = oracle.mass_matrix(q), oracle.gravity_torques(q)
    pose = link_pose(name, q)
    return SimpleNamespace(
        name=name, q=q, v=v, M=M, g=g, h=h, J=J, drift=drift.vector[SWAP], pose=pose, dt=0.01
    )


def sample(name, rng):
    """Return a random state, a reference and a wrench; some joints are near or beyond limits."""
    robot, _ = built(name)
    lower, upper = robot.limits.lower, robot.limits.upper
    q, target = rng.uniform(lower, upper, (2, robot.nq))
    q[0], q[1] = lower[0] + 0.01, upper[1] + 0.02
    v, velocity, acceleration = rng.uniform(-1.0, 1.0, (3, robot.nv))
    reference = {
        'q': target,
        'v': velocity,
        'a': acceleration,
        'pose': link_pose(name, target),
        'twist': rng.uniform(-1.0, 1.0, 6),
    }
    x = state_of(name, q, v)
    x.wrench = rng.uniform(-20.0, 20.0, 6)
    x.tau, reference['tau'] = rng.uniform(-20.0, 20.0, (2, robot.nv))
    return x, reference


def step(law, x, reference, parameters=None, memory=None):
    state = {name: getattr(x, name) for name in ('wrench', 'tau') if name in law.state.shapes}
    return law.step(
        x.q,
        x.v,
        state=state,
        dt=x.dt,
        reference={name: reference[name] for name in law.reference.shapes},
        parameters=parameters,
        memory=memory,
    )


def error_of(pose, target):
    """Return sin(angle) times the axis from one rotation to another, and the distance."""
    turn = Rotation.from_matrix(target[:3, :3] @ pose[:3, :3].T).as_rotvec()
    angle = np.linalg.norm(turn)
    return np.concatenate([np.sin(angle) * turn / angle, target[:3, 3] - pose[:3, 3]])


def cartesian_force(x, target, twist, k):
    K = np.repeat([k['rotational_stiffness'], k['linear_stiffness']], 3)
    D = np.repeat([k['rotational_damping'], k['linear_damping']], 3)
    return K * error_of(x.pose, target) + D * (twist - x.J @ x.v)


def null_space(x, tau):
    A = x.J @ np.linalg.solve(x.M, x.J.T)
    A += PROJECTION_REGULARIZATION * np.trace(A) * np.eye(6)
    return tau - x.J.T @ np.linalg.solve(A, x.J @ np.linalg.solve(x.M, tau))


@by_hand
def gravity_compensation(x, reference, k, memory):
    return x.g - k['damping'] * x.v


@by_hand
def joint_impedance(x, reference, k, memory):
    springs = k['stiffness'] * (reference['q'] - x.q)
    return springs + k['damping'] * (reference['v'] - x.v) + x.g


@by_hand
def bilateral(x, reference, k, memory):
    tau = joint_impedance(x, reference, k, memory) - k['resistance'] * x.v
    return tau - k['round_trip'] / 2.0 * k['stiffness'] * x.v


def friction(x):
    """Return that of the description, with the default smoothing."""
    joints = [each for each in built(x.name)[0].description.joints if each.name in joint_names(x)]
    joints.sort(key=lambda each: joint_names(x).index(each.name))
    sign = x.v / np.sqrt(x.v**2 + 0.01**2)
    return [joint.damping * v + joint.friction * s for joint, v, s in zip(joints, x.v, sign)]


def joint_names(x):
    return built(x.name)[0].joint_names


@by_hand
def force_reflection(x, reference, k, memory):
    """The residual follows the balance of momentum with the rate of the observer."""
    _, oracle = built(x.name)
    C = pin.computeCoriolisMatrix(oracle.model, oracle.data, oracle.q(x.q), oracle.G(x.q) @ x.v)
    G = oracle.G(x.q)
    before, known_before, r = memory.reshape(3, -1)
    p, known = x.M @ x.v, x.tau + G.T @ C.T @ G @ x.v - x.g - friction(x)
    external = (p - before) / x.dt - (known + known_before) / 2.0
    r = (r + k['rate'] * x.dt * external) / (1.0 + k['rate'] * x.dt)
    return k['share'] * (r + reference['tau']), np.concatenate([p, known, r])


@by_hand
def friction_compensation(x, reference, k, memory):
    share = k['share'] * np.abs(x.v) / np.hypot(x.v, k['slowness'])
    return share * friction(x)


@by_hand
def computed_torque(x, reference, k, memory):
    w = k['frequency']
    e, rate = reference['q'] - x.q, reference['v'] - x.v
    a = reference['a'] + 2.0 * w * rate + w**2 * e
    return built(x.name)[1].inverse_dynamics(x.q, x.v, a)


@by_hand
def cartesian_impedance(x, reference, k, memory):
    posture = k['null_stiffness'] * (reference['q'] - x.q) - k['null_damping'] * x.v
    F = cartesian_force(x, reference['pose'], reference['twist'], k)
    return x.J.T @ F + null_space(x, posture) + x.h


@by_hand
def operational_space(x, reference, k, memory):
    w, back = k['frequency'], np.linalg.inv(x.M)
    wanted = w**2 * error_of(x.pose, reference['pose']) - x.drift
    wanted = wanted + 2.0 * w * (reference['twist'] - x.J @ x.v)
    small = FORCE_REGULARIZATION * np.trace(x.J @ back @ x.J.T)
    tau, N = x.h.copy(), np.eye(len(x.q))
    for rows in (slice(3, 6), slice(0, 3)):
        J_k = x.J[rows] @ N
        A = J_k @ back @ J_k.T
        size = np.trace(x.J[rows] @ back @ x.J[rows].T) + small
        remaining = wanted[rows] - x.J[rows] @ back @ (tau - x.h)
        tau += J_k.T @ np.linalg.solve(A + FORCE_REGULARIZATION * size * np.eye(3), remaining)
        A += PROJECTION_REGULARIZATION * size * np.eye(3)
        N = N - back @ J_k.T @ np.linalg.solve(A, J_k)
    return tau - N.T @ (k['null_damping'] * x.v)


@by_hand
def admittance(x, reference, k, memory):
    force = x.pose[:3, :3] @ x.wrench[3:]
    A = np.array([[1.0, -x.dt], [x.dt * k['return_stiffness'], k['mass'] + x.dt * k['resistance']]])
    b = np.stack([memory[:3], k['mass'] * memory[3:] + x.dt * force])
    moved, rate = np.linalg.solve(A, b)
    inside = np.abs(moved) <= k['reach']
    moved, rate = np.where(inside, moved, k['reach'] * np.sign(moved)), np.where(inside, rate, 0.0)
    target = reference['pose'].copy()
    target[:3, 3] += moved
    twist = reference['twist'] + np.concatenate([np.zeros(3), rate])
    tau = x.J.T @ cartesian_force(x, target, twist, k) + null_space(x, -k['null_damping'] * x.v)
    return tau + x.h, np.concatenate([moved, rate])


@by_hand
def joint_limit_repulsion(x, reference, k, memory):
    limits, margin, tau = built(x.name)[0].limits, k['margin'], np.zeros(len(x.q))
    for i, (q, v) in enumerate(zip(x.q, x.v)):
        below = max(limits.lower[i] + margin - q, 0.0)
        above = max(q - limits.upper[i] + margin, 0.0)
        tau[i] = k['stiffness'] * (below - above)
        tau[i] -= k['damping'] * min((below + above) / margin, 1.0) * v
    return tau


@by_hand
def payload_compensation(x, reference, k, memory):
    loaded = Pinocchio(urdf_path(x.name).read_text(encoding='utf-8'), built(x.name)[0])
    loaded.carry(LINKS[x.name], k['mass'], k['center'], np.zeros((3, 3)))
    return loaded.gravity_torques(x.q) - x.g


def test_every_law_is_compared():
    assert set(HAND) == set(LAWS)


@pytest.mark.parametrize('name', LINKS)
@pytest.mark.parametrize('law', LAWS)
def test_by_hand_with_pinocchio(name, law):
    rng, used = np.random.default_rng(5), law_of(name, law)
    for _ in range(2):
        x, reference = sample(name, rng)
        given = {
            key: np.minimum(
                np.maximum(each.default, 0.1) * rng.uniform(0.5, 2.0, used.parameters.shapes[key]),
                each.maximum,
            )
            for key, each in LAWS[law].parameters.items()
        }
        memory = rng.uniform(-0.1, 0.1, used.memory.size)
        tau, after = step(used, x, reference, used.values_of(given), memory)
        expected = HAND[law](x, reference, given, memory)
        expected, expected_memory = expected if isinstance(expected, tuple) else (expected, [])
        assert np.linalg.norm(tau - expected) <= 1e-8 * np.linalg.norm(expected)
        np.testing.assert_allclose(after, expected_memory, rtol=1e-12)


def test_the_page_shows_the_code():
    page = (ROOT / 'doc/reference/control_laws.md').read_text(encoding='utf-8')
    source = Path(library.__file__).read_text(encoding='utf-8')
    shown = re.findall(r'^```python\n(?!>>>)(.*?)^```', page, re.MULTILINE | re.DOTALL)
    assert len(shown) == len(LAWS)
    for line in '\n'.join(shown).splitlines():
        assert line in source
    assert all(f'**`{name}`**' in page for name in LAWS)


@pytest.mark.parametrize('law', LAWS.values(), ids=LAWS)
def test_gains_are_declared(law):
    for name, parameter in law.parameters.items():
        assert parameter.unit, name
        assert parameter.text, name
        assert parameter.minimum >= 0.0 or name == 'center'


# --- properties -----------------------------------------------------------------------------------


def accelerations(x, tau):
    """Return those of the joints and of the link."""
    a = built(x.name)[1].forward_dynamics(x.q, x.v, tau)
    return a, x.J @ a + x.drift


def test_computed_torque_makes_the_error_critically_damped():
    law, w = law_of('urdf/panda', 'computed_torque'), 7.0
    x, reference = sample('urdf/panda', np.random.default_rng(1))
    tau, _ = step(law, x, reference, law.values_of({'frequency': w}))
    e, rate = reference['q'] - x.q, reference['v'] - x.v
    acceleration = reference['a'] - accelerations(x, tau)[0]
    assert np.abs(acceleration + 2.0 * w * rate + w**2 * e).max() < 1e-8


def test_posture_of_an_impedance_does_not_accelerate_the_link():
    law = law_of('urdf/panda', 'cartesian_impedance')
    x, reference = sample('urdf/panda', np.random.default_rng(2))
    soft = law.values_of({'null_stiffness': 0.0, 'null_damping': 0.0})
    (a, A), (b, B) = (
        accelerations(x, step(law, x, reference, each)[0]) for each in (soft, law.defaults)
    )
    assert np.abs(b - a).max() > 1.0
    assert np.abs(B - A).max() < 1e-5 * np.abs(b - a).max()


def test_tasks_of_the_operational_space_have_their_accelerations():
    """And the second task does not disturb the first one, where an arm cannot do both."""
    law, w = law_of('urdf/panda', 'operational_space'), 20.0
    x, reference = sample('urdf/panda', np.random.default_rng(3))
    wanted = w**2 * error_of(x.pose, reference['pose'])
    wanted += 2.0 * w * (reference['twist'] - x.J @ x.v)
    _, A = accelerations(x, step(law, x, reference)[0])
    np.testing.assert_allclose(A, wanted, rtol=0, atol=1e-3 * np.abs(wanted).max())

    robot = Robot.from_urdf(urdf_path('planar_2r'))
    planar = LAWS['operational_space'].on(robot, link='tip')
    q, v = np.array([0.4, 0.9]), np.zeros(2)
    J, pose = robot.jacobian(q, 'tip'), robot.link_pose(q, 'tip')
    turned = pose.copy()
    turned[:3, :3] = Rotation.from_rotvec([0.0, 0.0, 1.0]).as_matrix() @ pose[:3, :3]
    turned[:3, 3] += [0.1, -0.2, 0.0]
    tau, _ = planar.step(q, v, reference={'pose': turned})
    a = robot.forward_dynamics(q, v, tau)
    np.testing.assert_allclose((J @ a)[3:], 400.0 * np.array([0.1, -0.2, 0.0]), atol=0.05)


def test_an_admittance_settles_at_force_over_stiffness():
    law = law_of('ur5_robot', 'admittance')
    x, reference = sample('ur5_robot', np.random.default_rng(4))
    x.v, reference['pose'] = 0.0 * x.v, x.pose
    force = np.array([4.0, -6.0, 50.0])
    x.wrench = np.concatenate([np.zeros(3), x.pose[:3, :3].T @ force])
    given = law.values_of({'return_stiffness': 100.0})
    memory = np.zeros(6)
    for x.dt in (0.01,) * 600:
        tau, memory = step(law, x, reference, given, memory)
    np.testing.assert_allclose(memory, [0.04, -0.06, 0.2, 0.0, 0.0, 0.0], atol=1e-6)
    held, _ = accelerations(x, tau)
    assert (x.J @ held)[3:] @ force > 0.0
    x.dt = 0.0
    np.testing.assert_array_equal(step(law, x, reference, given, memory)[1], memory)


def test_an_admittance_is_stable_for_long_steps():
    law = law_of('ur5_robot', 'admittance')
    x, reference = sample('ur5_robot', np.random.default_rng(4))
    given = law.values_of({'return_stiffness': 1e5, 'reach': 10.0})
    memory, x.wrench, x.dt = np.full(6, 0.1), np.zeros(6), 0.1
    for _ in range(20):
        _, memory = step(law, x, reference, given, memory)
    assert np.abs(memory).max() < 1e-3


def test_repulsion_acts_within_margins_only():
    law, robot = law_of('urdf/panda', 'joint_limit_repulsion'), built('urdf/panda')[0]
    lower, upper, v = robot.limits.lower, robot.limits.upper, np.full(robot.nv, 0.7)
    short = upper - lower <= 0.2  # fingers have no room between the margins
    middle, _ = law.step((lower + upper) / 2, v)
    assert not middle[~short].any()
    for q, inward in ((lower + 0.02, 1.0), (upper - 0.02, -1.0)):
        tau, _ = law.step(q, 0.0 * v)
        assert (inward * tau[~short] > 1.0).all()
        edge, _ = law.step((lower if inward > 0 else upper) + inward * (0.1 - 1e-9), v)
        assert np.abs(edge[~short]).max() < 1e-6  # no step where it begins
        moving, _ = law.step(q, v)
        assert ((moving - tau)[~short] * v[~short] < 0.0).all()


def gantry():
    """Return the description of three prismatic joints: links translate only."""
    body = Inertia(2.0, np.array([0.1, 0.0, 0.0]), 0.01 * np.eye(3))
    names = ('base', 'x', 'y', 'z')
    joints = [
        Joint(names[k + 1], 'prismatic', names[k], names[k + 1], np.eye(4), np.eye(3)[k])
        for k in range(3)
    ]
    return RobotDescription.from_parts(
        'gantry', [Link('base'), *(Link(name, body) for name in names[1:])], joints
    )


@pytest.mark.parametrize('law', ['cartesian_impedance', 'operational_space', 'admittance'])
def test_robots_that_cannot_turn_a_link_move_it(law):
    """Two joints in a plane, stretched; three that only translate."""
    for robot, link, force in (
        (Robot.from_urdf(urdf_path('planar_2r')), 'tip', None),
        (Robot(gantry(), gravity=(0.0, 0.0, 0.0)), 'z', [1.0, 2.0, -3.0]),
    ):
        used, q = LAWS[law].on(robot, link=link), np.zeros(robot.nq)
        pose = robot.link_pose(q, link)
        pose[:3, 3] += [0.1, 0.2, -0.3]
        reference = {'q': q, 'pose': pose}
        tau, _ = used.step(
            q,
            q,
            reference={
                name: reference[name] for name in reference if name in used.reference.shapes
            },
        )
        assert np.abs(tau).max() < 1e3
        if force is not None:
            ratio = robot.forward_dynamics(q, q, tau) if law == 'operational_space' else tau
            np.testing.assert_allclose(ratio / ratio[0], force, rtol=1e-4)


# --- loops ----------------------------------------------------------------------------------------


def loop(name, law, reference, q, steps=500, dt=0.002):
    """Return the simulated robot after a loop of one second."""
    simulated = SimulatedRobot(built(name)[0], q)
    for _ in range(steps):
        tau, _ = law.step(simulated.q, simulated.v, reference=reference)
        simulated.step(tau, dt)
    return simulated


def test_computed_torque_reaches_its_reference():
    law, q = law_of('ur5_robot', 'computed_torque'), np.array([0.2, -1.2, 1.0, -0.6, 0.4, 0.1])
    reached = loop('ur5_robot', law, {'q': q + 0.5}, q)
    assert np.abs(reached.q - q - 0.5).max() < 1e-6


def test_a_cartesian_impedance_reaches_its_pose():
    law = law_of('urdf/panda', 'cartesian_impedance')
    q = np.array([0.1, -0.4, 0.2, -2.0, 0.1, 1.8, 0.6, 0.02])
    target = link_pose('urdf/panda', q)
    target[:3, 3] += [0.03, -0.04, 0.02]
    target[:3, :3] = Rotation.from_rotvec([0.1, 0.2, -0.1]).as_matrix() @ target[:3, :3]
    reached = loop('urdf/panda', law, {'q': q, 'pose': target}, q)
    assert np.abs(error_of(link_pose('urdf/panda', reached.q), target)).max() < 0.005
