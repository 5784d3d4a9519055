# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""External torques and wrenches along a recorded motion, by the steps of `wrench_estimator`.

The observer restarts after pauses, if stamps do not advance, and after missing velocities or
efforts; nothing is reported before it has settled.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compile.typed.external import Signature
from ..compile.typed.functions import Bytes, Floats, Ints, typed
from ..compile.typed.library import PythonCode, calls
from ..compile.typed.records import AddressTable, Opaque, Record
from ..errors import ArgumentError
from ..estimation.effort_terms import TERMS
from ..estimation.low_pass import PASS_WEIGHTS, LowPassSteps
from ..estimation.noise_propagation import TorqueNoise, update_covariance
from ..estimation.observers import observer_state as steps
from ..estimation.observers.observer_state import ObserverPlan, ObserverState
from ..estimation.observers.parameters import values_of_joints
from ..estimation.observers.quantities import (
    Efforts,
    Observation,
    effort_terms,
    friction_of,
    observation,
    of_late_efforts,
    quantities,
    static_torque,
)
from ..estimation.observers.steps import has_finite_sum
from ..estimation.residual_model import ResidualModel
from ..estimation.residual_offset import ResidualOffset, advance_offset
from ..formulas import contact
from ..robot.actuated_robot import REST, Source
from ..robot.fused_kernel import Formula
from ..robot.robot import Robot
from ..state_clock import StateClock, advance_clock
from ..tree.joint_limits import velocity_names
from ..types import Array
from .contacts import ContactFinder, find_contact
from .rows import SampleRows, read_row, store_valid_row
from .settings import AnnotationSettings

COVARIANCE = 'external_torque_covariance'

call = Signature(('address',), 'void')


class ObservedMotion(Record):
    """A block of samples, and what computes its external torques.

    Attributes
    ----------
    t : (N,) array
        Stamps [ns].
    starts : (N,) array
        1 for samples after a pause, 0 for others.
    clock : StateClock
    observer : ObserverState
    offset : ResidualOffset
    state : (3 n,) array
        Positions, velocities and efforts; without a model, positions may be more than n.
    noise : TorqueNoise or None
        The covariance of the torques.
    number : int
        Of the sample.
    kernel, addresses : Opaque
        void kernel(int64 *addresses).
    velocity, effort : SampleRows
        Inputs without which there are no torques.
    inputs, results : tuples of SampleRows
    contacts : ContactFinder or None
    """

    t: Ints
    starts: Bytes
    clock: StateClock
    observer: ObserverState
    offset: ResidualOffset
    state: Floats
    noise: TorqueNoise | None
    number: int
    kernel: Opaque
    addresses: Opaque
    velocity: SampleRows
    effort: SampleRows
    inputs: tuple[SampleRows, ...]
    results: tuple[SampleRows, ...]
    contacts: ContactFinder | None


@typed
def observe(motion: ObservedMotion) -> None:
    """Compute the results of all samples; there are none before the observer has settled."""
    o = motion.observer
    clock = motion.clock
    has_model = motion.offset.model is not None
    contacts = motion.contacts
    for k in range(len(motion.t)):
        for i in range(len(motion.inputs)):
            read_row(motion.inputs[i], k)
        advance_clock(clock, motion.t[k], motion.starts[k] != 0)
        has_velocity = has_finite_sum(motion.velocity.numbers, len(motion.velocity.numbers))
        is_complete = has_velocity and has_finite_sum(
            motion.effort.numbers, len(motion.effort.numbers)
        )
        steps.advance_delay(o, clock, has_velocity)
        steps.advance_observer(o, clock.elapsed, is_complete)
        if has_model:
            advance_offset(motion.offset, motion.state, clock.elapsed)
        call(motion.kernel, motion.addresses)
        steps.keep_delay(o, has_velocity)
        steps.keep_state(o)
        motion.number += 1
        if is_complete and o.is_settled:
            if motion.noise is not None:
                update_covariance(motion.noise, motion.number, motion.state)
            for i in range(len(motion.results)):
                store_valid_row(motion.results[i], k)
            if contacts is not None:
                find_contact(contacts, motion.t[k], clock.elapsed)
        elif contacts is not None:
            contacts.is_continued = False


