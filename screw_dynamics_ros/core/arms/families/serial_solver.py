# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""All solutions of a serial chain by the method that fits its geometry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from screw_dynamics_ros.core.compile.kernels import compiled_into
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.types import Array

from ..inverse.position import squared_distance
from .chain import SerialChain
from .chain_solutions import (
    CANDIDATE_STEPS,
    CHECKS,
    DUPLICATE_TOLERANCE,
    FULL_TURN,
    MAX_RESIDUAL,
    MIN_DISTINCT_DIFFERENCE,
    NONE_LOST,
    ChainSolutions,
    are_distinct,
    continued,
    distances,
    make_jacobian,
    make_polisher,
    merged,
)
from .classifier import classify
from .closed_form import (
    GEOMETRY_TOLERANCE,
    MAX_START_RESIDUAL,
    ClosedForm,
    closed_form_of,
    pieper_form_of,
    selected,
)
from .elimination import Place
from .general_6r import GeneralSixRevolute, ranked_places
from .held_joints import HeldArm, HeldSixRevolute, generic
from .nearest_arm import nearest_arm
from .pieper import Pieper
from .spherical_wrist import SphericalWrist
from .wrist_partitioned import WristPartitioned

MAX_BRANCH_RESIDUAL = 1e-9  # a residual up to which a branch may miss a pose by rounding
MAX_ROUNDS = 16
BRANCH_STEPS = 1  # of the branches of a closed form, before they are looked at
#: det(J J^T), lengths in units of the arm's, below which a configuration may be singular.
SMALL_DETERMINANT = 1e-6
#: The same where the number of solutions is known and all of them are found, by an elimination.
MIN_DETERMINANT = 1e-10
#: Smallest singular value of J, in those units: nearly singular, and singular.
NEARLY_SINGULAR_VALUE, SINGULAR_VALUE = 1e-2, 1e-7
NEAR_SINGULAR_TOLERANCE = 1e-2  # of solutions near a singular configuration [rad, m]
#: Steps along the direction that is lost in a nearly singular configuration [rad].
NEIGHBORHOOD = tuple(10.0 ** (-0.5 * k) for k in range(1, 12))
NEIGHBOR_DISTANCE = 1e-2  # distance [rad] of poses that solutions are followed from
#: The same for the closed form of an arm nearby; how far poses of that arm may be away, 2 sin(half
#: of the angle) [rad] and displacement [m] in one norm, for an arm of 1 m.
NEARBY_GEOMETRY_TOLERANCE, MAX_NEARBY_DISTANCE = 3e-2, 1.2e-2
#: Distance of a branch of the arm nearby from a pose, in units of the largest distance of the two
#: arms, from which it does not lead to a solution.
OUT_OF_REACH = 8.0
GENERAL = 'general 6R'
BATCH_SIZE = 32  # configurations that take their steps together
RANDOM_SEARCHES = 512  # random configurations where no method knows all solutions


