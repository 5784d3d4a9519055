# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Geometric errors of a robot whose links carry several targets.

Each target has the chain of its link (`ChainErrors`). Chains share the parameters of common joints
and of the base; each target has a separate pose.

Source: Bruyninckx 2010 (5.30), section 5.6.1 (C-016), a chain for each target.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..description.robot_description import RobotDescription
from ..errors import ArgumentError
from ..types import Array
from .chain_errors import GROUPS, ChainErrors, parameters_of, with_joint_origins
from .measurements import DISPLACEMENTS

TARGET = 'target'


class TargetErrors:
    """Error parameters of the chains from the root of a description to the links with targets.

    Parameters
    ----------
    description : RobotDescription
    links : {target: link}
        The link of each target.
    estimate : collection of str
        As in `ChainErrors`.
    base : (4, 4) array, optional
        Nominal pose of the root in the frame of the instrument [m].
    poses : {target: (4, 4) array}, optional
        Nominal poses of targets in the frames of their links [m]; the identity if not given.
    of_base, of_target : sequence of str
        As of `ChainErrors`.

    Attributes
    ----------
    chains : {target: ChainErrors}
    coordinates, moving : tuple of str
        As of `ChainErrors`, for all targets.
    names : tuple of k str
        As of `ChainErrors`; with several targets 'target.x' has the name of the target instead.
    preference : (k,) array
        Preference of each parameter for being held at its nominal value.
    owners : tuple of str
        The owner of the parameters of each target.

    Raises
    ------
    ArgumentError
        No targets, `tool` with several of them, a target with the name of another owner, and what
        `ChainErrors` refuses.
    """

    def __init__(
        self,
        description: RobotDescription,
        links: Mapping[str, str],
        estimate: Collection[str],
        base: ArrayLike | None = None,
        poses: Mapping[str, ArrayLike] | None = None,
        of_base: Sequence[str] = DISPLACEMENTS,
        of_target: Sequence[str] = DISPLACEMENTS,
    ) -> None:
        if not links:
            raise ArgumentError('there is no target; name a link that carried one')
        several = len(links) > 1
        taken = {*GROUPS, *(joint.name for joint in description.joints)}
        for name in links if several else ():
            if 'tool' in estimate:
                raise ArgumentError(
                    'the tool cannot be estimated with several targets; estimate the target'
                )
            if name in taken:
                raise ArgumentError(
                    f'target {name!r} has the name of a joint or of other parameters; rename it'
                )
        poses = poses or {}
        self.chains = {
            name: ChainErrors(
                description, link, estimate, base, poses.get(name), of_base, of_target
            )
            for name, link in links.items()
        }
        self.owners = tuple(links) if several else (TARGET,)
        first = next(iter(self.chains.values()))
        self.description, self.coordinates = description, first.coordinates
        moving = {name for chain in self.chains.values() for name in chain.moving}
        self.moving = tuple(name for name in self.coordinates if name in moving)
        own = [
            [
                f'{owner}{name.removeprefix(TARGET)}' if name.startswith(f'{TARGET}.') else name
                for name in chain.names
            ]
            for owner, chain in zip(self.owners, self.chains.values())
        ]
        self.names = tuple(dict.fromkeys(name for names in own for name in names))
        place = {name: k for k, name in enumerate(self.names)}
        self._places = [np.array([place[name] for name in names]) for names in own]
        self.preference = np.empty(len(self.names))
        for places, chain in zip(self._places, self.chains.values()):
            self.preference[places] = chain.preference

    def pose(self, q: Array, P: Array, which: Array) -> Array:
        """Return T (N, 4, 4) of the targets with indices `which` (N,) for q (N, nq), P (k,)."""
        T = np.empty((len(q), 4, 4))
        for rows, places, chain in self._parts(which):
            T[rows] = chain.pose(q[rows], P[places])
        return T

    def predicted(self, q: Array, P: Array, which: Array) -> tuple[Array, Array]:
        """Return `pose` and J (N, 6, k) with T(P + dP) = T(P) exp(J dP) to first order."""
        T, J = np.empty((len(q), 4, 4)), np.zeros((len(q), 6, len(self.names)))
        for rows, places, chain in self._parts(which):
            T[rows], own = chain.predicted(q[rows], P[places])
            J[rows[:, None], :, places] = np.moveaxis(own, 2, 1)
        return T, J

    def held(self, fixed: Iterable[str]) -> set[str]:
        """Return the parameters that `fixed` names (see `ChainErrors.held`)."""
        return parameters_of(self.names, fixed)

    def spread_of_errors(self, angle: float, length: float) -> Array:
        """Return standard deviations (k,) (see `ChainErrors.spread_of_errors`)."""
        spread = np.empty(len(self.names))
        for places, chain in zip(self._places, self.chains.values()):
            spread[places] = chain.spread_of_errors(angle, length)
        return spread

    def base(self, P: Array) -> Array:
        """Return the pose (4, 4) of the root in the frame of the instrument [m]."""
        return next(iter(self.chains.values())).base(P[self._places[0]])

    def targets(self, P: Array) -> dict[str, Array]:
        """Return the poses (4, 4) of the targets in the frames of their links [m]."""
        return {
            name: chain.target(P[places])
            for (name, chain), places in zip(self.chains.items(), self._places)
        }

    def scales(self, P: Array) -> dict[str, float]:
        """Return {joint: s} of the estimated scales: the joint moves by (1 + s) q."""
        scales: dict[str, float] = {}
        for chain, places in zip(self.chains.values(), self._places):
            scales |= chain.scales(P[places])
        return scales

    def origins(self, P: Array) -> dict[str, Array]:
        """Return the corrected <origin> (4, 4) [m] of each joint that has a correction."""
        origins: dict[str, Array] = {}
        for chain, places in zip(self.chains.values(), self._places):
            origins |= chain.origins(P[places])
        return origins

    def corrected(self, P: Array) -> RobotDescription:
        """Return the description with these origins, without scales and targets."""
        return with_joint_origins(self.description, self.origins(P))

    def _parts(self, which: Array) -> Iterator[tuple[Array, Array, ChainErrors]]:
        """Yield rows, indices of parameters and chain of each target in `which`."""
        for number, (places, chain) in enumerate(zip(self._places, self.chains.values())):
            rows = np.flatnonzero(which == number)
            if len(rows):
                yield rows, places, chain
