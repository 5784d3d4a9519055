# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Control laws of textbooks, each a few lines beside its equation.

q, v are the measured positions and velocities, the index d marks the reference, M, C v and g are
mass matrix, Coriolis and gravity torques, J is the hybrid Jacobian of a link, angular rows first,
and F a wrench in the axes of the root.

    >>> from screw_dynamics_ros.core import Robot
    >>> from screw_dynamics_ros.core.tree.examples import planar_arm_description
    >>> law = gravity_compensation.on(Robot(planar_arm_description()))
    >>> law.step([0.0, 0.0], [0.0, 1.0])[0].round(3)
    array([ 0., -1.])

Sources: Siciliano, Sciavicco, Villani and Oriolo, Robotics: Modelling, Planning and Control (2009);
Ott, Cartesian Impedance Control of Redundant and Flexible-Joint Robots (2008); Khatib, A unified
approach for motion and force control of robot manipulators: the operational space formulation
(1987); Sentis and Khatib, Synthesis of whole-body behaviors through hierarchical control of
behavioral primitives (2005); Luh, Walker and Paul, Resolved-acceleration control of mechanical
manipulators (1980); Hunt and Crossley, Coefficient of restitution interpreted as damping in
vibroimpact (1975); Lee and Spong, Passive bilateral teleoperation with constant time delay (2006);
Lawrence, Stability and transparency in bilateral teleoperation (1993); De Luca and Mattone,
Actuator failure detection and isolation using generalized momenta (2003); Putra, van de Wouw and
Nijmeijer, Analysis of undercompensation and overcompensation of friction in 1DOF mechanical systems
(2007).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compile.program.recorded_arrays import solve_positive_definite
from ...estimation.observers.generalized_momentum import momentum_step
from .law import Law, control_law
from .law_fields import JOINTS, Parameter

STIFFNESS = Parameter(100.0, 'N m/rad | N/m', 'stiffness of each joint', minimum=0.0, size=JOINTS)
DAMPING = Parameter(5.0, 'N m s/rad | N s/m', 'damping of each joint', minimum=0.0, size=JOINTS)
NULL_STIFFNESS = Parameter(10.0, 'N m/rad | N/m', 'stiffness of the posture', minimum=0.0)
NULL_DAMPING = Parameter(2.0, 'N m s/rad | N s/m', 'damping of the posture', minimum=0.0)
ROTATIONAL_STIFFNESS = Parameter(30.0, 'N m/rad', 'rotational stiffness', minimum=0.0)
LINEAR_STIFFNESS = Parameter(500.0, 'N/m', 'linear stiffness', minimum=0.0)
ROTATIONAL_DAMPING = Parameter(3.0, 'N m s/rad', 'rotational damping', minimum=0.0)
LINEAR_DAMPING = Parameter(50.0, 'N s/m', 'linear damping', minimum=0.0)
CARTESIAN = {
    'rotational_stiffness': ROTATIONAL_STIFFNESS,
    'linear_stiffness': LINEAR_STIFFNESS,
    'rotational_damping': ROTATIONAL_DAMPING,
    'linear_damping': LINEAR_DAMPING,
}

#: Added to the diagonal of J M^-1 J^T, relative to its trace: limits forces near singular
#: configurations. Null-space projections are bounded without it and need less.
FORCE_REGULARIZATION = 1e-6
PROJECTION_REGULARIZATION = 1e-10

MIN_STEP_S = 1e-9  # of an observer; a step of 0 is the first one


@control_law({'damping': Parameter(1.0, DAMPING.unit, DAMPING.text, minimum=0.0, size=JOINTS)})
def gravity_compensation(
    robot: Any, state: Any, reference: Any, parameters: Any, memory: Any
) -> Any:
    """Tau = g(q) - D v.

    Siciliano et al. 2009, 8.5.1 without a reference.
    """
    return robot.gravity_torques(state.q) - parameters.damping * state.v


@control_law({'stiffness': STIFFNESS, 'damping': DAMPING})
def joint_impedance(robot: Any, state: Any, reference: Any, parameters: Any, memory: Any) -> Any:
    """Tau = K (q_d - q) + D (v_d - v) + g(q).

    Siciliano et al. 2009, 8.5.1: PD control with gravity compensation.
    """
    springs = parameters.stiffness * (reference.q - state.q)
    dampers = parameters.damping * (reference.v - state.v)
    return springs + dampers + robot.gravity_torques(state.q)


