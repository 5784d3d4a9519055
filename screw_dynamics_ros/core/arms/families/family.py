# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the families of serial arms have in common: a model, and how a robot differs from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import is_number
from ...description.robot_description import Limits, RobotDescription
from ...errors import ArgumentError
from ...kinematics.product_of_exponentials import SpatialScrews
from ...kinematics.robot_geometry import description_of
from ...lie import screws, se3
from ...types import Array
from .alignment import Placement, align, first_of_the_least, settled
from .chain import SerialChain

F = TypeVar('F', bound='Family')

#: How well axes must meet, be parallel or at right angles [rad, m].
GEOMETRY_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False, kw_only=True)
class Family(ABC):
    """Arms that share a closed form up to their lengths.

    The lengths, fields of each family, define a model and its zero configuration. A robot
    may have its base and tool elsewhere, turn its joints in other directions and count them from
    another zero:

        q_model = sign * q_robot + offset,    C_robot = base C_model(q_model) tool.

    Attributes
    ----------
    sign, offset : (n,) arrays
        1 and 0 by default; the sign is 1 or -1, the offset in rad or m.
    base, tool : (4, 4) arrays
        Identities by default.

    Raises
    ------
    ArgumentError
        For a length that is not finite, or not positive where the closed form divides by it; a
        sign that is not 1 or -1; arrays of another shape.
    """

    #: One name for each branch.
    labels: ClassVar[tuple[str, ...]]

    #: The signs of each branch, 1 and -1, that distinguish it from the others.
    sides: ClassVar[tuple[tuple[float, ...], ...]] = tuple(product((1.0, -1.0), repeat=3))

    #: Fields that must be positive.
    positive: ClassVar[tuple[str, ...]] = ()

    sign: Array = field(default_factory=lambda: np.empty(0))
    offset: Array = field(default_factory=lambda: np.empty(0))
    base: Array = field(default_factory=lambda: np.eye(4))
    tool: Array = field(default_factory=lambda: np.eye(4))

    def __post_init__(self) -> None:
        for name in self.length_names():
            self._check_length(name, getattr(self, name))
        n = len(self.model_screws())
        for name, default in (('sign', np.ones(n)), ('offset', np.zeros(n))):
            value = getattr(self, name)
            self._freeze(name, value if len(value) else default, (n,))
        self._freeze('base', self.base, (4, 4))
        self._freeze('tool', self.tool, (4, 4))
        if not (np.abs(self.sign) == 1.0).all():
            raise ArgumentError(f'sign must hold 1 and -1 only, got {self.sign}')

    @classmethod
    def length_names(cls) -> tuple[str, ...]:
        """Return the fields that are lengths [m]."""
        return tuple(each.name for each in fields(cls) if each.type == 'float')

    def _check_length(self, name: str, value: object) -> None:
        if not is_number(value) or not np.isfinite(value):
            raise ArgumentError(f'{type(self).__name__}: {name} must be finite, got {value!r}')
        if name in self.positive and value <= 0.0:
            raise ArgumentError(
                f'{type(self).__name__}: {name} must be positive, got {value!r}: an arm without it '
                'has other freedoms and no such closed form'
            )

    def _freeze(self, name: str, value: ArrayLike, shape: tuple[int, ...]) -> None:
        array = np.array(value, dtype=float)
        if array.shape != shape or not np.isfinite(array).all():
            raise ArgumentError(
                f'{type(self).__name__}: {name} must hold finite numbers in shape {shape}, '
                f'got {array.shape}'
            )
        array.setflags(write=False)
        object.__setattr__(self, name, array)

    # --- the model --------------------------------------------------------------------------------

    @abstractmethod
    def model_screws(self) -> Array:
        """Return the joint screws (n, 6) of the model at its zero."""

    @abstractmethod
    def model_home(self) -> Array:
        """Return the pose (4, 4) of the model's tool at its zero."""

    @classmethod
    @abstractmethod
    def recognized(
        cls: type[F], chain: SerialChain, tolerance: float = GEOMETRY_TOLERANCE
    ) -> F | None:
        """Return a chain as a member of the family, None if it is not one.

        Parameters
        ----------
        chain : SerialChain
        tolerance : float
            Tolerance for intersecting, parallel and perpendicular axes of the family [rad, m].
        """

    @abstractmethod
    def branch(self, C: ArrayLike, sides: Sequence[Any], *further: Any, **named: Any) -> Array:
        """Return joint positions (n,) of one branch for a tool pose (4, 4).

        Where the pose is out of reach, the arm is stretched or folded towards it, and its forward
        kinematics gives another pose. Pose, signs and further inputs may be recorded.

        Parameters
        ----------
        C : (4, 4) array
        sides : (s,) array
            The signs of the branch, one of `sides` of the family.
        """

    def determinacy(self, C: ArrayLike, sides: Sequence[Any], *further: Any) -> Any:
        """Return the smallest sine that an angle is computed from if others depend on the choice.

        At zero the pose does not determine that angle: with another choice, a branch that misses
        the pose may reach it. 1 for families where every choice reaches the same poses. May be
        recorded; arguments as for `branch`.
        """
        return 1.0

    def branches(self, C: ArrayLike, *further: Any, **named: Any) -> Array:
        """Return `branch` for all branches (number of branches, n), in the order of `labels`."""
        return np.array([self.branch(C, sides, *further, **named) for sides in self.sides])

    @abstractmethod
    def branches_near(self, C: ArrayLike, seed: ArrayLike) -> Array:
        """Return joint positions (number of branches, n) of all branches for a tool pose (4, 4).

        Numbers only. Where the pose does not determine a joint, it is at its position in the seed
        (n,): that is what a controller follows through a singular configuration with (C-102).
        """

    # --- the robot --------------------------------------------------------------------------------

    def to_model(self, q: ArrayLike) -> Array:
        """Return the joint positions (..., n) of the model for those of the robot (C-090)."""
        return self.sign * np.asarray(q) + self.offset

    def to_robot(self, q_model: ArrayLike) -> Array:
        """Return the joint positions (..., n) of the robot for those of the model (C-090)."""
        return self.sign * (np.asarray(q_model) - self.offset)

    def pose_in_model(self, C: ArrayLike) -> Array:
        """Return the pose of the model's tool for a pose (4, 4) of the robot's."""
        return se3.inverse(self.base) @ np.asarray(C) @ se3.inverse(self.tool)

    def chain(
        self,
        joint_names: Sequence[str] | None = None,
        lower: ArrayLike = (),
        upper: ArrayLike = (),
    ) -> SerialChain:
        """Return the chain of the robot, joints 'joint1', 'joint2', ... if not named."""
        model = SerialChain(
            tuple(joint_names or (f'joint{i + 1}' for i in range(len(self.sign)))),
            screws.transform_twist(self.base, self.model_screws()),
            np.eye(4),
        )
        at_zero = self.to_model(np.zeros(len(model)))
        own, C = [], np.eye(4)
        for X, sign, angle in zip(model.screws, self.sign, at_zero):
            own.append(sign * screws.transform_twist(C, X))
            C = C @ se3.exp_unit_screw(X, angle)
        home = C @ self.base @ self.model_home() @ self.tool
        return replace(
            model, screws=np.array(own), home=home, lower=np.array(lower), upper=np.array(upper)
        )

    def description(
        self, name: str = 'arm', *, limits: Mapping[str, Limits] | None = None
    ) -> RobotDescription:
        """Return a robot description of the arm, to be loaded as `Robot`, or written as URDF.

        Links 'base', 'link1', ..., 'tool'; joints 'joint1', ...; without masses. The frame of a
        link is at the point of its joint axis next to the frame before, with the axes of the base.
        """
        chain, n = self.chain(), len(self.sign)
        frames, at = [], np.zeros(3)
        for X in chain.screws[:-1]:
            e, v = X[:3], X[3:]
            at = np.cross(e, v) + e * (e @ at) if e.any() else at
            frames.append(se3.pose(np.eye(3), at))
        links = [*(f'link{i}' for i in range(1, n)), 'tool']
        geometry = SpatialScrews([*frames, chain.home], chain.screws, names=chain.joint_names)
        return description_of(geometry, name=name, links=links, limits=limits)


