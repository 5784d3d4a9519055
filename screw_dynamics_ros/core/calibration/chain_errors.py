# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Geometric errors of a robot description: virtual joints along the path from the root to a link.

The pose of a target on the link, in the frame of the instrument, is::

    T(q, P) = base exp(P_base)  prod_i ( B_i exp(S_i P_i) exp(X_i ((1 + s_i) q_i + o_i)) )
              link exp(P_tool)  target exp(P_target)

with the nominal constants B_i, X_i, `link` of the description and

* `axes`: P_i displaces joint axis i as a line, with four parameters: rotations about ('rx', 'ry' or
  'rz') and translations along ('x', 'y' or 'z') the two axes of the child link's frame that are not
  nearest to the joint axis. S_i has these as columns, independent of X_i by construction. The
  parameters do not depend on the previous axis, so parallel axes are no special case. A prismatic
  joint has two parameters, for its direction.
* `offsets`: o_i, the error of the zero position ('offset').
* `scales`: s_i, the relative error of the gear ratio ('scale').
* `tool`: the fixed joint that carries the link. `target`: pose of the target on the link. `base`:
  pose of the root in the frame of the instrument. They are displacements in their own axes.

`axes` and either `tool` or `target` are complete: 4 r + 2 p + 6 independent parameters for r
revolute and p prismatic joints. Offsets are then redundant (which `calibrate` detects and reports).
With known axes, estimate offsets to restore a lost zero position.

Source: Bruyninckx 2010 (5.30), section 5.6.1 (C-016, C-019); the minimal model with lines instead
of link parameters is the product of exponentials of Müller 2018a (4) (K-13).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import float_array
from ..description.robot_description import RobotDescription
from ..errors import ArgumentError, UnknownNameError
from ..kinematics.robot_geometry import geometry_of
from ..lie import screws, se3
from ..lie._arrays import finite_pose
from ..tree.multibody_tree import GROUND, mimic_map
from ..types import Array
from .measurements import DISPLACEMENTS

Group = Literal['axes', 'offsets', 'scales', 'base', 'tool', 'target']
GROUPS: tuple[Group, ...] = get_args(Group)

#: Preference of each group for being held if measurements cannot separate parameters.
PREFERENCE = {'scales': 1e12, 'offsets': 1e9, 'axes': 1e6, 'tool': 1e3, 'target': 1.0, 'base': 1e-3}


