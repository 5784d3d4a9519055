# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The unknowns of the dynamics, by name, and the columns of torques, which are linear in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..description.friction import FRICTION
from ..description.rigid_body import RigidBody
from ..dynamics.regressor import PARAMETERS, independent_columns, inertial_parameters
from ..errors import ArgumentError, UnknownNameError
from ..tree.multibody_tree import GROUND
from ..types import Array
from .drive_unknowns import KINDS, DriveUnknowns, MotionSamples
from .pseudo_inertia import metric, parameters_of
from .recording import DynamicModel, KnownLoad

#: Groups of parameters that can be estimated.
GROUPS = ('inertia', 'armature', 'friction', 'spring', 'offset')

#: Prior relative deviation of bodies from the nominal ones.
LIKELY_DIFFERENCE = 0.5

#: Prior of an unknown payload: mass [kg], radius [m], and its relative deviation.
UNKNOWN_MASS, UNKNOWN_RADIUS, UNKNOWN_DIFFERENCE = 1.0, 0.1, 10.0

#: Prior relative deviation of a load of known mass.
LOAD_DIFFERENCE = 3.0

KNOWN_SHARE = 1e-6  # relative prior deviation of a known parameter of a load

#: Columns below this fraction of the largest one are zero.
COLUMN_TOLERANCE = 1e-9


@dataclass(frozen=True)
class EffortModel:
    """The estimated terms of the torques.

    Attributes
    ----------
    estimate : collection of str
        Names in `GROUPS`.
    payload_link : str
        If not empty, an unknown body on that link is estimated, and the inertias of the links are
        held, because they cannot be separated.
    stribeck_speed : float or None
        With it, friction has a term `stribeck` (breakaway minus Coulomb) that decays with speed.
    smoothing : float
        Smoothing of dry friction, as in `Drive` [rad/s, m/s].
    terms : tuple of str
        Further terms of `FRICTION` that are estimated for all drives, such as 'load_friction'.
    """

    estimate: Collection[str] = GROUPS
    payload_link: str = ''
    stribeck_speed: float | None = None
    smoothing: float = 0.01
    terms: tuple[str, ...] = ()


