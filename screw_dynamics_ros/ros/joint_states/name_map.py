# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Assignment of the joints listed in messages to the joints of the robot."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..names import shorten
from .contents import JointStateLayout
from .policies import Reason

CACHED_LAYOUTS = 16


@dataclass(eq=False)
class NameMap:
    """Assignment of one layout to joints: values[source] belong to the joints `target`.

    Attributes
    ----------
    count : int
        Number of names.
    source, target : (k,) arrays
    joints : tuple of k str
        The names of the joints `target`.
    complete : bool
        Whether these are all joints; `target` is in order then.
    refusal : (Reason, str), optional
        Why a message with these names cannot be used.
    unknown : str
        Names without a joint, as text.
    whole : (3 n,) array, optional
        For messages with all values of all joints: numbers[whole] are the positions, velocities and
        efforts of the n joints in their order.
    """

    count: int
    source: NDArray[np.intp]
    target: NDArray[np.intp]
    joints: tuple[str, ...]
    complete: bool
    refusal: tuple[Reason, str] | None = None
    unknown: str = ''
    whole: NDArray[np.intp] | None = None

    @classmethod
    def of(
        cls, layout: JointStateLayout, joints: Sequence[str], known: Collection[str] | None
    ) -> NameMap:
        """Return the map of a layout; names in `known` are ignored, any others if it is None."""
        names = layout.names
        index = {joint: i for i, joint in enumerate(joints)}
        pairs = [(i, index[name]) for i, name in enumerate(names) if name in index]
        complete = len(pairs) == len(joints)
        if complete:  # in the order of the joints, so that values[source] is the state
            pairs.sort(key=lambda pair: pair[1])
        source, target = np.array(pairs, dtype=np.intp).reshape(-1, 2).T.copy()
        seen: set[str] = set()
        twice: dict[str, None] = {}
        for name in names:
            if name in seen:
                twice[name] = None
            seen.add(name)
        refusal = None
        if not names:
            refusal = Reason.EMPTY, ''
        elif twice:
            refusal = Reason.DUPLICATE_JOINT, shorten(list(twice))
        elif not pairs and known is not None:
            refusal = Reason.FOREIGN, f'got {shorten(names)}; expected {shorten(joints)}'
        unknown = [
            name for name in names if known is not None and name not in index and name not in known
        ]
        named = tuple(joints[k] for k in target)
        whole = None
        if complete and not refusal and layout.is_complete:
            whole = np.concatenate([source + k * len(names) for k in range(3)])
        return cls(len(names), source, target, named, complete, refusal, shorten(unknown), whole)

    def listed(self, chosen: NDArray[np.bool_]) -> str:
        """Return the names of some of the joints `target`, (k,), as text."""
        return listed(self.joints, chosen)


class NameMaps(dict[JointStateLayout, NameMap]):
    """The maps of all received layouts, created on first use.

    Parameters
    ----------
    joints : sequence of str
    known : collection of str, optional
        As for `NameMap.of`.
    """

    def __init__(self, joints: Sequence[str], known: Collection[str] | None) -> None:
        super().__init__()
        self._joints = tuple(joints)
        self._known = None if known is None else frozenset(known)

    def __missing__(self, layout: JointStateLayout) -> NameMap:
        if len(self) >= CACHED_LAYOUTS:
            self.clear()
        made = self[layout] = NameMap.of(layout, self._joints, self._known)
        return made


def listed(names: Sequence[str], chosen: NDArray[np.bool_]) -> str:
    """Return the chosen names as text."""
    return shorten([name for name, is_chosen in zip(names, chosen) if is_chosen])
