# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""All inverse solutions of a chain of six revolute joints, by continuation in complex angles.

A closed loop of six revolute joints in general position has 16 solutions over the complex numbers
(Primrose 1986; Lee, Liang 1988), and every isolated solution of a special loop is the limit of some
of them when a general loop is deformed into the special one along a generic path
(coefficient-parameter continuation: Morgan, Sommese 1989; Wampler, Morgan, Sommese 1990). So 16
paths are followed from one loop of random complex shape, whose 16 solutions monodromy finds, to the
loop that an arm and a pose make. Lengths and angles of the loop run straight from the random values
to the true ones; the joint angles follow, by Runge-Kutta steps and Newton's corrections.

The loop of axes k = 1 ... 6, the last link being the one from the tool back to the base:

    Rz(x_1) M_1 Rz(x_2) M_2 ... Rz(x_6) M_6 = 1,    M_k = Trans(u, v, w) Rx(a) Ry(b).

Nothing here is taken from the package: not the kinematics, not eliminations, not eigenvalues.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

PATHS = 16

#: Corrections after a prediction [rad] above which a step is taken again, shorter; and the longest
#: step [rad].
CAREFUL, LONGEST = 1e-2, 0.5

#: A path is given up when this much of it is left: it ends at a singular solution.
LAST = 1e-9

#: Or when this much is left and an imaginary part [rad] is that large: it ends at infinity, where
#: tan(x / 2) = +-i.
NEAR_END, FAR = 1e-3, 10.0

#: Or when steps get shorter than this share of what is left: it is lost. A pose with a lost path is
#: begun again, from another general loop, up to this many times.
SHORTEST, ATTEMPTS = 1e-6, 5

CONVERGED, REAL, DISTINCT = 1e-10, 1e-7, 1e-6


@dataclass(frozen=True)
class Ends:
    """Where the 16 paths of one pose end.

    Attributes
    ----------
    q : (k, 6) array
        The real regular solutions [rad], in (-pi, pi].
    pairs : int
        Pairs of regular solutions that are not real.
    infinite : int
        Paths that end at infinity.
    singular : (m, 6) array
        Real parts of the ends [rad] of paths that end at singular solutions, to 1e-4 or so.
    complete : bool
        Whether all paths have ended, no two at the same regular solution, and solutions that are
        not real in conjugate pairs.
    """

    q: np.ndarray
    pairs: int
    infinite: int
    singular: np.ndarray
    complete: bool


def all_solutions(
    directions: np.ndarray, points: np.ndarray, home: np.ndarray, poses: np.ndarray
) -> list[Ends]:
    """Return the solutions for each pose.

    Parameters
    ----------
    directions, points : (6, 3) arrays
        The joint axes at q = 0, in the base frame: unit vectors, and points [m].
    home : (4, 4) array
        The pose of the tool at q = 0 [m].
    poses : (n, 4, 4) array
        Desired poses of the tool [m].
    """
    loops = [loop_of(directions, points, pose @ np.linalg.inv(home)) for pose in poses]
    found: dict[int, Ends] = {}
    for attempt in range(ATTEMPTS):
        left = [k for k in range(len(loops)) if k not in found or not found[k].complete]
        if not left:
            break
        start, roots = general_loop(attempt)
        x, s = track(
            np.tile(roots, (len(left), 1)),
            np.broadcast_to(start, (PATHS * len(left), 6, 5)),
            np.repeat([loops[k][0] for k in left], PATHS, axis=0).astype(complex),
        )
        for k, own_x, own_s in zip(left, np.split(x, len(left)), np.split(s, len(left))):
            found[k] = ends_of(own_x, own_s, loops[k][1])
    return [found[k] for k in range(len(loops))]