class Unknowns:
    """The unknowns theta (P,) of a robot and the torques W theta + known.

    Attributes
    ----------
    names : tuple of P str
        'link/mx' and the other `PARAMETERS` of each body, then those of drives, 'joint/armature'
        and others of `drive_unknowns.KINDS`. The offset is added to scaled efforts:
        effort + offset = torque.
    nominal : (P,) array
    bodies : {name: slice}
        Indices of the ten parameters of each estimated body, including 'payload' and 'load'.
    drives : DriveUnknowns
    estimate : (P,) array
        Current values for the torques on which friction depends; initially nominal.
    """

    def __init__(
        self, robot: DynamicModel, model: EffortModel, load: KnownLoad | None = None
    ) -> None:
        _check(robot, model, load)
        self.robot, self.model, self.load = robot, model, load
        self.drives = DriveUnknowns(
            robot, frozenset(model.estimate), model.stribeck_speed, model.smoothing, model.terms
        )
        frames = robot.tree.frames
        phi = inertial_parameters(robot.description, tuple(frames))
        self._phi = phi.reshape(-1, len(PARAMETERS))
        self._links = tuple(frames)
        links = {link: k for k, link in enumerate(frames)}
        chosen: dict[str, int] = {}
        if model.payload_link:
            chosen['payload'] = links[model.payload_link]
        elif 'inertia' in model.estimate:
            chosen = {
                link: k
                for link, k in links.items()
                if frames[link].body != GROUND and self._phi[k, 0] > 0.0
            }
        self._link_of_body = chosen
        held = self._phi.copy()
        if not model.payload_link:
            held[list(chosen.values())] = 0.0
        self._held = held.ravel()
        if load is not None:
            chosen['load'] = links[load.link]
        self.bodies = {name: slice(10 * k, 10 * k + 10) for k, name in enumerate(chosen)}
        self.names = (
            *(f'{name}/{parameter}' for name in chosen for parameter in PARAMETERS),
            *(f'{robot.joint_names[k]}/{kind}' for kind, k in self.drives.unknowns),
        )
        if not self.names:
            raise ArgumentError(
                f'nothing to estimate: {robot.description.name!r} has no parameters of '
                f'{", ".join(model.estimate)}; choose from {", ".join(GROUPS)}, or add inertias'
            )
        self.nominal = np.concatenate(
            [
                *(self._nominal_body(name, k) for name, k in chosen.items()),
                self.drives.nominal,
            ]
        )
        self.estimate = self.nominal

    def _nominal_body(self, name: str, k: int) -> Array:
        if name == 'load' and self.load is not None:
            c = np.array([*(self.load.com or np.zeros(3)), 1.0])
            Sigma = np.outer(c, c) + np.diag([*(3 * [UNKNOWN_RADIUS**2]), 0.0])
            return parameters_of(self.load.mass * Sigma)
        if name != 'payload':
            return self._phi[k]
        size = UNKNOWN_MASS * np.array([*(3 * [UNKNOWN_RADIUS**2]), 1.0])
        return parameters_of(np.diag(size))

    def _known_of_load(self) -> int:
        """Return the number of known parameters of the load, which come first."""
        return 0 if self.load is None else 1 if self.load.com is None else 4

    def motion(
        self,
        q: Array,
        v: Array,
        a: Array,
        payloads: Mapping[str, RigidBody] | None = None,
        loaded: bool = False,
    ) -> MotionSamples:
        """Return samples (N, n) of a motion with what columns and torques need."""
        Y = np.asarray(self.robot.regressor(q, v, a))
        motion = MotionSamples(q, v, a, Y, np.zeros_like(v))
        if not self.drives.depend_on_load:
            return motion
        parameters = self._with_loads(self._held, payloads or {}, loaded)
        for name, place in self.bodies.items():
            k = 10 * self._link_of_body.get(name, 0)
            if name != 'load':
                parameters[k : k + 10] += self.estimate[place]
            elif loaded and self.load is not None:
                k, known = 10 * self._links.index(self.load.link), self._known_of_load()
                parameters[k + known : k + 10] += self.estimate[place][known:]
        of_drives = self.estimate[10 * len(self.bodies) :]
        return replace(motion, L=Y @ parameters + self.drives.transmitted(motion, of_drives))

    def columns(
        self, motion: MotionSamples, loaded: bool = False, chosen: NDArray[np.int64] | None = None
    ) -> Array:
        """Return W (N, n, P) of a motion, with the load or without.

        Parameters
        ----------
        motion : MotionSamples
        loaded : bool
        chosen : (p,) array of int, optional
            Indices of required columns, increasing: W has shape (N, n, p).
        """
        every = np.arange(len(self.names)) if chosen is None else chosen
        bodies = 10 * len(self.bodies)
        count = int(np.searchsorted(every, bodies))
        W = np.zeros((*motion.v.shape, len(every)))
        links = np.array(list(self._link_of_body.values()), dtype=np.int64)
        of_bodies = every[:count]
        W[:, :, :count] = motion.Y.take(10 * links[of_bodies // 10] + of_bodies % 10, axis=2)
        of_joints = np.ones(len(every), dtype=bool)
        for column, index in enumerate((every[count:] - bodies).tolist(), count):
            kind, joint = self.drives.unknowns[index]
            W[:, joint, column] = self.drives.factors(kind, joint, motion)
            of_joints[column] = not KINDS[kind].of_motor
        if 'load' in self.bodies:
            place = self.bodies['load']
            end = place.start + self._known_of_load() if loaded else place.stop
            W[:, :, (every >= place.start) & (every < end)] = 0.0
        if self.drives.are_coupled:
            W[:, :, of_joints] = self.drives.of_motors(W[:, :, of_joints])
        return W

    def known_torques(
        self, motion: MotionSamples, payloads: Mapping[str, RigidBody], loaded: bool = False
    ) -> Array:
        """Return the efforts (N, n) of terms that are not estimated: bodies, payloads, drives.

        The known part of a load is included, the spin of rotors (`Drive.rotor_axis`) is not.
        """
        rigid = motion.Y @ self._with_loads(self._held, payloads, loaded)
        joints, motors = self.drives.held_torques(motion)
        return np.asarray(self.drives.of_motors(rigid + joints) + motors)

    def rigid_torques(
        self, motion: MotionSamples, payloads: Mapping[str, RigidBody], loaded: bool = False
    ) -> Array:
        """Return efforts (N, n) of the nominal bodies, springs and known payloads alone."""
        rigid = motion.Y @ self._with_loads(self._phi.ravel(), payloads, loaded)
        springs, _ = self.drives.nominal_torques(motion, springs=True)
        return np.asarray(self.drives.of_motors(rigid + springs))

    def nominal_torques(self, rigid: Array, motion: MotionSamples) -> Array:
        """Return efforts (N, n) of the nominal robot, given `rigid_torques`."""
        joints, motors = self.drives.nominal_torques(motion, springs=False)
        return np.asarray(rigid + self.drives.of_motors(joints) + motors)

    def _with_loads(
        self, parameters: Array, payloads: Mapping[str, RigidBody], loaded: bool
    ) -> Array:
        """Return parameters (10 n_links,) with payloads and the known part of a load added."""
        result = parameters.copy()
        links = tuple(self.robot.tree.frames)
        for link, payload in payloads.items():
            if link not in links:
                raise UnknownNameError(f'no link {link!r} to carry a payload: {", ".join(links)}')
            k = 10 * links.index(link)
            m, h, I = payload.mass, payload.first_moment, payload.inertia  # noqa: E741
            entries = (I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2])
            result[k : k + 10] += [m, *h, *entries]
        if loaded and self.load is not None:
            k = 10 * links.index(self.load.link)
            count = self._known_of_load()
            result[k : k + count] += self._nominal_body('load', k)[:count]
        return result

    def deviations(self, torque: Array, v: Array, a: Array) -> Array:
        """Return L (P, P), the prior deviations: theta - nominal = L z with z of unit variance.

        Bodies are scaled by their metric; each joint parameter could cause the whole torque.

        Parameters
        ----------
        torque, v, a : (n,) arrays
            Typical sizes of torques, velocities and accelerations.
        """
        L = np.zeros((len(self.names), len(self.names)))
        for name, place in self.bodies.items():
            D = metric(self.nominal[place])
            wide = {'payload': UNKNOWN_DIFFERENCE, 'load': LOAD_DIFFERENCE}.get(
                name, LIKELY_DIFFERENCE
            )
            known = self._known_of_load() if name == 'load' else 0
            free = slice(place.start + known, place.stop)
            D = D[:, known:]
            L[free, free] = wide * np.linalg.cholesky(np.linalg.inv(D.T @ D))
            for k in range(place.start, free.start):
                L[k, k] = KNOWN_SHARE * self.nominal[place.start]
        k = 10 * len(self.bodies)
        L[range(k, len(L)), range(k, len(L))] = self.drives.sizes(torque, v, a)
        return L

    def base(
        self,
        moves: NDArray[np.bool_],
        measured: NDArray[np.bool_],
        loaded: Collection[bool] = (False,),
    ) -> tuple[Array, Array]:
        """Return independent columns and their grouping G (p, P): W = W[:, columns] G.

        For any motion of the moving joints, and torques of the measured joints, with the load,
        without it, or both.
        """
        n, count = len(moves), len(self.names)
        samples = 2 * -(-count // max(int(measured.sum()), 1)) + 10
        rng = np.random.default_rng(0)
        q = np.where(moves, rng.uniform(-np.pi, np.pi, (samples, n)), 0.3)
        v, a = (np.where(moves, rng.normal(size=(samples, n)), 0.0) for _ in range(2))
        W = np.concatenate(
            [self.columns(self.motion(q, v, a, None, each), each)[:, measured] for each in loaded]
        )
        W = W.reshape(-1, count)
        # Rounding errors must not become columns.
        sizes = np.linalg.norm(W, axis=0)
        W[:, sizes < COLUMN_TOLERANCE * sizes.max()] = 0.0
        return independent_columns(W)

    def unit(self, name: str) -> str:
        """Return the unit of a parameter."""
        owner, _, kind = name.rpartition('/')
        if kind in KINDS:
            kinds = {joint.name: joint.kind for joint in self.robot.description.joints}
            return KINDS[kind].units[not kinds[owner].turns]
        return 'kg' if kind == 'm' else 'kg m' if kind[0] == 'm' else 'kg m^2'


def _check(robot: DynamicModel, model: EffortModel, load: KnownLoad | None) -> None:
    wrong = [name for name in model.terms if name not in FRICTION]
    if wrong:
        raise UnknownNameError(f'terms: no {wrong[0]!r}; choose from {", ".join(FRICTION)}')
    unknown = [group for group in model.estimate if group not in GROUPS]
    if unknown:
        raise UnknownNameError(f'estimate: no {unknown[0]!r}; choose from {", ".join(GROUPS)}')
    if model.payload_link and model.payload_link not in robot.link_names:
        raise UnknownNameError(
            f'payload_link: no link {model.payload_link!r}; there are {", ".join(robot.link_names)}'
        )
    if model.payload_link and robot.tree.frames[model.payload_link].body == GROUND:
        raise ArgumentError(
            f'payload_link: {model.payload_link!r} does not move, so no torque depends on a payload'
        )
    if load is not None and load.link not in robot.tree.frames:
        raise UnknownNameError(
            f'no link {load.link!r} to carry a load: {", ".join(robot.tree.frames)}'
        )
    if not model.estimate and not model.payload_link:
        raise ArgumentError(f'nothing to estimate; choose from {", ".join(GROUPS)}')
