# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The pose of a platform from motor position to motor position, as long as it is certain.

Motor positions leave several poses open. Which one is meant follows from the pose before, unless
the platform comes near a singularity, where assembly modes meet, or jumps. Then the mode is lost:
no pose is given until the pose of the platform is set.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_number
from ...errors import ArgumentError
from ...lie import so3
from ...types import Array
from .parallel_robot import ParallelRobot
from .platform_singularities import PlatformSingularity, platform_singularity


class PoseTracker:
    """Forward position kinematics seeded by the last pose (C-119, C-123).

    Parameters
    ----------
    robot : ParallelRobot
    smallest_singular_value : float
        Of unit rod wrenches with moments made forces by the size of the mechanism; below it the
        assembly mode is lost, and no pose is given.
    largest_turn, largest_shift : float
        Largest change of the pose from one position to the next [rad, m]; beyond it the assembly
        mode is lost. The first one after a start may be farther from home.
    tolerance : float, optional
        Of `ParallelRobot.solve_forward_position`.

    Attributes
    ----------
    pose : (4, 4) array
        The last one that was certain; home before the first one.
    lost : str
        Why the assembly mode is lost; '' if it is known.
    singularity : PlatformSingularity or None
        Of the last positions examined.

    Examples
    --------
    >>> from screw_dynamics_ros.core.mechanisms.parallel.example_mechanisms import stewart_gough
    >>> tracker = PoseTracker(ParallelRobot(stewart_gough(), backend='reference'))
    >>> float(tracker.update(np.full(6, 0.65))[2, 3].round(4))
    0.5589
    """

    def __init__(
        self,
        robot: ParallelRobot,
        *,
        smallest_singular_value: float = 0.02,
        largest_turn: float = 0.3,
        largest_shift: float = 0.1,
        tolerance: float | None = None,
    ) -> None:
        check_number('smallest_singular_value', smallest_singular_value)
        check_number('largest_turn', largest_turn, positive=True)
        check_number('largest_shift', largest_shift, positive=True)
        self.robot = robot
        self.smallest_singular_value = smallest_singular_value
        self.largest_turn, self.largest_shift = largest_turn, largest_shift
        self.tolerance = tolerance
        self.reset()

    def reset(self, pose: ArrayLike | None = None) -> None:
        """Forget the past: the platform is near a pose (4, 4), by default near home."""
        self.pose = self.robot.checked_pose('pose', self.robot.home if pose is None else pose)
        self.lost = ''
        self.singularity: PlatformSingularity | None = None
        self._started = False

    def update(self, q: ArrayLike) -> Array:
        """Return the pose (4, 4) for motor positions (n,).

        Raises
        ------
        ArgumentError
            If there is none that is certain, with the reason; `lost`: whether later positions can
            have one again.
        """
        if self.lost:
            raise ArgumentError(f'the assembly mode is lost: {self.lost}')
        self.robot.check_limits(q)
        result = self.robot.solve_forward_position(q, self.pose, tolerance=self.tolerance)
        if not result.success:
            raise ArgumentError(result.message)
        T = result.pose
        self._check_step(T)
        self.singularity = report = platform_singularity(
            self.robot.mechanism, np.asarray(q, dtype=float), T
        )
        smallest = float(report.singular_values[-1])
        if smallest < self.smallest_singular_value:
            self._lose(
                f'the smallest singular value is {smallest:.3g}, below '
                f'{self.smallest_singular_value:.3g}: near singularities assembly modes meet'
            )
        self.pose, self._started = T, True
        return T

    def _check_step(self, T: Array) -> None:
        turn = float(so3.distance(self.pose[:3, :3], T[:3, :3]))
        shift = float(np.linalg.norm(T[:3, 3] - self.pose[:3, 3]))
        if self._started and (turn > self.largest_turn or shift > self.largest_shift):
            self._lose(
                f'the pose has jumped by {turn:.3g} rad and {shift:.3g} m, more than '
                f'{self.largest_turn:.3g} rad or {self.largest_shift:.3g} m'
            )

    def _lose(self, reason: str) -> None:
        self.lost = reason
        raise ArgumentError(f'the assembly mode is lost: {reason}')
