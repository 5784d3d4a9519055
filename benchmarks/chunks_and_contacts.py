# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Chunks of a policy sent directly and through `trajectory_proxy`, and stops at a wall.

    PYTHONPATH=.:test .venv/bin/python benchmarks/chunks_and_contacts.py

Simulated without nodes: the same numbers on each run, but for the time of preparations, which is
printed. Writes the tables of doc/how_to/trajectories.md.

A Panda instead of an OpenArm, with the gains of its drives and the friction that its maker
publishes; at the wall also a UR5 with stiff drives.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectory

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.drives import Drive
from screw_dynamics_ros.core.estimation.observers.generalized_momentum import momentum_step
from screw_dynamics_ros.core.estimation.threshold_flag import ThresholdFlag
from screw_dynamics_ros.core.motion.trajectory.joint_path import JointPath
from screw_dynamics_ros.core.simulation.contacts import ContactPoint, Plane
from screw_dynamics_ros.core.simulation.simulated_robot import SimulatedRobot
from screw_dynamics_ros.nodes.services.requests import RequestContext, pickled
from screw_dynamics_ros.nodes.trajectory.chunk_preparation import prepare_chunk
from screw_dynamics_ros.nodes.trajectory.goal_preparation import Settings
from screw_dynamics_ros.ros.joint_states.requested_state import JointState
from screw_dynamics_ros.ros.messages.conversions import time_message
from screw_dynamics_ros.ros.messages.trajectories import trajectory_points
from support.robots import urdf_path

Array = np.ndarray

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / 'doc' / 'how_to' / 'trajectories.md'
JOINTS = tuple(f'panda_joint{k}' for k in range(1, 8))
UR_JOINTS = [
    *('shoulder_pan_joint', 'shoulder_lift_joint', 'elbow_joint'),
    *('wrist_1_joint', 'wrist_2_joint', 'wrist_3_joint'),
]
S = 10**9

# Of the OpenArm: gains of its drives, Coulomb and viscous friction; of the fingers: any.
STIFFNESS = np.array([70.0, 70.0, 70.0, 60.0, 10.0, 10.0, 10.0, 1000.0])
DAMPING = np.array([2.75, 2.5, 2.0, 2.0, 0.7, 0.6, 0.5, 10.0])
COULOMB = [0.306, 0.306, 0.40, 0.166, 0.050, 0.093, 0.172]
VISCOUS = [0.063, 0.063, 0.604, 0.813, 0.029, 0.072, 0.084]
SMOOTHING = 0.02  # rad/s

STEP = 0.001  # s
START = np.array([0.0, 0.2, 0.0, -1.6, 0.0, 1.9, 0.8, 0.02])
AMPLITUDE = np.array([0.5, 0.3, 0.4, 0.4, 0.5, 0.4, 0.5])
FREQUENCY = np.array([1.1, 1.3, 0.9, 1.5, 1.7, 1.2, 1.9])  # rad/s
POINTS, SPACING = 25, 0.04  # of a chunk, s
PERIOD, MAX_DELAY = 0.2, 0.08  # s, between chunks, and from their stamps to their arrival
DISAGREEMENT = 0.01  # rad, between chunks
LENGTH = 8.0  # s
LEAD = 0.02  # s
SETTINGS = Settings('slow', 1.0, 1.0, (), True, 0.02, 0.0)

WALL = 1e5  # N/m
SPEED = 0.1  # m/s
FLAG_SHARE, FLAG_TIME, TIME_CONSTANT = 0.1, 0.004, 0.01  # of effort limits, s, s
RETREAT = 0.3  # s


def robot_with_friction() -> Robot:
    """Return the Panda with the friction of the other arm."""
    drives = {
        name: Drive(coulomb=coulomb, damping=viscous, smoothing=SMOOTHING)
        for name, coulomb, viscous in zip(JOINTS, COULOMB, VISCOUS)
    }
    return Robot.from_urdf((ROOT / 'urdf' / 'panda.urdf').read_text(), drives=drives)


class Proxy:
    """What `trajectory_proxy` does with chunks, without nodes."""

    def __init__(self, robot: Robot, joints: Sequence[str] = JOINTS) -> None:
        self._data, self._joints = pickled(robot), joints
        self._robot, self.sent, self.durations = robot, None, []

    def send(self, message: Any, now: float, q: Array, v: Array, reaction: str = '') -> None:
        """Join a chunk to the motion."""
        state = JointState(q, v, np.zeros_like(q), np.zeros_like(q), round(now * S))
        situation = RequestContext(self._data, self._robot.gravity, '', state)
        begin = time.perf_counter()
        data, stamp = serialize_message(message), round(now * S)
        sent = None if reaction else self.sent
        found = prepare_chunk(situation, SETTINGS, data, sent, stamp, LEAD, reaction)
        self.durations.append(time.perf_counter() - begin)
        if found.sent is None:
            raise AssertionError(found.text)
        self.sent = found.sent

    def wanted(self, now: float) -> tuple[Array, Array, Array]:
        """Return position, velocity and effort for the drives."""
        assert self.sent is not None
        stamp = round(now * S)
        q, v, _ = self.sent.at(stamp, self._joints)
        return q, v, np.array(self.sent.efforts(stamp))


