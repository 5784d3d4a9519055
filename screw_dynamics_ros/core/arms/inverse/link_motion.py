# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Jacobians and biases of one link or several, stacked: the equations that inverse problems solve.

With the Jacobian J of a link, its twist is J v and its acceleration J a + b, b = J' v: the bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import vector
from ...errors import ArgumentError, UnknownNameError
from ...tree.joint_limits import Coordinates
from ...types import Array
from .weighted_inverse import finite

Links = str | Sequence[str]


class LinkMotion(Coordinates, Protocol):
    """Whatever knows how its links move; a `Robot` does."""

    def jacobian(self, q: ArrayLike, link: str, representation: str) -> Array:
        """Return the Jacobian (6, nv) of a link."""

    def acceleration(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, link: str, representation: str
    ) -> Array:
        """Return the acceleration (6,) of a link."""


class DifferentiableMotion(LinkMotion, Protocol):
    """One that knows how its Jacobians change, too."""

    def jacobian_partials(self, q: ArrayLike, link: str, representation: str) -> Array:
        """Return the partial derivatives (6, nv, nv) of a Jacobian, at [..., k] for joint k."""


def stacked_jacobian(robot: LinkMotion, q: ArrayLike, link: Links, representation: str) -> Array:
    """Return the stacked Jacobians of the links, (6 k, nv)."""
    q = finite('q', vector('q', robot.nq, q))
    return np.concatenate([robot.jacobian(q, name, representation) for name in link_names(link)])


def stacked_bias(
    robot: LinkMotion, q: ArrayLike, v: ArrayLike, link: Links, representation: str
) -> Array:
    """Return the accelerations of the links when the joints do not accelerate, (6 k,)."""
    q, v = vector('q', robot.nq, q), finite('v', vector('v', robot.nv, v))
    rest = np.zeros(robot.nv)
    return np.concatenate(
        [robot.acceleration(q, v, rest, name, representation) for name in link_names(link)]
    )


def stacked_partials(robot: DifferentiableMotion, links: Sequence[str], q: ArrayLike) -> Array:
    """Return the partial derivatives of the body-fixed Jacobians of links, (6 k, nv, nv)."""
    return np.concatenate([robot.jacobian_partials(q, name, 'body') for name in links])


def link_names(link: Links) -> tuple[str, ...]:
    """Return one link or several as a tuple; raises `ArgumentError` if there is none."""
    try:
        links = (link,) if isinstance(link, str) else tuple(link)
    except TypeError:
        raise UnknownNameError(f'no link named {link!r}') from None
    if not links:
        raise ArgumentError('at least one link is needed')
    return links


def stacked_rows(name: str, value: ArrayLike, link: Links) -> Array:
    """Return six numbers for each link, concatenated."""
    return per_link(name, value, len(link_names(link)), (6,)).ravel()


def per_link(name: str, value: ArrayLike, links: int, shape: tuple[int, ...]) -> Array:
    """Return finite numbers of `shape` for each link; one link needs no leading axis."""
    array = finite(name, value)
    if array.shape != (links, *shape) and not (links == 1 and array.shape == shape):
        raise ArgumentError(
            f'{name} must have shape {shape if links == 1 else (links, *shape)}, got {array.shape}'
        )
    return array.reshape(links, *shape)
