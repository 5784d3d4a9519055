# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies that links carry, by name, and how they change over time.

Torques are linear in the inertial parameters phi = (m, m c, I) of payloads, so a change of
these from phi_0 to phi_1 along

    phi(t) = (1 - s) phi_0 + s phi_1,    s = (t - t_0) / T,  0 <= s <= 1,

changes the torques of a robot at rest along the same line, without a step. Every body on the way is
possible, because phi_0 and phi_1 are: the possible parameters form a convex cone.

A change within a change starts from the parameters at that moment.

>>> box = RigidBody(2.0, [0.0, 0.0, 0.1], np.diag([0.01, 0.01, 0.01]))
>>> carried = PayloadTransitions()
>>> carried.put('box', 'tool0', box, now=0.0, duration=4.0)
>>> carried.bodies(1.0)['tool0'].mass
0.5
>>> carried.remove('box', now=1.0, duration=1.0)
>>> carried.bodies(1.5)['tool0'].mass, carried.bodies(2.0)
(0.25, {})

Source: Müller 2018b, section 6 (D-17, D-43); Bruyninckx 2010, section 4.12.9 (B-101).

Changes that take some time.

>>> halfway = Transition(begin=10.0, duration=4.0)
>>> [halfway.share(now) for now in (9.0, 10.0, 11.0, 14.0, 20.0)]
[0.0, 0.0, 0.25, 1.0, 1.0]

One body of all links of a description: what a tool adds to the link that carries it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...compile.typed.functions import Floats, typed
from ...compile.typed.records import Record
from ...description.rigid_body import RigidBody
from ...description.robot_description import RobotDescription
from ...errors import ArgumentError, DescriptionError, InertiaError, UnknownNameError
from ...kinematics.configurations import neutral
from ...kinematics.poe import link_pose
from ...tree.multibody_tree import build_tree
from ...types import Array

MAX_DURATION_S = 3600.0  # that a transition may take


@dataclass(frozen=True, eq=False)
class Transition:
    """What something is at `begin` [s] becomes something else over `duration` [s]."""

    begin: float
    duration: float

    def share(self, now: float) -> float:
        """Return s, 0 until the begin and 1 from the end on; at once if the duration is 0."""
        return share_at(self.begin, self.duration, now)


@typed
def share_at(begin: float, duration: float, now: float) -> float:
    """Return `Transition.share`."""
    if now >= begin + duration:
        return 1.0
    return max(0.0, now - begin) / duration if duration != 0.0 else 0.0


def check_duration(duration: float) -> None:
    """Raise `ArgumentError` unless a transition can take so long [s]."""
    if not 0.0 <= duration <= MAX_DURATION_S:
        raise ArgumentError(
            f'the transition time must be in [0, {MAX_DURATION_S:g}] s, got {duration!r}'
        )


#: A transition, and the parameters (n,) of a robot before and after it.
Line = tuple[Transition, Array, Array]

NO_PAYLOAD = RigidBody(0.0, np.zeros(3), np.zeros((3, 3)))


@dataclass(frozen=True)
class BodyTransition(Transition):
    """A body that becomes another one."""

    start: RigidBody
    end: RigidBody

    def body(self, now: float) -> RigidBody:
        """Return what there is at a time."""
        s = self.share(now)
        return mixture([(1.0 - s, self.start), (s, self.end)])


class PayloadTransitions:
    """What links carry: bodies in the frames of their links, each under a name.

    Times are those of one clock that never goes back [s].
    """

    def __init__(self) -> None:
        self._transitions: dict[tuple[str, str], BodyTransition] = {}  # by name and link

    # --- changes --------------------------------------------------------------------------------

    def put(self, name: str, link: str, body: RigidBody, now: float, duration: float = 0.0) -> None:
        """Let `link` carry a body, which replaces that of the same name.

        On the same link the one becomes the other; on another link the former disappears there
        while the new one appears. Raises `ArgumentError` for a duration outside of [0, 3600].
        """
        check_duration(duration)
        self.prune(now)
        for key in self._keys(name):
            if key[1] != link:
                self._begin(key, NO_PAYLOAD, now, duration)
        self._begin((name, link), body, now, duration)

    def remove(self, name: str, now: float, duration: float = 0.0) -> None:
        """Let the payload of a name disappear.

        One that disappears already then does so over the new duration. Raises `UnknownNameError`
        if there is nothing under the name, `ArgumentError` for a duration outside of [0, 3600].
        """
        check_duration(duration)
        self.prune(now)
        keys = self._keys(name)
        if not keys:
            raise UnknownNameError(
                f'there is no payload {name!r}; there is: {", ".join(self.names) or "none"}'
            )
        for key in keys:
            self._begin(key, NO_PAYLOAD, now, duration)

    def _begin(self, key: tuple[str, str], end: RigidBody, now: float, duration: float) -> None:
        before = self._transitions.get(key)
        start = NO_PAYLOAD if before is None else before.body(now)
        self._transitions[key] = BodyTransition(now, duration, start, end)

    def prune(self, now: float) -> None:
        """Forget payloads that have disappeared."""
        for key, transition in list(self._transitions.items()):
            if not transition.end.mass and transition.share(now) == 1.0:
                del self._transitions[key]

    # --- what there is --------------------------------------------------------------------------

    def _keys(self, name: str) -> list[tuple[str, str]]:
        return [key for key in self._transitions if key[0] == name]

    @property
    def names(self) -> list[str]:
        """All names, also of disappearing payloads."""
        return list(dict.fromkeys(name for name, _ in self._transitions))

    def carried(self) -> dict[str, tuple[str, RigidBody]]:
        """Return link and body by name, as they are after all transitions."""
        return {
            name: (link, transition.end)
            for (name, link), transition in self._transitions.items()
            if transition.end.mass
        }

    def items(self) -> Iterable[tuple[str, str, BodyTransition]]:
        """Return names, links and transitions, also of disappearing payloads."""
        return [(name, link, each) for (name, link), each in self._transitions.items()]

    def bodies(self, now: float) -> dict[str, RigidBody]:
        """Return what each link carries at a time, all names together."""
        links: dict[str, list[tuple[float, RigidBody]]] = {}
        for (_, link), transition in self._transitions.items():
            links.setdefault(link, []).append((1.0, transition.body(now)))
        together = {link: mixture(parts) for link, parts in links.items()}
        return {link: body for link, body in together.items() if body.mass}

    def settled(self, now: float) -> bool:
        """Whether all transitions are over."""
        return all(each.share(now) == 1.0 for each in self._transitions.values())

    def lines(
        self, parameters_of: Callable[[dict[str, RigidBody]], Array], links: Collection[str]
    ) -> list[Line]:
        """Return how the parameters of a robot change, to which other links add nothing.

        `parameters_of` returns them for bodies on links, as `Robot.payload_parameters`.
        """
        return [
            (each, parameters_of({link: each.start}), parameters_of({link: each.end}))
            for (_, link), each in self._transitions.items()
            if link in links
        ]


