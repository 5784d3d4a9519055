# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Simulated arms: one in contact at 1 kHz, and 1024 at once beside MuJoCo, on one core.

Both have the same model, a Panda with its fingers held, and the same integrators: ours of fourth
order is that of MuJoCo's RK4, and our semi-implicit one its Euler method, number by number.
Contacts, limits and friction are off where they are compared. MuJoCo steps one state at a time:
`mj_step` in a loop over 1024 MjData, and its own `rollout`, which loops in C++; both leave their
results in place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from figures import Figure, compared
from robots_compared import NAMES, PANDA
from timing import Run, Times, loop, measure, one_core

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Limits, RobotDescription, read_urdf
from screw_dynamics_ros.core.motion.control.joint_gains import middle_of_range
from screw_dynamics_ros.core.simulation import (
    ContactPoint,
    Plane,
    Posture,
    SimulatedRobot,
    SimulatedStack,
)
from support.models import to_urdf
from support.robots import urdf_path

DT, COUNT = 1e-3, 1024
TURN = 10e-3  # s
LOOP, ROLLOUT, ONE = 'mj_step in a loop', 'MuJoCo rollout, one thread', 'mj_step'
#: Ours, and MuJoCo's integrator that does the same.
INTEGRATORS = {'runge_kutta': 'RK4', 'semi_implicit': 'EULER'}
REQUIRED = 50.0  # % of a core
#: Of the table [N/m]: steps of 1 ms are long enough for the first and divided for the second.
STIFFNESSES = (2e4, 1e6)


def figures(quick: bool) -> Iterator[Figure]:
    """Measure on one core; MuJoCo is left out if it is not installed."""
    description = arm()
    robot = f'{NAMES[PANDA]}, 7 joints'
    with one_core():
        for stiffness in STIFFNESSES:
            yield in_contact(Robot(description), robot, stiffness, 500 if quick else 5000)
        free = replace(
            description,
            joints=tuple(replace(joint, limits=Limits()) for joint in description.joints),
        )
        for ours, theirs in INTEGRATORS.items():
            yield from single(Robot(free), robot, ours, theirs, quick)
            yield from stacked(Robot(free), robot, ours, theirs, quick)


def arm() -> RobotDescription:
    """Return the Panda with its fingers held."""
    description = read_urdf(urdf_path(PANDA))
    joints = tuple(
        replace(joint, type='fixed', mimic=None) if 'finger' in joint.name else joint
        for joint in description.joints
    )
    return replace(description, joints=joints)


