# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Equations of motion in extended precision, from the text of a URDF: the judge between libraries.

The recursive Newton-Euler algorithm in the frames of the links, over NumPy's `longdouble` (64 bits
of mantissa or more) and independent of the package from the parser on. Derivatives are those of a
complex step so small that they are exact to the last bits. Angular part first; all functions take
and return stacks, q (N, nq) and v, a (N, nv), unless they say otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.etree import ElementTree

import numpy as np

from screw_dynamics_ros.core import Robot

REAL = np.longdouble
STEP = REAL('1e-30')

#: Whether this machine has more precision than float64.
AVAILABLE = np.finfo(REAL).eps < 1e-18

ONE, NOTHING = np.eye(3, dtype=REAL), np.zeros(3, dtype=REAL)

Element = ElementTree.Element


@dataclass
class Link:
    """A link, and the joint that carries it.

    `R`, `p` and `axis` are those of the joint; `place` and `start` say where its velocity and
    coordinate stand; `m`, `h` and `I` are mass, first moment, and inertia about the link's origin.
    """

    parent: int
    kind: str
    R: np.ndarray
    p: np.ndarray
    axis: np.ndarray
    place: slice | None = None
    start: int = 0
    multiplier: np.longdouble = REAL(1)  # noqa: RUF009
    offset: np.longdouble = REAL(0)  # noqa: RUF009
    m: np.longdouble = REAL(0)  # noqa: RUF009
    h: np.ndarray = field(default_factory=lambda: NOTHING)
    I: np.ndarray = field(default_factory=lambda: 0 * ONE)  # noqa: E741


