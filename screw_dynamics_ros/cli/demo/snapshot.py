# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The state of the demo at one time, for display."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from screw_dynamics_ros.core.types import Array

from .push import Push
from .recording import OUTPUTS, DemoRecording, singular_values
from .report import percentile, rate

RATE_WINDOW = 200  # messages for the computation of rates
LATENCY_WINDOW = 3  # messages for the latency; few, because they are deserialized


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Contents of the live view.

    Attributes
    ----------
    time, duration : float
        Elapsed time and duration of the run [s].
    push : (2,) tuple
        Start and end of the push [s].
    tool, root : str
        Frames.
    position : (3,) array
        Position of the tool in the root frame [m].
    angles : (3,) array
        Roll, pitch, yaw of the tool in the root frame [deg].
    singular_values : (k,) array
        Singular values of the Jacobian of the tool, descending.
    joints : tuple of str
    rows : tuple of (label, (n,) array)
        Joint quantities.
    applied, estimated : (3,) arrays
        Force on the tool in the tool frame [N].
    scale : float
        Force that fills half a bar [N].
    rates : tuple of (topic, messages per second)
    latency : float
        Median for the newest joint states [s]; NaN if none of them has all outputs.
    """

    time: float
    duration: float
    push: tuple[float, float]
    tool: str
    root: str
    position: Array
    angles: Array
    singular_values: Array
    joints: tuple[str, ...]
    rows: tuple[tuple[str, Array], ...]
    applied: Array
    estimated: Array
    scale: float
    rates: tuple[tuple[str, float], ...]
    latency: float


def take_snapshot(recording: DemoRecording, push: Push, time: float, duration: float) -> Snapshot:
    """Return the latest values; NaN for missing ones."""
    count = len(recording.joints)

    def latest(name: str, width: int) -> Array:
        series = recording.series[name]
        return series.values(1)[0] if len(series) else np.full(width, np.nan)

    state = latest('joint_states', 3 * count)
    tf, jacobian = recording.series['tf'], recording.series['jacobian']
    position, angles = np.full(3, np.nan), np.full(3, np.nan)
    if len(tf):
        positions, rotations = recording.tool_pose(tf.values(1))
        position, angles = positions[0], rotations.as_euler('xyz', degrees=True)[0]
    return Snapshot(
        time=time,
        duration=duration,
        push=(push.start, push.end),
        tool=recording.tool,
        root=recording.root,
        position=position,
        angles=angles,
        singular_values=(
            singular_values(jacobian.values(1))[0] if len(jacobian) else np.full(6, np.nan)
        ),
        joints=recording.joints,
        rows=(
            ('position', state[:count]),
            ('gravity', latest('gravity', count)),
            ('Coriolis', latest('coriolis', count)),
            ('feedforward', latest('feedforward', count)),
            ('simulator', state[2 * count :]),
        ),
        applied=latest('applied', 3),
        estimated=latest('wrench', 6)[:3],
        scale=1.5 * max(abs(component) for component in push.force),
        rates=tuple(
            (name, rate(recording.series[name].arrivals(RATE_WINDOW)))
            for name in ('joint_states', *OUTPUTS)
        ),
        latency=percentile(recording.latency(LATENCY_WINDOW)[1], 50),
    )