@control_law(
    {
        'stiffness': STIFFNESS,
        'damping': DAMPING,
        'resistance': Parameter(
            0.0, DAMPING.unit, 'damping that is felt', minimum=0.0, size=JOINTS
        ),
        'round_trip': Parameter(0.0, 's', 'bound of the delay there and back', minimum=0.0),
    }
)
def bilateral(robot: Any, state: Any, reference: Any, parameters: Any, memory: Any) -> Any:
    """Tau = K (q_d - q) + D (v_d - v) - (B + K T / 2) v + g, on both of two robots.

    q_d and v_d are those of the other robot, late by delays whose sum is at most T. Lee and Spong
    2006: the coupling is passive with the dissipation K T / 2.
    """
    dissipation = parameters.resistance + 0.5 * parameters.round_trip * parameters.stiffness
    springs = parameters.stiffness * (reference.q - state.q)
    dampers = parameters.damping * (reference.v - state.v) - dissipation * state.v
    return springs + dampers + robot.gravity_torques(state.q)


@control_law(
    {
        'share': Parameter(0.1, '1', 'of the external torques', minimum=0.0, maximum=10.0),
        'rate': Parameter(50.0, '1/s', 'of the observer', minimum=0.0),
    },
    memory={'momentum': JOINTS, 'known': JOINTS, 'external': JOINTS},
)
def force_reflection(robot: Any, state: Any, reference: Any, parameters: Any, memory: Any) -> Any:
    """Tau = k (tau_ext + that of the other robot), the force channels of `bilateral`.

    Lawrence 1993: with positions, four channels. tau_ext is the residual of the generalized
    momentum from the measured torques, De Luca and Mattone 2003.
    """
    p, known = robot.momenta_and_rates(state.q, state.v)
    known = known + state.tau - robot.friction_torques(state.v)
    dt, is_first = np.maximum(state.dt, MIN_STEP_S), state.dt <= 0.0
    decay = np.where(is_first, 1.0, 1.0 / (1.0 + parameters.rate * dt))
    before = np.concatenate([memory.momentum, memory.known, memory.external])
    after = momentum_step(before, p, known, decay, np.where(is_first, 0.0, 1.0 / dt))
    momentum, known, external = (after[k * robot.nv :][: robot.nv] for k in range(3))
    tau = parameters.share * (external + reference.tau)
    return tau, {'momentum': momentum, 'known': known, 'external': external}


@control_law(
    {
        'share': Parameter(0.7, '1', 'of the friction of the model', minimum=0.0, maximum=0.9),
        'slowness': Parameter(0.05, 'rad/s | m/s', 'speed of 71 % of the share', minimum=1e-6),
    }
)
def friction_compensation(
    robot: Any, state: Any, reference: Any, parameters: Any, memory: Any
) -> Any:
    """Tau = s f(v) |v| / sqrt(v^2 + w^2), f the friction of the drives without that of a load.

    Putra et al. 2007: less than the friction cannot cause limit cycles, more can. Near rest it
    vanishes with v^2, so that noise has no effect.
    """
    slow = np.abs(state.v) / np.sqrt(state.v * state.v + np.square(parameters.slowness))
    return parameters.share * slow * robot.friction_torques(state.v)


@control_law(
    {
        'frequency': Parameter(20.0, 'rad/s', 'of the error, critically damped', minimum=0.0),
    }
)
def computed_torque(robot: Any, state: Any, reference: Any, parameters: Any, memory: Any) -> Any:
    """Tau = M (a_d + 2 w (v_d - v) + w^2 (q_d - q)) + C v + g.

    Siciliano et al. 2009, 8.5.2: inverse dynamics control. The error follows e'' + 2 w e' + w^2 e =
    0.
    """
    w = parameters.frequency
    a = reference.a + 2.0 * w * (reference.v - state.v) + w * w * (reference.q - state.q)
    return robot.inverse_dynamics(state.q, state.v, a)


@control_law({**CARTESIAN, 'null_stiffness': NULL_STIFFNESS, 'null_damping': NULL_DAMPING})
def cartesian_impedance(
    robot: Any, state: Any, reference: Any, parameters: Any, memory: Any, *, link: str
) -> Any:
    """Tau = J^T (K e + D (V_d - V)) + N^T (k (q_d - q) - d v) + C v + g.

    Ott 2008 for the impedance without a change of inertia, Khatib 1987 for the dynamically
    consistent N = 1 - M^-1 J^T (J M^-1 J^T)^-1 J. e is `pose_error`.
    """
    J = robot.jacobian(state.q, link, 'hybrid')
    F = restoring_wrench(robot, state, parameters, link, J, reference.pose, reference.twist)
    posture = parameters.null_stiffness * (reference.q - state.q)
    posture = posture - parameters.null_damping * state.v
    held = robot.gravity_torques(state.q) + robot.coriolis_torques(state.q, state.v)
    return J.T @ F + in_null_space(robot.mass_matrix(state.q), J, posture) + held


