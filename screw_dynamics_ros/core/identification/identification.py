# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Identification of the dynamics of a robot: bodies, drives and the efforts of its driver.

Torques are linear in the unknowns theta: ten parameters of each body, armature, friction and offset
of the efforts of each joint (`Unknowns`). Filtered efforts (`equations`) determine base parameters,
with intervals (`fit_efforts`). The identified description has physically possible bodies that agree
with them (`fit_bodies`). Gains of efforts are estimated if a driver does not report torques.

Source: Swevers, Verdonck and De Schutter 2007, IEEE Control Systems Magazine 27(5); Gautier and
Briot 2014, *Global identification of joint drive gains and dynamic parameters of robots*, ASME J.
Dyn. Sys. Meas. Control 136(5); Müller 2018b section 6 (D-43).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import float_array
from ..description.body_inertia import inertia_fault
from ..description.drives import BOUNDS, Drive
from ..description.rigid_body import RigidBody
from ..description.robot_description import Finding, Joint, RobotDescription
from ..dynamics.regressor import inertial_parameters
from ..errors import ArgumentError
from ..tree.multibody_tree import GROUND
from ..types import Array
from .drive_unknowns import KINDS
from .effort_check import check_efforts
from .effort_delay import EffortDelay, delay_findings, estimated_delay, without_delay
from .effort_equations import EffortEquations, divided, equations
from .effort_fit import EffortFit, fit_efforts
from .effort_problem import EffortProblem
from .filtering import chosen_cutoff
from .findings import (
    all_findings,
    common_gain_findings,
    mass_findings,
    payload_findings,
    torque_findings,
)
from .missing_friction import friction_findings, missing_terms, reduction
from .options import IdentificationOptions, check_options
from .physical_fit import fit_bodies
from .pseudo_inertia import inertia_of, parameters_of, physical
from .recording import (
    DynamicModel,
    JointRecording,
    absent,
    checked,
    common_load,
    inspected,
    measured,
    moving,
)
from .result import DynamicIdentification, Torques
from .unknowns import EffortModel, Unknowns

DEFAULT = IdentificationOptions()

#: Of friction by load, whose torques follow from the estimate before.
MAX_LOAD_ROUNDS = 5
LOAD_TOLERANCE = 1e-4  # of likely sizes
#: Recordings disagree if the residuals of one model for all, relative to those of separate models,
#: exceed this factor and this number of standard deviations.
MIN_DISAGREEMENT, SIGNIFICANT_SIGMAS = 0.2, 3.0


def identify_dynamics(
    robot: DynamicModel,
    t: ArrayLike,
    q: ArrayLike,
    v: ArrayLike | None,
    tau: ArrayLike,
    options: IdentificationOptions = DEFAULT,
) -> DynamicIdentification:
    """Return the dynamics that best fit one recording.

    Parameters
    ----------
    robot : Robot
        The nominal robot, with the actual gravity and nominal drives.
    t : (N,)
        Times [s], increasing.
    q : (N, n)
        Positions in the order of `joint_names` [rad, m].
    v : (N, n), optional
        Velocities, compared with the derivatives of q; NaN for joints without velocities.
    tau : (N, n)
        Efforts as reported; NaN for joints without efforts.
    options : IdentificationOptions

    Raises
    ------
    ArgumentError
        As `recording.checked`; no motion; recordings that are too short, or sampled too slowly.
    UnknownNameError
        Joints, links or groups that do not exist.
    """
    speeds = None if v is None else float_array('v', v)
    arrays = float_array('t', t), float_array('q', q), speeds, float_array('tau', tau)
    return identify_recordings(robot, [JointRecording(*arrays)], options)


def identify_recordings(
    robot: DynamicModel,
    recordings: Sequence[JointRecording],
    options: IdentificationOptions = DEFAULT,
) -> DynamicIdentification:
    """Return the dynamics that best fit several recordings, with or without known payloads.

    Raises as `identify_dynamics`.
    """
    result, problem, every, moves = _identify(robot, recordings, options)
    if not (options.alternatives and result.torques.held_out.any()):
        return result
    residuals = result.torques.measured - result.torques.identified

    def again(model: EffortModel) -> DynamicIdentification:
        return _identify(robot, recordings, replace(options, model=model))[0]

    terms = missing_terms(problem.unknowns, every, residuals, moves)
    found = [*friction_findings(result, terms, again)]
    if problem.unknowns.load is not None and problem.unknowns.load.com is not None:
        free = [
            each if each.load is None else replace(each, load=replace(each.load, com=None))
            for each in recordings
        ]
        found += center_findings(result, _identify(robot, free, options)[0])
    return replace(result, findings=(*result.findings, *found))


