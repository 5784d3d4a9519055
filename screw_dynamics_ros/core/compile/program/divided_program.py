# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Division of a long program into functions that share values through a workspace.

The time of a compiler grows faster than the length of a function, and addresses near the beginning
of a small memory take fewer bytes than those of a large stack frame: the speed of long programs is
limited by instruction fetch.

Sine and cosine of many angles are computed at once, as vectors, so all available angles come first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .packing import PACK, VECTORS
from .tracing import Element, Program, operands

#: Doubles whose distance from a pointer fits in one byte of an x86 instruction. Longer distances
#: take three bytes more.
WINDOW = 32


#: Largest number of operations of one function for one sample, and of each part of a longer one.
LONGEST, PIECE = 4000, 400

MANY_ZEROS = 32  # structural zeros from which a whole output is cleared first


@dataclass
class Part:
    """A sequence of operations, then the sines and cosines of the angles known by then.

    The operations do not include inputs, sines and cosines.
    """

    operations: list[int]
    angles: list[int]


def schedule(program: Program) -> list[Part]:
    """Order the operations so that all angles of a part are known at its end.

    The angles and their operands come first, then their sines and cosines (repeated if angles
    depend on other sines), then all other operations: the last part has no angles.
    """
    operations = program.operations
    depth: list[int] = []  # number of nested sines between an operation and the inputs
    for op in operations:
        below = max(map(depth.__getitem__, operands(op)), default=0)
        depth.append(below + (op[0] in ('sin', 'cos')))
    angles = sorted({op[1] for op in operations if op[0] in ('sin', 'cos')})
    needed = prerequisites(program, angles)
    parts = [Part([], []) for _ in range(max((depth[k] for k in angles), default=-1) + 1)]
    for k in angles:
        parts[depth[k]].angles.append(k)
    computed = [i for i, op in enumerate(operations) if op[0] not in ('input', 'sin', 'cos')]
    for i in computed:
        if i in needed:
            parts[depth[i]].operations.append(i)
    return [*parts, Part([i for i in computed if i not in needed], [])]


def prerequisites(program: Program, indices: Sequence[int]) -> set[int]:
    """Return the operations on which `indices` depend, including themselves."""
    needed: set[int] = set()
    stack = list(indices)
    while stack:
        i = stack.pop()
        if i not in needed:
            needed.add(i)
            stack.extend(operands(program.operations[i]))
    return needed


class Workspace:
    """Allocates places, and reuses free ones first so that the workspace stays in the cache.

    Attributes
    ----------
    size : int
        Required number of places.
    """

    def __init__(self) -> None:
        self.size = 0
        self._free: defaultdict[int, list[int]] = defaultdict(list)  # by number of places

    def take(self, count: int = 1) -> int:
        """Return the first of `count` contiguous places."""
        if self._free[count]:
            return self._free[count].pop()
        self.size += count
        return self.size - count

    def free(self, place: int, count: int = 1) -> None:
        """Release the result of `take`."""
        self._free[count].append(place)


@dataclass
class PlacedPart(Part):
    """A part with the location of its sines and cosines."""

    place: int = 0  # offset of the sines in the workspace; the cosines follow