class SerialSolver:
    """All inverse kinematics of one chain with some joints held.

    Parameters
    ----------
    chain : SerialChain
    held : sequence of int
        Joints with given positions, between others that are free.
    backend : str

    Raises
    ------
    ArgumentError
        If more than six joints are free and the arm is not S-R-S.
    """

    def __init__(self, chain: SerialChain, held: Sequence[int], backend: str) -> None:
        self.chain, self.backend, self.held = chain, backend, tuple(held)
        self.free = [k for k in range(len(chain)) if k not in self.held]
        self.length = chain.length
        #: Whether a swivel angle must be given.
        self.redundant = len(self.free) == 7
        self._accepted = MAX_RESIDUAL * max(1.0, self.length)
        self._polisher = make_polisher(chain, self.free, 1, backend)
        self._jacobian = make_jacobian(chain, backend)
        self._places: tuple[Place, ...] = ()
        self._solvers: dict[tuple[float, ...], Method | None] = {}
        self._direct: dict[int, Any] = {}
        self._batch: Callable[..., None] | None = None
        self._method(self._somewhere())

    def _somewhere(self) -> Array:
        """Return positions of the held joints where the arm is not special, (h,)."""
        return np.array([*next(generic(self.held)).values()])

    def _method(self, positions: Array) -> Method | None:
        """Return what solves the chain whose held joints are at `positions`."""
        key = tuple(positions)
        if key not in self._solvers:
            if len(self._solvers) >= 64:
                self._solvers.pop(next(iter(self._solvers)))
            self._solvers[key] = self._make_method(dict(zip(self.held, positions)))
        return self._solvers[key]

    def _make_method(self, held: Mapping[int, float]) -> Method | None:
        names = self.chain.joint_names
        chain = self.chain
        if held:
            chain = chain.with_held(held)
        n = len(chain)
        if n <= 6 and self._always_singular(held):
            return None
        if not held:
            closed = closed_form_of(chain, self.backend)
            if closed is not None:
                return closed
        if n > 6:
            raise ArgumentError(
                f'{n} joints are more than a pose needs: lock all but six of {", ".join(names)}, '
                'by locked={joint: position}; a swivel angle belongs to S-R-S arms only'
            )
        if held:  # not compiled for each position of a joint that is held in between
            closed = pieper_form_of(chain, 'reference')
            if closed is not None:
                return closed
        if set(chain.turns) != {True}:
            return None
        if n < 6:
            longer = SerialSolver(chain.padded(), (), 'reference' if held else self.backend)
            return longer if longer._method(np.zeros(0)) is not None else None
        # the best place for all positions of held joints, unless it vanishes at these
        usual = self._places if ranked_places(chain, self._places[:1]) else ()
        try:
            solver = GeneralSixRevolute(chain, self.backend, usual)
        except ArgumentError:  # every elimination vanishes
            return None
        self._places = self._places or solver.places
        return solver

    def _always_singular(self, held: Mapping[int, float]) -> bool:
        """Return whether the free joints move the tool in fewer directions than they are.

        Such arms have a continuum of solutions for each pose, whatever their geometry looks like.
        """
        for q in np.random.default_rng(0).uniform(-2.0, 2.0, (2, len(self.chain))):
            q[list(held)] = list(held.values())
            if held:
                (J,) = self._jacobian.single([q])
            else:  # once for each arm: not worth compiling
                J = self.chain.jacobian(q)
            sigma = np.linalg.svd(self._in_units_of_the_arm(J), compute_uv=False)
            if sigma[-1] > SINGULAR_VALUE * sigma[0]:
                return False
        return True

    def _in_units_of_the_arm(self, J: Array) -> Array:
        """Return the columns of the free joints (6, n), lengths in units of the arm's."""
        scaled = J[:, self.free]
        scaled[3:] /= self.length
        return scaled

    def direct(self, C: Array, held: Array, swivel: Array) -> ChainSolutions | None:
        """Fast path: return the closed-form solutions if all are regular, else None; see `solve`.

        There is none where each branch of a closed form is exact and regular after one step, or far
        from the pose: the further the arm deviates from its closed form, the larger is the doubt.
        """
        count = len(swivel)
        run = self._direct.get(count)
        if run is None:
            run = self._direct[count] = self._make_direct(count)
        return run(C, held, swivel)

    def _make_direct(self, count: int) -> Callable[[Array, Array, Array], ChainSolutions | None]:
        """Return `direct` for a number of swivel angles."""
        method = self._method(self._somewhere())
        if isinstance(method, GeneralSixRevolute) and len(self.free) == 6 and not count:
            wrist = HeldArm.recognized(SphericalWrist, self.chain, self.held, GEOMETRY_TOLERANCE)
            if wrist is not None:
                arm = WristPartitioned(wrist, self.backend)
                return partial(self._direct_elimination, arm.at_all_zeros)
            if not self.held:
                eliminated = partial(self._direct_elimination, method.at_best_place)
                return self._make_direct_nearby(eliminated) or eliminated
            if HeldSixRevolute.fits(self.chain, self.held):
                general = HeldSixRevolute(self.chain, self.held, method.places[0], self.backend)
                return partial(self._direct_elimination, general.at_all_zeros)
        if self.held:
            method = self._closed_form_beside_held()
        if not isinstance(method, ClosedForm) or self.redundant != bool(count):
            return lambda C, held, swivel: None
        return method.direct(count)

    def _make_direct_nearby(
        self, otherwise: Callable[[Array, Array, Array], ChainSolutions | None]
    ) -> Callable[[Array, Array, Array], ChainSolutions | None] | None:
        """Return `direct` from the solutions of an arm nearby that has a closed form, if any does.

        Each solution of this arm is one of that arm at a pose no further away than the two differ.
        None is missing if every branch of that arm leads to a solution of its own that is regular,
        or misses the pose by more than that. Where it is not so, `otherwise` is called.
        """
        known = classify(self.chain, NEARBY_GEOMETRY_TOLERANCE)
        if known.arm is None:
            return None
        arm = nearest_arm(known.arm, self.chain)
        method = ClosedForm(
            known.name, arm, self.chain, self.free, self.backend, refinement=continued
        )
        deviation = method.deviation()
        if deviation > MAX_NEARBY_DISTANCE * min(1.0, self.length):
            return None
        # a pose that is off by the deviation changes an angle by that over the determinacy
        bounds = np.array([self._accepted, 0.0, OUT_OF_REACH * deviation, 1.0 / OUT_OF_REACH])

        def direct(C: Array, held: Array, swivel: Array) -> ChainSolutions | None:
            _, q, checks, verdicts = method.run(method.sides, bounds, C.reshape(16))
            known = selected(tuple(verdicts.tolist()))
            if known is None or len(known[0]) % 2 or not are_distinct(checks[known[0]]):
                return otherwise(C, held, swivel)
            rows, _, _ = known
            return self._general(q.take(rows, 0), checks.take(rows, 0))

        return direct

    def _general(self, q: Array, checks: Array) -> ChainSolutions:
        """Return all solutions of a general arm."""
        found = ChainSolutions(q, checks, np.zeros(len(q), dtype=int))
        found.name, found.bound = GENERAL, GeneralSixRevolute.bound
        found.inside = not checks[:, 2].any()
        return found

    @property
    def closed_form(self) -> ClosedForm | None:
        """The closed form for a pose alone: no joint is held, none redundant; None without one."""
        method = None if self.held or self.redundant else self._method(self._somewhere())
        return method if isinstance(method, ClosedForm) else None

    def _closed_form_beside_held(self) -> ClosedForm | None:
        """Return the closed form that takes the positions of the held joints, if there is one."""
        arm = HeldArm.recognized(Pieper, self.chain, self.held, GEOMETRY_TOLERANCE)
        if arm is None:
            return None
        further = (('held', len(self.held)),)
        return ClosedForm('pieper', arm, self.chain, self.free, self.backend, further)

    def _direct_elimination(
        self,
        at_all_zeros: Callable[[Array, Array], tuple[Array, Array, int]],
        C: Array,
        held: Array,
        swivel: Array,
    ) -> ChainSolutions | None:
        """Return the solutions of an elimination, None unless they are regular and as expected."""
        angles, _, expected = at_all_zeros(C, held)
        if not 0 < expected <= BATCH_SIZE or expected % 2:
            return None
        q, target = self._configurations(angles.reshape(-1, 6), held), C.reshape(16)
        for _ in range(2):
            q, checks = self._stepped(CANDIDATE_STEPS, q, target)
            rows = self._regular(checks)
            if len(rows) == expected:
                return self._general(q[rows], checks[rows])
        return None

    def _regular(self, checks: Array) -> list[int]:
        """Return which configurations are different solutions, each once; none where in doubt.

        There is doubt where one may be singular, and where two differ by little.
        """
        good, accepted = [], self._accepted
        least = MIN_DETERMINANT * self.length**6
        for k, (residual, determinant, _, number) in enumerate(checks.tolist()):
            if residual <= accepted:
                if determinant <= least:
                    return []
                good.append((number, k))
        good.sort()
        rows, last = [], -np.inf
        for number, k in good:
            if number - last > MIN_DISTINCT_DIFFERENCE:
                rows.append(k)
            elif number - last > DUPLICATE_TOLERANCE:
                return []
            last = number
        return sorted(rows)

    def _configurations(self, q: Array, held: Array) -> Array:
        """Return configurations of the chain (m, n) for its free joints (m, 6) and held ones."""
        if not self.held:
            return q
        full = np.empty((len(q), len(self.chain)))
        full[:, self.free], full[:, self.held] = q, held
        return full

    def solve(self, C: Array, held: Array, swivel: Array) -> ChainSolutions:
        """Return the solutions for a pose, without regard to limits and multiples of 2 pi.

        Parameters
        ----------
        C : (4, 4) array
        held : (h,) array
            Positions of the held joints.
        swivel : (k,) array
            Swivel angles of an S-R-S arm, empty for others.
        """
        positions = dict(zip(self.held, held))
        method = self._method(held)
        if method is None:
            found = self._searched(C, positions, RANDOM_SEARCHES)
            reason = (
                'every configuration is singular, solutions follow on continuously'
                if self._always_singular(positions)
                else 'no method for this kind of chain knows all solutions'
            )
            reason += f': these were found from {RANDOM_SEARCHES} random configurations'
            return replace(found, name='search', doubt=reason, lost=NONE_LOST)
        if isinstance(method, SerialSolver):
            return self._without_further_joints(C, positions, method)
        closed = isinstance(method, ClosedForm)
        wanted, undetermined = 0, np.zeros(0, dtype=bool)
        if isinstance(method, ClosedForm):
            q, branches, undetermined = method.candidates(C, swivel)
            labels, name, bound = method.labels, method.name, method.bound * max(1, len(swivel))
        else:
            q, wanted = method.candidates(C, 0, False)
            branches = np.zeros(len(q), dtype=int)
            labels, name, bound = ('',), GENERAL, method.bound
        steps = BRANCH_STEPS if closed else CANDIDATE_STEPS
        found = self._exact(C, positions, q, branches, steps, MAX_ROUNDS if closed else 1)
        missed = just_missed(found)
        nearly = self._nearly_singular(found) + self._nearly_singular(missed)
        missing = self._missing(found, wanted)
        if (nearly and not self.redundant) or (missing and not closed):
            found = self._search_nearby(C, found, nearly, steps)
            if isinstance(method, GeneralSixRevolute):
                found, missing = self._second_look(C, positions, found, method)
            nearly = self._nearly_singular(found)
        doubt = ''
        if not all((distances(found.q, q) < NEAR_SINGULAR_TOLERANCE).any() for q in missed.q):
            doubt = 'a branch ends at this pose, within rounding: a solution may be missing'
        if closed and undetermined[found.lost[3]].any():
            doubt = 'an angle of a branch is not determined: solutions may follow on continuously'
            found = merged(found, self._searched(C, positions, RANDOM_SEARCHES))
        elif any(sigma < SINGULAR_VALUE for _, sigma, _ in nearly):
            doubt = 'a solution is singular: others may coincide with it or follow on continuously'
        elif missing and not closed:
            doubt = missing
        if doubt and not (found.checks[:, 2] == 0.0).any():
            # of a continuum, part may be within limits
            found = merged(found, self._searched(C, positions, RANDOM_SEARCHES))
        found.labels, found.name, found.bound, found.doubt = labels, name, bound, doubt
        found.lost = found.lost if closed else NONE_LOST
        found.inside = not found.checks[:, 2].any()
        return found

    def _without_further_joints(
        self, C: Array, positions: Mapping[int, float], arm: SerialSolver
    ) -> ChainSolutions:
        """Return the solutions of an arm of six joints whose further ones are at zero."""
        none = np.empty(0)
        there = arm.direct(C, none, none) or arm.solve(C, none, none)
        n = len(self.free)
        q = there.q[(np.abs(there.q[:, n:]) < NEAR_SINGULAR_TOLERANCE).all(axis=1)]
        found = self._exact(C, positions, q, np.zeros(len(q), dtype=int), CANDIDATE_STEPS)
        found.name, found.bound, found.doubt = f'general {n}R', there.bound, there.doubt
        found.inside = not found.checks[:, 2].any()
        return found

    def _second_look(
        self,
        C: Array,
        positions: Mapping[int, float],
        found: ChainSolutions,
        method: GeneralSixRevolute,
    ) -> tuple[ChainSolutions, str]:
        """Return also what other eliminations find, or else a search, and what is missing still.

        Special arms have real zeros that belong to no solution: if another elimination, which has
        other such zeros, finds nothing more, there is nothing more.
        """
        separated = False
        # another place first, without refinement; then all of them, with close zeros separated
        tries = [(1, False)] if len(method.places) > 1 else []
        tries += [(number, True) for number in range(len(method.places))]
        for number, refined in tries:
            q, also = method.candidates(C, number, refined)
            more = self._exact(C, positions, q, np.zeros(len(q), dtype=int), CANDIDATE_STEPS)
            before, found = len(found), merged(found, more)
            if also < 0:
                continue
            separated = separated or refined
            unchanged = refined and number > 0 and len(found) == before
            if not self._missing(found, 0 if unchanged else also):
                return found, ''
        if not separated:
            found = merged(found, self._from_neighbors(C, positions, method))
        found = merged(found, self._searched(C, positions, 256))
        return found, self._missing(found, 0 if separated else -1)

    def _from_neighbors(
        self, C: Array, positions: Mapping[int, float], method: GeneralSixRevolute
    ) -> ChainSolutions:
        """Return the solutions that those of poses nearby lead to, where eliminations work."""
        candidates = []
        for twist in np.random.default_rng(0).normal(size=(8, 6)):
            twist[3:] *= self.length
            pose = se3.exp(NEIGHBOR_DISTANCE * twist) @ C
            candidates += [method.candidates(pose, k, False)[0] for k in range(len(method.places))]
        q = np.concatenate(candidates)
        return self._exact(C, positions, q, np.zeros(len(q), dtype=int), CANDIDATE_STEPS)

    def _missing(self, found: ChainSolutions, wanted: int) -> str:
        """Return why solutions may be missing, given how many zeros of the elimination are real."""
        if wanted < 0:
            return 'at this pose the elimination cannot tell how many solutions there are'
        if len(found) < wanted:
            return f'{wanted} solutions are expected'
        if len(found) % 2:
            return 'the number of solutions is odd: one may coincide with another'
        return ''

    def _exact(
        self,
        C: Array,
        positions: Mapping[int, float],
        q: Array,
        branches: Array,
        steps: int,
        rounds: int = MAX_ROUNDS,
    ) -> ChainSolutions:
        """Return the different solutions that candidates (m, free joints) lead to."""
        held = np.array([*positions.values()])
        full = self._configurations(q[:, : len(self.free)], held)
        return self._polished(C, np.ascontiguousarray(full), branches, steps, rounds)

    def _stepped(self, steps: int, q: Array, target: Array) -> tuple[Array, ...]:
        """Return configurations (m, n) after some steps, and what is to be said of them."""
        if len(q) > BATCH_SIZE:
            for _ in range(steps):
                q, checks = self._polisher.stack([q, target])
            return q, checks
        if self._batch is None:
            self._batch = compiled_into(self._polisher, stacks=True)
        before, after = np.zeros((2, BATCH_SIZE, q.shape[1]))
        before[: len(q)], checks = q, np.empty((BATCH_SIZE, CHECKS))
        for _ in range(steps):
            self._batch(before, target, after, checks)
            before, after = after, before
        return before[: len(q)], checks[: len(q)]

    def _polished(
        self, C: Array, q: Array, branches: Array, steps: int, rounds: int = MAX_ROUNDS
    ) -> ChainSolutions:
        """Return the different solutions that configurations (m, n) lead to."""
        target = np.ascontiguousarray(C).reshape(16)
        if not len(q):
            return ChainSolutions(q, np.empty((0, CHECKS)), branches)
        start, (q, checks) = q, self._stepped(steps, q, target)
        for _ in range(rounds):
            residuals = checks[:, 0]
            again = np.flatnonzero((residuals > MAX_RESIDUAL) & (residuals < MAX_START_RESIDUAL))
            if not len(again):
                break
            moved, new = self._stepped(steps, q[again], target)
            better = new[:, 0] < residuals[again]
            if not better.any():
                break
            q[again[better]], checks[again[better]] = moved[better], new[better]
        accepted = checks[:, 0] <= self._accepted
        found = ChainSolutions(q[accepted], checks[accepted], branches[accepted])
        if steps == BRANCH_STEPS:
            found.lost = start, branches, checks, np.flatnonzero(~accepted).tolist()
        return merged(found)

    def _nearly_singular(self, found: ChainSolutions) -> list[tuple[Array, float, Array]]:
        """Return (q, smallest singular value, direction lost) of solutions that are nearly so."""
        result = []
        for q, determinant in zip(found.q, found.checks[:, 1].tolist()):
            if determinant < SMALL_DETERMINANT * self.length**6:
                (J,) = self._jacobian.single([np.ascontiguousarray(q)])
                _, sigma, V = np.linalg.svd(self._in_units_of_the_arm(J))
                least = sigma[-1]
                if least < NEARLY_SINGULAR_VALUE:
                    direction = np.zeros(len(self.chain))
                    direction[self.free] = V[len(sigma) - 1]
                    result.append((q, float(least), direction))
        return result

    def _search_nearby(
        self,
        C: Array,
        found: ChainSolutions,
        nearly: Sequence[tuple[Array, float, Array]],
        steps: int,
    ) -> ChainSolutions:
        """Return also the solutions next to those that are nearly singular."""
        starts = [
            q + side * step * direction
            for q, _, direction in nearly
            for step in NEIGHBORHOOD
            for side in (1.0, -1.0)
        ]
        if not starts:
            return found
        near = self._polished(C, np.array(starts), np.zeros(len(starts), dtype=int), steps)
        if len(found) and len(near):
            closest = [int(distances(found.q, each).argmin()) for each in near.q]
            near.branches = found.branches[closest]
        return self._isolated(C, merged(found, near))

    def _isolated(self, C: Array, found: ChainSolutions) -> ChainSolutions:
        """Return solutions without those that rounding alone tells apart from another one.

        Near a singular configuration residuals stay small over some distance; two solutions are
        different only if the configuration halfway between them is not one, by far more than they
        deviate.
        """
        kept: list[int] = []
        for k in np.argsort(found.checks[:, 0], kind='stable').tolist():
            away = found.q[kept] - found.q[k]
            away = away - FULL_TURN * np.round(away / FULL_TURN)
            near = np.abs(away).max(axis=1) < NEAR_SINGULAR_TOLERANCE
            halfway = found.q[k] + 0.5 * away[near]
            deviation = max(100.0 * float(found.checks[k, 0]), 0.1 * self._accepted)
            limit = min(10.0 * self._accepted, deviation)
            if not any(self._residual(q, C) < limit for q in halfway):
                kept.append(k)
        kept.sort()
        return replace(
            found, q=found.q[kept], checks=found.checks[kept], branches=found.branches[kept]
        )

    def _residual(self, q: Array, C: Array) -> float:
        return float(np.sqrt(squared_distance(self.chain.pose(q), C)))

    def _searched(self, C: Array, positions: Mapping[int, float], count: int) -> ChainSolutions:
        """Return what Newton-Raphson steps from random configurations find."""
        rng = np.random.default_rng(0)
        lower = np.where(np.isfinite(self.chain.lower), self.chain.lower, -np.pi)
        upper = np.where(np.isfinite(self.chain.upper), self.chain.upper, np.pi)
        q = rng.uniform(lower, upper, (count, len(self.chain)))
        for k, value in positions.items():
            q[:, k] = value
        target = np.ascontiguousarray(C).reshape(16)
        q, _ = self._stepped(10 * CANDIDATE_STEPS, q, target)
        return self._polished(C, q, np.zeros(len(q), dtype=int), CANDIDATE_STEPS)


def just_missed(found: ChainSolutions) -> ChainSolutions:
    """Return the branches of a closed form that are not quite solutions."""
    q, branches, checks, lost = found.lost
    rows = [k for k in lost if checks[k, 0] < MAX_BRANCH_RESIDUAL]
    return ChainSolutions(q[rows], checks[rows], branches[rows])


Method = ClosedForm | GeneralSixRevolute | SerialSolver
