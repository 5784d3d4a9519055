# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The model state of a robot at every sample of a recorded motion, in stacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from screw_dynamics_ros.core.arguments import float_array
from screw_dynamics_ros.core.arms.inverse.manipulability import dexterities
from screw_dynamics_ros.core.compile.kernels import Kernel, make_kernel
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.outputs import OUTPUTS
from screw_dynamics_ros.core.robot.actuated_robot import REST, Source
from screw_dynamics_ros.core.robot.fused_kernel import Formula, fused_specification
from screw_dynamics_ros.core.robot.robot import Robot
from screw_dynamics_ros.core.tree.joint_limits import velocity_names
from screw_dynamics_ros.core.types import Array

from ..estimation.effort_terms import TERMS
from ..estimation.observers.parameters import check_per_joint
from ..estimation.observers.quantities import (
    Efforts,
    effort_terms,
    friction_of,
    quantities,
    static_torque,
)
from ..estimation.observers.table import OBSERVERS
from ..formulas import contact
from .accelerations import accelerations
from .observation import StackObserver
from .settings import DEFAULT, AnnotationSettings, check_outputs
from .singularities import Sampler, freedoms_of

BLOCK_SIZE = 8192  # samples computed at once
READING_PREFIX = 'read: '  # prefix of observer inputs: 'momentum' is also an output


class MotionArrays(NamedTuple):
    """A recorded motion; see `annotate_arrays`."""

    t: NDArray[np.int64]
    q: Array
    v: Array
    tau: Array
    starts: NDArray[np.bool_]


