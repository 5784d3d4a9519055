# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Quaternions (x, y, z, w) and homogeneous matrices: the functions of `tf_transformations`.

tf_transformations is a layer over `transforms3d` and not available as a wheel; without it, the two
functions used here are built on transforms3d.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

NAME = 'tf_transformations'
REMEDY = (
    'install tf_transformations: "rosdep install --from-paths src", or the package '
    'ros-$ROS_DISTRO-tf-transformations; without a ROS 2: "pip install transforms3d"'
)


def _without_tf_transformations() -> tuple[Any, Any]:
    """Return `quaternion_from_matrix` and `quaternion_matrix`, built on transforms3d."""
    from transforms3d.quaternions import mat2quat, quat2mat

    def from_matrix(matrix: NDArray[np.float64]) -> tuple[float, ...]:
        """Return (x, y, z, w), w >= 0, of a homogeneous matrix (4, 4)."""
        w, x, y, z = mat2quat(np.asarray(matrix)[:3, :3])
        return x, y, z, w

    def to_matrix(quaternion: ArrayLike) -> NDArray[np.float64]:
        """Return the homogeneous matrix (4, 4) of (x, y, z, w)."""
        x, y, z, w = np.asarray(quaternion)
        matrix = np.eye(4)
        matrix[:3, :3] = quat2mat((w, x, y, z))
        return matrix

    return from_matrix, to_matrix


def _find() -> tuple[Any, Any]:
    """Return the two functions; raises `ImportError` with the remedy if neither is installed."""
    try:
        from tf_transformations import quaternion_from_matrix, quaternion_matrix
    except ModuleNotFoundError:
        try:
            return _without_tf_transformations()
        except ImportError as error:
            raise ImportError(f'{error}; {REMEDY}', name=NAME) from None
    except Exception as error:  # transforms3d before 0.4.2 fails beside NumPy 2, 0.3 beside 1.24
        raise ImportError(
            f'tf_transformations cannot be imported: {type(error).__name__}: {error}; its '
            'transforms3d may be too old for this NumPy: "pip install --upgrade transforms3d", '
            'or remove the NumPy that pip has installed',
            name=NAME,
        ) from None
    return quaternion_from_matrix, quaternion_matrix


quaternion_from_matrix, quaternion_matrix = _find()
