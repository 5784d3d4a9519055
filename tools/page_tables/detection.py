# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The table of doc/reference/doctor.md: how much data shows a fault of a driver, simulated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from screw_dynamics_ros.cli.doctor.efforts import joint_findings
from screw_dynamics_ros.core.estimation.gravity_direction import (
    OrientationCheck,
    down_by_force,
)
from screw_dynamics_ros.core.estimation.tool_identification import (
    MIN_POSES,
    NoToolError,
    TooFewPosesError,
    identify_tool,
)
from screw_dynamics_ros.core.identification.effort_check import check_efforts
from screw_dynamics_ros.core.identification.effort_equations import equations
from screw_dynamics_ros.core.identification.identification import DEFAULT
from screw_dynamics_ros.core.identification.recording import (
    JointRecording,
    checked,
    measured,
    moving,
)
from screw_dynamics_ros.core.identification.unknowns import Unknowns
from screw_dynamics_ros.core.kinematics.twist_check import TwistCheck
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.mobile.followed_path import SLIP_TOLERANCE, WheelCheck
from screw_dynamics_ros.core.mobile.platforms import mecanum, steering_for, swerve
from screw_dynamics_ros.core.state_checks import (
    JointMotion,
    range_findings,
    velocity_fault,
)
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.driver_comparison import DriverComparison
from support.healthy_recordings import (
    Recorded,
    backlash,
    described,
    dropped,
    encoder,
    filtered,
    jittered,
    recorded,
)

TRIALS = 12
NEVER = np.inf
Rng = np.random.Generator


def disturbed(seed: int, **options: float) -> Recorded:
    """Return a recording of a Panda with all disturbances of sensors and drives."""
    rng = np.random.default_rng(seed)
    run = recorded('panda', seed, moves=12.0, **options)
    v = filtered(run, rng).v
    run = encoder(14)(run, rng).but(v=v)
    for sensors in (backlash, dropped, jittered):
        run = sensors(run, rng)
    return run


# --- joint states ---------------------------------------------------------------------------------

VELOCITIES = {
    'velocities of zero': 0.0,
    'velocities of the opposite sign': -1.0,
    'velocities in turns/s': 0.5 / np.pi,
    'velocities in deg/s': 180.0 / np.pi,
    'velocities in rpm': 30.0 / np.pi,
}


