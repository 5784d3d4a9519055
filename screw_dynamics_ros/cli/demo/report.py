# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Evaluation of a recording of the demo: statistics, comparisons, result, plot."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.comparison.peer import ModelSource, RefusalError
from screw_dynamics_ros.comparison.pinocchio_peer import PinocchioPeer
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.types import Array

from ..command_line import GRAVITY, drawing, write_whole
from ..library_messages import caught_messages
from ..report import Section, digits, text
from .recording import OUTPUTS, STAMPED, DemoRecording, Push, singular_values

# Limits of the comparisons. The estimate of the external wrench neglects accelerations, so it
# contains the inertial torques of the moving arm; so does the difference between the torques of the
# simulator and the feedforward of the measured state. For the slow reference, M a is at most
# 0.17 N m, which causes errors of up to 0.24 N and 0.05 N m at the tool. The limits are about twice
# as large.
LIMITS = {
    'lost': 5.0,  # % of the joint states
    'force mean': 0.25,  # N
    'force worst': 0.5,  # N
    'moment mean': 0.05,  # N m
    'moment worst': 0.1,  # N m
    'feedforward': 0.35,  # N m
    'model state': 0.0,  # in the units of the quantities
    'Pinocchio': 1e-9,  # in the units of `PINOCCHIO`
}
PINOCCHIO = {'tool position': 'm', 'tool rotation': 'rad', 'gravity': 'N m', 'Coriolis': 'N m'}


@dataclass(frozen=True)
class DemoComparison:
    """A measured deviation and its limit.

    Attributes
    ----------
    name : str
    value, limit : float
        The comparison passes if value <= limit; NaN (no samples) fails.
    unit : str
    """

    name: str
    value: float
    limit: float
    unit: str

    @property
    def passed(self) -> bool:
        """Whether the deviation is within its limit."""
        return self.value <= self.limit


@dataclass(frozen=True)
class DemoReport:
    """Printed and saved results.

    Attributes
    ----------
    duration : float
        From the first to the last joint state [s].
    joint_states : int
        Number of joint states.
    rates : dict
        Messages per second by series.
    latency : dict
        Milliseconds: median and p99, from the arrival of a joint state and from its stamp.
    comparisons : tuple of DemoComparison
    remarks : tuple of str
        Comparisons that were not possible.
    """

    duration: float
    joint_states: int
    rates: dict[str, float]
    latency: dict[str, float]
    comparisons: tuple[DemoComparison, ...]
    remarks: tuple[str, ...]

    @property
    def failures(self) -> list[str]:
        """Names of the comparisons that failed."""
        return [comparison.name for comparison in self.comparisons if not comparison.passed]


def make_report(recording: DemoRecording, push: Push, urdf: Path, tool: str) -> DemoReport:
    """Evaluate a recording.

    Parameters
    ----------
    recording : DemoRecording
    push : Push
        The applied push.
    urdf : Path
        The description, for an independent computation.
    tool : str
        The frame of the tool.
    """
    time = recording.time('joint_states')
    _, since_arrival, since_stamp = recording.latency()
    robot = Robot(read_robot_description(urdf))
    of_model_state, no_model_state = compare_model_state(recording)
    independent, remarks = compare_with_pinocchio(recording, urdf, tool)
    return DemoReport(
        duration=float(time[-1] - time[0]) if len(time) else 0.0,
        joint_states=len(time),
        rates={
            name: rate(recording.series[name].arrivals()) for name in ('joint_states', *OUTPUTS)
        },
        latency={
            'median since arrival': percentile(since_arrival, 50) * 1e3,
            'p99 since arrival': percentile(since_arrival, 99) * 1e3,
            'median since stamp': percentile(since_stamp, 50) * 1e3,
            'p99 since stamp': percentile(since_stamp, 99) * 1e3,
        },
        comparisons=(
            compare_completeness(recording),
            *compare_wrench(recording, push, robot),
            compare_feedforward(recording, push, robot),
            *of_model_state,
            *independent,
        ),
        remarks=remarks + no_model_state,
    )


