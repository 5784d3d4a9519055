"""The closed form of an arm, recorded and compiled: from a pose to all its branches."""

from __future__ import annotations

from typing import Any

import numpy as np

from screw_dynamics_ros.core.compile.kernels import KernelSpecification, make_kernel
from screw_dynamics_ros.core.types import Array


def branches(arm: Any, target: Array, *swivel: Array) -> tuple[Array]:
    """Return all branches (m, n) for the elements (16,) of a pose. This is what is compiled."""
    return (np.array(arm.branches(target.reshape(4, 4), *(each[0] for each in swivel))),)


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
    redundant : bool
        Whether the swivel angle is an argument.
    """

    def __init__(self, name: str, arm: Any, identity: str, backend: str, redundant: bool) -> None:
        self.name, self.arm, self.labels = name, arm, tuple(arm.labels)
        self.bound = len(self.labels)
        inputs = (('swivel', 1), ('target', 16)) if redundant else (('target', 16),)
        self.kernel = make_kernel(
            KernelSpecification(
                f'closed form {name}',
                inputs,
                (lambda arm, swivel, target: branches(arm, target, swivel))
                if redundant
                else branches,
                repr(('closed form', name, identity)),
                frozenset({'target'} if redundant else ()),
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
