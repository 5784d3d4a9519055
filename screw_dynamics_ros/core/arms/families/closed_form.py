# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The closed form of an arm, recorded and compiled: from a pose to all its branches."""

from __future__ import annotations

from typing import Any

import numpy as np

from screw_dynamics_ros.core.compile.kernels import KernelSpecification, make_kernel
from screw_dynamics_ros.core.types import Array


def branches(arm: Any, *inputs: Array) -> tuple[Array]:
    """Return all branches (m, n) for the elements (16,) of a pose. This is what is compiled.

    The pose comes last, what else `arm.branches` takes before it.
    """
    *further, target = inputs
    return (np.array(arm.branches(target.reshape(4, 4), *(x for each in further for x in each))),)


class ClosedForm:
    """All branches of an arm with a closed form.

    Parameters
    ----------
    name : str
        Of the family.
    arm : Family or Pieper
        With `labels` and `branches`.
    identity : str
        Says all that decides what is recorded.
    backend : str
    further : tuple of (name, size), optional
        What it takes besides the pose: the swivel angle, or the positions of held joints.
    """

    def __init__(
        self,
        name: str,
        arm: Any,
        identity: str,
        backend: str,
        further: tuple[tuple[str, int], ...] = (),
    ) -> None:
        self.name, self.arm, self.labels = name, arm, tuple(arm.labels)
        self.bound = len(self.labels)
        self.kernel = make_kernel(
            KernelSpecification(
                f'closed form {name}',
                (*further, ('target', 16)),
                branches,
                repr(('closed form', name, identity)),
                frozenset({'target'} if further else ()),
                (arm,),
            ),
            backend,
        )

    def candidates(self, C: Array, swivel: Array) -> tuple[Array, Array]:
        """Return branches (m, n), and which branch each one is (m,), for a pose (4, 4).

        `swivel` holds the angles of a redundant arm (k,), none for others.
        """
        target = np.ascontiguousarray(C).reshape(-1)
        if len(swivel):
            (q,) = self.kernel.stack([np.ascontiguousarray(swivel[:, None]), target])
            q = q.reshape(-1, q.shape[-1])
        else:
            (q,) = self.kernel.single([target])
        return q, np.tile(np.arange(self.bound), max(1, len(swivel)))