def compare_completeness(recording: DemoRecording) -> DemoComparison:
    """Return the share of joint states with a missing output."""
    stamps = recording.series['joint_states'].stamps()
    answered = np.zeros(len(stamps), dtype=bool)
    answered[recording.latency()[0]] = True
    end = stamps.max(initial=0) if recording.end is None else recording.end
    due = (stamps > recording.begin) & (stamps <= end)
    return DemoComparison(
        'joint states without all outputs', 100.0 * mean(~answered[due]), LIMITS['lost'], '%'
    )


def phases(
    recording: DemoRecording, push: Push, robot: Robot, states: Array, external: Array
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return in which states (n, width) the push is steady, and in which it is absent.

    They follow from its torques `external` (n, joints), converted to a wrench at the tool.
    """
    if not len(states):
        return np.zeros(0, dtype=bool), np.zeros(0, dtype=bool)
    order = [recording.joints.index(name) for name in robot.joint_names]
    q = states[:, : len(recording.joints)][:, order]
    transposed = np.swapaxes(robot.jacobian(q, recording.tool, 'body'), 1, 2)
    acting = (np.linalg.pinv(transposed) @ external[:, order, None])[..., 0]
    period = float(np.median(np.diff(recording.series['joint_states'].stamps()))) * 1e-9
    return push.phases(acting, period)


def compare_wrench(recording: DemoRecording, push: Push, robot: Robot) -> list[DemoComparison]:
    """Compare the estimated wrench with the applied force, in the steady part of the push."""
    _, wrench, states, external = recording.together('wrench', 'joint_states', 'external')
    steady, absent = phases(recording, push, robot, states, external)
    error = wrench[steady] - (*push.force, 0.0, 0.0, 0.0)
    result = []
    for i, axis in enumerate('xyz'):
        name = f'force {axis} of {push.force[i]:g} N'
        result += [
            DemoComparison(
                f'{name}, mean error', abs(mean(error[:, i])), LIMITS['force mean'], 'N'
            ),
            DemoComparison(f'{name}, worst error', worst(error[:, i]), LIMITS['force worst'], 'N'),
        ]
    means = [mean(error[:, 3 + i]) for i in range(3)]
    result += [
        DemoComparison('moment of 0 N m, mean error', worst(means), LIMITS['moment mean'], 'N m'),
        DemoComparison(
            'moment of 0 N m, worst error', worst(error[:, 3:]), LIMITS['moment worst'], 'N m'
        ),
        DemoComparison(
            'force without push, worst', worst(wrench[absent, :3]), LIMITS['force worst'], 'N'
        ),
    ]
    return result


def compare_feedforward(recording: DemoRecording, push: Push, robot: Robot) -> DemoComparison:
    """Compare the feedforward with the torques of the simulator, without push."""
    names = 'feedforward', 'joint_states', 'external'
    _, feedforward, states, external = recording.together(*names)
    _, absent = phases(recording, push, robot, states, external)
    difference = (states[:, 2 * len(recording.joints) :] - feedforward)[absent]
    each = [worst(difference[:, i]) for i in range(len(recording.joints))]
    joint = recording.joints[int(np.argmax(each))]
    return DemoComparison(
        f'feedforward - torque, worst ({joint})', worst(each), LIMITS['feedforward'], 'N m'
    )


def compare_model_state(recording: DemoRecording) -> tuple[list[DemoComparison], tuple[str, ...]]:
    """Compare ~/model_state with the separate topics; return a remark without its messages."""
    if not len(recording.series['model_state']):
        return [], ('screw_dynamics_msgs is not installed: ~/model_state is not compared',)
    _, together, *separate = recording.together('model_state', *STAMPED)
    difference = worst(together - np.concatenate(separate, axis=1))
    name = '~/model_state - topics, worst'
    return [DemoComparison(name, difference, LIMITS['model state'], 'N m, N, m')], ()


def compare_with_pinocchio(
    recording: DemoRecording, urdf: Path, tool: str
) -> tuple[list[DemoComparison], tuple[str, ...]]:
    """Compare tool frame and torques with Pinocchio; return a remark if it is not installed."""
    _, states, moving, gravity, coriolis = recording.together(
        'joint_states', 'tf', 'gravity', 'coriolis'
    )
    q, v, _ = np.split(states, 3, axis=1)
    deviations, printed = dict.fromkeys(PINOCCHIO, math.nan), []
    if len(states):
        text = urdf.read_text()
        described = read_robot_description(text)
        try:
            with caught_messages() as printed:
                peer = PinocchioPeer(ModelSource(text, described, described, np.array(GRAVITY)))
        except RefusalError as error:
            return [], (f'Pinocchio {error}: nothing compared with it',)
        G, c = peer.joints.gain, peer.joints.offset
        free = [
            joint.name for joint in described.joints if joint.kind.is_scalar and not joint.mimic
        ]
        order = [recording.joints.index(name) for name in free]
        expected = [peer.compute(G @ x + c, G @ y) for x, y in zip(q[:, order], v[:, order])]
        poses = np.array([each.poses[tool] for each in expected])
        weight = np.array([each.gravity for each in expected])
        bias = np.array([each.bias for each in expected])
        position, rotation = recording.tool_pose(moving)
        turned = rotation.inv() * Rotation.from_matrix(poses[:, :3, :3])
        errors = (
            position - poses[:, :3, 3],
            turned.magnitude(),
            gravity[:, order] - weight @ G,
            coriolis[:, order] - (bias - weight) @ G,
        )
        deviations = dict(zip(PINOCCHIO, map(worst, errors)))
    return [
        DemoComparison(f'{name} against Pinocchio', value, LIMITS['Pinocchio'], PINOCCHIO[name])
        for name, value in deviations.items()
    ], tuple(f'Pinocchio prints: {line}' for line in printed)


# --- statistics: NaN without samples ------------------------------------------------------------


def rate(arrivals: ArrayLike) -> float:
    """Return messages per second from arrival times [ns]."""
    arrivals = np.asarray(arrivals)
    if len(arrivals) < 2 or arrivals[-1] == arrivals[0]:
        return math.nan
    return float((len(arrivals) - 1) * 1e9 / (arrivals[-1] - arrivals[0]))


def percentile(values: ArrayLike, percent: float) -> float:
    """Return a percentile of the values."""
    values = np.asarray(values)
    return float(np.percentile(values, percent)) if values.size else math.nan


def mean(values: ArrayLike) -> float:
    """Return the mean."""
    values = np.asarray(values)
    return float(values.mean()) if values.size else math.nan


def worst(values: ArrayLike) -> float:
    """Return the largest absolute value."""
    values = np.asarray(values)
    return float(np.abs(values).max()) if values.size else math.nan


# --- output -------------------------------------------------------------------------------------


def as_text(report: DemoReport) -> str:
    """Return the report in lines of at most 79 columns."""
    head = f'{report.joint_states} joint states in {report.duration:.1f} s'
    rates = [(name, f'{value:.1f}') for name, value in report.rates.items()]
    latencies = [
        (words, *(f'{report.latency[f"{what} since {origin}"]:.2f}' for what in ('median', 'p99')))
        for words, origin in (
            ('from the arrival of the joint state here', 'arrival'),
            ('from its stamp by the driver', 'stamp'),
        )
    ]
    compared = [
        (f'{"PASS" if c.passed else "FAIL"}  {c.name}', *digits((c.value, c.limit), 2), c.unit)
        for c in report.comparisons
    ]
    last = Section('comparisons').table(('', 'measured', 'at most', ''), compared)
    last.lines += report.remarks
    return text(
        [
            Section(head).table(('messages', '[1/s]'), rates),
            Section('latency measured here [ms]').table(('', 'median', '99 %'), latencies),
            last,
        ]
    )


def save(report: DemoReport, path: Path, extra: dict[str, Any]) -> None:
    """Write the report as JSON; numbers that are not finite become null."""
    contents = {**extra, **asdict(report), 'passed': not report.failures}
    contents['comparisons'] = [{**asdict(c), 'passed': c.passed} for c in report.comparisons]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, (json.dumps(finite(contents), indent=2) + '\n').encode())


def finite(value: Any) -> Any:
    """Return a structure of dictionaries, sequences and numbers without NaN and infinities."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


COLORS = ('#0b6fa4', '#d1495b', '#3b8e5a', '#8d5fa8', '#e08e00', '#5b6770', '#17a2a2', '#a0522d')
MAX_CURVE_POINTS = 4000  # per curve


def save_picture(recording: DemoRecording, push: Push, path: Path, title: str) -> None:
    """Draw forces, torques, singular values and latency; raises ImportError without matplotlib."""
    with drawing(path, 110) as pyplot:
        figure, axes = pyplot.subplots(
            4, 1, figsize=(10, 11), sharex=True, height_ratios=(3, 4, 2, 2), layout='constrained'
        )
        figure.suptitle(title, fontsize=11)
        axes[0].text(
            (push.start + push.end) / 2,
            0.98,
            'push',
            ha='center',
            va='top',
            transform=axes[0].get_xaxis_transform(),
            color='#a07400',
        )
        for axis, draw in zip(axes, (draw_force, draw_torques, draw_singular_values, draw_latency)):
            axis.axvspan(push.start, push.end, color='#fff3d6', lw=0)
            draw(axis, recording)
            axis.margins(x=0.0)
        axes[-1].set_xlabel('time [s]')
        axes[-1].set_xlim(left=0.0)


def draw_force(axis: Any, recording: DemoRecording) -> None:
    """Draw the applied force and its estimate."""
    wrench, applied = recording.series['wrench'].values(), recording.series['applied'].values()
    for i, name in enumerate('xyz'):
        axis.plot(
            *thin(recording.time('applied'), applied[:, i]),
            color='black',
            lw=0.9,
            ls=(0, (5, 3)),
            zorder=3,
            label='applied' if i == 0 else None,
        )
        axis.plot(
            *thin(recording.time('wrench'), wrench[:, i]),
            color=COLORS[i],
            label=f'estimated {name}',
        )
    axis.set(title='Force on the tool, in the tool frame', ylabel='N')
    beside(axis)


def draw_torques(axis: Any, recording: DemoRecording) -> None:
    """Draw the feedforward of the measured state and the torques of the simulator."""
    count = len(recording.joints)
    effort = recording.series['joint_states'].values()[:, 2 * count :]
    feedforward = recording.series['feedforward'].values()
    for i, joint in enumerate(recording.joints):
        color = COLORS[i % len(COLORS)]
        axis.plot(
            *thin(recording.time('joint_states'), effort[:, i]), color=color, lw=2.6, alpha=0.35
        )
        axis.plot(
            *thin(recording.time('feedforward'), feedforward[:, i]),
            color=color,
            lw=1.1,
            label=joint,
        )
    axis.set(
        title='Joint torques: feedforward of the measured state (thin), simulator (wide)',
        ylabel='N m',
    )
    beside(axis)


def draw_singular_values(axis: Any, recording: DemoRecording) -> None:
    """Draw the singular values of the Jacobian of the tool."""
    time, values = recording.time('jacobian'), recording.series['jacobian'].values()
    if len(values):
        for i, sigma in enumerate(singular_values(values).T):
            axis.plot(*thin(time, sigma), color=COLORS[i], label=rf'$\sigma_{i + 1}$')
    axis.set(title='Singular values of the Jacobian of the tool', ylim=(0, None))
    beside(axis)


def draw_latency(axis: Any, recording: DemoRecording) -> None:
    """Draw the time from the arrival of a joint state to that of its last output."""
    index, since_arrival, _ = recording.latency()
    milliseconds = since_arrival * 1e3
    axis.scatter(
        recording.time('joint_states')[index], milliseconds, s=3, lw=0, color=COLORS[5], alpha=0.6
    )
    for percent, color in ((50, COLORS[0]), (99, COLORS[1])):
        if len(milliseconds):
            level = float(np.percentile(milliseconds, percent))
            axis.axhline(level, color=color, lw=1.1, label=f'{percent} %: {level:.2f} ms')
            axis.set_ylim(0.0, 2.5 * level)
    axis.set(title='Latency to the last output, measured by this client', ylabel='ms')
    beside(axis)


def beside(axis: Any) -> None:
    """Put the legend to the right of the curves."""
    if axis.get_legend_handles_labels()[0]:
        axis.legend(loc='upper left', bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)


def thin(time: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Reduce the number of points below the resolution of the plot."""
    step = max(1, len(time) // MAX_CURVE_POINTS)
    return time[::step], values[::step]
