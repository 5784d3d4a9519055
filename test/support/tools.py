# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The scripts in tools/, as modules."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from support.paths import ROOT

FOLDER = ROOT / 'tools'


def load_tool(name: str) -> ModuleType:
    """Return the module of this name in tools/."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    return importlib.import_module(name)
