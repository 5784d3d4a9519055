# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Typed services of `dynamics` through DDS, against Pinocchio, and what they refuse."""

import re

import numpy as np
import pytest

pytest.importorskip('screw_dynamics_msgs.srv._annotate_trajectory')
pytest.importorskip('pinocchio')

import pinocchio as pin
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point
from scipy.interpolate import CubicSpline
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from oracles.pinocchio_model import Pinocchio
from screw_dynamics_msgs.srv import (
    AnnotateTrajectory,
    ForwardDynamics,
    HybridDynamics,
    InverseDynamics,
    Linearize,
    MassMatrix,
    PayloadCapacity,
)
from screw_dynamics_ros.core import Robot
from support.messages import wrench_message
from support.robots import urdf_path
from support.ros_harness import ERROR

DAMPING = 0.3
URDF = re.sub(
    '(<axis [^>]*/>)', rf'\1<dynamics damping="{DAMPING}"/>', urdf_path('panda').read_text()
)
TOOL = 'panda_hand_tcp'
TOLERANCE = {'rtol': 1e-9, 'atol': 1e-9}
MASS, COM = 2.0, [0.01, 0.02, 0.03]


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(URDF)


@pytest.fixture(scope='module')
def oracle(robot):
    return Pinocchio(URDF, robot)


@pytest.fixture(scope='module')
def loaded(robot):
    oracle = Pinocchio(URDF, robot)
    oracle.carry(TOOL, MASS, COM, np.zeros((3, 3)))
    return oracle


@pytest.fixture(scope='module')
def client(start, connect):
    """Return a client of `dynamics`, which has a robot with a payload and no joint states."""
    parameters = {
        'payload_link': TOOL,
        'payload_mass': MASS,
        'payload_center_of_mass': COM,
        'frame_prefix': 'left_',
        'state_timeout': '0.0',
    }
    start('dynamics', parameters, ['-r', '__ns:=/queries'])
    made = connect('queries')
    made.describe(URDF)
    made.expect('queries/dynamics: joint states', ERROR, 'no message has arrived')
    return made


@pytest.fixture
def state(robot):
    rng = np.random.default_rng(21)
    return rng.uniform(robot.limits.lower, robot.limits.upper), *rng.normal(size=(2, robot.nv))


def named(robot, q, v=(), tau=()):
    """Return a JointState of all joints, in another order than theirs, with a mimic joint."""
    order = np.random.default_rng(22).permutation(robot.nv)
    fields = {
        field: [*(float(values[i]) for i in order), 0.5] if len(values) else []
        for field, values in (('position', q), ('velocity', v), ('effort', tau))
    }
    return JointState(
        name=[*(robot.joint_names[i] for i in order), 'panda_finger_joint2'], **fields
    ), order


def push(link, moment, force):
    """Return a WrenchStamped."""
    return wrench_message(link, force, moment)


def ask(client, kind, **request):
    """Return the answer of the service of this type."""
    name = re.sub('(?<!^)([A-Z])', r'_\1', kind.__name__).lower()
    return client.call(kind, f'dynamics/{name}', kind.Request(**request))


PUSHES = [
    push('left_panda_hand', (0.1, 0.2, 0.3), (4.0, 5.0, 6.0)),
    push('panda_link4', (0.0, 1.0, 0.0), (-3.0, 0.0, 2.0)),
    push('panda_hand', (0.0, 0.0, 0.5), (1.0, 0.0, 0.0)),
]
WRENCHES = {
    'panda_hand': np.array([0.1, 0.2, 0.8, 5.0, 5.0, 6.0]),
    'panda_link4': np.array([0.0, 1.0, 0.0, -3.0, 0.0, 2.0]),
}


def test_inverse_dynamics(client, robot, oracle, state):
    """By name, with wrenches on links, two of them on one; friction and payload do not count."""
    q, v, a = state
    message, order = named(robot, q, v)
    answer = ask(
        client,
        InverseDynamics,
        joint_state=message,
        acceleration=[*a[order], 0.5],
        external_wrenches=PUSHES,
    )
    assert answer.success, answer.message
    assert tuple(answer.joint_names) == robot.joint_names
    np.testing.assert_allclose(
        answer.effort, oracle.inverse_dynamics(q, v, a, WRENCHES), **TOLERANCE
    )


def test_forward_dynamics(client, robot, oracle, state):
    q, v, tau = state
    message, _ = named(robot, q, v, tau)
    answer = ask(client, ForwardDynamics, joint_state=message, external_wrenches=PUSHES)
    assert answer.success, answer.message
    assert tuple(answer.joint_names) == robot.joint_names
    np.testing.assert_allclose(
        answer.acceleration, oracle.forward_dynamics(q, v, tau, WRENCHES), rtol=1e-7, atol=1e-7
    )


