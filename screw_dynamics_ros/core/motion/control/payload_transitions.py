# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies that links carry, by name, and how they change over time.

Torques are linear in the inertial parameters phi = (m, m c, I) of what is carried, so a change of
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
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import UnknownNameError
from screw_dynamics_ros.core.types import Array

from .transition import Transition, check_duration

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
        """Let `link` carry a body, in place of what was carried under this name.

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
        """Let what is carried under a name disappear.

        What is disappearing already then does so over the new duration. Raises `UnknownNameError`
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
        """Forget what has disappeared."""
        for key, transition in list(self._transitions.items()):
            if not transition.end.mass and transition.share(now) == 1.0:
                del self._transitions[key]

    # --- what there is --------------------------------------------------------------------------

    def _keys(self, name: str) -> list[tuple[str, str]]:
        return [key for key in self._transitions if key[0] == name]

    @property
    def names(self) -> list[str]:
        """All names, also of what is disappearing."""
        return list(dict.fromkeys(name for name, _ in self._transitions))

    def carried(self) -> dict[str, tuple[str, RigidBody]]:
        """Return link and body by name, as they are after all transitions."""
        return {
            name: (link, transition.end)
            for (name, link), transition in self._transitions.items()
            if transition.end.mass
        }

    def items(self) -> Iterable[tuple[str, str, BodyTransition]]:
        """Return names and links, and how what is there changes; also what is disappearing."""
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


class LoadedParameters:
    """The inertial parameters that transitions add to the bodies of one robot.

    Parameters
    ----------
    transitions : PayloadTransitions
        As they are now; another one is to be made after each change.
    parameters_of : callable
        Returns the parameters (n,) that a body on a link adds, as `Robot.payload_parameters`.
    links : collection of str
        Those of the robot. What others carry adds nothing.
    """

    def __init__(
        self,
        transitions: PayloadTransitions,
        parameters_of: Callable[[dict[str, RigidBody]], Array],
        links: Iterable[str],
    ) -> None:
        known = set(links)
        self._transitions = [each for _, link, each in transitions.items() if link in known]
        rows = [
            (parameters_of({link: each.start}), parameters_of({link: each.end}))
            for _, link, each in transitions.items()
            if link in known
        ]
        self._nothing = np.zeros_like(parameters_of({}))
        self._start = np.array([start for start, _ in rows])
        self._change = np.array([end - start for start, end in rows])

    def at(self, now: float) -> tuple[Array, bool]:
        """Return the parameters (n,) at a time, and whether they stay so."""
        if not self._transitions:
            return self._nothing, True
        shares = np.array([each.share(now) for each in self._transitions])
        parameters = (self._start + shares[:, None] * self._change).sum(axis=0)
        return parameters, bool((shares == 1.0).all())


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
