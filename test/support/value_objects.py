# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What holds for all data classes of a folder of the package."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

import pytest


def dataclasses_of(package: ModuleType) -> Iterator[type]:
    """Yield the data classes that modules of a package define, not those of packages in it."""
    for found in iter_modules(package.__path__, f'{package.__name__}.'):
        if not found.ispkg:
            module = import_module(found.name)
            for value in vars(module).values():
                is_class = isinstance(value, type) and value.__module__ == found.name
                if is_class and dataclasses.is_dataclass(value):
                    yield value


#: Compared by identity themselves, as what holds one of them.
HOLD_ARRAYS = re.compile(
    r'\b(Array|NDArray|Complex|Inertia|ConstraintJoint|Motion|TimeOptimalPath|JointPath)\b'
)


def check_data_classes(package: ModuleType) -> None:
    """Check that none can be changed, and that those with arrays are compared by identity.

    `==` of arrays has no truth value, and arrays have no hash.
    """
    classes = list(dataclasses_of(package))
    assert classes
    for found in classes:
        with pytest.raises(dataclasses.FrozenInstanceError):
            object.__new__(found).anything = 1
        fields = [field for field in dataclasses.fields(found) if field.compare]
        types = ' '.join(str(field.type) for field in fields)
        if HOLD_ARRAYS.search(types):
            assert found.__eq__ is object.__eq__, found
            assert found.__hash__ is object.__hash__, found
        else:
            assert found.__eq__ is not object.__eq__, found
