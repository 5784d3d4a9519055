r"""Identification of the dynamics of a robot: bodies, drives and the efforts of its driver.

Torques are linear in the unknowns theta: ten parameters of each body, armature, friction and offset
of the efforts of each joint (`Unknowns`). What filtered efforts tell (`equations`) are base
parameters, with intervals (`fit_efforts`); bodies that can exist and agree with them make the
identified description (`fit_bodies`). Gains of efforts are estimated where a driver does not report
torques.

Source: Swevers, Verdonck and De Schutter 2007, IEEE Control Systems Magazine 27(5); Gautier and
Briot 2014, *Global identification of joint drive gains and dynamic parameters of robots*, ASME J.
Dyn. Sys. Meas. Control 136(5); Müller 2018b section 6 (D-43).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from screw_dynamics_ros.core.arguments import check_number, float_array
from screw_dynamics_ros.core.description.drives import Drive
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.description.robot_description import RobotDescription
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.identification.dynamics.effort_check import (
    EffortCheck,
    check_efforts,
)
from screw_dynamics_ros.core.identification.dynamics.effort_equations import (
    Equations,
    divided,
    equations,
)
from screw_dynamics_ros.core.identification.dynamics.effort_fit import EffortFit, fit_efforts
from screw_dynamics_ros.core.identification.dynamics.filtering import chosen_cutoff
from screw_dynamics_ros.core.identification.dynamics.findings import all_findings
from screw_dynamics_ros.core.identification.dynamics.physical_fit import fit_bodies
from screw_dynamics_ros.core.identification.dynamics.pseudo_inertia import inertia_of
from screw_dynamics_ros.core.identification.dynamics.recording import (
    DynamicModel,
    JointRecording,
    checked,
    measured,
    moving,
)
from screw_dynamics_ros.core.identification.dynamics.result import DynamicIdentification, Torques
from screw_dynamics_ros.core.identification.dynamics.unknowns import Model, Unknowns
from screw_dynamics_ros.core.types import Array


@dataclass(frozen=True)
class IdentificationOptions:
    """How recordings are evaluated.

    Attributes
    ----------
    model : Model
        What is estimated.
    scale : 'auto', 'known' or sequence of str
        Joints whose effort scale is estimated; 'auto': those whose efforts disagree with the
        nominal model by more than a factor of two.
    cutoff : float, optional
        Of the filter [Hz]; from the bandwidth of the motion if not given.
    held_out : float
        Share of the recordings kept for validation, in blocks, 0 to 0.5.
    robust : bool
        Whether instants that disagree (contacts) count less.
    measured_velocities : bool
        Whether velocities are those recorded. Derivatives of positions, the default, are not late
        and mostly less noisy.
    """

    model: Model = field(default_factory=Model)
    scale: str | Sequence[str] = 'auto'
    cutoff: float | None = None
    held_out: float = 0.2
    robust: bool = False
    measured_velocities: bool = False


#: How much larger friction and armature may be if the unit of efforts is not known.
UNKNOWN_UNIT = 10.0

DEFAULT = IdentificationOptions()


def identify_dynamics(
    robot: DynamicModel,
    t: ArrayLike,
    q: ArrayLike,
    v: ArrayLike | None,
    tau: ArrayLike,
    options: IdentificationOptions = DEFAULT,
) -> DynamicIdentification:
    """Return the dynamics that agree best with one recording.

    Parameters
    ----------
    robot : Robot
        The nominal one, with gravity as it is; its drives are the nominal ones.
    t : (N,)
        Times [s], increasing.
    q : (N, n)
        Positions in the order of `joint_names` [rad, m].
    v : (N, n), optional
        Velocities, to be compared with the derivatives of q; NaN throughout for joints without.
    tau : (N, n)
        Efforts as reported; NaN throughout for joints without.
    options : IdentificationOptions

    Raises
    ------
    ArgumentError
        What `recording.checked` refuses, no motion, recordings that are too short or too coarse.
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
    """Return the dynamics that agree best with several recordings, with known payloads or without.

    Raises as `identify_dynamics`.
    """
    _check_options(options, robot)
    if not recordings:
        raise ArgumentError('no recordings given')
    runs = [checked(each, robot) for each in recordings]
    moves, reports = moving(runs), measured(runs)
    if not moves.any():
        raise ArgumentError('no joint moves in the recordings; see `excite` for a motion')
    cutoff = options.cutoff or chosen_cutoff(runs)
    unknowns = Unknowns(robot, options.model)
    columns, grouping = unknowns.base(moves, reports)
    every = equations(runs, unknowns, columns, cutoff, options.measured_velocities)
    fitted, held_out = divided(every, options.held_out, cutoff)
    checks = check_efforts(fitted, robot.joint_names)
    problem = _Fitting(unknowns, columns, grouping, fitted, options, checks)
    fit = problem.fit()
    theta, success = fit_bodies(unknowns, grouping, fit.information, problem.L)
    return _result(problem, fit, theta, success, (every, held_out), cutoff, moves)