def message_of(
    q: Array,
    time: Array,
    stamp: float,
    v: Array | None = None,
    joints: Sequence[str] = JOINTS,
) -> JointTrajectory:
    """Return a chunk, of positions only unless velocities are given."""
    none = np.empty((len(q), 0))
    points = trajectory_points(time, q, none if v is None else v, none, none)
    message = JointTrajectory(joint_names=list(joints), points=points)
    message.header.stamp = time_message(round(stamp * S))
    return message


def policy(t: Array) -> tuple[Array, Array]:
    """Return the motion that the policy has in mind, from rest."""
    begin = np.minimum(t / 2.0, 1.0)[:, None] ** 2
    q = START[:7] + begin * AMPLITUDE * np.sin(FREQUENCY * t[:, None])
    return q, np.gradient(q, t, axis=0) if len(t) > 1 else np.zeros_like(q)


def followed(way: str) -> dict[str, float]:
    """Let the arm follow the chunks of a policy; return its errors."""
    robot, random = robot_with_friction(), np.random.default_rng(1)
    simulated, proxy = SimulatedRobot(robot, START), Proxy(robot)
    chunks = []
    for begin in np.arange(0.0, LENGTH, PERIOD):
        time = SPACING * np.arange(POINTS)
        q = policy(begin + time)[0] + DISAGREEMENT * random.standard_normal(7)
        chunks.append((begin + MAX_DELAY * random.random(), begin, time, q))
    path, arrived, errors, wanted = JointPath([0.0], [START[:7]]), 0, [], []
    for k in range(round(LENGTH / STEP)):
        now = k * STEP + 1e-9
        q, v = simulated.q, simulated.v
        while arrived < len(chunks) and chunks[arrived][0] <= now:
            _, begin, time, points = chunks[arrived]
            if way == 'proxy':
                proxy.send(message_of(points, time, begin + 1.0), now + 1.0, q, v)
            else:  # from where the last one is now to the next point, straight between points
                left = begin + time > now
                first = path.at(now)[0]
                path = JointPath(
                    np.append(now, (begin + time)[left]), np.vstack([first, points[left]])
                )
            arrived += 1
        tau = np.zeros(8)
        if way == 'proxy' and proxy.sent is not None:
            aim, speed, tau[:7] = proxy.wanted(now + 1.0)
        else:
            aim, speed = path.at(now)
            if way == 'gravity' or (way == 'proxy' and proxy.sent is None):
                tau = robot.gravity_torques(q)
        feedback = STIFFNESS * (np.append(aim, START[7]) - q) + DAMPING * (np.append(speed, 0) - v)
        tau = np.clip(tau + feedback, -robot.limits.effort, robot.limits.effort)
        simulated.step(tau, STEP)
        wanted.append(speed)
        errors.append(simulated.q[:7] - policy(np.array([now + STEP]))[0][0])
    late = np.array(errors)[round(1.0 / STEP) :]
    if proxy.durations:
        print(f'preparation: {1e3 * np.median(proxy.durations[1:]):.1f} ms, at most '
              f'{1e3 * max(proxy.durations[1:]):.1f} ms')  # fmt: skip
    return {
        'error, RMS [mrad]': 1e3 * float(np.sqrt((late**2).mean())),
        'error, largest [mrad]': 1e3 * float(np.abs(late).max()),
        'largest step of the commanded velocity [rad/s]': float(
            np.abs(np.diff(wanted[round(1.0 / STEP) :], axis=0)).max()
        ),
    }


@dataclass(frozen=True, eq=False)
class Arm:
    """A robot whose first joints move its tool; gains of the drives of all joints."""

    robot: Robot
    joints: Sequence[str]
    tool: str
    start: Array
    stiffness: Array
    damping: Array


def arms() -> dict[str, Arm]:
    """Return the arms at the wall, by name."""
    panda = robot_with_friction()
    ur = Robot.from_urdf(urdf_path('ur_description/urdf/ur5_robot').read_text())
    start = np.array([0.0, -1.2, 1.6, -0.4, 1.57, 0.0])
    gains = np.array([4000.0, 4000.0, 2000.0, 400.0, 400.0, 200.0])
    return {
        'Panda': Arm(panda, JOINTS, 'panda_hand_tcp', START, STIFFNESS, DAMPING),
        'UR5': Arm(ur, UR_JOINTS, 'tool0', start, gains, 0.02 * gains),
    }


