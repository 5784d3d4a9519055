"""All solutions of the inverse position kinematics of a serial arm, with a certificate.

The arm is classified by its joint screws. An arm with a closed form has its branches in one
compiled function; any other arm of six revolute joints, or fewer, is solved by elimination, up to
16 solutions. Each candidate is made exact by Newton-Raphson steps on the arm as it is described;
what does not become a solution then is none. Near singular configurations, where two solutions
almost coincide, the neighborhood is searched and a second elimination taken. Last come joint
limits, and the images by whole turns within them.

Arms with seven joints have the swivel angle (S-R-S) or a locked joint as an argument; with more,
several joints are locked.

Source: Bruyninckx 2010, sections 7.8 to 7.10 and 1.3 (B-005, C-087, C-088, C-101, C-103).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.compile.kernels import compiled_into, stacked_into
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.families.chain import REVOLUTE, SerialChain
from screw_dynamics_ros.core.families.classifier import classify
from screw_dynamics_ros.core.families.closed_form import ClosedForm
from screw_dynamics_ros.core.families.general_6r import GeneralSixRevolute, Place
from screw_dynamics_ros.core.families.pieper import Pieper
from screw_dynamics_ros.core.families.polishing import make_polisher
from screw_dynamics_ros.core.inverse.position import check_targets, rigid_defect
from screw_dynamics_ros.core.lie import screws, se3
from screw_dynamics_ros.core.types import Array

TURN = 2.0 * np.pi
#: Residual of a solution: 2 sin(angle / 2) [rad] and displacement [m] in one norm.
#: Also where two solutions almost coincide and everything between them nearly is one.
ACCEPTED = 1e-12
#: A residual after the first steps from which there is no way to a solution nearby.
HOPELESS = 1e-2
ROUNDS = 8
#: Joint positions [rad, m] below which two solutions are the same one.
SAME = 1e-6
#: Beyond a limit [rad, m] by no more than this is rounding.
SLACK = 1e-9
#: det(J J^T), lengths in units of the arm's, below which a configuration may be singular.
SMALL_DETERMINANT = 1e-6
#: Smallest singular value of J, in those units: nearly singular, and singular.
NEARLY_SINGULAR, SINGULAR = 1e-2, 1e-7
#: Steps along the direction that is lost in a nearly singular configuration [rad].
NEIGHBORHOOD = tuple(10.0 ** (-0.5 * k) for k in range(1, 12))
GEOMETRY = 1e-6  # [rad, m], how well an arm must fit a closed form
SEARCHES = 512  # random configurations where no method knows all solutions


@dataclass(frozen=True)
class Discarded:
    """A candidate that is no answer.

    Attributes
    ----------
    q : (n,) array
        Positions of the joints of the chain.
    label : str
    reason : str
    """

    q: Array
    label: str
    reason: str


@dataclass(eq=False, slots=True)
class AllSolutions:
    """All solutions for one pose.

    Attributes
    ----------
    q : (k, nq) array
        Configurations of the robot, one in each row; joints that do not carry the link as in `q0`.
    residuals : (k,) array
        Pose errors: 2 sin(angle / 2) [rad] and displacement [m] in one norm.
    branches : (k,) array of int
        Which branch of the family each one is: its place in `branch_labels`.
    branch_labels : tuple of str
    family : str
    bound : int
        The most solutions that an arm of the family can have, whole turns not counted; 0 where that
        is not known.
    found : int
        Solutions without regard to limits and whole turns.
    outside : tuple of Discarded
        Solutions outside the limits.
    unreached : tuple of Discarded
        Branches of a closed form that do not reach the pose.
    doubt : str
        Why there may be further solutions; empty if there are certainly none.
    """

    q: Array
    residuals: Array
    branches: Array
    branch_labels: tuple[str, ...]
    family: str
    bound: int
    found: int
    outside: tuple[Discarded, ...] = ()
    unreached: tuple[Discarded, ...] = ()
    doubt: str = ''

    def __len__(self) -> int:
        """Return the number of solutions."""
        return len(self.q)

    @property
    def complete(self) -> bool:
        """Whether there is certainly no further solution within the limits."""
        return not self.doubt

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of the branch of each solution."""
        return tuple(self.branch_labels[k] for k in self.branches)

    @property
    def discarded(self) -> tuple[Discarded, ...]:
        """Candidates that are no answer, each with the reason."""
        return self.outside + self.unreached

    @property
    def message(self) -> str:
        """The certificate: method, how many solutions of how many possible, why not complete."""
        most = f' of at most {self.bound}' if self.bound else ''
        text = f'{self.family}: {self.found}{most} solutions'
        if self.outside:
            text += f', {len(self.outside)} outside the limits'
        return f'{text}; {self.doubt}' if self.doubt else text

    def nearest(self, q: ArrayLike) -> int:
        """Return which solution is next to a configuration (nq,).

        The distance is that of the joint furthest from it [rad or m].

        Raises
        ------
        ArgumentError
            If there is no solution.
        """
        if not len(self.q):
            raise ArgumentError(f'there is no solution to choose from: {self.message}')
        return int(np.abs(self.q - np.asarray(q)).max(axis=1).argmin())


