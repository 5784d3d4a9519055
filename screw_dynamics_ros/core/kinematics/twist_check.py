# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whether measured twists of a body agree with the differences of its poses.

Over a window, in which the body moves by `WINDOW_LENGTH`, twists are integrated as those in the
axes of the body, D <- D exp(V dt), and compared with the displacement C_0^-1 C between the poses;
over separate windows, in which it rotates by `WINDOW_ANGLE`, their rotations. Single windows may
disagree, where a pose is corrected by localization; `CONTRADICTIONS` consecutive ones do not.
"""

from __future__ import annotations

import numpy as np

from ..lie import se3, so3
from ..types import Array
from ..units import NANOSECONDS

WINDOW_LENGTH = 0.1  # m
WINDOW_ANGLE = 0.2  # rad
WINDOW_TIME = 3 * NANOSECONDS  # a slower motion is not compared [ns]
MAX_MOTION = 1e3  # of one step [rad, m], so that numbers stay finite
MAX_STEP = NANOSECONDS // 2  # twists further apart are not integrated [ns]
CONTRADICTIONS = 3  # consecutive windows
TOLERANCE = 0.5  # of the larger displacement
LIKENESS = 0.2  # of the displacement, for the name of a cause


class TwistCheck:
    """Compares twists with differences of poses.

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
        self._windows = _Window(WINDOW_LENGTH, 'm'), _Window(WINDOW_ANGLE, 'rad')
        self._last: tuple[int, Array] | None = None

    @property
    def fault(self) -> str:
        """How the latest windows contradict each other, empty if they do not."""
        return next((each.fault for each in self._windows if each.fault), '')

    def add(self, stamp: int, pose: Array, twist: Array) -> None:
        """Add a measurement: stamp [ns], pose (4, 4), body twist (6,), angular part first."""
        last, self._last = self._last, (stamp, twist)
        follows = last is not None and 0 < stamp - last[0] <= MAX_STEP
        for window in self._windows:
            if last is None or not follows:
                window.begin(stamp, pose)
                continue
            motion = 0.5 * (last[1] + twist) * ((stamp - last[0]) / NANOSECONDS)
            window.add(stamp, pose, np.clip(motion, -MAX_MOTION, MAX_MOTION))


class _Window:
    """Compares translations (unit 'm') or rotations ('rad') of at least a size."""

    def __init__(self, least: float, unit: str) -> None:
        self.fault = ''
        self._least, self._unit, self._contradictions = least, unit, 0
        self.begin(0, np.eye(4))

    def begin(self, stamp: int, pose: Array) -> None:
        """Begin a window."""
        self._begun, self._pose = stamp, pose
        self._integral, self._path = np.eye(4), np.zeros(3)

    def add(self, stamp: int, pose: Array, motion: Array) -> None:
        """Add the pose after a motion (6,) by the twists."""
        self._integral = self._integral @ se3.exp(motion)
        self._path = self._path + motion[3:]
        moved, integral = map(self._part, (se3.inverse(self._pose) @ pose, self._integral))
        size = float(max(np.linalg.norm(moved), np.linalg.norm(integral)))
        if size >= self._least:
            differs = np.linalg.norm(moved - integral) > TOLERANCE * size
            self._contradictions = self._contradictions + 1 if differs else 0
            if not differs:
                self.fault = ''
            elif self._contradictions >= CONTRADICTIONS:
                self.fault = self._described(stamp, pose, moved, integral)
        elif stamp - self._begun > WINDOW_TIME:
            self._contradictions = 0
        else:
            return
        self.begin(stamp, pose)

    def _part(self, C: Array) -> Array:
        """Return the translation or the rotation vector (3,) of a displacement."""
        return C[:3, 3] if self._unit == 'm' else np.asarray(so3.log(C[:3, :3]))

    def _described(self, stamp: int, pose: Array, moved: Array, integral: Array) -> str:
        """Return how poses and twists of a window differ, and what that looks like."""
        size = max(float(np.linalg.norm(moved)), self._least)
        alike = {'has the opposite sign': moved + integral, 'is about zero': integral}
        if self._unit == 'm':
            in_world = pose[:3, 3] - self._pose[:3, 3] - self._path
            alike = {'is like one in the axes of the poses, not the body': in_world} | alike
        what = 'twist' if self._unit == 'm' else 'angular velocity'
        likely = [
            f'; the {what} {cause}'
            for cause, difference in alike.items()
            if np.linalg.norm(difference) <= LIKENESS * size
        ]
        return (
            f'twists contradict poses: in {(stamp - self._begun) / NANOSECONDS:.3g} s these '
            f'{"moved" if self._unit == "m" else "turned"} by {listed(moved)} {self._unit}, not '
            f'{listed(integral)} {self._unit}' + ''.join(likely[:1])
        )


def listed(numbers: Array) -> str:
    """Return numbers as text."""
    return f'({", ".join(f"{round(float(number), 2) + 0.0:g}" for number in numbers)})'
