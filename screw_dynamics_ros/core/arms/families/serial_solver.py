# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""All solutions of a serial chain by the method that fits its geometry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial

import numpy as np

from ...errors import ArgumentError
from ...lie import se3
from ...types import Array
from .chain import SerialChain
from .chain_solutions import (
    BATCH_SIZE,
    BRANCH_STEPS,
    CANDIDATE_STEPS,
    DUPLICATE_TOLERANCE,
    MAX_RESIDUAL,
    MAX_ROUNDS,
    MIN_DISTINCT_DIFFERENCE,
    NEAR_SINGULAR_TOLERANCE,
    NONE_LOST,
    ChainSolutions,
    Polisher,
    are_distinct,
    continued,
    distances,
    just_missed,
    make_jacobian,
    merged,
)
from .classifier import classify
from .closed_form import GEOMETRY_TOLERANCE, ClosedForm, closed_form_of, pieper_form_of, selected
from .elimination import Place
from .general_6r import GeneralSixRevolute, ranked_places
from .held_joints import HeldArm, HeldSixRevolute, generic
from .nearest_arm import nearest_arm
from .pieper import Pieper
from .spherical_wrist import SphericalWrist
from .wrist_partitioned import WristPartitioned

#: det(J J^T), lengths in units of the arm's, below which a configuration may be singular.
SMALL_DETERMINANT = 1e-6
#: The same where the number of solutions is known and all of them are found, by an elimination.
MIN_DETERMINANT = 1e-10
#: Smallest singular value of J, in those units: nearly singular, and singular.
NEARLY_SINGULAR_VALUE, SINGULAR_VALUE = 1e-2, 1e-7
#: Steps along the direction that is lost in a nearly singular configuration [rad].
NEIGHBORHOOD = tuple(10.0 ** (-0.5 * k) for k in range(1, 12))
NEIGHBOR_DISTANCE = 1e-2  # distance [rad] of poses that solutions are followed from
#: The same for the closed form of an arm nearby; largest distance of poses of that arm, 2 sin(half
#: of the angle) [rad] and displacement [m] in one norm, for an arm of 1 m.
NEARBY_GEOMETRY_TOLERANCE, MAX_NEARBY_DISTANCE = 3e-2, 1.2e-2
#: Distance of a branch of the arm nearby from a pose, in units of the largest distance of the two
#: arms, from which it does not lead to a solution.
OUT_OF_REACH = 8.0
GENERAL = 'general 6R'
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
        self._polisher = Polisher(chain, self.free, self._accepted, backend)
        self._jacobian = make_jacobian(chain, backend)
        self._places: tuple[Place, ...] = ()
        self._method = lru_cache(64)(self._make_method)
        self._direct = cache(self._make_direct)
        self._usual_method()

    def _usual_method(self) -> Method | None:
        """Return what solves the chain at generic positions of the held joints."""
        return self._method(tuple(next(generic(self.held)).values()))

    def _make_method(self, positions: tuple[float, ...]) -> Method | None:
        """Return what solves the chain whose held joints are at `positions`."""
        held, names, chain = dict(zip(self.held, positions)), self.chain.joint_names, self.chain
        if held:
            chain = chain.with_held(held)
        n = len(chain)
        if n <= 6 and self._always_singular(held):
            return None
        # not compiled for each position of a joint that is held in between
        closed = pieper_form_of(chain, 'reference') if held else closed_form_of(chain, self.backend)
        if closed is not None:
            return closed
        if n > 6:
            raise ArgumentError(
                f'{n} joints are more than a pose needs: lock all but six of {", ".join(names)}, '
                'by locked={joint: position}; a swivel angle belongs to S-R-S arms only'
            )
        if set(chain.turns) != {True}:
            return None
        if n < 6:
            longer = SerialSolver(chain.padded(), (), 'reference' if held else self.backend)
            return longer if longer._method(()) is not None else None
        # the best place for all positions of held joints, unless it vanishes at these
        usual = self._places if ranked_places(chain, self._places[:1]) else ()
        try:
            solver = GeneralSixRevolute(chain, self.backend, usual)
        except ArgumentError:  # every elimination vanishes
            return None
        self._places = self._places or solver.places
        return solver

    def _always_singular(self, held: Mapping[int, float]) -> bool:
        """Return whether the Jacobian of the free joints is rank-deficient everywhere.

        Such arms have a continuum of solutions for each pose, whatever their geometry looks like.
        """
        for q in np.random.default_rng(0).uniform(-2.0, 2.0, (2, len(self.chain))):
            q[list(held)] = list(held.values())
            J = self._in_units_of_the_arm(self.chain.jacobian(q))  # not worth compiling
            sigma = np.linalg.svd(J, compute_uv=False)
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
        return self._direct(len(swivel))(C, held, swivel)

    def _make_direct(self, count: int) -> Callable[[Array, Array, Array], ChainSolutions | None]:
        """Return `direct` for a number of swivel angles."""
        method = self._usual_method()
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
        None is missing if every branch of that arm leads to a separate, regular solution, or misses
        the pose by more than that. Where it is not so, `otherwise` is called.
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
        method = None if self.held or self.redundant else self._usual_method()
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
            q, checks = self._polisher.stepped(CANDIDATE_STEPS, q, target)
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
        method = self._method(tuple(held.tolist()))
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
        branches: Array | None
        if isinstance(method, ClosedForm):
            q, branches, undetermined = method.candidates(C, swivel)
            labels, name, bound = method.labels, method.name, method.bound * max(1, len(swivel))
        else:
            q, wanted = method.candidates(C, 0, False)
            branches = None
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
        found = self._exact(C, positions, q)
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
        """Return also the solutions of other eliminations, or else of a search, and missing ones.

        Special arms have real zeros that belong to no solution: if another elimination, which has
        other such zeros, finds nothing more, there is nothing more.
        """
        separated = False
        # another place first, without refinement; then all of them, with close zeros separated
        tries = [(1, False)] if len(method.places) > 1 else []
        tries += [(number, True) for number in range(len(method.places))]
        for number, refined in tries:
            q, also = method.candidates(C, number, refined)
            more = self._exact(C, positions, q)
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
        return self._exact(C, positions, np.concatenate(candidates))

    def _missing(self, found: ChainSolutions, wanted: int) -> str:
        """Return why solutions may be missing, by the number of real zeros of the elimination."""
        if wanted < 0:
            return 'at this pose the elimination does not determine the number of solutions'
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
        branches: Array | None = None,
        steps: int = CANDIDATE_STEPS,
        rounds: int = MAX_ROUNDS,
    ) -> ChainSolutions:
        """Return the different solutions that candidates (m, free joints) lead to."""
        held = np.array([*positions.values()])
        full = self._configurations(q[:, : len(self.free)], held)
        return self._polisher.polished(C, np.ascontiguousarray(full), branches, steps, rounds)

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
        near = self._polisher.polished(C, np.array(starts), None, steps)
        if len(found) and len(near):
            closest = [int(distances(found.q, each).argmin()) for each in near.q]
            near.branches = found.branches[closest]
        return self._polisher.isolated(C, merged(found, near))

    def _searched(self, C: Array, positions: Mapping[int, float], count: int) -> ChainSolutions:
        """Return what Newton-Raphson steps from random configurations find."""
        rng = np.random.default_rng(0)
        lower = np.where(np.isfinite(self.chain.lower), self.chain.lower, -np.pi)
        upper = np.where(np.isfinite(self.chain.upper), self.chain.upper, np.pi)
        q = rng.uniform(lower, upper, (count, len(self.chain)))
        q[:, [*positions]] = [*positions.values()]
        target = np.ascontiguousarray(C).reshape(16)
        q, _ = self._polisher.stepped(10 * CANDIDATE_STEPS, q, target)
        return self._polisher.polished(C, q)


Method = ClosedForm | GeneralSixRevolute | SerialSolver