class SerialSolver:
    """All inverse kinematics of one chain with some joints held.

    Parameters
    ----------
    chain : SerialChain
    held : sequence of int
        Joints with given positions.
    backend : str

    Raises
    ------
    ArgumentError
        If no joint is free, or more than six are and the arm is not S-R-S.
    """

    def __init__(self, chain: SerialChain, held: Sequence[int], backend: str) -> None:
        self.chain, self.backend, self.held = chain, backend, tuple(held)
        self.free = [k for k in range(len(chain)) if k not in self.held]
        if not self.free:
            raise ArgumentError(
                'no joint is free to bring the link to a pose: '
                + (f'all of {", ".join(chain.joint_names)} are locked' if held else 'none moves it')
            )
        self.length = max(np.abs(chain.screws[:, 3:]).max(), np.abs(chain.home[:3, 3]).max()) or 1.0
        self._polisher = make_polisher(chain, self.free, backend)
        self._places: tuple[Place, ...] = ()
        self._solvers: dict[tuple[float, ...], ClosedForm | GeneralSixRevolute | None] = {}
        inner = [k for k in self.held if min(self.free) < k < max(self.free)]
        self._inner = tuple(inner)
        self._outer = tuple(k for k in self.held if k not in inner)
        self._method(np.zeros(len(inner)))

    def _method(self, inner: Array) -> ClosedForm | GeneralSixRevolute | None:
        """Return what solves the chain whose held joints between free ones are at `inner`."""
        key = tuple(inner)
        if key not in self._solvers:
            if len(self._solvers) >= 64:
                self._solvers.pop(next(iter(self._solvers)))
            self._solvers[key] = self._make_method(dict(zip(self._inner, inner)))
        return self._solvers[key]

    def _make_method(self, inner: Mapping[int, float]) -> ClosedForm | GeneralSixRevolute | None:
        chain = reduced(self.chain, {**dict.fromkeys(self._outer, 0.0), **inner})
        n = len(chain)
        identity = repr((chain.screws.tolist(), chain.home.tolist()))
        if not inner:
            known = classify(chain, GEOMETRY)
            if known.arm is not None:
                return ClosedForm(known.name, known.arm, identity, self.backend, n == 7)
        if n > 6:
            names = ', '.join(chain.joint_names)
            raise ArgumentError(
                f'{n} joints are more than a pose needs: lock all but six of {names}, '
                'by locked={joint: position}; a swivel angle belongs to S-R-S arms only'
            )
        arm = Pieper.recognized(chain, GEOMETRY)
        if arm is not None:  # not compiled for each position of a joint that is held in between
            backend = 'reference' if inner else self.backend
            return ClosedForm('pieper', arm, identity, backend, False)
        if set(chain.kinds) != {REVOLUTE}:
            return None
        solver = GeneralSixRevolute(padded(chain), self.backend, self._places)
        self._places = solver.places
        return solver

    @cached_property
    def direct(self) -> Callable[[Array], AllSolutions | None] | None:
        """The short way, for closed forms of arms with six joints: None where it has no answer.

        It has one where all branches are regular solutions, exact after the first steps.
        """
        method = None if self._inner or self.held else self._method(np.zeros(0))
        if not isinstance(method, ClosedForm) or self.redundant:
            return None
        m, n = method.bound, len(self.chain)
        branches = compiled_into(method.kernel)
        exact = stacked_into(self._polisher, m)
        places, labels, name = np.arange(m), method.labels, method.name
        least = SMALL_DETERMINANT * self.length**6

        def solutions(C: Array) -> AllSolutions | None:
            target = np.ascontiguousarray(C).reshape(16)
            start, q = np.empty((m, n)), np.empty((m, n))
            residuals, determinants = np.empty((m, 1)), np.empty((m, 1))
            branches(target, start)
            exact(start, target, q, residuals, determinants)
            if not residuals.max() <= ACCEPTED or not determinants.min() > least:
                return None
            return AllSolutions(q, residuals[:, 0], places, labels, name, m, m)

        return solutions

    @property
    def redundant(self) -> bool:
        """Whether a swivel angle must be given."""
        return len(self.free) == 7

    def solve(self, C: Array, held: Array, swivel: Array) -> _Solutions:
        """Return the solutions for a pose, limits and whole turns not regarded.

        Parameters
        ----------
        C : (4, 4) array
        held : (h,) array
            Positions of the held joints.
        swivel : (k,) array
            Swivel angles of an S-R-S arm, empty for others.
        """
        positions = dict(zip(self.held, held))
        method = self._method(np.array([positions[k] for k in self._inner]))
        if method is None:
            return self._searched(C, positions)
        target = self._without_outer(C, positions)
        if isinstance(method, ClosedForm):
            q, branches = method.candidates(target, swivel)
            found = self._exact(C, positions, q, branches)
            labels, name, bound = method.labels, method.name, method.bound * max(1, len(swivel))
        else:
            q = method.candidates(target)
            found = self._exact(C, positions, q, np.zeros(len(q), dtype=int))
            found = replace(found, lost=())
            labels, name, bound = ('',), 'general 6R', method.bound
        nearly = self._nearly_singular(found)
        doubtful = isinstance(method, GeneralSixRevolute) and len(self.free) == 6 and len(found) % 2
        if nearly or doubtful:
            found = self._search_nearby(C, positions, found, nearly)
            if isinstance(method, GeneralSixRevolute) and len(method.places) > 1:
                q = method.candidates(target, 1)
                found = merged(found, self._exact(C, positions, q, np.zeros(len(q), dtype=int)))
        singular = any(sigma < SINGULAR for _, sigma, _ in self._nearly_singular(found))
        reason = ''
        if singular:
            reason = 'a solution is singular: others may coincide with it or follow on continuously'
        elif doubtful and len(found) % 2:
            reason = 'the number of solutions is odd: one may coincide with another'
        return replace(found, labels=labels, name=name, bound=bound, doubt=reason)

    def _without_outer(self, C: Array, positions: Mapping[int, float]) -> Array:
        """Return the pose for the chain whose held joints at both ends are at zero."""
        first, S, home = min(self.free), self.chain.screws, self.chain.home
        before = after = np.eye(4)
        for k in self._outer:
            if k < first:
                before = before @ se3.exp_unit_screw(S[k], positions[k])
            else:
                after = after @ se3.exp_unit_screw(S[k], positions[k])
        return se3.inverse(before) @ C @ se3.inverse(home) @ se3.inverse(after) @ home

    def _exact(
        self, C: Array, positions: Mapping[int, float], q: Array, branches: Array
    ) -> _Solutions:
        """Return the different solutions that candidates (m, free joints) lead to."""
        full = np.empty((len(q), len(self.chain)))
        full[:, self.free] = q[:, : len(self.free)]
        for k, value in positions.items():
            full[:, k] = value
        return self._polished(C, full, branches)

    def _polished(self, C: Array, q: Array, branches: Array) -> _Solutions:
        target = np.ascontiguousarray(C).reshape(-1)
        if not len(q):
            return _Solutions(q, np.empty(0), np.empty(0), branches)
        q, residuals, determinants = self._polisher.stack([np.ascontiguousarray(q), target])
        residuals, determinants = residuals[:, 0], determinants[:, 0]
        for _ in range(ROUNDS):
            again = np.flatnonzero((residuals > ACCEPTED) & (residuals < HOPELESS))
            if not len(again):
                break
            moved, r, d = self._polisher.stack([q[again], target])
            better = r[:, 0] < residuals[again]
            q[again[better]] = moved[better]
            residuals[again[better]], determinants[again[better]] = r[better, 0], d[better, 0]
            if not (r[:, 0] < 0.5 * residuals[again] + ACCEPTED).any() and not better.any():
                break
        accepted = residuals <= ACCEPTED * max(1.0, self.length)
        lost = tuple(zip(q[~accepted], branches[~accepted], residuals[~accepted]))
        found = _Solutions(
            q[accepted], residuals[accepted], determinants[accepted], branches[accepted], lost
        )
        return merged(found)

    def _nearly_singular(self, found: _Solutions) -> list[tuple[Array, float, Array]]:
        """Return (q, smallest singular value, direction lost) of solutions that are nearly so."""
        result = []
        for q, determinant in zip(found.q, found.determinants):
            if determinant < SMALL_DETERMINANT * self.length**6:
                J = self.chain.jacobian(q)[:, self.free].copy()
                J[3:] /= self.length
                _, sigma, V = np.linalg.svd(J)
                least = sigma[-1]
                if least < NEARLY_SINGULAR:
                    direction = np.zeros(len(self.chain))
                    direction[self.free] = V[len(sigma) - 1]
                    result.append((q, float(least), direction))
        return result

    def _search_nearby(
        self,
        C: Array,
        positions: Mapping[int, float],
        found: _Solutions,
        nearly: Sequence[tuple[Array, float, Array]],
    ) -> _Solutions:
        """Return also the solutions next to those that are nearly singular."""
        starts = [
            q + side * step * direction
            for q, _, direction in nearly
            for step in NEIGHBORHOOD
            for side in (1.0, -1.0)
        ]
        if not starts:
            return found
        near = self._polished(C, np.array(starts), np.zeros(len(starts), dtype=int))
        if len(found) and len(near):
            closest = [int(distances(found.q, each).argmin()) for each in near.q]
            near = replace(near, branches=found.branches[closest])
        return merged(found, replace(near, lost=()))

    def _searched(self, C: Array, positions: Mapping[int, float]) -> _Solutions:
        """Return what Newton-Raphson steps from random configurations find."""
        rng = np.random.default_rng(0)
        lower = np.where(np.isfinite(self.chain.lower), self.chain.lower, -np.pi)
        upper = np.where(np.isfinite(self.chain.upper), self.chain.upper, np.pi)
        q = rng.uniform(lower, upper, (SEARCHES, len(self.chain)))
        for k, value in positions.items():
            q[:, k] = value
        target = np.ascontiguousarray(C).reshape(-1)
        for _ in range(10):
            q = self._polisher.stack([q, target])[0]
        found = self._polished(C, q, np.zeros(len(q), dtype=int))
        reason = (
            'no method for this kind of chain knows all solutions: these were found from '
            f'{SEARCHES} random configurations'
        )
        return replace(found, labels=('',), name='search', bound=0, doubt=reason, lost=())