def stopped(reaction: str, arm: Arm) -> dict[str, float]:
    """Move the tool against a wall; return what happens."""
    robot, n, nv = arm.robot, len(arm.joints), arm.robot.nv
    pose = robot.link_pose(arm.start, arm.tool)
    wall = Plane(pose[:3, 3] + [0.05, 0, 0], [-1.0, 0.0, 0.0], stiffness=WALL, friction=0.0)
    points = [ContactPoint(arm.tool)]
    simulated = SimulatedRobot(robot, arm.start, planes=[wall], contact_points=points)
    proxy, q, path = Proxy(robot, arm.joints), arm.start.copy(), []
    for _ in range(26):  # straight on for 1 s
        path.append(q[:n].copy())
        jacobian = robot.jacobian(q, arm.tool, 'hybrid')[:, :n]
        twist = np.array([0.0, 0.0, 0.0, SPEED, 0.0, 0.0])
        q[:n] += 0.04 * np.linalg.pinv(jacobian) @ twist
    limit = FLAG_SHARE * robot.limits.effort[:n]
    flag = ThresholdFlag(limit, 0.7 * limit, FLAG_TIME, 0.1)
    chunk = message_of(np.array(path), 0.04 * np.arange(26), 0.0, joints=arm.joints)
    proxy.send(chunk, 1.0, arm.start, simulated.v)
    state, decay, waiting = np.zeros(3 * nv), np.ones(nv), None
    touch, raised, forces, depths = np.nan, np.nan, [], []
    for k in range(1500):
        now = 1.0 + k * STEP
        q, v = simulated.q.copy(), simulated.v.copy()
        aim, speed, effort = proxy.wanted(now)
        target, rate = np.append(aim, arm.start[n:]), np.append(speed, np.zeros(nv - n))
        tau = arm.stiffness * (target - q) + arm.damping * (rate - v)
        tau[:n] += effort
        gravity, friction = robot.gravity_torques(q), robot.friction_torques(v)
        coriolis = robot.coriolis_matrix(q, v)
        known = tau - gravity - friction + coriolis.T @ v
        state = momentum_step(state, robot.mass_matrix(q) @ v, known, decay, np.array([1.0 / STEP]))
        if k == 0:
            state[2 * nv :] = 0.0
        decay = np.full(nv, np.exp(-STEP / TIME_CONSTANT))
        if k and flag.take(state[2 * nv :][:n], round(STEP * S)) and not np.isfinite(raised):
            raised = now
            if reaction != 'plain':
                back = RETREAT if reaction == 'retreat' else 0.0
                aim = proxy.sent.at(round((now - back) * S), arm.joints)[0]
                before = proxy.sent
                reply = message_of(aim[None], np.zeros(1), 0.0, joints=arm.joints)
                proxy.send(reply, now, q, v, reaction)
                waiting, proxy.sent = (now + LEAD, proxy.sent), before
        if waiting is not None and now >= waiting[0]:
            proxy.sent, waiting = waiting[1], None
        simulated.step(tau, STEP)
        wrench = simulated.contact_wrenches.get(arm.tool, np.zeros(6))
        forces.append(float(np.linalg.norm(wrench[3:])))
        depths.append(robot.link_pose(simulated.q, arm.tool)[0, 3])
        if forces[-1] > 0.0 and not np.isfinite(touch):
            touch = now
    first, at_flag = round((touch - 1.0) / STEP), round((raised - 1.0) / STEP)
    top = at_flag + int(np.argmax(depths[at_flag:]))
    reversal = 1.0 + top * STEP
    return {
        'flag after [ms]': 1e3 * (raised - touch),
        'force at the flag [N]': forces[at_flag],
        'deepest after [ms]': 1e3 * (reversal - touch),
        'largest force after the flag [N]': max(forces[at_flag:]),
        'force after 0.5 s [N]': forces[first + 500],
    }


def table(rows: dict[str, dict[str, float]]) -> str:
    """Return a table."""
    heads = next(iter(rows.values()))
    lines = [f'|  | {" | ".join(heads)} |', '|---' * (len(heads) + 1) + '|']
    for name, row in rows.items():
        lines.append(f'| {name} | {" | ".join(f"{value:.3g}" for value in row.values())} |')
    return '\n'.join(lines)


def main() -> None:
    """Measure, print and write both tables."""
    text = PAGE.read_text(encoding='utf-8')
    for place, rows in (
        (
            'chunks',
            {
                'sent directly': followed('direct'),
                'sent directly, the robot adds gravity': followed('gravity'),
                'through the proxy': followed('proxy'),
            },
        ),
        (
            'contact',
            {
                f'{name}, {what}': stopped(reaction, arm)
                for name, arm in arms().items()
                for what, reaction in (('none', 'plain'), ('hold', 'hold'), ('retreat', 'retreat'))
            },
        ),
    ):
        print(table(rows))
        text = re.sub(
            f'<!-- table: {place} -->\n.*?<!-- end of table -->',
            lambda _, place=place, rows=rows: (
                f'<!-- table: {place} -->\n{table(rows)}\n<!-- end of table -->'
            ),
            text,
            flags=re.DOTALL,
        )
    PAGE.write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main()