@control_law(
    {
        'frequency': Parameter(20.0, 'rad/s', 'of the errors, critically damped', minimum=0.0),
        'null_damping': NULL_DAMPING,
    }
)
def operational_space(
    robot: Any, state: Any, reference: Any, parameters: Any, memory: Any, *, link: str
) -> Any:
    """Move the position of a link first, its orientation in what that leaves, then damp.

    tau = J_1^T F_1 + N_1^T (J_2^T F_2 + N_2^T (-d v)) + C v + g. F_k = L_k (2 w (V_d - V) + w^2 e -
    J_k' v - a_k) with the acceleration a_k by the tasks before, L_k = (J_k M^-1 J_k^T)^-1, and
    J_2 N_1 as the Jacobian of the second task: Khatib 1987 (C-082); Sentis and Khatib 2005.
    """
    w, M = parameters.frequency, robot.mass_matrix(state.q)
    J = robot.jacobian(state.q, link, 'hybrid')
    error = pose_error(robot.link_pose(state.q, link), reference.pose)
    drift = robot.jacobian_derivative(state.q, state.v, link, 'hybrid') @ state.v
    wanted = 2.0 * w * (reference.twist - J @ state.v) + w * w * error - drift
    moved = solve_positive_definite(M, J.T)  # M^-1 J^T
    size = np.sum(J * moved.T, axis=1)  # diagonal of J M^-1 J^T
    tau = robot.gravity_torques(state.q) + robot.coriolis_torques(state.q, state.v)
    N, a = np.eye(robot.nv), np.zeros(robot.nv)  # null space and accelerations of the tasks so far
    for rows in (slice(3, 6), slice(0, 3)):
        J_k, spread = J[rows] @ N, N @ moved[:, rows]  # spread = M^-1 J_k^T
        A = J_k @ spread
        small = FORCE_REGULARIZATION * np.sum(size)  # for links that only translate, or only turn
        F = solve_positive_definite(
            regularized(A, FORCE_REGULARIZATION * (np.sum(size[rows]) + small)),
            wanted[rows] - J[rows] @ a,
        )
        tau = tau + J_k.T @ F
        a = a + spread @ F
        smaller = PROJECTION_REGULARIZATION * (np.sum(size[rows]) + small)
        N = N - spread @ solve_positive_definite(regularized(A, smaller), J_k)
    return tau - N.T @ (parameters.null_damping * state.v)


@control_law(
    {
        **CARTESIAN,
        'mass': Parameter(5.0, 'kg', 'mass that is felt', minimum=1e-3),
        'resistance': Parameter(50.0, 'N s/m', 'damping that is felt', minimum=0.0),
        'return_stiffness': Parameter(0.0, 'N/m', 'stiffness toward the reference', minimum=0.0),
        'reach': Parameter(0.2, 'm', 'largest displacement along each axis', minimum=0.0),
        'null_damping': NULL_DAMPING,
    },
    memory={'displacement': 3, 'rate': 3},
)
def admittance(
    robot: Any, state: Any, reference: Any, parameters: Any, memory: Any, *, link: str
) -> Any:
    """M x'' + d x' + k x = F, and a Cartesian impedance holds the link at x from the reference.

    F is the force of the wrist sensor, in the axes of the link; its moment is not used. Siciliano
    et al. 2009, 9.3: admittance control. The steps of x are those of the implicit Euler method,
    which is stable for every dt.
    """
    force = robot.link_pose(state.q, link)[:3, :3] @ state.wrench[3:]
    k, dt = parameters.return_stiffness, state.dt
    rate = parameters.mass * memory.rate + dt * (force - k * memory.displacement)
    rate = rate / (parameters.mass + dt * parameters.resistance + dt * dt * k)
    moved = memory.displacement + dt * rate
    x = np.clip(moved, -parameters.reach, parameters.reach)
    rate = np.where(np.abs(moved) <= parameters.reach, rate, 0.0)
    pose = np.column_stack([reference.pose[:3, :3], reference.pose[:3, 3] + x])
    twist = reference.twist + np.concatenate([np.zeros(3), rate])
    J = robot.jacobian(state.q, link, 'hybrid')
    F = restoring_wrench(robot, state, parameters, link, J, pose, twist)
    damped = in_null_space(robot.mass_matrix(state.q), J, -parameters.null_damping * state.v)
    held = robot.gravity_torques(state.q) + robot.coriolis_torques(state.q, state.v)
    return J.T @ F + damped + held, {'displacement': x, 'rate': rate}


