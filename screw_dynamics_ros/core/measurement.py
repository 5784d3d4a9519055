# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Deprecated names, for one release, of calibration, identification, estimation and annotation."""

import sys

from . import annotation, calibration, estimation, identification

for _name, _module in {
    'annotation': annotation,
    'estimation': estimation,
    'identification': calibration,
    'identification.dynamics': identification,
}.items():
    sys.modules[f'{__name__}.{_name}'] = _module