class ExtendedPrecision:
    """What a `Robot` of the same URDF should compute; no planar or floating joints."""

    def __init__(self, urdf: str, robot: Robot) -> None:
        root = ElementTree.fromstring(urdf)
        self.joints = {str(joint.get('name')): joint for joint in root.findall('joint')}
        self.carriers = {child(joint, 'child'): name for name, joint in self.joints.items()}
        self.elements = {str(link.get('name')): link for link in root.findall('link')}
        self.robot, self.nv = robot, robot.nv
        self.free = robot.nq > len(robot.joint_names)
        self.links: list[Link] = []
        self.index: dict[str, int] = {}
        for name in self.elements:
            self.add(name)

    def add(self, name: str) -> int:
        """Add a link after its predecessor; return its index."""
        if name in self.index:
            return self.index[name]
        if name in self.carriers:
            link = self.carried_by(self.carriers[name])
        else:
            link = Link(-1, 'free' if self.free else 'fixed', ONE, NOTHING, NOTHING)
        inertial = self.elements[name].find('inertial')
        if inertial is not None:
            R, c = placement(inertial)
            values = inertial.find('inertia')
            I = np.array([[REAL(values.get('i' + min(a, b) + max(a, b)))  # noqa: E741
                           for a in 'xyz'] for b in 'xyz'])  # fmt: skip
            link.m = REAL(inertial.find('mass').get('value'))
            link.h, link.I = link.m * c, R @ I @ R.T - link.m * hat(c) @ hat(c)
        self.links.append(link)
        self.index[name] = len(self.links) - 1
        return self.index[name]

    def carried_by(self, name: str) -> Link:
        """Return a link without mass on this joint."""
        joint = self.joints[name]
        parent, kind = self.add(child(joint, 'parent')), str(joint.get('type'))
        axis = joint.find('axis')
        e = numbers('1 0 0' if axis is None else axis.get('xyz'))
        link = Link(parent, kind, *placement(joint), e)
        if kind != 'fixed':
            link.axis = e / np.sqrt(e @ e)
            master, link.multiplier, link.offset = self.mimicked(name)
            own, link.place = self.robot.joint_coordinates(master)
            link.start = own.start
        return link

    def mimicked(self, name: str) -> tuple[str, np.longdouble, np.longdouble]:
        """Return (master, multiplier, offset), through all masters in between."""
        mimic = self.joints[name].find('mimic')
        if mimic is None:
            return name, REAL(1), REAL(0)
        factor, shift = REAL(mimic.get('multiplier', '1')), REAL(mimic.get('offset', '0'))
        master, multiplier, offset = self.mimicked(str(mimic.get('joint')))
        return master, factor * multiplier, factor * offset + shift

    def joint_motion(
        self, link: Link, q: np.ndarray, v: np.ndarray, a: np.ndarray, turn: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Return pose (R, p) on the predecessor, and what the joint adds to velocity (omega, v) and
        acceleration; a free base is displaced by the infinitesimal body-fixed twist `turn`.
        """
        if link.kind == 'free':
            R, p = of_quaternion(q[:, 3:7]), q[:, :3] + 0 * turn[:, 3:]
            p, R = p + times(R, turn[:, 3:]), R @ (ONE + hat(turn[:, :3]))
            return R, p, v[:, :6], a[:, :6]
        none = np.zeros((len(q), 3), dtype=v.dtype)
        R, p = np.broadcast_to(link.R, (len(q), 3, 3)), link.p + none
        if link.kind == 'fixed':
            return R, p, np.zeros((len(q), 6)), np.zeros((len(q), 6))
        x = (link.multiplier * q[:, link.start] + link.offset)[:, None]
        rates = [link.multiplier * y[:, link.place] * link.axis for y in (v, a)]
        if link.kind == 'prismatic':
            return R, p + times(R, x * link.axis), *(np.hstack([none, y]) for y in rates)
        return R @ rotation(link.axis, x[:, 0]), p, *(np.hstack([y, none]) for y in rates)

    def inverse_dynamics(
        self,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        gravity: np.ndarray | None = None,
        turn: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return torques (N, nv), real or complex as v; `turn` (N, 6) as in `joint_motion`."""
        turn = np.zeros((len(q), 6)) if turn is None else turn
        gravity = self.robot.gravity.astype(REAL) if gravity is None else gravity
        ground = np.zeros((len(q), 3), dtype=v.dtype)
        motions, wrenches = [], []
        for link in self.links:
            R, p, V_j, A_j = self.joint_motion(link, q, v, a, turn)
            omega, u, domega, du = (
                motions[link.parent][2:] if link.parent >= 0 else (*3 * [ground], ground - gravity)
            )
            back = R.swapaxes(-1, -2)
            omega, u = times(back, omega), times(back, u + cross(omega, p))
            domega, du = times(back, domega), times(back, du + cross(domega, p))
            (e, r), (de, dr) = np.hsplit(V_j, 2), np.hsplit(A_j, 2)
            omega, u = omega + e, u + r
            domega = domega + de + cross(omega, e)
            du = du + dr + cross(omega, r) + cross(u, e)
            motions.append((R, p, omega, u, domega, du))
            L, P = times(link.I, omega) + cross(link.h, u), link.m * u - cross(link.h, omega)
            wrenches.append(
                [
                    times(link.I, domega) + cross(link.h, du) + cross(omega, L) + cross(u, P),
                    link.m * du - cross(link.h, domega) + cross(omega, P),
                ]
            )
        tau = np.zeros((len(q), self.nv), dtype=v.dtype)
        for link, (R, p, *_), (moment, force) in zip(
            self.links[::-1], motions[::-1], wrenches[::-1]
        ):
            if link.kind == 'free':
                tau[:, :6] += np.hstack([moment, force])
            elif link.kind != 'fixed':
                along = (force if link.kind == 'prismatic' else moment) @ link.axis
                tau[:, link.place] += link.multiplier * along[:, None]
            if link.parent >= 0:
                W, force = wrenches[link.parent], times(R, force)
                W[0], W[1] = W[0] + times(R, moment) + cross(p, force), W[1] + force
        return tau

    def derivatives(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return tau (nv,), and dtau/dq, dtau/dv and M, (nv, nv) each, at one state."""
        one = np.eye(self.nv, dtype=REAL)
        Q, V, A = (np.tile(np.asarray(x, dtype=REAL), (self.nv, 1)) for x in (q, v, a))
        steps, turn = 1j * STEP * one, np.zeros((self.nv, 6), dtype=np.clongdouble)
        if self.free:
            turn, steps = steps[:, :6], np.hstack([np.zeros((self.nv, 1)), steps])
            steps[:, :7] = 0
        by_q = self.inverse_dynamics(Q + steps, V + 0j, A + 0j, turn=turn)
        by_v = self.inverse_dynamics(Q + 0j, V + 1j * STEP * one, A + 0j)
        M = self.inverse_dynamics(Q, 0 * V, one, gravity=NOTHING)
        tau = self.inverse_dynamics(Q[:1], V[:1], A[:1])[0]
        return tau, by_q.imag.T / STEP, by_v.imag.T / STEP, M.T


def solve(M: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return M^-1 b for positive definite M (n, n), b (n, k), with two refinements."""
    n, L = len(M), M.copy()
    for k in range(n):  # Cholesky's method
        L[k, k] = np.sqrt(L[k, k])
        L[k + 1 :, k] /= L[k, k]
        L[k + 1 :, k + 1 :] -= np.outer(L[k + 1 :, k], L[k + 1 :, k])
    x = np.zeros(b.shape, dtype=REAL)
    for _ in range(3):
        y = b - M @ x
        for k in range(n):
            y[k] = (y[k] - L[k, :k] @ y[:k]) / L[k, k]
        for k in reversed(range(n)):
            y[k] = (y[k] - L[k + 1 :, k] @ y[k + 1 :]) / L[k, k]
        x = x + y
    return x


def numbers(text: str | None) -> np.ndarray:
    """Return the numbers of an attribute."""
    return np.array([REAL(word) for word in str(text).split()])


def child(joint: Element, which: str) -> str:
    """Return the name of the 'parent' or 'child' of a joint."""
    return str(joint.find(which).get('link'))


def placement(element: Element) -> tuple[np.ndarray, np.ndarray]:
    """Return rotation and position of the <origin>; its angles are about fixed x, y, z."""
    origin, R = element.find('origin'), ONE
    attributes = {} if origin is None else origin.attrib
    for axis, angle in zip(ONE, numbers(attributes.get('rpy', '0 0 0'))):
        R = rotation(axis, angle) @ R
    return R, numbers(attributes.get('xyz', '0 0 0'))


def rotation(axis: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Return rotations (..., 3, 3) about a unit vector (Rodrigues)."""
    K, angle = hat(axis), np.asarray(angle)[..., None, None]
    return ONE + np.sin(angle) * K + (1 - np.cos(angle)) * (K @ K)


def of_quaternion(x: np.ndarray) -> np.ndarray:
    """Return the rotations of quaternions (x, y, z, w), brought to unit length."""
    x = x / np.sqrt((x * x).sum(-1, keepdims=True))
    K = hat(x[:, :3])
    return ONE + 2 * x[:, 3, None, None] * K + 2 * K @ K


def hat(x: np.ndarray) -> np.ndarray:
    """Return the matrices (..., 3, 3) of vector products with x from the left."""
    return cross(x[..., None, :], ONE).swapaxes(-1, -2)


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the vector products of two stacks."""
    return a[..., [1, 2, 0]] * b[..., [2, 0, 1]] - a[..., [2, 0, 1]] * b[..., [1, 2, 0]]


def times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the products of stacks of matrices and of vectors."""
    return (A @ x[..., None])[..., 0]
