# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Identification of inertias, drives and effort scales from recorded joint states."""

from screw_dynamics_ros.core.measurement.identification.dynamics.identification import (
    identify_dynamics,
    identify_recordings,
)
from screw_dynamics_ros.core.measurement.identification.dynamics.options import (
    IdentificationOptions,
)
from screw_dynamics_ros.core.measurement.identification.dynamics.recording import (
    JointRecording,
    KnownLoad,
)
from screw_dynamics_ros.core.measurement.identification.dynamics.result import DynamicIdentification
from screw_dynamics_ros.core.measurement.identification.dynamics.unknowns import EffortModel

__all__ = [
    'DynamicIdentification',
    'EffortModel',
    'IdentificationOptions',
    'JointRecording',
    'KnownLoad',
    'identify_dynamics',
    'identify_recordings',
]