@dataclass(frozen=True, eq=False)
class _Solutions:
    """Solutions of a chain, and candidates that are none: (q, branch, residual)."""

    q: Array
    residuals: Array
    determinants: Array
    branches: Array
    lost: tuple[tuple[Array, int, float], ...] = ()
    labels: tuple[str, ...] = ()
    name: str = ''
    bound: int = 0
    doubt: str = ''

    def __len__(self) -> int:
        return len(self.q)


def merged(*several: _Solutions) -> _Solutions:
    """Return solutions together, each once, the one with the smallest residual."""
    q = np.concatenate([each.q for each in several])
    residuals = np.concatenate([each.residuals for each in several])
    kept: list[int] = []
    for k in np.argsort(residuals, kind='stable'):
        if not kept or distances(q[kept], q[k]).min() > SAME:
            kept.append(int(k))
    kept.sort()
    return replace(
        several[0],
        q=q[kept],
        residuals=residuals[kept],
        determinants=np.concatenate([each.determinants for each in several])[kept],
        branches=np.concatenate([each.branches for each in several])[kept],
        lost=several[0].lost,
    )


def distances(q: Array, other: Array) -> Array:
    """Return how far the joint furthest away is, whole turns not counted, (k,)."""
    away = q - other
    return np.asarray(np.abs(away - TURN * np.round(away / TURN)).max(axis=-1))