class DividedProgram:
    """A program as one function with all parts of its schedule, or as one function for each part.

    Parameters
    ----------
    program : Program
    lanes : int
        Number of samples that are computed at once.
    longest : int
        Largest number of operations of a single function.
    piece : int
        Largest number of operations of each function of a longer program.
    group : int
        Number of angles whose sines are computed at once.
    kept : sequence of elements
        Values and constants that are in the workspace at the end, without repetition.

    Attributes
    ----------
    parts : list of PlacedPart
    single : bool
        Whether there is one function.
    known : dict
        The part that computes each operation; sines and cosines are not there.
    targets : dict
        For the result of an operation the outputs, by number, and places in them, to which it is
        written at once. The lanes of a pack that are adjacent in an output are written together.
        Of one sample only.
    stored : set of (output, place)
        The elements of outputs that are written at once.
    cleared : set of int
        The outputs with many zeros: they are cleared first.
    places, constants : dict
        Offsets in the workspace, in units of lanes, of the results of operations and of constants,
        which are texts because 0.0 == -0.0.
    workspace : Workspace
    """

    def __init__(
        self,
        program: Program,
        lanes: int,
        longest: int,
        piece: int,
        group: int,
        kept: Sequence[Element] = (),
    ) -> None:
        self.program, self.lanes = program, lanes
        self.parts = [PlacedPart(part.operations, part.angles) for part in schedule(program)]
        self.single = sum(len(part.operations) for part in self.parts) <= longest
        if not self.single:
            self.parts = [each for part in self.parts for each in pieces(part, piece)]
        self.known = {i: k for k, part in enumerate(self.parts) for i in part.operations}
        self.stored: set[tuple[int, int]] = set()
        self.targets = self._assign_targets() if lanes == 1 else {}
        self.cleared = {
            output
            for output, (_, elements) in enumerate(program.outputs)
            if lanes == 1 and sum(map(is_zero, elements)) >= MANY_ZEROS
        }
        self.workspace = Workspace()
        self.places = self._assign_sines(group)
        self.constants = {e.hex(): self.workspace.take() for e in kept if isinstance(e, float)}
        self._assign_places([e for e in kept if type(e) is int])

    def doubles(self, i: int) -> int:
        """Return the number of doubles in the result of an operation."""
        return PACK if self.program.operations[i][0] in VECTORS else self.lanes

    def unwritten(self) -> Iterator[tuple[int, int, Element]]:
        """Yield (output, place, element) of all that is neither cleared nor written at once."""
        for output, (_, elements) in enumerate(self.program.outputs):
            for place, element in enumerate(elements):
                is_cleared = output in self.cleared and is_zero(element)
                if not is_cleared and (output, place) not in self.stored:
                    yield output, place, element

    def _assign_targets(self) -> dict[int, list[tuple[int, int]]]:
        targets: dict[int, list[tuple[int, int]]] = {}
        for output, (_, elements) in enumerate(self.program.outputs):
            for place, element in enumerate(elements):
                if type(element) is not int or (output, place) in self.stored:
                    continue
                whole = self._pack_of(elements[place : place + PACK])
                if whole is not None:
                    targets.setdefault(whole, []).append((output, place))
                    self.stored.update((output, place + k) for k in range(PACK))
                elif element in self.known:
                    targets.setdefault(element, []).append((output, place))
                    self.stored.add((output, place))
        return targets

    def _pack_of(self, elements: Sequence[Element]) -> int | None:
        """Return the operation whose lanes in order are the elements, None without one."""
        lanes = [self.program.operations[e] if type(e) is int else () for e in elements]
        wanted = [('lane', k, lanes[0][-1]) for k in range(PACK)]
        return lanes[0][-1] if lanes == wanted else None

    def _assign_sines(self, group: int) -> dict[int, int]:
        """Return the offsets of sines and cosines in the workspace, in units of lanes."""
        sine: dict[int, int] = {}
        cosine: dict[int, int] = {}
        for part in self.parts:
            padded = -(-len(part.angles) // group) * group
            part.place = self.workspace.take(2 * padded)
            sine |= {angle: part.place + k for k, angle in enumerate(part.angles)}
            cosine |= {angle: part.place + padded + k for k, angle in enumerate(part.angles)}
        return {
            i: (sine if op[0] == 'sin' else cosine)[op[1]]
            for i, op in enumerate(self.program.operations)
            if op[0] in ('sin', 'cos')
        }

    def _last_reads(self) -> dict[int, int]:
        """Return the values stored in the workspace, and the last part that reads each of them."""
        if self.single:
            return {}
        last: dict[int, int] = {}
        for k, part in enumerate(self.parts):
            for i in part.operations:
                reads = operands(self.program.operations[i])
                last |= {e: k for e in reads if self.known.get(e, 0) != k}
            last |= {e: k for e in part.angles if self.known.get(e, 0) != k}
        unwritten = self.unwritten() if self.lanes == 1 else ()
        return last | {e: len(self.parts) for *_, e in unwritten if type(e) is int}

    def _assign_places(self, kept: Sequence[int]) -> None:
        """Assign offsets in the workspace to values, in units of lanes."""
        operations = self.program.operations
        last = {
            i: k
            for i, k in (self._last_reads() | dict.fromkeys(kept, len(self.parts))).items()
            if i not in self.places and (self.lanes > 1 or operations[i][0] != 'input')
        }  # inputs of one sample are read in place
        begin: list[list[int]] = [[] for _ in range(len(self.parts) + 1)]
        finish: list[list[int]] = [[] for _ in range(len(self.parts) + 1)]
        for i, k in last.items():
            begin[self.known.get(i, 0)].append(i)
            finish[k].append(i)
        for new, old in zip(begin, finish):
            for i in sorted(new):
                self.places[i] = self.workspace.take(self.doubles(i) // self.lanes)
            for i in old:
                self.workspace.free(self.places[i], self.doubles(i) // self.lanes)


def is_zero(element: Element) -> bool:
    """Return whether an element of an output is the constant 0."""
    return type(element) is float and element == 0.0


def pieces(part: PlacedPart, length: int) -> list[PlacedPart]:
    """Divide a part into pieces of at most `length` operations."""
    count = max(1, -(-len(part.operations) // length))
    edges = [len(part.operations) * k // count for k in range(count + 1)]
    found = [PlacedPart(part.operations[a:b], []) for a, b in pairwise(edges)]
    found[-1].angles = part.angles
    return found