class TorqueProgram:
    """The program for external torques, and for wrenches of links, from one sample.

    Parameters
    ----------
    robot : Robot
    outputs : collection of str
        'external_torque', 'wrench', or both.
    frames : sequence of str
        The links.
    settings : AnnotationSettings
    load : (10 n_bodies,) array
        `Robot.payload_parameters`.
    residual : ResidualModel, optional
        Its torques are subtracted; raises `ArgumentError` if it is for other joints.
    """

    def __init__(
        self,
        robot: Robot,
        outputs: Collection[str],
        frames: Sequence[str],
        settings: AnnotationSettings,
        load: Array,
        residual: ResidualModel | None = None,
    ) -> None:
        self._robot, self._settings, self._load = robot, settings, load
        self._residual = residual
        if residual is not None and not robot.nq == robot.nv == len(residual.map.plain):
            raise ArgumentError(
                f'a residual model of {len(residual.map.plain)} joints, but {robot.nq} positions '
                f'and {robot.nv} velocities: use that of this robot'
            )
        self._joints = velocity_names(robot)
        observed = self._observed = self._observation()
        self._named = dict[str, tuple[Formula, ...]]()  # with pivots
        if 'external_torque' in outputs:
            self._named['external_torque'] = (observed.torque,)
        for link in frames if 'wrench' in outputs else ():
            self._named[f'wrench/{link}'] = contact(('jacobian', link, 'body'), observed.torque)
        used: list[tuple[Source | None, ...]] = [
            *self._named.values(),
            (observed.state, observed.model),
        ]
        self._has_covariance = 'external_torque' in outputs and (
            observed.covariance is not None or residual is not None
        )
        if self._has_covariance:
            used.append((observed.covariance, observed.inertia))
        self._outputs = tuple(
            dict.fromkeys(each for formulas in used for each in formulas if each is not None)
        )
        inputs = self._inputs(self._plan())
        self._kernel = robot.fuse(
            *self._outputs, parameters={name: len(array) for name, array in inputs.items()}
        )

    def _observation(self) -> Observation:
        """Return the formulas of the observer."""
        robot, name = self._robot, self._settings.observer
        efforts = Efforts('effort_shares', 'measured', 'offset', tuple(range(robot.nv)))
        friction = friction_of(robot, efforts)
        terms = effort_terms(robot.substitute('payload_torques', a=REST), friction)
        static = static_torque(efforts.none, terms)
        given = quantities(efforts.none, 'v', static, str, friction)
        model, late = of_late_efforts(given, efforts, name)
        return replace(observation(name, robot.nv, late), model=model)

    def _plan(self) -> ObserverPlan:
        return ObserverPlan.of(self._observed, self._robot.nv)

    def _inputs(self, plan: ObserverPlan) -> dict[str, Array]:
        """Return arrays for the inputs of the program, except the state of the robot."""
        given, n = self._settings, self._robot.nv
        options = given.damping, given.characteristic_length, given.singularity_threshold
        return {
            'measured': np.zeros(n),
            'offset': np.zeros(n),
            'payload': self._load,
            'effort_shares': np.array([float(term in given.effort_terms) for term in TERMS]),
            'contact': np.array(options),
            **plan.parameters,
        }

    def start(self, contacts: ContactFinder | None = None) -> Callable[..., dict[str, Array]]:
        """Return `_run` from the beginning of a motion, for consecutive blocks of samples.

        Contacts require the output 'external_torque'.
        """
        motion, robot, kernel, plan = ObservedMotion(), self._robot, self._kernel, self._plan()
        state = motion.state = np.zeros(robot.nq + 2 * robot.nv)
        q, v, efforts = np.split(state, [robot.nq, robot.nq + robot.nv])
        inputs = {'q': q, 'v': v, 'gravity': robot.gravity, **self._inputs(plan)}
        inputs['measured'] = efforts
        results = dict(zip(self._outputs, map(np.zeros, kernel.shapes)))
        arrays = [*(inputs[name] for name in kernel.inputs), *results.values()]
        motion.kernel = kernel.table_call or PythonCode(lambda _: kernel.run(*arrays))
        motion.addresses, motion.clock = AddressTable(arrays), StateClock()
        motion.observer = ObserverState()
        plan.bind(motion.observer, results)
        plan.set_values(motion.observer, vars(self._settings), self._joints)
        motion.offset, motion.number = ResidualOffset(), 0
        if self._residual is not None:
            motion.offset.model = self._residual
            self._residual.restart()
            motion.offset.constant, motion.offset.offset = np.zeros(robot.nv), inputs['offset']
        motion.inputs = tuple(SampleRows(inputs[name]) for name in ('q', 'v', 'measured'))
        motion.velocity, motion.effort = motion.inputs[1:]
        rows = [[results[each] for each in formulas] for formulas in self._named.values()]
        if self._has_covariance:
            noise = motion.noise = self._noise(plan, motion.offset, results)
            rows.append([noise.covariance])
        motion.results = tuple(SampleRows(*each) for each in rows)
        if contacts is not None and self._observed.torque in results:
            motion.contacts, contacts.torques = contacts, results[self._observed.torque]
        run = observe if kernel.table_call is None else calls(observe)[0]
        return partial(self._run, motion, run)

    def _noise(
        self, plan: ObserverPlan, offset: ResidualOffset, results: Mapping[Any, Array]
    ) -> TorqueNoise:
        """Return the covariance of the torques."""
        filters = [LowPassSteps(np.array(PASS_WEIGHTS))]  # as in nodes
        noise = TorqueNoise(plan.steps, filters)
        noise.bind(self._observed, results, offset)
        noise.effort_deviations, noise.velocity_deviations, of_model = (
            values_of_joints(vars(self._settings), f'observer_{what}_deviation', self._joints)
            for what in ('effort', 'velocity', 'model')
        )
        noise.variances = np.nan_to_num(of_model**2)
        return noise

    def _run(
        self,
        motion: ObservedMotion,
        run: Callable[[ObservedMotion], None],
        t: NDArray[np.int64],
        starts: NDArray[np.bool_],
        *inputs: Array,
    ) -> dict[str, Array]:
        """Return the results of a block; `inputs` are positions, velocities and efforts."""
        motion.t, motion.starts = t, starts.view(np.uint8)
        for each, rows in zip(motion.inputs, inputs):
            each.rows = rows
        results = {
            name: np.full((len(t), len(each.numbers)), np.nan)
            for name, each in zip((*self._named, COVARIANCE), motion.results)
        }
        for each, rows in zip(motion.results, results.values()):
            each.rows = rows
        if motion.contacts is not None:
            motion.contacts.start(len(t))
        run(motion)
        if COVARIANCE in results:
            results[COVARIANCE].shape = (-1, *2 * (self._robot.nv,))
        return results