def in_contact(robot: Robot, name: str, stiffness: float, steps: int) -> Figure:
    """Return the share of a core of one arm whose hand is pressed on a table and moved there.

    In processor time: other processes that take the core meanwhile do not count.
    """
    points = [
        ContactPoint('panda_hand', [x, y, 0.06], 0.01) for x in (-0.02, 0.02) for y in (-0.1, 0.1)
    ]
    start = middle_of_range(robot)
    height = robot.link_pose(start, 'panda_hand')[2, 3] - 0.06
    table = Plane([0, 0, height], [0, 0, 1], stiffness=stiffness, damping=1.0, friction=0.4)
    simulated = SimulatedRobot(robot, start, planes=[table], contact_points=points)
    posture, push = (
        Posture(robot, start, amplitude=0.05, period=3.0),
        np.array([0, 0, 0, 0, 0, 30.0]),
    )
    simulated.prepare()
    taken, touching = [], 0
    for k in range(steps):
        tau = posture.torques(k * DT, simulated.q, simulated.v)
        begin = time.thread_time()
        simulated.step(tau, DT, {'panda_hand': push})
        taken.append(time.thread_time() - begin)
        touching += bool(simulated.contact_wrenches['panda_hand'].any())
    taken = np.array(taken[steps // 10 :])  # the first ones compile what they need
    return Figure(
        'Simulation on one core',
        name,
        f'1 kHz, four spheres of the hand on a table, {stiffness:.0e} N/m',
        100.0 * float(taken.mean()) / DT,
        100.0 * float(np.quantile(taken, 0.99)) / DT,
        unit='%',
        required=REQUIRED,
        meaning='ours at most',
        note=f'runge_kutta; processor time; in contact in {100 * touching / steps:.0f} % of steps',
    )


def single(robot: Robot, name: str, ours: str, theirs: str, quick: bool) -> Iterator[Figure]:
    """Compare steps of one arm that falls from the same state at rest in each turn.

    After half a second it whirls, and then our steps of first order are divided.
    """
    q, tau = middle_of_range(robot), np.zeros(robot.nv)
    simulated = SimulatedRobot(robot, q, ours)
    runs: dict[str, Run] = {
        'ours': FromRest(
            loop('step(tau, dt)', step=simulated.step, tau=tau, dt=DT),
            lambda: simulated.set_state(q, np.zeros(robot.nv)),
        )
    }
    peer = Peer(robot, theirs, 1)
    if peer.found:
        runs[ONE] = FromRest(
            loop('step(model, data)', step=peer.step, model=peer.model, data=peer.data[0]),
            lambda: peer.put(q[None], np.zeros((1, robot.nv))),
        )
    yield from lines(f'one arm, {theirs}', name, ours, measure(runs, repeats=5 if quick else 25), 1)


def stacked(robot: Robot, name: str, ours: str, theirs: str, quick: bool) -> Iterator[Figure]:
    """Compare steps of a stack."""
    rng = np.random.default_rng(0)
    q, v = rng.uniform(-1.0, 1.0, (2, COUNT, robot.nv))
    stack, tau = SimulatedStack(robot, COUNT, q, ours), np.zeros(robot.nv)
    stack.v = v
    runs: dict[str, Run] = {'ours': loop('step(tau, dt)', step=stack.step, tau=tau, dt=DT)}
    peer = Peer(robot, theirs, COUNT)
    if peer.found:
        peer.put(q, v)
        check(stack, peer)
        names = {'step': peer.step, 'model': peer.model, 'data': peer.data}
        runs[LOOP] = loop('for d in data: step(model, d)', **names)
        runs[ROLLOUT] = loop('rollout()', rollout=peer.rollout)
    times = measure(runs, repeats=5 if quick else 25, seconds=TURN)
    yield from lines(f'{COUNT} arms, {theirs}', name, ours, times, COUNT)


def lines(
    what: str, name: str, integrator: str, times: dict[str, Times], count: int
) -> Iterator[Figure]:
    """Yield times per step and arm; without a peer, ours alone."""
    mine = times['ours']
    note = f'ours: {integrator}, steps of 1 ms; {DT * count / mine.median:.3g} simulated s per s'
    group, scale = 'Simulation on one core', 1e6 / count
    if len(times) == 1:
        yield Figure(group, name, what, scale * mine.median, scale * mine.p99, note=note)
    yield from compared(group, name, what, times, scale=scale, note=note)


class FromRest:
    """A run before which a function sets the state, which is not timed."""

    def __init__(self, run: Run, start: Callable[[], None]) -> None:
        self._run, self._start = run, start

    def __call__(self, n: int) -> float:
        self._start()
        return self._run(n)

    def each(self, n: int) -> list[float]:
        self._start()
        return self._run.each(n)


class Peer:
    """MuJoCo's model of a robot with some states; `found` says whether MuJoCo is installed."""

    def __init__(self, robot: Robot, integrator: str, count: int) -> None:
        try:
            import mujoco
            from mujoco import rollout
        except ImportError:
            self.found = False
            return
        self.found, self.step = True, mujoco.mj_step
        self.model = mujoco.MjModel.from_xml_string(to_urdf(robot.description))
        self.model.opt.gravity[:] = robot.gravity
        self.model.opt.timestep = DT
        self.model.opt.integrator = getattr(mujoco.mjtIntegrator, f'mjINT_{integrator}')
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        self.model.dof_damping[:] = 0.0
        assert [self.model.joint(k).name for k in range(robot.nv)] == list(robot.joint_names)
        self.data = [mujoco.MjData(self.model) for _ in range(count)]
        self._scratch = mujoco.MjData(self.model)
        self._full = mujoco.mjtState.mjSTATE_FULLPHYSICS
        self._get, self._rollout = mujoco.mj_getState, rollout.Rollout(nthread=0)
        self._states = np.zeros((count, mujoco.mj_stateSize(self.model, self._full)))
        self._out = np.zeros((count, 1, self._states.shape[1]))

    def put(self, q: np.ndarray, v: np.ndarray) -> None:
        """Set the states (N, n)."""
        for data, position, velocity in zip(self.data, q, v):
            data.qpos[:], data.qvel[:] = position, velocity
        for data, state in zip(self.data, self._states):
            self._get(self.model, data, state, self._full)

    def rollout(self) -> None:
        """Move all of the states on by one step, in C++."""
        self._rollout.rollout(
            self.model,
            self._scratch,
            self._states,
            nstep=1,
            state=self._out,
            skip_checks=False,
        )
        self._states[:] = self._out[:, 0]


def check(stack: SimulatedStack, peer: Peer) -> None:
    """Make sure that all compute the same: one step, and back to the start."""
    q, v, saved = stack.q, stack.v, stack.save()
    stack.step(np.zeros(stack.robot.nv), DT)
    for data in peer.data[:8]:
        peer.step(peer.model, data)
    peer.rollout()
    n = stack.robot.nv
    for k in range(8):
        np.testing.assert_allclose(stack.q[k], peer.data[k].qpos, rtol=0, atol=1e-9)
        np.testing.assert_allclose(stack.q[k], peer._out[k, 0, 1 : 1 + n], rtol=0, atol=1e-9)
    stack.restore(saved)
    peer.put(q, v)
