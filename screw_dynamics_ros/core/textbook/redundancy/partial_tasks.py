# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Partial tasks: selected components of a twist in a given task frame.

A welding torch or a milling tool may rotate about its own axis: the task has five of six
components. A vertex on a face must not penetrate it: one component. Components are those of the
twist of the link at the origin and in the axes of a task frame T, which is fixed to the link or to
the root frame::

    S = E Ad_{T^-1},      S V = the components E of the twist, V body-fixed or spatial

The rows S are the `selection` of a `Task` or of other functions with such an argument.

Source: Bruyninckx 2010, section 5.9 (C-040).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import float_array
from ...arms.inverse.position import rigid_defect
from ...errors import ArgumentError
from ...lie import se3
from ...types import Array

#: Names of the components of a twist, in order.
COMPONENTS = ('wx', 'wy', 'wz', 'vx', 'vy', 'vz')


def rows_in_frame(components: Sequence[str], pose: ArrayLike | None = None) -> Array:
    """Return the selection (m, 6) of components of a twist in a task frame.

    Parameters
    ----------
    components : sequence of str
        Some of 'wx', 'wy', 'wz' [rad/s] and 'vx', 'vy', 'vz' [m/s]: along the axes of the task
        frame, at its origin. All except 'wz' is a tool that may rotate about its z axis.
    pose : (4, 4), optional
        Task frame in the link frame, for representation 'body'; or in the root frame, for
        'spatial'. By default the frame of the twist.

    Raises
    ------
    ArgumentError
        If a component is unknown or occurs twice, or the pose is not a rigid motion.

    Examples
    --------
    The velocity along x, 0.1 m above the origin of a link.

    >>> above = np.eye(4)
    >>> above[2, 3] = 0.1
    >>> rows_in_frame(['vx'], above)
    array([[0. , 0.1, 0. , 1. , 0. , 0. ]])
    """
    names = (components,) if isinstance(components, str) else tuple(components)
    unknown = [name for name in names if name not in COMPONENTS]
    if unknown or not names or len(set(names)) < len(names):
        raise ArgumentError(
            f'components of a twist are some of {", ".join(COMPONENTS)}, each once, got {names!r}'
        )
    E = np.eye(6)[[COMPONENTS.index(name) for name in names]]
    if pose is None:
        return E
    T = float_array('the pose of the task frame', pose)
    if T.shape != (4, 4):
        raise ArgumentError(f'the pose of the task frame must have shape (4, 4), got {T.shape}')
    if not np.isfinite(T).all() or rigid_defect(T) > 1e-8:
        raise ArgumentError('the pose of the task frame is not a rigid motion')
    rows: Array = E @ se3.Ad(se3.inverse(T))
    return rows + 0.0  # no negative zeros