def _identify(
    robot: DynamicModel, recordings: Sequence[JointRecording], options: IdentificationOptions
) -> tuple[DynamicIdentification, EffortProblem, EffortEquations, NDArray[np.bool_]]:
    """Return the dynamics that best fit recordings, the problem, all equations, what moves."""
    check_options(options, robot)
    if not recordings:
        raise ArgumentError('no recordings given')
    runs, faults = inspected(
        [checked(each, robot) for each in recordings], robot, options.measured_velocities
    )
    moves, reports = moving(runs), measured(runs)
    if not moves.any():
        raise ArgumentError(
            'no joint moves in the recordings: the robot is at rest; see `excite` for a motion'
        )
    cutoff = options.cutoff or chosen_cutoff(runs)
    unknowns = Unknowns(robot, options.model, common_load(runs))
    columns, grouping = unknowns.base(moves, reports, {run.load is not None for run in runs})
    loaded = any(run.payloads or run.load for run in runs)

    def fitted_to(every: EffortEquations) -> tuple[EffortProblem, EffortFit, EffortEquations]:
        fitted, held_out = divided(every, options.held_out, cutoff)
        checks = check_efforts(fitted, robot.joint_names)
        problem = EffortProblem(unknowns, columns, grouping, fitted, options, checks, loaded)
        return problem, problem.fit(), held_out

    source = runs, cutoff, options.measured_velocities
    for _ in range(MAX_LOAD_ROUNDS):
        every = equations(runs, unknowns, columns, cutoff, options.measured_velocities)
        problem, fit, held_out = fitted_to(every)
        delay = estimated_delay(every, fit.gains, *source)
        if delay.is_certain:
            shifted = without_delay(every, delay.value, *source)
            other = fitted_to(shifted)
            if held_out_error(other, fit) < held_out_error((problem, fit, held_out), fit):
                every, (problem, fit, held_out) = shifted, other
            else:
                delay = replace(delay, helps=False)
        theta, success = fit_bodies(unknowns, grouping, fit.information, problem.L)
        change = np.abs(grouping @ (theta - unknowns.estimate))
        unknowns.estimate = theta
        small = LOAD_TOLERANCE * np.linalg.norm(grouping @ problem.L, axis=1)
        if not unknowns.drives.depend_on_load or (change <= small).all():
            break
    found = [*faults, *delay_findings(delay)]
    rows, away = (every, held_out), absent(runs)
    result = _result(problem, fit, theta, success, rows, delay, cutoff, moves, found, away)
    return result, problem, every, moves


def held_out_error(
    found: tuple[EffortProblem, EffortFit, EffortEquations], reference: EffortFit
) -> float:
    """Return the mean square error of efforts by the noise of a reference; held out if any are."""
    problem, fit, held_out = found
    rows = held_out if len(held_out.t) else problem.fitted
    e = (fit.gains * fit.torques(rows) - rows.effort) / reference.noise
    return float(np.nanmean(e**2))