def reduced(chain: SerialChain, held: Mapping[int, float]) -> SerialChain:
    """Return the chain of the other joints when some are held at given positions."""
    C, own = np.eye(4), []
    for k, X in enumerate(chain.screws):
        if k in held:
            C = C @ se3.exp_unit_screw(X, held[k])
        else:
            own.append(screws.transform_twist(C, X))
    free = [k for k in range(len(chain)) if k not in held]
    return SerialChain(
        tuple(chain.joint_names[k] for k in free),
        np.array(own).reshape(-1, 6),
        C @ chain.home,
        chain.lower[free],
        chain.upper[free],
        chain.places[free],
    )


def padded(chain: SerialChain) -> SerialChain:
    """Return a chain of six joints: one of fewer carries further joints with axes anywhere.

    Solutions of the shorter chain are those whose further joints are at zero.
    """
    missing = 6 - len(chain)
    rng = np.random.default_rng(1)
    further = []
    for _ in range(missing):
        e = rng.normal(size=3)
        e /= np.linalg.norm(e)
        further.append(np.concatenate([e, np.cross(chain.home[:3, 3] + rng.normal(size=3), e)]))
    names = (*chain.joint_names, *(f'further joint {k + 1}' for k in range(missing)))
    return SerialChain(names, np.array([*chain.screws, *further]), chain.home)


