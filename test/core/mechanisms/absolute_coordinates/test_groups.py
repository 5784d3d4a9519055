# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Groups of configurations and states, body by body and mixed (I-11, I-13 to I-15)."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.lie import se3, so3xr3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import (
    SE3,
    ConfigurationGroup,
    GroupState,
    SO3xR3,
    StateGroup,
)
from screw_dynamics_ros.core.types import Array

GROUPS = (SE3, SO3xR3, SO3xR3, SE3)
MAPS = {SE3: se3, SO3xR3: so3xr3}


def elements(seed: int, scale: float = 0.7) -> Array:
    return scale * np.random.default_rng(seed).normal(size=(len(GROUPS), 6))


@pytest.mark.parametrize('function', ['exp', 'dexp', 'dexp_inv', 'ad'])
def test_maps_are_those_of_each_body(function: str) -> None:
    """Body-wise equality with the maps of the Lie layer (I-14)."""
    X = elements(1)
    ours = getattr(ConfigurationGroup(GROUPS), function)(X)
    for k, group in enumerate(GROUPS):
        np.testing.assert_array_equal(ours[k], getattr(MAPS[group], function)(X[k]))
    stack = getattr(ConfigurationGroup(GROUPS), function)(np.stack([X, 2 * X]))
    np.testing.assert_allclose(stack[0], ours, atol=1e-15)


def test_group_axioms() -> None:
    """Associativity, unit, inverse; exp of a line is a one-parameter subgroup (I-13, I-14)."""
    group, states = ConfigurationGroup(GROUPS), StateGroup(GROUPS)
    x = [GroupState(group.exp(elements(k)), elements(k + 5)) for k in range(3)]
    compose = states.compose
    for ours, other in zip(compose(compose(x[0], x[1]), x[2]), compose(x[0], compose(x[1], x[2]))):
        np.testing.assert_allclose(ours, other, atol=1e-13)
    for ours, unit in zip(compose(x[0], states.inverse(x[0])), states.identity()):
        np.testing.assert_allclose(ours, unit, atol=1e-14)
    line = GroupState(elements(7), elements(8))
    back = GroupState(-line.C, -line.V)
    for ours, unit in zip(compose(states.exp(line), states.exp(back)), states.identity()):
        np.testing.assert_allclose(ours, unit, atol=1e-14)
    np.testing.assert_allclose(group.exp(group.log(x[0].C)), x[0].C, atol=1e-13)
    assert (group.dimension, states.dimension) == (24, 48)


def test_bracket_and_differential_of_states() -> None:
    """[x1, x2] = ([X1, X2], 0); dexp acts on the configurations alone (14), (15), (34)."""
    group, states = ConfigurationGroup(GROUPS), StateGroup(GROUPS)
    x1, x2 = (GroupState(elements(k), elements(k + 3)) for k in (1, 2))
    bracket, reverse = states.bracket(x1, x2), states.bracket(x2, x1)
    np.testing.assert_allclose(bracket.C, -reverse.C, atol=1e-15)
    assert not bracket.V.any()
    forth = states.dexp(x1, x2)
    np.testing.assert_array_equal(forth.V, x2.V)  # the second argument's A: (34) prints the first
    back = states.dexp_inv(x1, forth)
    np.testing.assert_allclose(back.C, x2.C, atol=1e-14)
    h = 1e-6  # the derivative of exp, trivialized on the left
    difference = group.log(
        group.compose(group.inverse(group.exp(x1.C - h * x2.C)), group.exp(x1.C + h * x2.C))
    )
    body = np.einsum('kij,kj->ki', group.dexp(-x1.C), x2.C)
    np.testing.assert_allclose(difference / (2 * h), body, atol=1e-8)


def test_refusals() -> None:
    """A full turn has no local coordinates (I-10); groups have two names."""
    with pytest.raises(ArgumentError, match='2 pi'):
        ConfigurationGroup([SE3]).dexp_inv(np.array([[2 * np.pi, 0, 0, 0, 0, 0]]))
    with pytest.raises(UnknownNameError, match='SE3'):
        ConfigurationGroup(['SE3'])
