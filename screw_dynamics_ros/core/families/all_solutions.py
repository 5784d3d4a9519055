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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

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
ACCEPTED = 1e-10
POLISHED = 1e-12
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


@dataclass(frozen=True, eq=False)
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
    complete : bool
        Whether there is certainly no further solution within the limits.
    message : str
        The certificate: method, how many solutions of how many possible, why not complete.
    family : str
    bound : int
        The most solutions that an arm of the family can have, whole turns not counted.
    found : int
        Solutions without regard to limits and whole turns.
    discarded : tuple of Discarded
    """

    q: Array
    residuals: Array
    branches: Array
    branch_labels: tuple[str, ...]
    complete: bool
    message: str
    family: str
    bound: int
    found: int
    discarded: tuple[Discarded, ...]

    def __len__(self) -> int:
        """Return the number of solutions."""
        return len(self.q)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The name of the branch of each solution."""
        return tuple(self.branch_labels[k] for k in self.branches)

    def nearest(self, q: Array) -> int:
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
        If more than six joints are free and the arm is not S-R-S.
    """

    def __init__(self, chain: SerialChain, held: Sequence[int], backend: str) -> None:
        self.chain, self.backend, self.held = chain, backend, tuple(held)
        self.free = [k for k in range(len(chain)) if k not in self.held]
        self.length = max(np.abs(chain.screws[:, 3:]).max(), np.abs(chain.home[:3, 3]).max()) or 1.0
        self._polisher = make_polisher(chain, self.free, backend)
        self._places: tuple[Place, ...] = ()
        self._solvers: dict[tuple[float, ...], ClosedForm | GeneralSixRevolute | None] = {}
        inner = [k for k in self.held if min(self.free) < k < max(self.free)]
        self._inner = tuple(inner)
        self._outer = tuple(k for k in self.held if k not in inner)
        if not inner:
            self._method(np.zeros(0))

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
        if not inner:
            known = classify(chain, GEOMETRY)
            identity = repr((chain.screws.tolist(), chain.home.tolist()))
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
            identity = repr((chain.screws.tolist(), chain.home.tolist()))
            return ClosedForm('pieper', arm, identity, backend, False)
        if set(chain.kinds) != {REVOLUTE}:
            return None
        solver = GeneralSixRevolute(padded(chain), self.backend, self._places)
        self._places = solver.places
        return solver

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
            return _Solutions(q, np.empty(0), np.empty(0), branches, ())
        q, residuals, determinants = self._polisher.stack([np.ascontiguousarray(q), target])
        residuals, determinants = residuals[:, 0], determinants[:, 0]
        for _ in range(ROUNDS):
            again = np.flatnonzero((residuals > POLISHED) & (residuals < HOPELESS))
            if not len(again):
                break
            moved, r, d = self._polisher.stack([q[again], target])
            better = r[:, 0] < residuals[again]
            q[again[better]] = moved[better]
            residuals[again[better]], determinants[again[better]] = r[better, 0], d[better, 0]
            if not (r[:, 0] < 0.5 * residuals[again] + POLISHED).any() and not better.any():
                break
        revolute = np.array(self.chain.kinds) == REVOLUTE
        q[:, revolute] -= TURN * np.round(q[:, revolute] / TURN)
        accepted = residuals <= ACCEPTED
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
    lost: tuple[tuple[Array, int, float], ...]
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


def within_limits(
    chain: SerialChain, found: _Solutions, moving: Sequence[int], images: bool
) -> tuple[Array, Array, list[Discarded]]:
    """Return joint positions (k, n) within the limits, which solution each is, and the others.

    With images, a joint whose range is wider than a turn gives as many as fit in; one without
    limits gives the one within half a turn.
    """
    rows, source, discarded = [], [], []
    for i, q in enumerate(found.q):
        choices = []
        for k, value in enumerate(q):
            lower, upper = chain.lower[k] - SLACK, chain.upper[k] + SLACK
            turns = np.zeros(1)
            if k in moving and chain.kinds[k] == REVOLUTE and np.isfinite(upper - lower):
                first, last = np.ceil((lower - value) / TURN), np.floor((upper - value) / TURN)
                turns = np.arange(first, last + 1.0)
                if not images and len(turns):
                    turns = turns[np.abs(value + TURN * turns).argsort()[:1]]
            positions = value + TURN * turns
            if k in moving:
                positions = positions[(positions >= lower) & (positions <= upper)]
                positions = np.clip(positions, chain.lower[k], chain.upper[k])
            choices.append(positions)
            if not len(positions):
                label = found.labels[found.branches[i]]
                reason = (
                    f'joint {chain.joint_names[k]!r} at {value:.4f} is outside its limits '
                    f'{chain.lower[k]:.4f} to {chain.upper[k]:.4f}'
                )
                discarded.append(Discarded(q, label, reason))
                break
        else:
            grid = np.stack(np.meshgrid(*choices, indexing='ij'), axis=-1).reshape(-1, len(q))
            rows.append(grid)
            source += [i] * len(grid)
    q = np.concatenate(rows) if rows else np.empty((0, len(chain)))
    return q, np.array(source, dtype=int), discarded


class AllInverseKinematics:
    """All inverse kinematics of one link of a robot.

    Parameters
    ----------
    chain : SerialChain
        From the root to the link.
    backend : str
    """

    def __init__(self, chain: SerialChain, backend: str) -> None:
        self.chain, self._backend = chain, backend
        self._solvers: dict[tuple[int, ...], SerialSolver] = {}

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
        check_targets([float(rigid_defect(C))], ['the tool'])
        chain = self.chain
        for name in locked:
            if name not in chain.joint_names:
                raise UnknownNameError(
                    f'joint {name!r} cannot be locked: it does not carry the link; '
                    f'those that do are {", ".join(chain.joint_names)}'
                )
        held = {chain.joint_names.index(name): float(value) for name, value in locked.items()}
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
        found = solver.solve(C, np.array([held[k] for k in key]), swivel)
        if not respect_limits:
            free = np.full(len(chain), np.inf)
            chain = replace(chain, lower=-free, upper=free)
        q, source, discarded = within_limits(chain, found, solver.free, images)
        lost = [
            Discarded(q, found.labels[branch], f'out of reach: pose error {residual:.3g}')
            for q, branch, residual in found.lost
        ]
        configurations = np.tile(q0, (len(q), 1))
        configurations[:, chain.places] = q
        count, outside = len(found), len(discarded)
        message = f'{found.name}: {count} of at most {found.bound} solutions'
        if outside:
            message += f', {outside} outside the limits'
        if found.doubt:
            message += f'; {found.doubt}'
        return AllSolutions(
            configurations,
            found.residuals[source],
            found.branches[source],
            found.labels,
            not found.doubt,
            message,
            found.name,
            found.bound,
            count,
            (*discarded, *(lost if found.name != 'general 6R' else ())),
        )
