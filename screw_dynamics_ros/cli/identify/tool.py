# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Identification of the tool on a force-torque sensor from recordings."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.estimation.moved_tool import MovedTool, identify_moved_tool
from screw_dynamics_ros.core.estimation.tool_identification import ToolEstimate, identify_tool
from screw_dynamics_ros.core.identification import JointRecording
from screw_dynamics_ros.ros.recordings.recording import (
    RecordedWrenches,
    Recording,
    read_recording,
    read_wrenches,
)

from ..report import Section
from .recordings import are_poses, of_robot, recorded_description
from .report import interval_row, noted

PARAMETERS = 'tool.yaml'
MATCH_LIMIT_S = 0.02  # s between a joint state and the nearest sensor message
DEVIATIONS = 1.96  # of a normal distribution, for 95 %
LINEAR_FIRST = [3, 4, 5, 0, 1, 2]
ENTRIES = ('xx', 'xy', 'xz', 'yy', 'yz', 'zz')


class FoundTool(NamedTuple):
    """The tool, the link of the sensor, its sign, and notes."""

    tool: MovedTool | ToolEstimate
    frame: str
    sign: float
    notes: list[str]


def identified_tool(options: argparse.Namespace) -> FoundTool:
    """Return the tool from recordings with joint states and sensor messages.

    Raises ScrewDynamicsError, UnusableError.
    """
    names = dict(options.rename)
    states = [
        read_recording(path, options.topic, options.description_topic, names)
        for path in options.recordings
    ]
    wrenches = [read_wrenches(path, options.sensor) for path in options.recordings]
    text = recorded_description(options, states)
    robot = Robot(read_robot_description(text), gravity=options.gravity)
    frames = {options.sensor_frame or each.frame for each in wrenches}
    frame = frames.pop()
    if not frame or frames:
        raise ArgumentError(
            'the link of the sensor is not recorded, or differs; give it with --sensor-frame'
        )
    robot.link_pose(robot.home(), frame)  # raises for an unknown link
    sign = -1.0 if options.sensor_sign == '-1' else 1.0
    notes: list[str] = []
    runs = []
    for path, each, sensed in zip(options.recordings, states, wrenches):
        recording, remarks = of_robot(each, robot, None, options.leave_out)
        runs.append(with_wrenches(recording, each, sensed, sign, robot, path))
        notes += [f'{path.name}: {note}' for note in remarks]
    if are_poses(runs):
        q, w = np.concatenate([run.q for run in runs]), np.concatenate([run.tau for run in runs])
        R = robot.link_pose(q, frame)[:, :3, :3]
        gravity = np.einsum('kij,i->kj', R, robot.gravity)
        return FoundTool(identify_tool(gravity, w), frame, sign, notes)
    return FoundTool(identify_moved_tool(robot, frame, runs, options.cutoff), frame, sign, notes)


def with_wrenches(
    recording: JointRecording,
    states: Recording,
    wrenches: RecordedWrenches,
    sign: float,
    robot: Robot,
    path: Path,
) -> JointRecording:
    """Return the joint states near sensor messages, with wrenches instead of efforts.

    Wrenches are interpolated. Raises ArgumentError without wrenches, or if stamps do not increase.
    """
    t = (wrenches.t - states.t[0]) * 1e-9
    if (np.diff(t) <= 0.0).any() or (np.diff(recording.t) <= 0.0).any():
        raise ArgumentError(f'{path}: stamps of joint states and of the sensor must increase')
    after = np.clip(np.searchsorted(t, recording.t), 1, max(len(t) - 1, 1))
    nearest = np.minimum(
        np.abs(recording.t - t[after - 1]), np.abs(t[np.minimum(after, len(t) - 1)] - recording.t)
    )
    near = nearest <= MATCH_LIMIT_S
    if not near.any():
        raise ArgumentError(
            f'{path}: no joint state within {MATCH_LIMIT_S:g} s of a sensor message; check '
            'their stamps'
        )
    w = np.stack([np.interp(recording.t, t, x) for x in sign * wrenches.wrenches.T], axis=1)
    kinds = {joint.name: joint.kind for joint in robot.description.joints}
    periodic = [kinds[name].is_periodic for name in robot.joint_names]
    q = recording.q[near].copy()
    q[:, periodic] = np.unwrap(q[:, periodic], axis=0)
    return replace(recording, t=recording.t[near], q=q, v=None, tau=w[near])


def section(found: FoundTool) -> Section:
    """Return the report."""
    tool = found.tool
    moved = tool if isinstance(tool, MovedTool) else None
    how = (
        f'{tool.poses} poses at rest'
        if isinstance(tool, ToolEstimate)
        else f'{tool.instants} samples below {tool.cutoff:.3g} Hz'
    )
    rows = [('mass', 'kg', tool.mass, tool.mass_deviation)]
    rows += zip('xyz', 'mmm', tool.com.tolist(), tool.com_deviation.tolist())
    if moved is not None and moved.inertia is not None:
        assert moved.inertia_deviation is not None
        inertias = moved.inertia.tolist(), moved.inertia_deviation.tolist()
        rows += zip(ENTRIES, ['kg m^2'] * 6, *inertias)
    bias, deviation = tool.bias[LINEAR_FIRST], tool.bias_deviation[LINEAR_FIRST]
    names = [f'bias {kind}{axis}' for kind in 'fm' for axis in 'xyz']
    rows += zip(names, ['N'] * 3 + ['N m'] * 3, bias.tolist(), deviation.tolist())
    made = Section(f'tool on {found.frame}: {how}; 95 % intervals', noted(found.notes))
    made.table((), [interval_row(*row[:3], DEVIATIONS * row[3]) for row in rows])
    made.lines.append(
        f'residuals {tool.force_residual:.3g} N, {tool.moment_residual:.3g} N m'
        + ('' if moved is None else f' of {moved.force:.3g} N, {moved.moment:.3g} N m')
    )
    if moved is None or moved.inertia is None:
        made.lines += noted(['inertia not determined: rotate the sensor faster about all axes'])
    return made


def parameter_file(found: FoundTool) -> str:
    """Return a parameter file of `wrist_sensor`."""
    tool = found.tool
    inertia = tool.inertia if isinstance(tool, MovedTool) else None
    values = {
        'sensor_frame': found.frame,
        'sensor_sign': found.sign,
        'tool_mass': float(tool.mass),
        'tool_center_of_mass': listed(tool.com),
        'tool_inertia': [0.0] * 6 if inertia is None else listed(inertia),
        'bias': listed(tool.bias[LINEAR_FIRST]),
    }
    content = {'/**/wrist_sensor': {'ros__parameters': values}}
    return yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=100)


def listed(values: Sequence[float] | np.ndarray) -> list[float]:
    """Return numbers for a file, with nine digits."""
    return [float(f'{x:.9g}') for x in values]