def ends_of(x: np.ndarray, s: np.ndarray, zero: np.ndarray) -> Ends:
    """Return the ends (16, 6) of the paths, s (16,) being what is left of each, and x at q = 0."""
    imaginary = np.abs(x.imag).max(axis=1)
    regular, far = s == 0.0, (s < NEAR_END) & (imaginary > FAR)
    singular = ~regular & ~far & (s < LAST)
    apart = np.abs(wrapped(x[regular, None] - x[None, regular])).max(axis=2) > DISTINCT
    real = regular & (imaginary < REAL)
    others = x[regular & ~real]
    partners = np.abs(wrapped(others[:, None] - others[None].conj())).max(axis=2) < DISTINCT
    return Ends(
        wrapped(x[real] - zero).real,
        len(others) // 2,
        int(far.sum()),
        wrapped(x[singular] - zero).real,
        bool(
            (regular | far | singular).all()
            and apart.sum() == regular.sum() * (regular.sum() - 1)
            and (partners.sum(axis=1) == 1).all()
        ),
    )


def wrapped(angles: np.ndarray) -> np.ndarray:
    """Return angles with real parts in (-pi, pi]."""
    return angles - 2 * np.pi * np.ceil((angles.real - np.pi) / (2 * np.pi))


# --- loops ----------------------------------------------------------------------------------------