class LoadedParameters(Record):
    """Inertial parameters of the bodies of one robot, which follow transitions.

    Attributes
    ----------
    parameters : (n,) array
        Their sum, written by `load_parameters`.
    begin, duration : (m,) arrays
        Of the transitions [s].
    start, end : (m n,) arrays
        Parameters before and after each of them.
    is_steady : bool
        Whether all transitions are over.
    """

    parameters: Floats
    begin: Floats
    duration: Floats
    start: Floats
    end: Floats
    is_steady: bool

    def follow(self, parameters: Array, lines: Sequence[Line]) -> None:
        """Follow other transitions, and write into these parameters (n,)."""
        self.parameters = parameters
        self.begin = np.array([each.begin for each, _, _ in lines], dtype=float)
        self.duration = np.array([each.duration for each, _, _ in lines], dtype=float)
        self.start = np.array([start for _, start, _ in lines], dtype=float)
        self.end = np.array([end for _, _, end in lines], dtype=float)
        self.is_steady = False


@typed
def load_parameters(loaded: LoadedParameters, now: float) -> None:
    """Write the parameters at a time [s], unless they are steady."""
    if loaded.is_steady:
        return
    n = len(loaded.parameters)
    for i in range(n):
        loaded.parameters[i] = 0.0
    loaded.is_steady = True
    for k in range(len(loaded.begin)):
        s = share_at(loaded.begin[k], loaded.duration[k], now)
        loaded.is_steady = loaded.is_steady and s == 1.0
        for i in range(n):
            change = (1.0 - s) * loaded.start[n * k + i] + s * loaded.end[n * k + i]
            loaded.parameters[i] += change


def mixture(parts: Iterable[tuple[float, RigidBody]]) -> RigidBody:
    """Return the body with the sum of the inertial parameters of bodies, each with a factor >= 0.

    About the common center of mass, where nothing cancels: a sum of possible bodies is possible to
    the last digit (B-090, B-091).

    >>> mixture([(1.0, RigidBody(1.0, [0, 0, 0], np.zeros((3, 3)))),
    ...          (0.5, RigidBody(2.0, [2, 0, 0], np.zeros((3, 3))))]).matrix.diagonal()
    array([0., 2., 2.])
    """
    given = [(w, body) for w, body in parts if w * body.mass]
    if not given:
        return NO_PAYLOAD
    if len(given) == 1 and given[0][0] == 1.0:
        return given[0][1]
    masses = np.array([w * body.mass for w, body in given])
    com = masses @ np.array([body.com for _, body in given]) / masses.sum()
    matrix = np.zeros((3, 3))
    for m, (w, body) in zip(masses, given):
        d = body.com - com
        matrix += w * body.matrix + m * (d @ d * np.eye(3) - np.outer(d, d))
    return RigidBody(float(masses.sum()), com, matrix)


def tool_body(description: RobotDescription, pose: Array) -> RigidBody:
    """Return all links of a tool together, its joints at their neutral positions.

    Parameters
    ----------
    description : RobotDescription
    pose : (4, 4) array
        Of the root link of the tool, in the frame of the result.

    Raises
    ------
    DescriptionError
        No link has a mass.
    InertiaError
        No body has the inertia of a link, which is named.
    """
    tree = build_tree(description)
    q, parts = neutral(tree), []
    for link, frame in tree.frames.items():
        inertia = frame.inertia
        if inertia is None or not inertia.mass:
            continue
        try:
            body = RigidBody(inertia.mass, inertia.com, inertia.matrix)
        except InertiaError as error:  # the description may have been read without its checks
            raise InertiaError(f'link {link!r} of {description.name}: {error}') from None
        parts.append((1.0, body.moved(pose @ link_pose(tree, q, link))))
    if not parts:
        raise DescriptionError(
            f'{description.name}: no link has a mass; give the links their <inertial>'
        )
    return mixture(parts)
