# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The model state of a robot along a recorded motion."""

from .annotate import Annotator, annotate_arrays
from .settings import DEFAULT, OUTPUTS, AnnotationSettings

__all__ = ['DEFAULT', 'OUTPUTS', 'AnnotationSettings', 'Annotator', 'annotate_arrays']