class ChainErrors:
    """Error parameters of the chain from the root of a description to one of its links.

    Parameters
    ----------
    description : RobotDescription
    link : str
    estimate : collection of str
        Among `GROUPS`.
    base, target : (4, 4) arrays, optional
        Nominal poses of the root in the frame of the instrument, of the target in the frame of the
        link [m]; the identity if not given.
    of_base, of_target : sequence of str
        Names in `DISPLACEMENTS` that are parameters of the base, and of target or tool.

    Attributes
    ----------
    joints : tuple of str
        The movable joints on the path.
    coordinates : tuple of nq str
        The joints of q.
    moving : tuple of str
        The joints of q that move the link.
    names : tuple of k str
        'elbow_joint.rx', 'elbow_joint.offset', 'tool.x', 'base.rz' and the like.
    preference : (k,) array
        Preference of each parameter for being held at its nominal value.

    Raises
    ------
    ArgumentError
        Nothing to estimate, `tool` and `target` together, `tool` of a link that no fixed joint
        carries, a link that no joint moves, poses that are not rigid motions, joints with the name
        of another owner of parameters.
    UnknownNameError
        No such link or group.
    DescriptionError
        A floating or ball joint.
    """

    def __init__(
        self,
        description: RobotDescription,
        link: str,
        estimate: Collection[str],
        base: ArrayLike | None = None,
        target: ArrayLike | None = None,
        of_base: Sequence[str] = DISPLACEMENTS,
        of_target: Sequence[str] = DISPLACEMENTS,
    ) -> None:
        geometry = geometry_of(description)
        if link not in geometry.frames:
            raise UnknownNameError(
                f'robot {description.name} has no link {link!r}; it has '
                f'{", ".join(geometry.frames)}'
            )
        _check_groups(estimate)
        self.description, self.link = description, link
        frame, own = geometry.frames[link], geometry.screws
        path = [] if frame.body == GROUND else own.path(frame.body)
        self.joints = tuple(own.names[i] for i in path)
        self._check_joints()
        masters = mimic_map(description)
        self.coordinates = tuple(n for n in own.names if masters.get(n, (n,))[0] == n)
        moves = np.any(geometry.coupling[path], axis=0).tolist()
        self.moving = tuple(name for name, does in zip(self.coordinates, moves) if does)
        self._coupling, self._offset = geometry.coupling[path], geometry.offset[path]
        self._B, self._X, self._S = own.B[path], own.X[path], frame.S
        self._base, self._target = _pose('base', base), _pose('target', target)
        self._mount = next((j for j in description.joints if j.child == link), None)
        if 'tool' in estimate and (self._mount is None or not self._mount.kind.is_fixed):
            raise ArgumentError(
                f'no fixed joint carries link {link!r}, so a description cannot have a corrected '
                'tool there; estimate the target instead, or name a link behind a fixed joint'
            )

        self._transversal = {
            name: _transversal(X) for name, X in zip(self.joints, self._X) if 'axes' in estimate
        }
        columns: list[tuple[str, str, Group]] = []
        for name, chosen in self._transversal.items():
            columns += [(name, DISPLACEMENTS[k], 'axes') for k in chosen]
        for group, parameter in (('offsets', 'offset'), ('scales', 'scale')):
            if group in estimate:
                columns += [(name, parameter, group) for name in self.joints]  # type: ignore[misc]
        for owner, parts in (('tool', of_target), ('base', of_base), ('target', of_target)):
            if owner in estimate:
                columns += [(owner, part, owner) for part in parts]  # type: ignore[misc]
        if not columns:
            raise ArgumentError(
                f'there is nothing to estimate: {len(self.joints)} joints move link {link!r}'
            )
        self._columns = columns
        self.names = tuple(f'{owner}.{parameter}' for owner, parameter, _ in columns)
        self._place = {name: k for k, name in enumerate(self.names)}
        order = {name: 10.0 ** (1.0 - i / len(self.joints)) for i, name in enumerate(self.joints)}
        self.preference = np.array([PREFERENCE[g] * order.get(o, 1.0) for o, _, g in columns])

    def pose(self, q: ArrayLike, P: ArrayLike) -> Array:
        """Return T (N, 4, 4) for configurations q (N, nq) of `Robot` and parameters P (k,)."""
        return self._chain(self._coordinates(q), np.asarray(P, dtype=np.float64))[0]

    def jacobian(self, q: ArrayLike, P: ArrayLike) -> Array:
        """Return J (N, 6, k) with T(P + dP) = T(P) exp(J dP) to first order (5.30) (C-016).

        Columns are twists of the target in its own axes, (rad, m) for a unit of the parameter.
        """
        return self._chain(self._coordinates(q), np.asarray(P, dtype=np.float64))[1]

    def predicted(self, q: ArrayLike, P: ArrayLike) -> tuple[Array, Array]:
        """Return `pose` and `jacobian`."""
        return self._chain(self._coordinates(q), np.asarray(P, dtype=np.float64))

    def held(self, fixed: Iterable[str]) -> set[str]:
        """Return the parameters that `fixed` names, individually or by their owner.

        Raises UnknownNameError for other names.
        """
        return parameters_of(self.names, fixed)

    def spread_of_errors(self, angle: float, length: float) -> Array:
        """Return standard deviations (k,) of all parameters, given those of angles and lengths.

        They are infinite for base and target; scales have the deviation of the joint position [1].
        """
        turns = {name: X[:3].any() for name, X in zip(self.joints, self._X)}
        return np.array(
            [
                np.inf
                if group in ('base', 'target')
                else angle
                if parameter.startswith('r') or (len(parameter) > 1 and turns[owner])
                else length
                for owner, parameter, group in self._columns
            ]
        )

    def base(self, P: Array) -> Array:
        """Return the pose (4, 4) of the root in the frame of the instrument [m]."""
        return self._base @ se3.exp(self._six('base', P))

    def target(self, P: Array) -> Array:
        """Return the pose (4, 4) of the target in the frame of the link [m]."""
        return self._target @ se3.exp(self._six('target', P))

    def scales(self, P: Array) -> dict[str, float]:
        """Return {joint: s} of the estimated scales: the joint moves by (1 + s) q."""
        return {n: self._value(n, 'scale', P) for n in self.joints if f'{n}.scale' in self._place}

    def origins(self, P: Array) -> dict[str, Array]:
        """Return the corrected <origin> (4, 4) [m] of each joint that has a correction."""
        origins = {}
        for joint in self.description.joints:
            correction = np.eye(4)
            if joint.name in self.joints:
                i = self.joints.index(joint.name)
                offset = self._value(joint.name, 'offset', P)
                correction = se3.exp(self._six(joint.name, P)) @ se3.exp(self._X[i] * offset)
            elif joint is self._mount and joint.kind.is_fixed:
                correction = se3.exp(self._six('tool', P))
            if (correction != np.eye(4)).any():
                origins[joint.name] = joint.origin @ correction
        return origins

    def corrected(self, P: Array) -> RobotDescription:
        """Return the description with these origins, without scales and target."""
        return with_joint_origins(self.description, self.origins(P))

    def _coordinates(self, q: ArrayLike) -> Array:
        q = float_array('q', q)
        if q.ndim != 2 or q.shape[1] != len(self.coordinates):
            raise ArgumentError(
                f'q must have shape (N, {len(self.coordinates)}), a configuration for each '
                f'measurement, got {q.shape}'
            )
        return q @ self._coupling.T + self._offset

    def _chain(self, q: Array, P: Array) -> tuple[Array, Array]:
        """Return poses and Jacobian, computed from the target inward (see `error_jacobian`)."""
        J = np.zeros((len(q), 6, len(self.names)))
        C = np.broadcast_to(np.eye(4), (len(q), 4, 4))

        def pass_frame(owner: str, nominal: Array) -> Array:
            """Write the columns of a displaced frame; return C in the previous frame."""
            x = self._six(owner, P)
            D = se3.dexp(-x)  # exp(-x) d exp(x) = dexp_{-x} dx
            for k, name in enumerate(DISPLACEMENTS):
                if f'{owner}.{name}' in self._place:
                    column = screws.inverse_transform_twist(C, D[:, k])
                    J[:, :, self._place[f'{owner}.{name}']] = column
            moved: Array = nominal @ se3.exp(x) @ C
            return moved

        C = pass_frame('target', self._target)
        C = pass_frame('tool', self._S)
        for i, joint in reversed(list(enumerate(self.joints))):
            X = screws.inverse_transform_twist(C, self._X[i])
            for parameter, factor in (('offset', np.ones(len(q))), ('scale', q[:, i])):
                if f'{joint}.{parameter}' in self._place:
                    J[:, :, self._place[f'{joint}.{parameter}']] = X * factor[:, None]
            moved = q[:, i] * (1.0 + self._value(joint, 'scale', P))
            moved = moved + self._value(joint, 'offset', P)
            C = se3.exp_unit_screw(self._X[i], moved) @ C
            C = pass_frame(joint, self._B[i])
        return pass_frame('base', self._base), J

    def _value(self, owner: str, parameter: str, P: Array) -> float:
        k = self._place.get(f'{owner}.{parameter}')
        return 0.0 if k is None else float(P[k])

    def _six(self, owner: str, P: Array) -> Array:
        return np.array([self._value(owner, name, P) for name in DISPLACEMENTS])

    def _check_joints(self) -> None:
        if not self.joints:
            raise ArgumentError(
                f'no joint moves link {self.link!r}; name the link that carried the target'
            )
        for name in self.joints:
            if '/' in name and name not in {joint.name for joint in self.description.joints}:
                raise ArgumentError(
                    f'joint {name.rpartition("/")[0]!r} on the way to link {self.link!r} is '
                    'planar: calibrate the part behind it'
                )
            if name in GROUPS:
                raise ArgumentError(
                    f'joint {name!r} has the name of other parameters; rename it in the description'
                )