def test_hybrid_dynamics(client, robot, oracle, state):
    """The accelerations and efforts that come back go together in Pinocchio's inverse dynamics."""
    q, v, given = state
    prescribed = ['panda_joint6', 'panda_joint2']
    message, order = named(robot, q, v, 10.0 * given)
    answer = ask(
        client,
        HybridDynamics,
        joint_state=message,
        acceleration=[*given[order], 0.5],
        prescribed=prescribed,
        external_wrenches=PUSHES,
    )
    assert answer.success, answer.message
    a, tau = np.array(answer.acceleration), np.array(answer.effort)
    moved = np.array([name in prescribed for name in robot.joint_names])
    np.testing.assert_allclose(a[moved], given[moved], **TOLERANCE)
    np.testing.assert_allclose(tau[~moved], 10.0 * given[~moved], **TOLERANCE)
    np.testing.assert_allclose(
        tau, oracle.inverse_dynamics(q, v, a, WRENCHES), rtol=1e-7, atol=1e-7
    )


def test_linearize(client, robot, oracle, state):
    """Derivatives of the accelerations, against differences of Pinocchio's forward dynamics."""
    message, _ = named(robot, *state)
    answer = ask(client, Linearize, joint_state=message)
    assert answer.success, answer.message
    np.testing.assert_allclose(
        answer.acceleration, oracle.forward_dynamics(*state), rtol=1e-7, atol=1e-7
    )
    for k, matrix in enumerate((answer.da_dq, answer.da_dv, answer.da_dtau)):
        columns = []
        for step in 1e-5 * np.eye(robot.nv):
            ahead, behind = (
                [x + sign * step * (i == k) for i, x in enumerate(state)] for sign in (1, -1)
            )
            columns.append(
                (oracle.forward_dynamics(*ahead) - oracle.forward_dynamics(*behind)) / 2e-5
            )
        expected = np.array(columns).T
        np.testing.assert_allclose(
            np.reshape(matrix, expected.shape), expected, atol=1e-6 * np.abs(expected).max()
        )


def test_mass_matrix(client, robot, oracle, state):
    answer = ask(client, MassMatrix, joint_state=named(robot, state[0])[0])
    assert answer.success, answer.message
    assert tuple(answer.joint_names) == robot.joint_names
    M = np.array(answer.mass_matrix).reshape(robot.nv, robot.nv)
    np.testing.assert_allclose(M, oracle.mass_matrix(state[0]), **TOLERANCE)


@pytest.mark.parametrize(
    ('kind', 'changes', 'reason'),
    [
        (InverseDynamics, {'acceleration': [1.0]}, '1 of acceleration for 9 names'),
        (
            InverseDynamics,
            {'external_wrenches': [push('nose', (0.0,) * 3, (0.0,) * 3)]},
            "external_wrenches[0]: frame_id: robot panda has no link 'nose'",
        ),
        (
            ForwardDynamics,
            {'external_wrenches': [push(TOOL, (0.0,) * 3, (np.nan, 0.0, 0.0))]},
            f"external_wrenches[0] on '{TOOL}' must be finite",
        ),
        (HybridDynamics, {'prescribed': ['elbow']}, "'elbow'"),
        (MassMatrix, {'joint_state': JointState(name=['knee'], position=[1.0])}, "'knee'"),
        (PayloadCapacity, {'frame': 'nose'}, "frame: robot panda has no link 'nose'"),
        (PayloadCapacity, {'frame': TOOL, 'point': Point(x=np.inf)}, 'three finite numbers'),
    ],
)
def test_bad_questions(client, robot, state, kind, changes, reason):
    message, _ = named(robot, state[0])
    answer = ask(client, kind, **{'joint_state': message, **changes})
    assert not answer.success
    assert reason in answer.message


def test_without_a_current_measured_state(client):
    """States of other tests grow old, where states do."""
    assert client.set_parameter('dynamics', 'state_timeout', 0.001).successful
    refused = []

    def is_refused():
        answer = ask(client, MassMatrix, joint_state=JointState())
        refused.append(answer)
        return not answer.success

    client.wait(is_refused)
    assert 'no current measured state' in refused[-1].message
    assert client.set_parameter('dynamics', 'state_timeout', 0.0).successful