def paths_until_velocities(factor: float) -> Iterator[float]:
    """Yield the path of each joint [rad] until its velocities are reported, and stay so."""
    for seed in range(TRIALS // 4):
        run = disturbed(seed).rows(slice(400))
        for k in range(7):
            t, q, v = run.t, run.q[:, k], factor * run.v[:, k]
            ends = range(10, len(t), 10)
            found = [bool(velocity_fault([JointMotion(t[:n], q[:n], v[:n])])) for n in ends]
            yield from until(found, [float(np.abs(np.diff(q[:n])).sum()) for n in ends])


def until(found: list[bool], amounts: list[float]) -> list[float]:
    """Return the amount from which on a fault is found."""
    misses = len(found) - found[::-1].index(False) if False in found else 0
    return [amounts[misses] if misses < len(amounts) else NEVER]


def first(found: list[bool], amounts: list[float]) -> list[float]:
    """Return the first amount at which a fault is found."""
    return [amounts[found.index(True)] if True in found else NEVER]


def states_until_degrees() -> Iterator[float]:
    """Yield the number of states until positions in degrees are reported as such."""
    robot = described('panda')[1]
    limits, turns = robot.limits, np.ones(7, dtype=bool)
    for seed in range(TRIALS):
        q = np.degrees(disturbed(seed).q[:, :7])
        found = []
        for n in range(1, 100):
            ranges = q[:n].min(axis=0), q[:n].max(axis=0)
            bounds = limits.lower[:7], limits.upper[:7]
            texts = map(str, range_findings(robot.joint_names[:7], turns, bounds, ranges))
            found.append(any('degrees' in text for text in texts))
        yield from until(found, list(map(float, range(1, 100))))


def poses_until_sign(joint: int) -> Iterator[float]:
    """Yield the number of poses at rest until `doctor` reports reversed efforts of a joint."""
    robot = described('panda')[1]
    for seed in range(TRIALS):
        rng = np.random.default_rng(seed)
        g = robot.gravity_torques(robot.random_configuration(seed, 30))
        friction = 0.03 * robot.limits.effort * rng.uniform(-1.0, 1.0, g.shape)
        e = g * rng.normal(1.0, 0.05, g.shape) + friction
        e[:, joint] *= -1.0
        found = []
        for n in range(1, 31):
            findings = joint_findings(robot.joint_names, e[:n], g[:n], robot.limits.effort)
            name = f'joint {robot.joint_names[joint]}'
            found.append(any(f.subject == name and 'opposite' in f.remedy for f in findings))
        yield from until(found, list(map(float, range(1, 31))))


def seconds_until_sign() -> list[list[float]]:
    """Return for each joint the times of motion [s] until `identify` finds reversed efforts."""
    robot = described('panda')[1]
    ends, times = range(2, 10), []
    unknowns, bases = Unknowns(robot, DEFAULT.model, None), {}
    for seed in range(TRIALS // 4):
        rng = np.random.default_rng(seed)
        run = disturbed(seed)
        t, q = run.t, run.q
        a = np.gradient(run.v, t, axis=0)
        tau = robot.inverse_dynamics(q, run.v, a) + run.friction * np.sign(run.v)
        tau = -tau * rng.normal(1.0, 0.02, tau.shape)
        found = []
        for end in ends:
            rows = t <= end
            part = checked(JointRecording(t[rows], q[rows], None, tau[rows]), robot)
            moves, reports = moving([part]), measured([part])
            key = moves.tobytes(), reports.tobytes()
            if key not in bases:  # depends on nothing else
                bases[key] = unknowns.base(moves, reports, {False})[0]
            given = equations([part], unknowns, bases[key], 5.0, False)
            found.append([each.sign < 0.0 for each in check_efforts(given, robot.joint_names)])
        times.append([until(list(each), list(map(float, ends)))[0] for each in zip(*found)])
    return [list(each) for each in zip(*times)]


def messages_until_publishers() -> Iterator[float]:
    """Yield the messages until two publishers are reported that differ by 0.1 rad in a joint."""
    for seed in range(TRIALS):
        run, other = disturbed(seed), disturbed(seed).q
        other[:, seed % 7] += 0.1
        comparison, found = DriverComparison(), []
        for pair in zip(run.q[:100], other):
            for q in pair:
                message = JointStateMessage.of(tuple(run.names), q, [], [], 0)
                found.append(bool(comparison.fault(message, run.names)))
        yield from until(found, list(map(float, range(1, 201))))


# --- mobile bases and sensors ---------------------------------------------------------------------


def paths_until_wheels(kind: str, order: Sequence[int], signs: Sequence[int]) -> Iterator[float]:
    """Yield the path [m] until wheels that contradict each other are reported."""
    corners = [[0.4, 0.3], [0.4, -0.3], [-0.4, 0.3], [-0.4, -0.3]]
    platform = {'swerve': swerve(corners, 0.1), 'mecanum': mecanum(0.6, 0.4, 0.1)}[kind]
    for seed in range(TRIALS):
        rng, found = np.random.default_rng(seed), []
        phase, check = rng.uniform(0.0, 6.0, 2), WheelCheck(platform)
        for k in range(500):
            t = 0.02 * k
            twist = np.array(
                [0.5 * np.sin(0.9 * t + phase[0]), 0.6, 0.2 * np.sin(0.5 * t + phase[1])]
            )
            steering = steering_for(platform, twist)
            steps = platform.wheel_rates(twist, steering) * 0.02 * rng.normal(1.0, 0.01, 4)
            check.add(steps[list(order)] * signs, steering + 2e-3 * rng.normal(size=len(steering)))
            found.append(check.misfit > SLIP_TOLERANCE)
        yield from first(found, [0.012 * (k + 1) for k in range(500)])


#: Platform, order of its wheels, and their signs.
WHEELS = {
    'two wheels of an axle swapped, swerve': ('swerve', (1, 0, 2, 3), (1, 1, 1, 1)),
    'two wheels of a side swapped, mecanum': ('mecanum', (2, 1, 0, 3), (1, 1, 1, 1)),
    'one wheel of the opposite sign, swerve': ('swerve', (0, 1, 2, 3), (-1, 1, 1, 1)),
    'one wheel of the opposite sign, mecanum': ('mecanum', (0, 1, 2, 3), (-1, 1, 1, 1)),
}


def paths_until_twist() -> Iterator[float]:
    """Yield the path [m] until twists in world axes are reported; the heading is 30 to 180 deg."""
    for seed in range(TRIALS):
        rng, check, found = np.random.default_rng(seed), TwistCheck(), []
        C = se3.exp([0.0, 0.0, rng.uniform(np.pi / 6, np.pi), 0.0, 0.0, 0.0])
        for k in range(300):
            V = np.array([0.0, 0.0, 0.1 * np.sin(0.05 * k), 0.6, 0.0, 0.0])
            C = C @ se3.exp(0.02 * V)
            world = np.concatenate([V[:3], C[:3, :3] @ V[3:]]) + 0.02 * rng.normal(size=6)
            check.add(20_000_000 * k, C @ se3.exp(3e-3 * rng.normal(size=6)), world)
            found.append(bool(check.fault))
        yield from until(found, [0.012 * k for k in range(300)])


def angles_until_orientation() -> Iterator[float]:
    """Yield the tilt [deg] of an IMU at rest from which its default orientation is reported."""
    for seed in range(TRIALS):
        rng, found = np.random.default_rng(seed), []
        for degrees in range(1, 91):
            up = 9.81 * np.array([np.sin(np.radians(degrees)), 0.0, np.cos(np.radians(degrees))])
            force = up + 0.1 * rng.normal(size=3)
            at_rest = down_by_force(force, 0.01 * rng.normal(size=3), 9.81)
            found.append(not OrientationCheck().admits(np.array([0.0, 0.0, -1.0]), at_rest))
        yield from until(found, list(map(float, range(1, 91))))


def poses_until_mirror() -> Iterator[float]:
    """Yield the number of poses until the mirrored axes of a force-torque sensor are named."""
    for seed in range(TRIALS):
        rng = np.random.default_rng(seed)
        g = rng.normal(size=(20, 3))
        g *= 9.81 / np.linalg.norm(g, axis=1)[:, None]
        forces = 2.0 * g * [1.0, -1.0, 1.0] + [3.0, -5.0, 8.0] + 0.2 * rng.normal(size=g.shape)
        wrenches = np.hstack([np.cross([0.0, 0.02, 0.1], forces), forces])
        found = []
        for n in range(MIN_POSES, 21):
            try:
                identify_tool(g[:n], wrenches[:n])
                found.append(False)
            except (NoToolError, TooFewPosesError) as error:
                found.append('left-handed' in str(error))
        yield from until(found, list(map(float, range(MIN_POSES, 21))))


# --- table ----------------------------------------------------------------------------------------


def amounts() -> Iterator[tuple[str, str, list[float]]]:
    """Yield each fault, the unit of the amounts, and the amounts of all trials."""
    for title, factor in VELOCITIES.items():
        yield title, 'rad of the joint', list(paths_until_velocities(factor))
    yield 'positions in degrees', 'states', list(states_until_degrees())
    for joint, times in enumerate(seconds_until_sign()[:7]):
        title = f'reversed efforts of joint {joint + 1}'
        poses = list(poses_until_sign(joint))
        if np.isfinite(poses).all():
            yield title, 'poses', poses
        yield f'{title}, by `identify`', 's of motion', times
    yield 'two publishers, 0.1 rad apart', 'messages', list(messages_until_publishers())
    for title, wheels in WHEELS.items():
        yield title, 'm', list(paths_until_wheels(*wheels))
    yield 'twist in world axes', 'm', list(paths_until_twist())
    yield 'default orientation of an IMU', 'degrees of tilt', list(angles_until_orientation())
    yield 'mirrored force-torque sensor', 'poses', list(poses_until_mirror())


def detection(_: Path | None = None) -> str:
    """Return the table."""
    lines = ['| fault | median | largest | |', '|---|---|---|---|']
    for title, unit, found in amounts():
        lines.append(f'| {title} | {np.median(found):.2g} | {max(found):.2g} | {unit} |')
    return '\n'.join(lines) + '\n'


TABLES: dict[str, Callable[[Path], str]] = {'detection': detection}
