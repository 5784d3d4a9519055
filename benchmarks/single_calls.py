"""Single calls from Python, each returning a new array, against Pinocchio."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pinocchio as pin
from figures import Figure, compared
from robots_compared import PANDA, TALOS, Pair, pair
from timing import loop, measure

# name, ours, Pinocchio's, required ratio
CALLS = [
    (
        'inverse dynamics (RNEA)',
        'robot.inverse_dynamics(q, v, a)',
        'pin.rnea(model, data, Q, V, A)',
        4.0,
    ),
    (
        'forward dynamics (ABA)',
        'robot.forward_dynamics(q, v, a)',
        'pin.aba(model, data, Q, V, A)',
        4.0,
    ),
    ('mass matrix (CRBA)', 'robot.mass_matrix(q)', 'pin.crba(model, data, Q)', 4.0),
    (
        'gravity torques',
        'robot.gravity_torques(q)',
        'pin.computeGeneralizedGravity(model, data, Q)',
        4.0,
    ),
    (
        'all frames, one array',
        'robot.link_poses(q)',
        'pin.framesForwardKinematics(model, data, Q); '
        'stack([data.oMf[i].homogeneous for i in ids])',
        2.0,
    ),
    (
        "one frame's Jacobian",
        'robot.jacobian(q, tip)',
        'pin.computeFrameJacobian(model, data, Q, frame, pin.LOCAL_WORLD_ALIGNED)',
        2.0,
    ),
    (
        'all frames, Pinocchio: no array',
        'robot.link_poses(q)',
        'pin.framesForwardKinematics(model, data, Q)',
        float('nan'),
    ),
    (
        'Coriolis torques',
        'robot.coriolis_torques(q, v)',
        'pin.nonLinearEffects(model, data, Q, V) - pin.computeGeneralizedGravity(model, data, Q)',
        float('nan'),
    ),
    (
        'kinetic energy',
        'robot.kinetic_energy(q, v)',
        'pin.computeKineticEnergy(model, data, Q, V)',
        float('nan'),
    ),
    (
        'potential energy',
        'robot.potential_energy(q)',
        'pin.computePotentialEnergy(model, data, Q)',
        float('nan'),
    ),
    ('center of mass', 'robot.center_of_mass(q)', 'pin.centerOfMass(model, data, Q)', float('nan')),
]

# name, ours, Pinocchio's; required is a ratio of 4 for Panda and of 3 for TALOS
DERIVATIVES = [
    (
        'derivatives of inverse dynamics',
        'robot.inverse_dynamics_derivatives(q, v, a)',
        'pin.computeRNEADerivatives(model, data, Q, V, A)',
    ),
    (
        'derivatives of forward dynamics',
        'robot.forward_dynamics_derivatives(q, v, a)',
        'pin.computeABADerivatives(model, data, Q, V, A)',
    ),
    (
        'regressor',
        'robot.regressor(q, v, a)',
        'pin.computeJointTorqueRegressor(model, data, Q, V, A)',
    ),
    (
        'Coriolis matrix',
        'robot.coriolis_matrix(q, v)',
        'pin.computeCoriolisMatrix(model, data, Q, V)',
    ),
    (
        'inverse mass matrix',
        'robot.inverse_mass_matrix(q)',
        'pin.computeMinverse(model, data, Q)',
    ),
]
REQUIRED = {PANDA: 4.0, TALOS: 3.0}

AS_IS = 'mimic joints reduced by us, independent in Pinocchio'


def figures(quick: bool) -> Iterator[Figure]:
    """Measure."""
    repeats = 15 if quick else 60
    for robot in (PANDA, TALOS):
        both = pair(robot)
        check(both)
        for name, ours, theirs, required in CALLS:
            yield one(both, name, ours, theirs, required, repeats)
        for name, ours, theirs in DERIVATIVES:
            yield one(both, name, ours, theirs, REQUIRED[robot], repeats)
        reduced = pair(robot, mimic=True)
        for name, ours, theirs, _ in CALLS[:4]:
            figure = one(reduced, name, ours, theirs, float('nan'), repeats)
            yield Figure(**{**vars(figure), 'robot': f'{figure.robot} as is', 'note': AS_IS})


def one(both: Pair, name: str, ours: str, theirs: str, required: float, repeats: int) -> Figure:
    """Measure one function."""
    (q, v, a), (Q, V, A) = ([x[0] for x in side] for side in both.states(1))
    ids = [both.model.getFrameId(link, pin.FrameType.BODY) for link in both.robot.link_names]
    times = measure(
        {
            'ours': loop(ours, robot=both.robot, q=q, v=v, a=a, tip=both.tip),
            'theirs': loop(
                theirs,
                pin=pin,
                model=both.model,
                data=both.data,
                Q=Q,
                V=V,
                A=A,
                ids=ids,
                frame=both.frame,
                stack=np.stack,
            ),
        },
        repeats=repeats,
    )
    return compared(
        'Single calls from Python',
        f'{both.name}, {both.robot.nv} dof',
        name,
        times,
        required=required,
    )


def check(both: Pair) -> None:
    """Make sure that both compute the same."""
    (q, v, a), (Q, V, A) = ([x[0] for x in side] for side in both.states(1))
    for ours, theirs in (
        (both.robot.inverse_dynamics(q, v, a), pin.rnea(both.model, both.data, Q, V, A)),
        (both.robot.forward_dynamics(q, v, a), pin.aba(both.model, both.data, Q, V, A)),
    ):
        np.testing.assert_allclose(
            ours[both.order], theirs, rtol=1e-8, atol=1e-8 * np.abs(theirs).max()
        )
    square = np.ix_(both.order, both.order)
    for derivatives, oracle in (
        (both.robot.inverse_dynamics_derivatives, pin.computeRNEADerivatives),
        (both.robot.forward_dynamics_derivatives, pin.computeABADerivatives),
    ):
        found = zip(derivatives(q, v, a)[:2], oracle(both.model, both.data, Q, V, A))
        for ours, theirs in found:  # theirs are overwritten by the next call
            np.testing.assert_allclose(
                ours[square], theirs, rtol=1e-8, atol=1e-8 * np.abs(theirs).max()
            )
