# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where the files of the repository are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFIG, DOC, LAUNCH, TEST, URDF = (
    ROOT / name for name in ('config', 'doc', 'launch', 'test', 'urdf')
)
