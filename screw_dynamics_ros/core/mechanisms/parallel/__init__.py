# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parallel robots: a platform on legs with one motor each; doc/theory/parallel_robots.md."""

from .legs import PUS, RUS, UPS, Leg
from .mechanism import Mechanism, classify
from .parallel_robot import ForwardPositionResult, ParallelRobot

__all__ = [
    'PUS',
    'RUS',
    'UPS',
    'ForwardPositionResult',
    'Leg',
    'Mechanism',
    'ParallelRobot',
    'classify',
]