class _Fitting:
    """The base parameters of a robot, and which gains are estimated with them."""

    def __init__(
        self,
        unknowns: Unknowns,
        columns: NDArray[np.int64],
        grouping: Array,
        fitted: Equations,
        options: IdentificationOptions,
        checks: tuple[EffortCheck, ...],
    ) -> None:
        self.unknowns, self.columns, self.grouping = unknowns, columns, grouping
        self.fitted, self.options, self.checks = fitted, options, checks
        self.names = tuple(unknowns.names[k] for k in columns)
        self.nominal = grouping @ unknowns.nominal
        self.by_nominal_masses = False

    def fit(self) -> EffortFit:
        """Return base parameters and gains."""
        joints = self.unknowns.robot.joint_names
        scale = self.options.scale
        gains = np.array([check.sign for check in self.checks])
        if scale == 'known':
            return self._solve(np.ones(len(joints)), [])
        reporting = [i for i in range(len(joints)) if not np.isnan(self.fitted.effort[:, i]).any()]
        free = [i for i in reporting if joints[i] in scale]
        if scale == 'auto':
            told = [check for check in self.checks if check.told]
            free = [i for i in reporting if self.checks[i].is_scaled]
            if 2 * len(free) > len(told):  # a driver that reports currents does so for all joints
                free = reporting
        for i in free:
            check = self.checks[i]
            gains[i] = check.gain if check.told else check.sign
        fit = self._solve(gains, free)
        if scale != 'auto':
            return fit
        # A gain of one or minus one that data do not exclude is what drivers have.
        deviations = np.sqrt(np.diag(fit.covariance))[len(fit.x) :]
        likely = [
            i
            for i, deviation in zip(free, deviations)
            if abs(abs(fit.gains[i]) - 1.0) < 3.0 * deviation
        ]
        if not likely or free == reporting:
            return fit
        gains = fit.gains.copy()
        gains[likely] = np.sign(gains[likely])
        return self._solve(gains, [i for i in free if i not in likely])

    def _solve(self, gains: Array, free: Sequence[int]) -> EffortFit:
        self.L = self._deviations(gains, free)
        self.likely = np.linalg.norm(self.grouping @ self.L, axis=1)
        reporting = np.flatnonzero(~np.isnan(self.fitted.effort).any(axis=0)).tolist()
        self.by_nominal_masses = (
            bool(free) and set(free) >= set(reporting) and not (self.fitted.known.any())
        )
        return fit_efforts(
            self.fitted,
            self.names,
            self.nominal,
            self.likely,
            gains,
            free,
            self._gauge() if self.by_nominal_masses else None,
            self.options.robust,
        )

    def _deviations(self, gains: Array, free: Sequence[int]) -> Array:
        """Return the likely size of all parameters (see `Unknowns.deviations`)."""
        nominal, effort = (
            np.sqrt(np.mean(x**2, axis=0))
            for x in (self.fitted.nominal, self.fitted.effort / gains)
        )
        torque = np.fmax(np.maximum(nominal, 1e-2 * nominal.max() + 1e-6), effort)
        torque[list(free)] *= UNKNOWN_UNIT
        speed, acceleration = (
            np.sqrt(np.mean(x**2, axis=0)) for x in (self.fitted.v, self.fitted.a)
        )
        return self.unknowns.deviations(torque, speed, acceleration)

    def _gauge(self) -> Array:
        """Return what fixes the scale: the part of bodies in the nominal torques stays the same."""
        size = np.maximum(np.sqrt(np.mean(self.fitted.rigid**2, axis=0)), 1e-9)
        gauge = np.einsum('mnp,mn->p', self.fitted.W, self.fitted.rigid / size**2)
        gauge[self.columns >= 10 * len(self.unknowns.bodies)] = 0.0
        if not gauge.any():
            raise ArgumentError(
                'scale: the scale of all efforts is unknown, and no nominal mass fixes it; give '
                'one joint a known scale, or record with a known payload too'
            )
        return np.asarray(gauge)