def annotate_arrays(
    robot: Robot,
    t: ArrayLike,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    outputs: Sequence[str] = DEFAULT,
    frames: Sequence[str] = (),
    payloads: Mapping[str, RigidBody] | None = None,
    settings: AnnotationSettings | None = None,
    restarted: ArrayLike | None = None,
) -> dict[str, Array]:
    """Return the model state at every sample of a recorded motion.

    Parameters
    ----------
    robot : Robot
    t : (N,) array of int
        Stamps [ns], increasing except where a motion restarts.
    q, v : (N, nq), (N, nv) arrays
        Positions and velocities. NaN gives NaN in dependent outputs.
    tau : (N, nv) array, optional
        Measured efforts [N m, N], NaN if missing.
    outputs : sequence of str
        Names in `OUTPUTS`.
    frames : sequence of str
        Links for the outputs of links.
    payloads : mapping
        Bodies fixed to links, {link: body}.
    settings : AnnotationSettings
    restarted : (N,) array of bool, optional
        Samples after a pause, in addition to those detected by the stamps.

    Returns
    -------
    dict
        Arrays with N rows, angular part first throughout:

        By name, of links as 'twist/<link>'; labels, units and frames in `core.outputs.OUTPUTS`.
        Torques and `acceleration` [rad/s^2, m/s^2], see `accelerations`, are (nv,). `transforms`
        (m, 7) are those of `Robot.transform_joints`, twists and Jacobians hybrid: of the origin of
        the link, in root axes. With observers that estimate it, external torques have an
        `external_torque_covariance` (nv, nv).

        NaN where no estimate exists: before the observer has settled, in singular directions.

    Raises
    ------
    ArgumentError, UnknownNameError
        Arrays of other shapes; outputs or frames that do not exist; a robot with a free base.
    """
    annotator = Annotator(robot, outputs, frames, payloads, settings)
    motion = annotator.motion(t, q, v, tau, restarted)
    parts = [part for _, part in annotator.blocks(motion)]
    if not parts:
        raise ArgumentError('t: there are no samples')
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@dataclass(frozen=True)
class ResultKernel:
    """One kernel for stacks: its inputs, and the names of its results."""

    kernel: Kernel
    names: tuple[str, ...]

    @classmethod
    def of(
        cls, robot: Robot, results: Mapping[str, Source], parameters: Mapping[str, int]
    ) -> ResultKernel:
        """Return the kernel for some results; `parameters` are further inputs of each sample."""
        specification = fused_specification(
            robot.regrouped_tree, tuple(results.values()), parameters, robot.backend != 'reference'
        )
        kernel = make_kernel(
            replace(specification, uniform=frozenset({'gravity', 'contact', 'load'})),
            robot.backend,
        )
        return cls(kernel, tuple(results))

    def __call__(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Return the results for stacks of inputs."""
        arrays = [
            np.ascontiguousarray(inputs[name]) for name, _ in self.kernel.specification.inputs
        ]
        return dict(zip(self.names, self.kernel.stack(arrays)))


class Annotator:
    """Computes the outputs of `annotate_arrays` block by block, in bounded memory.

    Parameters are those of `annotate_arrays`.
    """

    def __init__(
        self,
        robot: Robot,
        outputs: Sequence[str] = DEFAULT,
        frames: Sequence[str] = (),
        payloads: Mapping[str, RigidBody] | None = None,
        settings: AnnotationSettings | None = None,
    ) -> None:
        check_outputs(tuple(outputs))
        if robot.floating_base:
            raise ArgumentError('joint states do not contain the pose of a free base: fix the base')
        for link in frames:
            robot.tree.frame(link)
        self.robot, self.outputs = robot, tuple(dict.fromkeys(outputs))
        self.frames = tuple(dict.fromkeys(frames))
        self.settings = settings or AnnotationSettings()
        self._joints = velocity_names(robot)
        check_per_joint(vars(self.settings), self._joints)
        self._load = robot.payload_parameters(payloads or {}) if payloads else None
        self._freedoms = (
            {link: freedoms_of(robot, link) for link in self.frames}
            if 'singularity' in self.outputs
            else {}
        )
        self._is_observed = bool({'external_torque', 'wrench'} & set(self.outputs))
        parameters = {} if self._load is None else {'load': len(self._load)}
        if self._is_observed and robot.tree.has_load_friction:
            parameters['measured'] = robot.nv
        self._kernel = ResultKernel.of(robot, self._results(), parameters)
        self._wrenches = self._wrench_kernel()

    # --- results ----------------------------------------------------------------------------------

    def _results(self) -> dict[str, Source]:
        """Return all results of the first program by name."""
        outputs, results = self.outputs, dict[str, Source]()
        for row in filter(None, map(OUTPUTS.get, outputs)):
            for link in self.frames if row.of_links else ('',):
                if row.formula is not None:
                    results[row.part(link)] = row.source(self.robot, link)
        if 'payload' in outputs:
            results['payload'] = self._of_load('payload_torques')
        for link in self.frames:
            if 'singularity' in outputs:
                results[f'body_jacobian/{link}'] = ('jacobian', link, 'body')
        if self._is_observed:
            results.update(self._observed())
        return results or {'q': 'q'}

    def _of_load(self, function: str, **sources: Source) -> Formula:
        """Return a function of the payload, zeros without a payload."""
        if self._load is None:
            size = len(self.robot.payload_parameters({}))
            load: Source = Formula('no payload', (), np.zeros, ((size,),))
        else:
            load = 'load'
        return self.robot.substitute(function, payload=load, **sources)

    def _observed(self) -> dict[str, Source]:
        """Return what the observer reads of the model alone, by name after `READING_PREFIX`."""
        contained = tuple(int(term in self.settings.effort_terms) for term in TERMS)
        nothing = Formula('no efforts', (), np.zeros, ((self.robot.nv,),))
        shares = Formula('shares', (), as_numbers, (contained,))
        efforts = Efforts(shares, nothing, nothing, tuple(range(self.robot.nv)))
        friction = friction_of(self.robot, replace(efforts, measured='measured'))
        terms = effort_terms(self._of_load('payload_torques', a=REST), friction)
        static = static_torque(efforts, terms)
        given = quantities(efforts, 'v', static, self._of_load, friction)
        observer = OBSERVERS[self.settings.observer]
        return {
            READING_PREFIX + name: given[name] for name in (*observer.reads, *observer.torques_read)
        }

    def _wrench_kernel(self) -> ResultKernel | None:
        """Return the program for contact wrenches, given external torques."""
        if 'wrench' not in self.outputs or not self.frames:
            return None
        results: dict[str, Source] = {}
        for link in self.frames:
            results[f'wrench/{link}'], results[f'pivots/{link}'] = contact(
                ('jacobian', link, 'body'), 'external'
            )
        return ResultKernel.of(self.robot, results, {'external': self.robot.nv, 'contact': 3})

    # --- the samples ------------------------------------------------------------------------------

    def motion(
        self,
        t: ArrayLike,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        restarted: ArrayLike | None = None,
    ) -> MotionArrays:
        """Return a motion after checking its shapes; raises `ArgumentError`."""
        stamps = np.asarray(t)
        if stamps.ndim != 1 or stamps.dtype.kind not in 'iu':
            raise ArgumentError(
                f't must be stamps (N,) in ns, integers, got {stamps.dtype} {stamps.shape}'
            )
        stamps, count = stamps.astype(np.int64), len(stamps)
        nq, nv = self.robot.nq, self.robot.nv
        arrays = []
        for name, value, size in (
            ('q', q, nq),
            ('v', v, nv),
            ('tau', np.full((count, nv), np.nan) if tau is None else tau, nv),
        ):
            array = float_array(name, value)
            if array.shape != (count, size):
                raise ArgumentError(f'{name} must have shape ({count}, {size}), got {array.shape}')
            arrays.append(array)
        starts = np.zeros(count, dtype=bool) if restarted is None else np.array(restarted, bool)
        if starts.shape != (count,):
            raise ArgumentError(f'restarted must have shape ({count},), got {starts.shape}')
        if count:
            h = np.diff(stamps, prepend=stamps[0]) * 1e-9
            starts |= ~((h > 0.0) & (h <= self.settings.longest_step))
        return MotionArrays(stamps, arrays[0], arrays[1], arrays[2], starts)

    def blocks(
        self, motion: MotionArrays, size: int = BLOCK_SIZE
    ) -> Iterator[tuple[slice, dict[str, Array]]]:
        """Yield the outputs of consecutive blocks of samples, and their indices."""
        settings = self.settings
        a: Array | None = None
        if {'acceleration', 'inertia', 'payload'} & set(self.outputs):
            a = accelerations(
                motion.t, motion.v, motion.starts, settings.acceleration_time_constant
            )
        observer = StackObserver(self._joints, settings, self.robot.backend)
        sampler = Sampler(settings.singularity_rate)
        for first in range(0, len(motion.t), size):
            part = slice(first, min(first + size, len(motion.t)))
            yield part, self._block(motion, part, a, observer, sampler)

    def _block(
        self,
        motion: MotionArrays,
        part: slice,
        a: Array | None,
        observer: StackObserver,
        sampler: Sampler,
    ) -> dict[str, Array]:
        """Return the outputs of one block."""
        t, starts = motion.t[part], motion.starts[part]
        q, v, tau = motion.q[part], motion.v[part], motion.tau[part]
        inputs = {'q': q, 'v': v, 'gravity': self.robot.gravity}
        if a is not None:
            inputs['a'] = a[part]
        if self._load is not None:
            inputs['load'] = self._load
        inputs['measured'] = tau
        with np.errstate(all='ignore'):
            found = self._kernel(inputs)
            results = {
                name: array for name, array in found.items() if name.split('/')[0] in self.outputs
            }
            if 'acceleration' in self.outputs:
                results['acceleration'] = inputs['a']
            self._add_of_links(results, found, t, sampler)
            if self._is_observed:
                one = np.ones(self.robot.nv)
                complete = np.isfinite(v @ one) & np.isfinite(tau @ one)
                read = {
                    name[len(READING_PREFIX) :]: found[name]
                    for name in found
                    if name.startswith(READING_PREFIX)
                }
                torques, covariance = observer.torques(t, starts, complete, read, tau)
                if 'external_torque' in self.outputs:
                    results['external_torque'] = torques
                    if covariance is not None:
                        results['external_torque_covariance'] = covariance
                self._add_wrenches(results, q, torques)
        return results

    def _add_of_links(
        self,
        results: dict[str, Array],
        found: Mapping[str, Array],
        t: NDArray[np.int64],
        sampler: Sampler,
    ) -> None:
        """Add twists, Jacobians and singularity measures of the links."""
        chosen = sampler.chosen(t) if self._freedoms else None
        for link in self.frames:
            if chosen is not None:
                measures = np.full((len(t), 4), np.nan)
                jacobians = found[f'body_jacobian/{link}'][chosen]
                finite = np.isfinite(jacobians).all(axis=(1, 2))
                measures[chosen[finite]] = dexterities(
                    jacobians[finite], self._freedoms[link], self.settings.characteristic_length
                )
                results[f'singularity/{link}'] = measures

    def _add_wrenches(self, results: dict[str, Array], q: Array, torques: Array) -> None:
        """Add the wrenches, NaN where the six components cannot be estimated."""
        if self._wrenches is None:
            return
        settings = self.settings
        options = np.array(
            [settings.damping, settings.characteristic_length, settings.singularity_threshold]
        )
        found = self._wrenches({'q': q, 'external': torques, 'contact': options})
        for link in self.frames:
            wrench, pivots = found[f'wrench/{link}'], found[f'pivots/{link}']
            observable = (pivots.min(axis=1) > 0.0) & np.isfinite(wrench @ np.ones(6))
            wrench[~observable] = np.nan
            results[f'wrench/{link}'] = wrench


def as_numbers(values: tuple[int, ...]) -> Array:
    """Return integers as an array."""
    return np.array(values, dtype=float)
