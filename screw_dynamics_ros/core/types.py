# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Types for annotations; shapes, units and frames are in the docstrings."""

from typing import Any

from numpy.typing import NDArray

#: float64 numbers; recursions also take and return scalars that are being recorded.
Array = NDArray[Any]