def _result(
    problem: _Fitting,
    fit: EffortFit,
    theta: Array,
    success: bool,
    rows: tuple[Equations, Equations],
    cutoff: float,
    moves: NDArray[np.bool_],
) -> DynamicIdentification:
    unknowns, grouping = problem.unknowns, problem.grouping
    robot = unknowns.robot
    every, held_out = rows
    joints = robot.joint_names
    seen: list[bool] = (grouping != 0.0).any(axis=0).tolist()
    values = {name: x for name, x, known in zip(unknowns.names, theta.tolist(), seen) if known}
    drives = {joint: _drive(unknowns, joint, values) for joint in joints}
    payload, description = _bodies(unknowns, theta, drives)
    offsets = np.array([values.get(f'{joint}/offset', 0.0) for joint in joints])
    gain_deviation = np.zeros(len(joints))
    gain_deviation[list(fit.free)] = np.sqrt(np.diag(fit.covariance))[len(fit.x) :]
    identified = every.W @ (grouping @ theta) + every.known + offsets
    reported = every.effort / fit.gains
    torques = Torques(
        every.t,
        every.part,
        np.isin(np.arange(len(every.t)), _rows_of(every, held_out)),
        reported + offsets,
        np.where(np.isnan(reported), np.nan, identified),
        np.where(np.isnan(reported), np.nan, every.nominal),
        reported,
    )
    samples = len(problem.fitted.t) / fit.correlation
    return DynamicIdentification(
        description=description,
        drives=drives,
        payload=payload,
        joint_names=joints,
        effort_scale=1.0 / fit.gains,
        effort_offset=offsets,
        scale_deviation=gain_deviation / fit.gains**2,
        parameters=problem.names,
        groups=tuple(
            {unknowns.names[k]: float(row[k]) for k in np.flatnonzero(row)} for row in grouping
        ),
        units=tuple(map(unknowns.unit, problem.names)),
        nominal=problem.nominal,
        values=fit.x,
        deviations=np.sqrt(np.diag(fit.covariance))[: len(fit.x)],
        told=fit.told[: len(fit.x)],
        physical=grouping @ theta,
        held=fit.combinations,
        degrees_of_freedom=float(np.nansum(samples)) - len(fit.x) - len(fit.free),
        checks=problem.checks,
        findings=all_findings(
            unknowns, problem.fitted, problem.checks, fit, offsets, moves, problem.by_nominal_masses
        ),
        torques=torques,
        noise=fit.noise,
        correlation=fit.correlation,
        condition=fit.condition,
        cutoff=cutoff,
        success=success,
    )


def _rows_of(every: Equations, chosen: Equations) -> Array:
    """Return where the chosen instants stand."""
    keys = {key: k for k, key in enumerate(zip(every.part.tolist(), every.t.tolist()))}
    return np.array([keys[key] for key in zip(chosen.part.tolist(), chosen.t.tolist())], dtype=int)


def _drive(unknowns: Unknowns, joint: str, values: dict[str, float]) -> Drive:
    """Return the identified drive of a joint; what was not estimated is as it was."""
    nominal = unknowns.robot.drives[joint]
    if f'{joint}/armature' in values:
        nominal = replace(
            nominal,
            rotor_inertia=0.0,
            rotor_axis=None,
            carrier=None,
            armature=values[f'{joint}/armature'],
        )
    if f'{joint}/coulomb' in values:
        coulomb, speed = values[f'{joint}/coulomb'], unknowns.model.stribeck_speed
        nominal = replace(
            nominal,
            damping=values.get(f'{joint}/damping', nominal.damping),
            coulomb=coulomb,
            breakaway=None if speed is None else coulomb + values.get(f'{joint}/stribeck', 0.0),
            stribeck_speed=speed or nominal.stribeck_speed,
            smoothing=unknowns.model.smoothing,
        )
    return nominal


def _bodies(
    unknowns: Unknowns, theta: Array, drives: dict[str, Drive]
) -> tuple[RigidBody | None, RobotDescription]:
    """Return the payload, if it was estimated, and the description with bodies and friction."""
    found = {name: inertia_of(theta[place]) for name, place in unknowns.bodies.items()}
    payload = found.pop('payload', None) if unknowns.model.payload_link else None
    nominal = unknowns.robot.description
    links = [
        replace(link, inertia=found[link.name]) if link.name in found else link
        for link in nominal.links
    ]
    joints = [
        replace(joint, damping=drives[joint.name].damping, friction=drives[joint.name].coulomb)
        if joint.name in drives
        else joint
        for joint in nominal.joints
    ]
    return (
        None if payload is None else RigidBody(payload.mass, payload.com, payload.matrix),
        RobotDescription.from_parts(nominal.name, links, joints),
    )


def _check_options(options: IdentificationOptions, robot: DynamicModel) -> None:
    if options.cutoff is not None:
        check_number('cutoff', options.cutoff, positive=True)
    check_number('held_out', options.held_out)
    if options.held_out > 0.5:
        raise ArgumentError(f'held_out = {options.held_out} must be between 0 and 0.5')
    check_number('smoothing', options.model.smoothing, positive=True)
    if options.model.stribeck_speed is not None:
        check_number('stribeck_speed', options.model.stribeck_speed, positive=True)
    if isinstance(options.scale, str):
        if options.scale not in ('auto', 'known'):
            raise ArgumentError(
                f"scale = {options.scale!r}: give 'auto', 'known', or a sequence of joints"
            )
        return
    unknown = [name for name in options.scale if name not in robot.joint_names]
    if unknown:
        raise UnknownNameError(
            f'scale: no joint {unknown[0]!r}; the joints are {", ".join(robot.joint_names)}'
        )