def test_numbers_too_large_to_compute_with(client, robot):
    message, _ = named(robot, np.ones(robot.nv), np.full(robot.nv, 1e200))
    answer = ask(client, InverseDynamics, joint_state=message)
    assert not answer.success
    assert 'effort is not finite' in answer.message


# --- payload -------------------------------------------------------------------------------------


def test_payload_capacity(client, robot, oracle):
    """Torques of Pinocchio with that mass: one joint is at its limit, none beyond."""
    q = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785, 0.02])
    point = np.array([0.05, 0.0, 0.02])
    answer = ask(
        client,
        PayloadCapacity,
        joint_state=named(robot, q)[0],
        frame=f'left_{TOOL}',
        point=Point(x=point[0], y=point[1], z=point[2]),
    )
    assert answer.success, answer.message
    assert answer.feasible
    assert answer.least_mass == 0.0
    carrying = Pinocchio(URDF, robot)
    frame = carrying.model.frames[carrying.frame_id(TOOL)]
    carrying.model.appendBodyToJoint(
        frame.parentJoint, pin.Inertia(answer.mass, point, np.zeros((3, 3))), frame.placement
    )
    carrying.data = carrying.model.createData()
    ratio = np.abs(carrying.inverse_dynamics(q, 0 * q, 0 * q)) / robot.limits.effort
    assert ratio.max() == pytest.approx(1.0, rel=1e-9)
    assert robot.joint_names[int(ratio.argmax())] == answer.limiting_joint


# --- trajectories --------------------------------------------------------------------------------

START = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785, 0.02])


def swing(robot, count=41, duration=2.0):
    """Return times and a motion around START, (count, nv) each, that starts and ends at rest."""
    t = np.linspace(0.0, duration, count)
    amplitude = np.array([0.6, 0.3, -0.4, 0.3, 0.5, -0.4, 0.8, 0.01])
    w = 2 * np.pi / duration
    shape = 0.5 * (1 - np.cos(w * t))[:, None]
    rate, acceleration = 0.5 * w * np.sin(w * t)[:, None], 0.5 * w**2 * np.cos(w * t)[:, None]
    return t, START + shape * amplitude, rate * amplitude, acceleration * amplitude


def message_of(names, t, q, v=None, a=None):
    points = []
    for k, time_from_start in enumerate(t):
        sec, nanosec = divmod(round(time_from_start * 1e9), 10**9)
        points.append(
            JointTrajectoryPoint(
                positions=q[k].tolist(),
                time_from_start=Duration(sec=sec, nanosec=nanosec),
                velocities=[] if v is None else v[k].tolist(),
                accelerations=[] if a is None else a[k].tolist(),
            )
        )
    return JointTrajectory(joint_names=list(names), points=points)


def rows(message, field):
    return np.array([getattr(point, field) for point in message.points])


def annotated(client, message, **options):
    answer = ask(client, AnnotateTrajectory, trajectory=message, **options)
    assert answer.success, answer.message
    return answer


def expected_efforts(oracle, q, v, a, *, friction=True):
    """Return Pinocchio's torques sample by sample, with viscous friction."""
    damping = np.full(v.shape[1], DAMPING)
    damping[-1] *= 2  # the first finger moves the second one as well
    return np.array([oracle.inverse_dynamics(*sample) for sample in zip(q, v, a)]) + (
        friction * damping * v
    )


def test_annotated_trajectory(client, robot, loaded, oracle):
    """The same trajectory with efforts, in the order of its names; friction and payload count."""
    t, q, v, a = swing(robot)
    order = np.random.default_rng(23).permutation(robot.nv)
    names = [robot.joint_names[i] for i in order]
    message = message_of(names, t, q[:, order], v[:, order], a[:, order])
    message.header.frame_id = 'kept'
    answer = annotated(client, message)
    assert list(answer.trajectory.joint_names) == names
    assert answer.trajectory.header == message.header
    assert [p.time_from_start for p in answer.trajectory.points] == [
        p.time_from_start for p in message.points
    ]
    for field, values in (('positions', q), ('velocities', v), ('accelerations', a)):
        np.testing.assert_array_equal(rows(answer.trajectory, field), values[:, order])
    assert list(answer.derived) == []
    assert list(answer.exceeded) == []
    np.testing.assert_allclose(
        rows(answer.trajectory, 'effort'), expected_efforts(loaded, q, v, a)[:, order], **TOLERANCE
    )
    bare = annotated(client, message, without_friction=True, without_payload=True)
    np.testing.assert_allclose(
        rows(bare.trajectory, 'effort'),
        expected_efforts(oracle, q, v, a, friction=False)[:, order],
        **TOLERANCE,
    )


