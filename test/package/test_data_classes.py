# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Data classes: none can be changed but those that collect, and arrays are not compared by `==`."""

import pkgutil
import re
from dataclasses import fields, is_dataclass
from importlib import import_module

import pytest

import screw_dynamics_ros

HOLD_ARRAYS = re.compile(
    r'\b(Array|NDArray|Complex|Inertia|ConstraintJoint|Motion|TimeOptimalPath|JointPath)\b'
)
#: Filled while something is read, recorded, compiled or relayed.
COLLECT = {
    'AllSolutions', 'BodyValues', 'ChainSolutions', 'Fault', 'FrameNode', 'JointStateMessage',
    'NameMap', 'OpenLoop', 'Pack', 'Part', 'PlacedPart', 'Occurrences', 'Relay', 'Requests',
    'Section', 'SpatialBody', 'Status', 'Suggestion', '_Body',
}  # fmt: skip
#: Two with the same values are not the same: one of several objects of a kind.
SINGLE = {
    'Design', 'FunctionDeclaration', 'HeldArm', 'Law', 'LawDeclaration', 'Pack',
    'Relay', 'RobotDescription', 'Transition', 'Wheel',
}  # fmt: skip


def classes():
    """Return the data classes of all modules whose libraries are installed."""
    found = {}
    for each in pkgutil.walk_packages(screw_dynamics_ros.__path__, 'screw_dynamics_ros.'):
        if each.name.endswith('__main__'):
            continue
        try:
            module = import_module(each.name)
        except ImportError:
            continue
        found |= {
            f'{each.name}.{name}': kind
            for name, kind in vars(module).items()
            if isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == each.name
        }
    return found


@pytest.fixture(scope='module')
def data_classes():
    """The data classes by full name."""
    found = classes()
    assert len(found) > 300
    return found


def test_data_classes_cannot_be_changed(data_classes):
    mutable = {
        kind.__name__ for kind in data_classes.values() if not kind.__dataclass_params__.frozen
    }
    assert mutable == COLLECT


def test_data_classes_with_arrays_are_compared_by_identity(data_classes):
    """`==` of arrays has no truth value, and arrays have no hash."""
    for name, kind in data_classes.items():
        types = [str(each.type) for each in fields(kind) if each.compare]
        holds = any(HOLD_ARRAYS.search(each) and 'Callable' not in each for each in types)
        by_identity = kind.__eq__ is object.__eq__ and kind.__hash__ is object.__hash__
        assert by_identity == (holds or kind.__name__ in SINGLE), name
