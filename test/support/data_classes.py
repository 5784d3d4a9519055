# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The data classes of a folder of the package, for tests of what can be changed and compared."""

from __future__ import annotations

import importlib
import pkgutil
import re
from dataclasses import FrozenInstanceError, fields, is_dataclass
from types import ModuleType

import pytest

#: Compared by identity themselves, as what holds one of them.
HOLD_ARRAYS = re.compile(
    r'\b(Array|NDArray|Complex|Inertia|ConstraintJoint|Motion|TimeOptimalPath|JointPath)\b'
)


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


def check_data_classes(package: ModuleType) -> None:
    """Check that none can be changed, and that those with arrays are compared by identity.

    `==` of arrays has no truth value, and arrays have no hash.
    """
    classes = data_classes(package.__name__.removeprefix('screw_dynamics_ros.')).values()
    assert classes
    for found in classes:
        with pytest.raises(FrozenInstanceError):
            object.__new__(found).anything = 1
        types = ' '.join(str(field.type) for field in fields(found) if field.compare)
        if HOLD_ARRAYS.search(types):
            assert found.__eq__ is object.__eq__, found
            assert found.__hash__ is object.__hash__, found
        else:
            assert found.__eq__ is not object.__eq__, found
