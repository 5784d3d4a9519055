# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whether measured twists of a body agree with the differences of its poses.

Over a window, in which the body moves by `WINDOW_LENGTH` or turns by `WINDOW_ANGLE`, twists are
integrated as those in the axes of the body, D <- D exp(V dt), and compared with the displacement
C_0^-1 C between the poses. Single windows may disagree, where a pose is corrected by localization;
`CONTRADICTIONS` consecutive ones do not.
"""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.lie import se3, so3
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS

WINDOW_LENGTH = 0.1  # m
WINDOW_ANGLE = 0.2  # rad
WINDOW_TIME = 5 * NANOSECONDS  # a slower motion is not compared [ns]
MAX_MOTION = 1e3  # of one step [rad, m], so that numbers stay finite
MAX_STEP = NANOSECONDS // 2  # twists further apart are not integrated [ns]
CONTRADICTIONS = 3  # consecutive windows
TOLERANCE = 0.5  # of the larger displacement
LIKENESS = 0.2  # of the displacement, for the name of a cause


class TwistCheck:
    """Compares twists with differences of poses.

    Attributes
    ----------
    fault : str
        How the latest windows contradict each other, empty if they do not.

    Examples
    --------
    The body faces the y axis and moves along x; the second twist is in the axes of the poses:

    >>> sideways = se3.exp([0, 0, np.pi / 2, 0, 0, 0])
    >>> for linear in ([0, -1, 0], [1, 0, 0]):
    ...     check = TwistCheck()
    ...     for k in range(50):
    ...         pose = se3.pose(np.eye(3), [0.01 * k, 0, 0]) @ sideways
    ...         check.add(10**7 * k, pose, np.array([0, 0, 0, *linear]))
    ...     print(check.fault[-50:])
    <BLANKLINE>
    is like one in the axes of the poses, not the body
    """

    def __init__(self) -> None:
        self.fault = ''
        self._contradictions = 0
        self._last: tuple[int, Array] | None = None
        self._integral: Array
        self._path: Array
        self._begin(0, np.eye(4))

    def add(self, stamp: int, pose: Array, twist: Array) -> None:
        """Add a measurement: stamp [ns], pose (4, 4), body twist (6,), angular part first."""
        last, self._last = self._last, (stamp, twist)
        if last is None or not 0 < stamp - last[0] <= MAX_STEP:
            self._begin(stamp, pose)
            return
        motion = 0.5 * (last[1] + twist) * ((stamp - last[0]) / NANOSECONDS)
        motion = np.clip(motion, -MAX_MOTION, MAX_MOTION)
        self._integral = self._integral @ se3.exp(motion)
        self._path = self._path + motion[3:]
        measured = se3.inverse(self._pose) @ pose
        displacements = np.array([measured[:3, 3], self._integral[:3, 3]])
        turns = np.array([so3.log(each[:3, :3]) for each in (measured, self._integral)])
        misfits = [
            float(np.linalg.norm(first - second) / size)
            for (first, second), least in ((displacements, WINDOW_LENGTH), (turns, WINDOW_ANGLE))
            if (size := max(np.linalg.norm(first), np.linalg.norm(second))) >= least
        ]
        if misfits:
            self._contradictions = self._contradictions + 1 if max(misfits) > TOLERANCE else 0
            if not self._contradictions:
                self.fault = ''
            elif self._contradictions >= CONTRADICTIONS:
                self.fault = self._described(stamp, pose, displacements, turns)
        if misfits or stamp - self._begun > WINDOW_TIME:
            self._begin(stamp, pose)

    def _begin(self, stamp: int, pose: Array) -> None:
        """Begin a window."""
        self._begun, self._pose = stamp, pose
        self._integral, self._path = np.eye(4), np.zeros(3)

    def _described(self, stamp: int, pose: Array, displacements: Array, turns: Array) -> str:
        """Return how poses and twists of a window differ, and what that looks like."""
        moved, integral = displacements
        size = max(float(np.linalg.norm(moved)), WINDOW_LENGTH)
        alike = {
            'is like one in the axes of the poses, not the body': (
                pose[:3, 3] - self._pose[:3, 3] - self._path
            ),
            'has the opposite sign': moved + integral,
            'is about zero': integral,
        }
        likely = [
            f'; the twist {cause}'
            for cause, difference in alike.items()
            if np.linalg.norm(difference) <= LIKENESS * size
        ]
        parts = [
            f'{listed(first)} {unit}, not {listed(second)} {unit}'
            for (first, second), unit in ((displacements, 'm'), (turns, 'rad'))
            if np.linalg.norm(first - second) > LIKENESS * WINDOW_LENGTH
        ]
        return (
            f'twists contradict poses: in {(stamp - self._begun) / NANOSECONDS:.3g} s these moved '
            f'by {parts[0]}' + ''.join(likely[:1])
        )


def listed(numbers: Array) -> str:
    """Return numbers as text."""
    return f'({", ".join(f"{round(float(number), 2) + 0.0:g}" for number in numbers)})'
