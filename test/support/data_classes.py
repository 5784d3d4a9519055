# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The data classes of a folder of the package, for tests of what can be changed and compared."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import is_dataclass


def data_classes(folder: str) -> dict[str, type]:
    """Return the data classes that modules of a folder define, such as 'core.tree', by name."""
    package = importlib.import_module(f'screw_dynamics_ros.{folder}')
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.iter_modules(package.__path__, f'{package.__name__}.')
        if not module.ispkg
    ]
    return {
        name: kind
        for module in modules
        for name, kind in vars(module).items()
        if isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == module.__name__
    }


def mutable(folder: str) -> set[str]:
    """Return which data classes of a folder have attributes that can be assigned."""
    return {k for k, kind in data_classes(folder).items() if not kind.__dataclass_params__.frozen}


def compared_by_identity(folder: str) -> set[str]:
    """Return which data classes of a folder are equal to themselves only."""
    return {k for k, kind in data_classes(folder).items() if not kind.__dataclass_params__.eq}