class JointLimits:
    """Which images of solutions by whole turns are within the limits of a chain.

    Parameters
    ----------
    chain : SerialChain
    moving : sequence of int
        The joints that are not held; the others stay where they are.
    images : bool
        Whether to give all images that fit in, or the one next to zero.
    """

    def __init__(self, chain: SerialChain, moving: Sequence[int], images: bool) -> None:
        self.chain, self._images = chain, images
        held = np.ones(len(chain), dtype=bool)
        held[list(moving)] = False
        self._lower = np.where(held, -np.inf, chain.lower)
        self._upper = np.where(held, np.inf, chain.upper)
        turning = (np.array(chain.kinds) == REVOLUTE) & ~held
        #: Joints with limits that have images at all: others are where they are.
        self._turning = np.flatnonzero(turning & np.isfinite(self._upper - self._lower))
        half_turns = turning & (self._lower <= -np.pi) & (self._upper >= np.pi)
        free = np.isinf(self._lower) & np.isinf(self._upper)
        #: Whether every solution is within the limits as it is, and the only image that counts.
        self.trivial = bool((half_turns | free).all()) and not (images and len(self._turning))

    def apply(self, found: _Solutions) -> tuple[Array, Array, tuple[Discarded, ...]]:
        """Return joint positions (k, n), which solution each one is (k,), and those outside."""
        q, source = found.q, np.arange(len(found.q))
        if self.trivial or not len(q):
            return q, source, ()
        lower, upper = self._lower - SLACK, self._upper + SLACK
        for k in self._turning:
            first = np.ceil((lower[k] - q[:, k]) / TURN).astype(int)
            count = np.floor((upper[k] - q[:, k]) / TURN).astype(int) - first + 1
            if not self._images:
                # the image next to zero, of those within
                first = np.clip(0, first, np.maximum(first + count - 1, first))
                count = np.minimum(count, 1)
            if (count == 1).all() and not first.any():
                continue
            count = np.maximum(count, 0)
            offset = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
            turns = np.repeat(first, count) + offset
            # without an image within, the joint stays where it is, outside
            none = np.flatnonzero(count == 0)
            rows = np.concatenate([np.repeat(np.arange(len(q)), count), none])
            order = np.argsort(rows, kind='stable')
            turns = np.concatenate([turns, np.zeros(len(none), dtype=int)])[order]
            q, source = q[rows[order]], source[rows[order]]
            q[:, k] += TURN * turns
        inside = ((q >= lower) & (q <= upper)).all(axis=1)
        outside = self._outside(found, q[~inside], source[~inside])
        return np.clip(q[inside], self._lower, self._upper), source[inside], outside

    def _outside(self, found: _Solutions, q: Array, source: Array) -> tuple[Discarded, ...]:
        """Return each solution once that has no image within the limits."""
        discarded = []
        for i in dict.fromkeys(source.tolist()):
            row = q[source == i][0]
            k = int(np.flatnonzero((row < self._lower - SLACK) | (row > self._upper + SLACK))[0])
            reason = (
                f'joint {self.chain.joint_names[k]!r} at {row[k]:.4f} is outside its limits '
                f'{self._lower[k]:.4f} to {self._upper[k]:.4f}'
            )
            discarded.append(Discarded(row, found.labels[found.branches[i]], reason))
        return tuple(discarded)