def loop_of(e: np.ndarray, p: np.ndarray, D: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the loop (6, 5) with lengths divided by their sum, and x (6,) at q = 0.

    D (4, 4) is the displacement of the tool from q = 0, so that exp(Y_1 q_1) ... exp(Y_6 q_6) = D.
    A frame has its z axis on a joint axis; M leads to the frame on the next one.
    """
    lines = [*zip(e[1:], p[1:]), (D[:3, :3].T @ e[0], D[:3, :3].T @ (p[0] - D[:3, 3]))]
    first = F = frame_along(e[0], p[0])
    shape = np.zeros((6, 5))
    for k, (direction, point) in enumerate(lines):
        d, r = F[:3, :3].T @ direction, F[:3, :3].T @ (point - F[:3, 3])
        if k < 5:  # any point of the line; the last frame is the first one
            r = r - (r @ d) * d
        shape[k] = *r, np.arctan2(-d[1], d[2]), np.arctan2(d[0], np.hypot(d[1], d[2]))
        F = F @ links(shape[k].astype(complex)).real
    turned = first[:3, :3].T @ D[:3, :3] @ F[:3, :3]
    shape[:, :3] /= np.abs(shape[:, :3]).sum()
    return shape, np.array([-np.arctan2(turned[1, 0], turned[0, 0]), 0, 0, 0, 0, 0])


def frame_along(direction: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Return a frame (4, 4) with its origin and z axis on a line."""
    F = np.eye(4)
    x = np.cross(direction, np.eye(3)[np.argmin(np.abs(direction))])
    F[:3, 0], F[:3, 2], F[:3, 3] = x / np.linalg.norm(x), direction, point
    F[:3, 1] = np.cross(F[:3, 2], F[:3, 0])
    return F


@cache
def general_loop(number: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return one of many loops (6, 5) of random complex shape and its solutions (16, 6)."""
    if number == 0:
        return first_loop()
    start, roots = general_loop(number - 1)
    rng = np.random.default_rng(number + 1)
    while True:
        shape, each = random_shape(rng), (PATHS, 6, 5)
        x, s = track(roots, np.broadcast_to(start, each), np.broadcast_to(shape, each))
        if not s.any():
            return shape, wrapped(x)


def first_loop() -> tuple[np.ndarray, np.ndarray]:
    """Return a loop (6, 5) of random complex shape and its solutions (16, 6).

    The first solution is drawn, too, and the last link closes the loop. The others are found by
    leading the known ones around closed paths of shapes until there are 16.
    """
    rng = np.random.default_rng(1)
    shape, x = random_shape(rng), rng.uniform(-3, 3, 6) + 0.3j * rng.uniform(-1, 1, 6)
    shape[5], x[5] = closing(x, shape)
    known = x[None]
    while len(known) < PATHS:
        count = PATHS // len(known)  # closed paths at a time
        each = (count * len(known), 6, 5)
        found, home = np.tile(known, (count, 1)), np.broadcast_to(shape, each)
        turns = [np.repeat([random_shape(rng) for _ in range(count)], len(known), 0) for _ in '12']
        left = np.zeros(len(found))
        for one, other in pairwise([home, *turns, home]):
            found, s = track(found, one, other)
            left = np.maximum(left, s)
        for x in wrapped(found[left == 0.0]):
            if np.abs(wrapped(x - known)).max(axis=1).min() > DISTINCT:
                known = np.vstack([known, x])
    return shape, known


def random_shape(rng: np.random.Generator) -> np.ndarray:
    """Return a loop (6, 5) of random complex shape."""
    size = np.array([0.15, 0.15, 0.15, 1.0, 1.0])
    return size * (rng.uniform(-1, 1, (6, 5)) + 1j * rng.uniform(-1, 1, (6, 5)))


def closing(x: np.ndarray, shape: np.ndarray) -> tuple[np.ndarray, complex]:
    """Return the last link (5,) and x_6 that close a loop with x_1 ... x_5 and five links."""
    T = np.eye(4, dtype=complex)
    for k in range(5):
        T = T @ about(2, x[k]) @ links(shape[k])
    T = np.linalg.inv(T)
    a = np.arcsin(T[2, 1])
    b = -1j * np.log((T[2, 2] - 1j * T[2, 0]) / np.cos(a))
    last = -1j * np.log((T[1, 1] - 1j * T[0, 1]) / np.cos(a))
    return np.array([*(about(2, -last) @ T)[:3, 3], a, b]), last


# --- the equations and their derivatives ----------------------------------------------------------


def about(axis: int, angle: np.ndarray) -> np.ndarray:
    """Return rotations (..., 4, 4) about the axis 0, 1 or 2 by complex angles (...)."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    T = np.zeros((*np.shape(angle), 4, 4), dtype=complex)
    T[..., range(4), range(4)] = 1.0
    T[..., i, i] = T[..., j, j] = np.cos(angle)
    T[..., j, i] = np.sin(angle)
    T[..., i, j] = -T[..., j, i]
    return T


def links(shape: np.ndarray) -> np.ndarray:
    """Return M = Trans(u, v, w) Rx(a) Ry(b), (..., 4, 4), of shapes (..., 5)."""
    T = about(0, shape[..., 3]) @ about(1, shape[..., 4])
    T[..., :3, 3] = shape[..., :3]
    return T


def equations(x: np.ndarray, shape: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the error (n, 6) of loops and its derivatives (n, 6, 36) for x (n, 6) and the shapes.

    The error is (vector part of R, p) of the product. The derivatives are the spatial twists
    (angular; linear at the base) of unit rates, first of x, then of turning by the shape's a, of
    turning by its b, and of u, v, w: a rate makes the product change by its twist times it.
    """
    n = len(x)
    turn, a, b = about(2, x), about(0, shape[..., 3]), about(1, shape[..., 4])
    shift = np.broadcast_to(np.eye(4, dtype=complex), (n, 6, 4, 4)).copy()
    shift[..., :3, 3] = shape[..., :3]
    first, second = shift @ a, b
    C = np.broadcast_to(np.eye(4, dtype=complex), (n, 4, 4))
    lines, slides = np.empty((n, 3, 6, 2, 3), dtype=complex), []
    for k in range(6):
        lines[:, 0, k] = C[:, :3, 2:].swapaxes(1, 2)
        C = C @ turn[:, k]
        slides.append(C[:, :3, :3])
        C = C @ first[:, k]
        lines[:, 1, k] = C[:, :3, 0::3].swapaxes(1, 2)
        lines[:, 2, k] = C[:, :3, 1::2].swapaxes(1, 2)
        C = C @ second[:, k]
    e, p = lines[..., 0, :], lines[..., 1, :]
    around, ahead = (1, 2, 0), (2, 0, 1)
    moment = p[..., around] * e[..., ahead] - p[..., ahead] * e[..., around]
    D = np.zeros((n, 6, 36), dtype=complex)
    D[:, :, :18] = np.concatenate([e, moment], axis=-1).reshape(n, 18, 6).swapaxes(1, 2)
    D[:, 3:, 18:] = np.stack(slides, axis=2).reshape(n, 3, 18)
    skew = np.stack([C[:, 2, 1] - C[:, 1, 2], C[:, 0, 2] - C[:, 2, 0], C[:, 1, 0] - C[:, 0, 1]], 1)
    return np.hstack([skew / 2, C[:, :3, 3]]), D


# --- paths ----------------------------------------------------------------------------------------


def track(x: np.ndarray, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Follow solutions x (n, 6) of loops (n, 6, 5) from start to end.

    Returns the last x (n, 6) and what was left of each path (n,): 0 where it ended at a regular
    solution.
    """
    x, left, h = x.astype(complex), np.ones(len(x)), np.full(len(x), 0.05)
    active = np.arange(len(x))
    while len(active):
        s, step = left[active], np.minimum(h[active], left[active])
        after = s - step
        to = start[active] - end[active], end[active]
        with np.errstate(over='ignore', invalid='ignore'):  # a step too long is not taken
            guess = runge_kutta(x[active], s, after, to)
            found, size, last = corrected(guess, shape_at(after, to), np.where(after > 0.0, 2, 5))
        ok = (size < CAREFUL) & (np.abs(found - x[active]).max(axis=1) < LONGEST)
        ok &= last < np.where(after > 0.0, 1e-5, CONVERGED)
        x[active[ok]], left[active[ok]] = found[ok], after[ok]
        h[active] = step * np.where(ok, np.clip(0.8 * (CAREFUL / size) ** 0.2, 0.5, 3.0), 0.4)
        far = (left[active] < NEAR_END) & (np.abs(x[active].imag).max(axis=1) > FAR)
        lost = ~ok & (h[active] < SHORTEST * left[active])
        active = active[~far & ~lost & (left[active] >= LAST)]
    return x, left


def shape_at(s: np.ndarray, to: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the shapes (n, 6, 5) when s (n,) of the paths is left."""
    change, end = to
    return end + s[:, None, None] * change


def rates(x: np.ndarray, s: np.ndarray, to: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return dx/ds (n, 6) on solutions."""
    D = equations(x, shape_at(s, to))[1]
    change = to[0]
    rate = [change[..., 3], change[..., 4], change[..., :3].reshape(len(x), 18)]
    return -solved(D[..., :6], (D[..., 6:] @ np.hstack(rate)[..., None])[..., 0])


def runge_kutta(
    x: np.ndarray, s: np.ndarray, after: np.ndarray, to: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Return x (n, 6) after steps from s to `after` (n,), of fourth order."""
    h = (after - s)[:, None]
    middle = (s + after) / 2
    k1 = rates(x, s, to)
    k2 = rates(x + h / 2 * k1, middle, to)
    k3 = rates(x + h / 2 * k2, middle, to)
    k4 = rates(x + h * k3, after, to)
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def corrected(
    x: np.ndarray, shape: np.ndarray, iterations: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return x (n, 6) after Newton's steps, and sizes (n,) of the first and last one [rad]."""
    first = last = np.full(len(x), np.inf)
    for iteration in range(iterations.max()):
        error, D = equations(x, shape)
        dx = -solved(D[..., :6], error)
        size = np.maximum(np.nan_to_num(np.abs(dx).max(axis=1), nan=np.inf), 1e-300)
        first = size if iteration == 0 else first
        moving = (iteration < iterations) & (size < CAREFUL)
        last = np.where(iteration < iterations, size, last)
        x = np.where(moving[:, None], x + dx, x)
    return x, first, last


def solved(J: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return J^-1 b for stacks, NaN where J is exactly singular."""
    good = np.isfinite(J).all(axis=(1, 2))
    J = np.where(good[:, None, None], J, np.eye(6))
    try:
        y = np.linalg.solve(J, b[..., None])[..., 0]
    except np.linalg.LinAlgError:
        y = np.stack([np.linalg.lstsq(*each, rcond=None)[0] for each in zip(J, b)])
    return np.where(good[:, None], y, np.nan)
