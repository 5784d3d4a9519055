# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mobility of a mechanism: topology, and the Chebyshev-Gruebler-Kutzbach formula.

The formula ignores dimensions: parallel axes, equal lengths and similar conditions give a mechanism
more degrees of freedom. `linkages.loops` uses the joint screws instead.

Source: Bruyninckx 2010 (5.3), (5.4), section 1.2 (B-002, B-109).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ...description.robot_description import RobotDescription
from ...errors import ArgumentError


@dataclass(frozen=True)
class Topology:
    """The graph of the links and joints of a mechanism.

    Attributes
    ----------
    kind : {'serial', 'tree', 'graph'}
        A chain, a tree with several ends, or a graph with loops.
    leaves : tuple of str
        Terminal links of the chains, except the root.
    loops : int
        Number of independent loops: joints - links + 1.
    """

    kind: Literal['serial', 'tree', 'graph']
    leaves: tuple[str, ...]
    loops: int


def topology(root: str, connections: Iterable[tuple[str, str]]) -> Topology:
    """Return the topology of a mechanism from the pairs of links connected by its joints.

    Raises
    ------
    ArgumentError
        Some link is not connected to the root.

    Examples
    --------
    >>> topology('ground', [('ground', 'crank'), ('crank', 'coupler'), ('coupler', 'rocker'),
    ...                     ('rocker', 'ground')]).loops
    1
    """
    pairs = list(connections)
    neighbors: dict[str, list[str]] = {root: []}
    for a, b in pairs:
        neighbors.setdefault(a, []).append(b)
        neighbors.setdefault(b, []).append(a)
    reached, pending = {root}, [root]
    while pending:
        for link in neighbors[pending.pop()]:
            if link not in reached:
                reached.add(link)
                pending.append(link)
    lost = [link for link in neighbors if link not in reached]
    if lost:
        raise ArgumentError(
            f'link {lost[0]!r} is not connected to the root {root!r}; add a joint, or leave it out'
        )
    loops = len(pairs) - len(neighbors) + 1
    leaves = tuple(link for link in neighbors if len(neighbors[link]) == 1 and link != root)
    if loops:
        return Topology('graph', leaves, loops)
    branches = any(len(n) > 2 - (link == root) for link, n in neighbors.items())
    return Topology('tree' if branches else 'serial', leaves, 0)


def topology_of(description: RobotDescription) -> Topology:
    """Return the topology of the moving links of a robot description.

    Links connected by fixed joints are one link, named after the link nearest to the root.
    """
    body = {description.root: description.root}
    connections = []
    for joint in description.joints:
        fixed = joint.kind.is_fixed
        body[joint.child] = body[joint.parent] if fixed else joint.child
        if not fixed:
            connections.append((body[joint.parent], joint.child))
    return topology(description.root, connections)


def mobility(links: int, freedoms: Iterable[int], *, planar: bool = False) -> int:
    """Return 6 (n - j - 1) + sum f_i, or 3 (n - j - 1) + sum f_i for a planar mechanism.

    Parameters
    ----------
    links : int
        Number of links including the ground.
    freedoms : iterable of int
        Degrees of freedom of each joint.
    planar : bool
        Whether all links move in parallel planes.

    Returns
    -------
    int
        Negative or too small for an overconstrained mechanism, whose special dimensions the formula
        ignores.

    Raises
    ------
    ArgumentError
        No link, or a joint without freedoms or with too many.

    Examples
    --------
    >>> mobility(4, [1, 1, 1, 1], planar=True), mobility(4, [1, 1, 1, 1])  # four-bar linkage
    (1, -2)
    >>> mobility(32, [1] * 36)  # Stewart-Gough platform with revolute joints only
    6
    """
    f = list(freedoms)
    space = 3 if planar else 6
    if links < 1:
        raise ArgumentError(f'mobility: {links} links; the ground is one of them')
    for i, freedom in enumerate(f):
        if not 1 <= freedom <= space:
            raise ArgumentError(
                f'mobility: joint {i} has {freedom} freedoms; a joint has 1 to {space} of them here'
            )
    return space * (links - len(f) - 1) + sum(f)


def chebyshev(moving_links: int, moving_pivots: int, fixed_pivots: int) -> int:
    """Return Chebyshev's 3 m - 2 (n + v): planar, revolute joints between links and to the ground.

    >>> chebyshev(3, 2, 2)  # four-bar linkage
    1
    """
    if min(moving_links, moving_pivots, fixed_pivots) < 0:
        raise ArgumentError(
            'chebyshev: counts cannot be negative, got '
            f'{moving_links}, {moving_pivots}, {fixed_pivots}'
        )
    return 3 * moving_links - 2 * (moving_pivots + fixed_pivots)