class AllInverseKinematics:
    """All inverse kinematics of one link of a robot.

    Parameters
    ----------
    chain : SerialChain
        From the root to the link.
    nq : int
        Coordinates of the robot.
    backend : str
    """

    def __init__(self, chain: SerialChain, nq: int, backend: str) -> None:
        self.chain, self._backend = chain, backend
        self._whole = chain.places.tolist() == list(range(nq))
        self._solvers: dict[tuple[int, ...], SerialSolver] = {}
        self._limits: dict[tuple[tuple[int, ...], bool, bool], JointLimits] = {}

    def solve(
        self,
        C: Array,
        q0: Array,
        locked: Mapping[str, float],
        swivel: Array,
        images: bool,
        respect_limits: bool,
    ) -> AllSolutions:
        """Return all solutions for a pose (4, 4); see `Robot.all_inverse_kinematics`."""
        chain = self.chain
        held: dict[int, float] = {}
        if locked:
            for name in locked:
                if name not in chain.joint_names:
                    raise UnknownNameError(
                        f'joint {name!r} cannot be locked: it does not carry the link; '
                        f'those that do are {", ".join(chain.joint_names)}'
                    )
            held = {chain.joint_names.index(name): float(locked[name]) for name in locked}
        key = tuple(sorted(held))
        solver = self._solvers.get(key)
        if solver is None:
            solver = self._solvers.setdefault(key, SerialSolver(chain, key, self._backend))
        if solver.redundant != bool(len(swivel)):
            raise ArgumentError(
                'an S-R-S arm needs its swivel angle: swivel=angle [rad], or a locked joint'
                if solver.redundant
                else 'a swivel angle belongs to S-R-S arms with seven joints free'
            )
        limits = self._limits.get((key, images, respect_limits))
        if limits is None:
            limits = self._make_limits(key, images, respect_limits, solver.free)
        if limits.trivial and self._whole and solver.direct is not None:
            answer = solver.direct(C)
            if answer is not None:
                return answer
        defect = float(rigid_defect(C))
        check_targets([defect], ['the tool'])
        if defect > 1e-30:  # a pose of few digits: the nearest rigid motion is meant
            U, _, V = np.linalg.svd(C[:3, :3])
            C = se3.pose(U @ V, C[:3, 3])
        found = solver.solve(C, np.array([held[k] for k in key]), swivel)
        q, source, outside = limits.apply(found)
        if not self._whole:
            configurations = np.tile(q0, (len(q), 1))
            configurations[:, chain.places] = q
            q = configurations
        return AllSolutions(
            q,
            found.residuals[source],
            found.branches[source],
            found.labels,
            found.name,
            found.bound,
            len(found),
            outside,
            tuple(
                Discarded(q, found.labels[branch], f'out of reach: pose error {residual:.3g}')
                for q, branch, residual in found.lost
            ),
            found.doubt,
        )

    def _make_limits(
        self, key: tuple[int, ...], images: bool, respect_limits: bool, free: Sequence[int]
    ) -> JointLimits:
        chain = self.chain
        if not respect_limits:
            infinite = np.full(len(chain), np.inf)
            chain = replace(chain, lower=-infinite, upper=infinite)
        limits = self._limits[key, images, respect_limits] = JointLimits(chain, free, images)
        return limits
