# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The parameters of all nodes of this package."""

from __future__ import annotations

from functools import cache

from ..registry import NODES, load
from ..ros import diagnostics
from ..ros.parameters import Specification
from .outputs.control.parameters import is_gain
from .parameters import shared_parameters
from .simulation import world_parameters

#: Parameters of every node with a robot model; hosted nodes share those of `bringup`.
SHARED = (*shared_parameters.TABLE, *diagnostics.TABLE)


@cache
def own_parameters(name: str) -> tuple[Specification, ...]:
    """Return the parameters that only this node has."""
    return tuple(each for table in NODES[name].tables for each in load(table))


@cache
def _names() -> frozenset[str]:
    return frozenset(each.name for each in all_parameters())


def all_parameters() -> tuple[Specification, ...]:
    """Return the parameters of all nodes; several may have one name."""
    return (*SHARED, *(each for name in NODES for each in own_parameters(name)))


def is_known(parameter: str) -> bool:
    """Whether any node of the package has a parameter.

    Parameters of drives contain names of joints, parameters of planes, contact points and springs
    contain their names, those of control laws are called gains; the node that declares them checks
    them.
    """
    return (
        parameter in _names()
        or parameter.startswith('drives.')
        or is_gain(parameter)
        or world_parameters.is_known(parameter)
    )