def index_of_signs(sides: Sequence[tuple[float, ...]], values: Iterable[float]) -> int:
    """Return which of the tuples of 1 and -1 has the signs of some values; that of 0 is 1."""
    return sides.index(tuple(1.0 if each >= 0.0 else -1.0 for each in values))


def member(
    cls: type[F],
    chain: SerialChain,
    lengths: Iterable[Mapping[str, Any]],
    frame: Array,
    tolerance: float,
) -> F | None:
    """Return the arm of a family whose axes are those of a chain, of several the best, or None.

    Parameters
    ----------
    lengths : iterable of dict
        Lengths that the arm may have: those that are measured have no sign yet.
    frame : (4, 4) array
        Of the model, up to a rotation about its first axis (see `align`).
    tolerance : float
        Families measure with ten times less: small errors of directions add up over an arm.
    """
    models = [
        cls(**{name: settled(np.asarray(x), 1.0)[()] for name, x in each.items()})
        for each in lengths
    ]
    found = [
        (model, way)
        for model in models
        if (way := align(chain, model.model_screws(), model.model_home(), frame, 10.0 * tolerance))
    ]
    if not found:
        return None
    return placed(*found[first_of_the_least([way.residual for _, way in found])])


def placed(model: F, placement: Placement) -> F:
    """Return an arm with signs, offsets, base and tool of a placement."""
    return replace(
        model,
        sign=placement.sign,
        offset=placement.offset,
        base=placement.base,
        tool=placement.tool,
    )


def with_hand(arm: F, name: str, axis: Array) -> F:
    """Return the same arm with as much of its tool as is along `axis` (3,) as a length."""
    along = float(arm.tool[:3, 3] @ axis)
    back = se3.pose(np.eye(3), -along * axis)
    return replace(arm, **{name: getattr(arm, name) + along}, tool=back @ arm.tool)