def test_rates_are_derived_and_said_to_be(client, robot, loaded):
    """Cubic splines through what is given."""
    t, q, v, _ = swing(robot)
    spline = CubicSpline(t, q)
    answer = annotated(client, message_of(robot.joint_names, t, q))
    assert list(answer.derived) == ['velocities', 'accelerations']
    np.testing.assert_allclose(rows(answer.trajectory, 'velocities'), spline(t, 1), atol=1e-12)
    np.testing.assert_allclose(
        rows(answer.trajectory, 'effort'),
        expected_efforts(loaded, q, spline(t, 1), spline(t, 2)),
        **TOLERANCE,
    )
    answer = annotated(client, message_of(robot.joint_names, t, q, v))
    assert list(answer.derived) == ['accelerations']
    np.testing.assert_allclose(
        rows(answer.trajectory, 'accelerations'), CubicSpline(t, v)(t, 1), atol=1e-12
    )


def test_exceeded_limits_and_the_speed_that_is_possible(client, robot, loaded):
    """Run six times as fast, it is beyond; at the speed factor one joint is at its limit."""
    t, q, v, a = swing(robot)
    answer = annotated(client, message_of(robot.joint_names, t / 6, q, 6 * v, 36 * a))
    efforts = expected_efforts(loaded, q, 6 * v, 36 * a)
    beyond = {
        *(
            (name, 'effort')
            for name, x in zip(
                robot.joint_names, (np.abs(efforts) > robot.limits.effort).any(axis=0)
            )
            if x
        ),
        *(
            (name, 'velocity')
            for name, x in zip(
                robot.joint_names, (np.abs(6 * v) > robot.limits.velocity).any(axis=0)
            )
            if x
        ),
    }
    assert {(x.joint, x.quantity) for x in answer.exceeded} == beyond
    assert {quantity for _, quantity in beyond} == {'effort', 'velocity'}
    worst = max(
        (x for x in answer.exceeded if x.quantity == 'effort'),
        key=lambda x: abs(x.value) / abs(x.limit),
    )
    k = robot.joint_names.index(worst.joint)
    sample = round((worst.time.sec + 1e-9 * worst.time.nanosec) * 6 / (t[1] - t[0]))
    assert worst.value == pytest.approx(efforts[sample, k], rel=1e-9)
    assert worst.limit == np.sign(worst.value) * robot.limits.effort[k]
    s = 6 * answer.speed_factor
    scaled = expected_efforts(loaded, q, s * v, s**2 * a)
    ratio = {
        'effort': (np.abs(scaled) / robot.limits.effort).max(axis=0),
        'velocity': (np.abs(s * v) / robot.limits.velocity).max(axis=0),
    }
    assert max(x.max() for x in ratio.values()) == pytest.approx(1.0, rel=1e-9)
    k = robot.joint_names.index(answer.limiting_joint)
    assert ratio[answer.limiting_quantity][k] == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'joint_names': ['knee']}, "'knee'"),
        (
            {'points': [JointTrajectoryPoint(positions=[np.nan] * 8)]},
            'in point 0 of the trajectory: nan',
        ),
    ],
)
def test_bad_trajectories(client, robot, changes, reason):
    message = JointTrajectory(joint_names=list(robot.joint_names))
    for name, value in changes.items():
        setattr(message, name, value)
    answer = ask(client, AnnotateTrajectory, trajectory=message)
    assert not answer.success
    assert reason in answer.message
    assert not answer.trajectory.points


def test_joints_left_out_stay_where_they_were_measured(client, robot, loaded):
    """Only with a current state, as there is none yet; then the others hold the robot still."""
    t, q, v, a = swing(robot)
    chosen = [3, 1]
    message = message_of(
        [robot.joint_names[k] for k in chosen], t, q[:, chosen], v[:, chosen], a[:, chosen]
    )
    refused = ask(client, AnnotateTrajectory, trajectory=message)
    assert not refused.success
    assert 'no current measured state' in refused.message
    measured = START + 0.1
    client.subscribe(JointState, 'dynamics/gravity')
    client.ask('dynamics/gravity', robot.joint_names, measured, np.ones(robot.nv))
    whole, rates = np.tile(measured, (len(t), 1)), np.zeros((2, *q.shape))
    whole[:, chosen], rates[:, :, chosen] = q[:, chosen], np.array([v, a])[:, :, chosen]
    answer = annotated(client, message)
    np.testing.assert_allclose(
        rows(answer.trajectory, 'effort'),
        expected_efforts(loaded, whole, *rates)[:, chosen],
        **TOLERANCE,
    )
