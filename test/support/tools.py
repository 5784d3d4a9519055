"""The scripts in tools/, as modules."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from support.paths import ROOT

FOLDER = ROOT / 'tools'


def load_tool(name: str) -> ModuleType:
    """Return tools/<name>.py as a module; scripts may import each other."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    specification = importlib.util.spec_from_file_location(name, FOLDER / f'{name}.py')
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