def _result(
    problem: EffortProblem,
    fit: EffortFit,
    theta: Array,
    success: bool,
    rows: tuple[EffortEquations, EffortEquations],
    delay: EffortDelay,
    cutoff: float,
    moves: NDArray[np.bool_],
    faults: Sequence[Finding],
    absent_joints: set[str],
) -> DynamicIdentification:
    unknowns, grouping = problem.unknowns, problem.grouping
    robot = unknowns.robot
    every, held_out = rows
    joints = robot.joint_names
    seen: list[bool] = (grouping != 0.0).any(axis=0).tolist()
    scaled = fit.scale_identified
    unscaled = {joint for joint, known in zip(joints, scaled) if not known}
    values = {
        name: x
        for name, x, known in zip(unknowns.names, theta.tolist(), seen)
        if known and name.rpartition('/')[0] not in unscaled
    }
    drives = {joint: identified_drive(unknowns, joint, values) for joint in joints}
    payload, load, description = identified_bodies(unknowns, theta, drives)
    offsets = np.array([values.get(f'{joint}/offset', 0.0) for joint in joints])
    gain_deviation, gain_freedom = np.zeros(len(joints)), np.ones(len(joints))
    gain_deviation[list(fit.free)] = np.sqrt(np.diag(fit.covariance))[len(fit.x) :]
    gain_freedom[list(fit.free)] = fit.freedom[len(fit.x) :]
    identified = every.W @ (grouping @ theta) + every.known + offsets
    offsets[~scaled] = np.nan
    scale = np.where(scaled, 1.0 / fit.gains, np.nan)
    reported = every.effort * scale
    torques = Torques(
        every.t,
        every.part,
        np.isin(np.arange(len(every.t)), _rows_of(every, held_out)),
        reported + offsets,
        np.where(np.isnan(reported), np.nan, identified),
        np.where(np.isnan(reported), np.nan, every.nominal),
        reported,
        every.recording,
    )
    missing = payload_findings(problem.names, fit) if payload is not None else ()
    return DynamicIdentification(
        description=description,
        drives=drives,
        payload=None if missing else payload,
        load=load,
        joint_names=joints,
        effort_scale=scale,
        effort_offset=offsets,
        scale_deviation=np.where(scaled, gain_deviation / fit.gains**2, np.inf),
        scale_freedom=gain_freedom,
        parameters=problem.names,
        groups=tuple(
            {unknowns.names[k]: float(row[k]) for k in np.flatnonzero(row)} for row in grouping
        ),
        units=tuple(map(unknowns.unit, problem.names)),
        nominal=problem.nominal,
        values=fit.x,
        deviations=np.sqrt(np.diag(fit.covariance))[: len(fit.x)],
        identified=fit.identified[: len(fit.x)],
        physical=grouping @ theta,
        held=fit.combinations,
        degrees_of_freedom=fit.freedom[: len(fit.x)],
        checks=problem.checks,
        findings=(
            *faults,
            *missing,
            *all_findings(
                unknowns,
                problem.fitted,
                problem.checks,
                fit,
                offsets,
                moves,
                problem.by_nominal_masses,
                absent_joints,
            ),
            *torque_findings(joints, torques, moves),
            *common_gain_findings(problem.common_gain),
            *mass_findings(unknowns, description, grouping),
            *load_findings(problem, fit),
        ),
        torques=torques,
        effort_delay=delay,
        noise=fit.noise,
        correlation=fit.correlation,
        condition=fit.condition,
        cutoff=cutoff,
        success=success,
    )


def _rows_of(every: EffortEquations, chosen: EffortEquations) -> Array:
    """Return the indices of the chosen instants."""
    keys = {key: k for k, key in enumerate(zip(every.part.tolist(), every.t.tolist()))}
    return np.array([keys[key] for key in zip(chosen.part.tolist(), chosen.t.tolist())], dtype=int)


def load_findings(problem: EffortProblem, fit: EffortFit) -> Iterator[Finding]:
    """Yield a finding if separate models explain loaded and unloaded recordings better."""
    given = problem.fitted
    kinds = [given.rows(given.loaded == kind) for kind in (False, True)]
    joints = max(int(np.isfinite(fit.noise).sum()), 1)
    counts = [len(kind.t) for kind in kinds]
    if min(counts) * joints < 2 * len(fit.x):
        return
    together, apart = np.zeros((2, len(fit.gains)))
    for kind in kinds:
        alone = fit_efforts(kind, problem.names, fit.x, problem.likely, fit.gains, [], None)
        e = fit.gains * fit.torques(kind) - kind.effort
        together += np.sum(e**2, axis=0)
        apart += len(kind.t) * alone.noise**2
    ratio = np.sqrt(together / np.maximum(apart, 1e-300))
    # The relative standard deviation of the RMS of N independent numbers is 1 / sqrt(2 N).
    limit = np.maximum(
        MIN_DISAGREEMENT, SIGNIFICANT_SIGMAS * np.sqrt(fit.correlation / (2.0 * min(counts)))
    )
    names = problem.unknowns.robot.joint_names
    worse = [f'{names[i]} {ratio[i]:.2g} times' for i in np.flatnonzero(ratio - 1.0 > limit)]
    if worse:
        yield Finding.warning(
            'load',
            'recordings with the load and without disagree: with one model for both, residuals '
            f'are larger than with one for each ({", ".join(worse)})',
            'give the mass of the load alone (--known-payload LINK KG) if its center of mass is '
            'not certain; check link and mass; record both in direct succession',
        )


