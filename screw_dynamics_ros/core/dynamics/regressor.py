# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Linearity of the equations of motion in the inertial parameters, and base parameters.

    Q = Y(q, v, a) phi,    phi = (m, m d, I) of every link,    Y phi = Y[:, base] (grouping phi).

Example: the straight arm of unit lengths is at rest, g = 10. A mass at the origin of the lower
link, at x = 1, loads the shoulder only; a first moment of that link loads both joints.

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> rest = np.zeros(2)
>>> Y = regressor(planar_arm(), rest, rest, rest, np.array([0.0, -10.0, 0.0]))
>>> Y[:, 20:22] + 0.0  # m and m x of the third link, `lower`
array([[10., 10.],
       [ 0., 10.]])

Source: Müller 2018b section 6 (D-43); Gautier, Numerical calculation of the base inertial
parameters of robots (1991).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..description.robot_description import RobotDescription
from ..errors import ArgumentError
from ..kinematics.twist_recursions import to_body
from ..lie.so3 import hat
from ..linear import zeros
from ..tree.multibody_tree import GROUND, Frame, Tree, inertia_in
from ..types import Array
from .inverse_dynamics import body_states

#: The parameters of one link, in its own frame: mass [kg], first moment [kg m], and inertia about
#: the origin of the frame [kg m^2].
PARAMETERS = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')


def regressor(tree: Tree, q: Array, v: Array, a: Array, gravity: Array) -> Array:
    """Return Y with inverse_dynamics = Y @ inertial_parameters, (nv, 10 n) for n links (D-43).

    Friction and the inertia of rotors are not included.

    Columns as in `PARAMETERS` for each link, in the order of `tree.frames`. A joint with the screw
    (xi, eta) in the frame of a link carries the wrench of its motion (D-21), which is linear:

        xi^T (I domega + omega~ I omega + h~ ddr) + eta^T (m ddr + Omega h).
    """
    motions = body_states(tree, q, v, a, gravity)
    J: dict[int, dict[int, Array]] = {GROUND: {}}  # screws of the joints on the path, in the body
    for i, body in enumerate(tree.bodies):
        J[i] = {k: to_body(motions[i].C, X) for k, X in J[body.parent].items()}
        J[i][i] = body.multiplier * body.X

    Y = zeros((tree.nv, len(tree.frames), len(PARAMETERS)), *(s.ddr for s in motions))
    for column, frame in enumerate(tree.frames.values()):
        if frame.body == GROUND:
            continue
        s, R, r = motions[frame.body], frame.S[:3, :3], frame.S[:3, 3]
        moment = moments_of_inertias(R.T @ s.omega, R.T @ s.domega)
        ddr, Omega = R.T @ (s.ddr + s.Omega @ r), R.T @ s.Omega @ R
        for k, X in J[frame.body].items():
            xi, eta = np.split(to_body(frame.S, X), 2)
            row = np.concatenate(
                [[eta.T @ ddr], (eta.T @ Omega).T + hat(ddr) @ xi, (xi.T @ moment).T]
            ).T
            Y[tree.bodies[k].v, column] = Y[tree.bodies[k].v, column] + row
    return Y.reshape(tree.nv, -1)


def moments_of_inertias(omega: Array, domega: Array) -> Array:
    """Return d (I domega + omega~ I omega) / d (xx, xy, yy, xz, yz, zz), (3, 6)."""
    (x, y, z), (ax, ay, az) = omega, domega
    return np.array(
        [
            [ax, ay - x * z, -y * z, az + x * y, y * y - z * z, y * z],
            [x * z, ax + y * z, ay, z * z - x * x, az - x * y, -x * z],
            [-x * y, x * x - y * y, x * y, ax - y * z, ay + x * z, az],
        ]
    )


def inertial_parameters(description: RobotDescription, names: tuple[str, ...]) -> Array:
    """Return the parameters of links, (10 n,), as in `PARAMETERS`; zeros for links without mass."""
    links = {link.name: link for link in description.links}
    parameters = np.zeros((len(names), len(PARAMETERS)))
    for row, name in zip(parameters, names):
        inertia = links[name].inertia
        if inertia is not None:
            m, h, I = inertia_in(Frame(GROUND, np.eye(4)), inertia)  # noqa: E741
            row[:] = [m, *h, I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]]
    return parameters.ravel()


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """A minimal set of inertial parameters, identifiable from motions and torques.

    Attributes
    ----------
    names : tuple of str
        'link/parameter' of each independent column, which represents a group of parameters.
    columns : (b,) array of int
        The independent columns of the regressor.
    grouping : (b, 10 n) array
        regressor = regressor[:, columns] @ grouping; base parameters = grouping @ parameters.
    """

    names: tuple[str, ...]
    columns: Array
    grouping: Array


def base_parameters(Y: Array, links: tuple[str, ...], tolerance: float = 1e-9) -> BaseParameters:
    """Return a minimal set from the stacked regressors of many motions.

    Columns are processed from the root to the tips; a column is omitted if it depends on those
    before. Parameters that a link shares with its predecessor are grouped there.

    Parameters
    ----------
    Y : (N nv, 10 n) array
        Must have at least as many rows as columns.
    links : n names
    tolerance : float
        A column is dependent if its independent part, relative to its norm, is smaller; smaller
        coefficients of `grouping` are set to zero.

    Raises
    ------
    ArgumentError
        There are fewer rows than columns.
    """
    rows, count = Y.shape
    if rows < count:
        raise ArgumentError(
            f'base parameters: {rows} equations for {count} parameters; use more samples'
        )
    columns, grouping = independent_columns(Y, tolerance)
    names = tuple(f'{link}/{parameter}' for link in links for parameter in PARAMETERS)
    return BaseParameters(tuple(names[k] for k in columns), columns, grouping)


def independent_columns(Y: Array, tolerance: float = 1e-9) -> tuple[Array, Array]:
    """Return the columns of Y (N, k) that are independent of those before, and the grouping.

    Y = Y[:, columns] @ grouping; `tolerance` as in `base_parameters`.

    >>> columns, grouping = independent_columns(np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0]]))
    >>> columns, grouping
    (array([0, 2]), array([[1., 2., 0.],
           [0., 0., 1.]]))
    """
    rows, count = Y.shape
    Q = np.zeros((rows, 0))
    columns = []
    for k, y in enumerate(Y.T):
        rest = y - Q @ (Q.T @ y)
        rest = rest - Q @ (Q.T @ rest)  # twice is enough (Kahan)
        size = float(np.linalg.norm(rest))
        if size > tolerance * float(np.linalg.norm(y)):
            Q = np.column_stack([Q, rest / size])
            columns.append(k)
    grouping = np.linalg.lstsq(Y[:, columns], Y, rcond=None)[0] if columns else np.zeros((0, count))
    grouping[np.abs(grouping) < tolerance] = 0.0
    return np.array(columns, dtype=int), grouping
