# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Identification of inertias, drives and effort scales from recorded joint states."""

from .identification import identify_dynamics, identify_recordings
from .options import IdentificationOptions
from .recording import JointRecording, KnownLoad
from .result import DynamicIdentification
from .unknowns import EffortModel

__all__ = [
    'DynamicIdentification',
    'EffortModel',
    'IdentificationOptions',
    'JointRecording',
    'KnownLoad',
    'identify_dynamics',
    'identify_recordings',
]