def parameters_of(names: Sequence[str], fixed: Iterable[str]) -> set[str]:
    """Return the parameters that `fixed` names, as `ChainErrors.held`."""
    found: set[str] = set()
    for name in fixed:
        owned = {n for n in names if n in (name, f'{name}.{n.rpartition(".")[2]}')}
        if not owned:
            raise UnknownNameError(
                f'fixed: there is no parameter {name!r}; there are {", ".join(names)}'
            )
        found |= owned
    return found


def with_joint_origins(
    description: RobotDescription, origins: Mapping[str, Array]
) -> RobotDescription:
    """Return the description with new origins (4, 4) [m] of the named joints."""
    joints = [replace(j, origin=origins.get(j.name, j.origin)) for j in description.joints]
    return replace(description, joints=tuple(joints))


def _transversal(X: Array) -> tuple[int, ...]:
    """Return which displacements move the axis of the unit screw X (6,) as a line."""
    turns = X[:3].any()
    nearest = int(np.argmax(np.abs(X[:3] if turns else X[3:])))
    across = tuple(k for k in range(3) if k != nearest)
    return (*across, *(3 + k for k in across)) if turns else across


def _check_groups(estimate: Collection[str]) -> None:
    unknown = [group for group in estimate if group not in GROUPS]
    if unknown or isinstance(estimate, str):
        raise UnknownNameError(
            f'estimate is {estimate!r}; give several of {", ".join(GROUPS)} as a tuple'
        )
    if 'tool' in estimate and 'target' in estimate:
        raise ArgumentError(
            'tool and target are displaced alike, one hides the other; estimate the tool if the '
            "pose of the link itself is measured, the target if something else's on it"
        )


def _pose(name: str, value: ArrayLike | None) -> Array:
    return np.eye(4) if value is None else finite_pose(name, value)