def center_findings(
    result: DynamicIdentification, other: DynamicIdentification
) -> Iterator[Finding]:
    """Yield a finding if the load with another center of mass explains held-out efforts better."""
    share = reduction(result, other)
    helped, loads = share > MIN_DISAGREEMENT, (result.load, other.load)
    if helped.any() and None not in loads:
        given, fitted = (
            ', '.join(f'{round(x, 3) + 0.0:.3f}' for x in each.com) for each in loads if each
        )
        yield Finding.warning(
            'load',
            f'its center of mass is given as ({given}) m; with ({fitted}) m, errors of held-out '
            f'efforts of {", ".join(np.array(result.joint_names)[helped])} are '
            f'{100.0 * np.max(share[helped]):.0f} % smaller, and scales of efforts may differ',
            'check it, or give the mass of the load alone: --known-payload LINK KG',
        )


def identified_drive(unknowns: Unknowns, joint: str, values: dict[str, float]) -> Drive:
    """Return the identified drive of a joint; other values are nominal."""
    nominal, model = unknowns.robot.drives[joint], unknowns.model
    found: dict[str, Any] = {
        name: values[f'{joint}/{name}']
        for name in KINDS
        if name in BOUNDS and f'{joint}/{name}' in values
    }
    if f'{joint}/rotor' in values:
        found['rotor_inertia'] = values[f'{joint}/rotor'] / nominal.gear_ratio**2
    elif 'armature' in found:
        found |= {'rotor_inertia': 0.0, 'rotor_axis': None, 'carrier': None}
    if f'{joint}/cogging_sine' in values:
        sine, cosine = (values[f'{joint}/cogging_{name}'] for name in ('sine', 'cosine'))
        found |= {'cogging': math.hypot(sine, cosine), 'cogging_phase': math.atan2(cosine, sine)}
    for name, value in found.items():
        if bound := BOUNDS[name].within:
            size = found.get(bound, getattr(nominal, bound))
            found[name] = min(max(value, -size), size)
    if 'coulomb' in found:
        speed, stribeck = model.stribeck_speed, values.get(f'{joint}/stribeck', 0.0)
        found['breakaway'] = None if speed is None else found['coulomb'] + stribeck
        found['stribeck_speed'] = speed or nominal.stribeck_speed
        found['smoothing'] = model.smoothing
    return replace(nominal, **found)


def identified_bodies(
    unknowns: Unknowns, theta: Array, drives: dict[str, Drive]
) -> tuple[RigidBody | None, RigidBody | None, RobotDescription]:
    """Return payload and load, if estimated, and the description with bodies and friction.

    Links that do not move keep their inertias, or the nearest physically possible ones.
    """
    found = {name: inertia_of(theta[place]) for name, place in unknowns.bodies.items()}
    payload = found.pop('payload', None) if unknowns.model.payload_link else None
    load = None if unknowns.load is None else found.pop('load')
    nominal = unknowns.robot.description
    frames = unknowns.robot.tree.frames
    for link in nominal.links:  # torques do not depend on links that do not move
        if frames[link.name].body != GROUND or link.inertia is None:
            continue
        if inertia_fault(link.inertia) is not None:
            parameters = inertial_parameters(nominal, (link.name,))
            found[link.name] = inertia_of(parameters_of(physical(parameters)))
    links = [
        replace(link, inertia=found[link.name]) if link.name in found else link
        for link in nominal.links
    ]
    joints = [_with_friction(joint, drives, unknowns) for joint in nominal.joints]
    bodies = [
        None if each is None else RigidBody(each.mass, each.com, each.matrix)
        for each in (payload, load)
    ]
    return (
        bodies[0],
        bodies[1],
        RobotDescription.from_parts(nominal.name, links, joints, check_inertias=False),
    )


def _with_friction(joint: Joint, drives: dict[str, Drive], unknowns: Unknowns) -> Joint:
    """Return a joint with identified friction; the leader includes that of its mimic joints."""
    if joint.name in drives:
        drive = drives[joint.name]
        return replace(joint, damping=drive.damping, friction=drive.coulomb)
    if joint.mimic is not None and 'friction' in unknowns.model.estimate:
        return replace(joint, damping=0.0, friction=0.0)
    return joint
