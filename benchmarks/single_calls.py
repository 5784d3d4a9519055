# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Single calls: ours from Python, each returning a new array, and Pinocchio's from Python and C++.

From C++ nothing is copied: a result stays where Pinocchio leaves it. Both of its programs get the
same model with the same independent joints as ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pinocchio as pin
from figures import NAN, Figure, compared
from native_peer import NAME as CPP
from native_peer import NativePeer, library
from robots_compared import PANDA, TALOS, UR5, Pair, pair
from timing import Run, loop, measure

PYTHON = 'Pinocchio from Python'
NO_ARRAY = ', theirs no array'
NOTHING_COPIED = 'theirs are left in place, ours are in an array'

# name, ours, Pinocchio's from Python, required ratio to it
CALLS = [
    (
        'inverse dynamics',
        'robot.inverse_dynamics(q, v, a)',
        'pin.rnea(model, data, Q, V, A)',
        4.0,
    ),
    (
        'forward dynamics',
        'robot.forward_dynamics(q, v, a)',
        'pin.aba(model, data, Q, V, A)',
        4.0,
    ),
    ('mass matrix', 'robot.mass_matrix(q)', 'pin.crba(model, data, Q)', 4.0),
    (
        'gravity torques',
        'robot.gravity_torques(q)',
        'pin.computeGeneralizedGravity(model, data, Q)',
        4.0,
    ),
    (
        'all frames',
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
        f'all frames{NO_ARRAY}',
        'robot.link_poses(q)',
        'pin.framesForwardKinematics(model, data, Q)',
        NAN,
    ),
    (
        'Coriolis torques',
        'robot.coriolis_torques(q, v)',
        'pin.nonLinearEffects(weightless, data, Q, V)',
        NAN,
    ),
    (
        'kinetic energy',
        'robot.kinetic_energy(q, v)',
        'pin.computeKineticEnergy(model, data, Q, V)',
        NAN,
    ),
    (
        'potential energy',
        'robot.potential_energy(q)',
        'pin.computePotentialEnergy(model, data, Q)',
        NAN,
    ),
    ('center of mass', 'robot.center_of_mass(q)', 'pin.centerOfMass(model, data, Q)', NAN),
]

# name, ours, Pinocchio's if it has any in Python; required are the ratios below
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
    (
        'second derivatives of inverse dynamics',
        'robot.inverse_dynamics_second_derivatives(q, v, a)',
        '',
    ),
]
REQUIRED = {PANDA: 4.0, UR5: 4.0, TALOS: 3.0}

AS_IS = 'mimic joints reduced by us, independent in Pinocchio'


def figures(quick: bool) -> Iterator[Figure]:
    """Measure."""
    repeats = 50 if quick else 400
    for robot in (PANDA, UR5, TALOS):
        both = pair(robot)
        native = NativePeer(both.model, both.frame) if library() else None
        check(both, native)
        for name, ours, theirs, required in CALLS:
            yield from one(both, native, name, ours, theirs, required, repeats)
        for name, ours, theirs in DERIVATIVES:
            yield from one(both, native, name, ours, theirs, REQUIRED[robot], repeats)
        reduced = pair(robot, mimic=True)
        if reduced.robot.nv == both.robot.nv:
            continue
        for name, ours, theirs, _ in CALLS[:4]:
            for figure in one(reduced, native, name, ours, theirs, NAN, repeats):
                yield replace(figure, robot=f'{figure.robot} as is', note=AS_IS)


def one(
    both: Pair,
    native: NativePeer | None,
    name: str,
    ours: str,
    theirs: str,
    required: float,
    repeats: int,
) -> list[Figure]:
    """Measure one function."""
    (q, v, a), (Q, V, A) = ([x[0] for x in side] for side in both.states(1))
    ids = [both.model.getFrameId(link, pin.FrameType.BODY) for link in both.robot.link_names]
    weightless = pin.Model(both.model)
    weightless.gravity = pin.Motion.Zero()
    runs: dict[str, Run] = {'ours': loop(ours, robot=both.robot, q=q, v=v, a=a, tip=both.tip)}
    if theirs:
        runs[PYTHON] = loop(
            theirs,
            pin=pin,
            model=both.model,
            weightless=weightless,
            data=both.data,
            Q=Q,
            V=V,
            A=A,
            ids=ids,
            frame=both.frame,
            stack=np.stack,
        )
    if native is not None and NO_ARRAY not in name:
        runs[CPP] = native.function(name, Q, V, A)
    return compared(
        'Single calls',
        f'{both.name}, {both.robot.nv} dof',
        name,
        measure(runs, repeats=repeats),
        required={PYTHON: required},
        note=NOTHING_COPIED if NO_ARRAY in name else '',
    )


def check(both: Pair, native: NativePeer | None) -> None:
    """Make sure that all compute the same."""
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
    if native is None:
        return
    model, data = both.model, both.data
    oracles = {
        'inverse dynamics': lambda: pin.rnea(model, data, Q, V, A),
        'forward dynamics': lambda: pin.aba(model, data, Q, V, A),
        'Coriolis torques': lambda: both.robot.coriolis_torques(q, v)[both.order],
        'gravity torques': lambda: pin.computeGeneralizedGravity(model, data, Q),
        "one frame's Jacobian": lambda: pin.computeFrameJacobian(
            model, data, Q, both.frame, pin.LOCAL_WORLD_ALIGNED
        ),
        'mass matrix': lambda: both.robot.mass_matrix(q)[square],
        'derivatives of inverse dynamics': lambda: pin.computeRNEADerivatives(model, data, Q, V, A)[
            0
        ],
        'derivatives of forward dynamics': lambda: pin.computeABADerivatives(model, data, Q, V, A)[
            0
        ],
    }
    for name, oracle in oracles.items():
        theirs = oracle()
        ours = native.function(name, Q, V, A).result(*theirs.shape)
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8 * np.abs(theirs).max())
    cube = np.ix_(both.order, both.order, both.order)
    second = np.stack([x[cube] for x in both.robot.inverse_dynamics_second_derivatives(q, v, a)])
    theirs = native.function('second derivatives of inverse dynamics', Q, V, A).result(
        *second.shape
    )
    np.testing.assert_allclose(theirs, second, rtol=1e-8, atol=1e-8 * np.abs(second).max())