@control_law(
    {
        'margin': Parameter(0.1, 'rad | m', 'distance at which it begins', minimum=1e-6),
        'stiffness': Parameter(200.0, STIFFNESS.unit, 'of the spring', minimum=0.0),
        'damping': Parameter(5.0, DAMPING.unit, 'at the limit and beyond', minimum=0.0),
    }
)
def joint_limit_repulsion(
    robot: Any, state: Any, reference: Any, parameters: Any, memory: Any
) -> Any:
    """Tau = k (depth below the lower - above the upper margin) - d v (depth / margin, at most 1).

    The gradient of a quadratic potential (Siciliano et al. 2009, 3.5.1, has distances from limits),
    and damping that grows with depth, so that torques have no steps (Hunt and Crossley 1975).
    """
    lower, upper = np.maximum(robot.limits.lower, -1e6), np.minimum(robot.limits.upper, 1e6)
    below = np.maximum(lower + parameters.margin - state.q, 0.0)
    above = np.maximum(state.q - (upper - parameters.margin), 0.0)
    depth = np.minimum((below + above) / parameters.margin, 1.0)
    return parameters.stiffness * (below - above) - parameters.damping * depth * state.v


@control_law(
    {
        'mass': Parameter(0.0, 'kg', 'of the payload', minimum=0.0, maximum=1e4),
        'center': Parameter(0.0, 'm', 'center of mass in the frame of the link', size=3),
    }
)
def payload_compensation(
    robot: Any, state: Any, reference: Any, parameters: Any, memory: Any, *, link: str
) -> Any:
    """Tau = -J_c^T m g: holds the weight of a point mass on a link.

    Bruyninckx 2010, section 7.14 (C-106): torques of a wrench.
    """
    pose, J = robot.link_pose(state.q, link), robot.jacobian(state.q, link, 'hybrid')
    weight = parameters.mass * robot.gravity
    moment = np.cross(pose[:3, :3] @ parameters.center, weight)
    return -J.T @ np.concatenate([moment, weight])


#: The laws, by name.
LAWS: dict[str, Law] = {
    law.name: law
    for law in (
        gravity_compensation,
        joint_impedance,
        bilateral,
        force_reflection,
        friction_compensation,
        computed_torque,
        cartesian_impedance,
        operational_space,
        admittance,
        joint_limit_repulsion,
        payload_compensation,
    )
}


# --- parts of laws --------------------------------------------------------------------------------


def pose_error(pose: Any, target: Any) -> Any:
    """Return the displacement (6,) from a pose to another, angular part first.

    Half the sum of the cross products of the axes, sin(angle) times the axis of the rotation, which
    decreases beyond 90 degrees: Luh, Walker and Paul 1980; Siciliano et al. 2009, 3.7.3.
    """
    turns = [np.cross(pose[:3, k], target[:3, k]) for k in range(3)]
    return np.concatenate([0.5 * (turns[0] + turns[1] + turns[2]), target[:3, 3] - pose[:3, 3]])


def restoring_wrench(
    robot: Any, state: Any, parameters: Any, link: str, J: Any, pose: Any, twist: Any
) -> Any:
    """Return the wrench (6,) of springs and dampers of `CARTESIAN` toward a pose and a twist."""
    e, V = pose_error(robot.link_pose(state.q, link), pose), twist - J @ state.v
    moment = parameters.rotational_stiffness * e[:3] + parameters.rotational_damping * V[:3]
    force = parameters.linear_stiffness * e[3:] + parameters.linear_damping * V[3:]
    return np.concatenate([moment, force])


def in_null_space(M: Any, J: Any, tau: Any) -> Any:
    """Return N^T tau, with the dynamically consistent N of J."""
    spread = solve_positive_definite(M, J.T)
    A = J @ spread
    A = regularized(A, PROJECTION_REGULARIZATION * np.trace(A))
    return tau - J.T @ solve_positive_definite(A, spread.T @ tau)


def regularized(A: Any, size: Any) -> Any:
    """Return a positive semidefinite matrix with a small number added to its diagonal."""
    return A + size * np.eye(len(A))
