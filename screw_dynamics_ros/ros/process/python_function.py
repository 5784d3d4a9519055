# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Functions of Python that compiled code calls."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from screw_dynamics_ros.core.compile.typed.external import prototype
from screw_dynamics_ros.core.compile.typed.records import Opaque

from .faults import FAULTS
from .state_lock import STATE_LOCK


class PythonFunction(Opaque):
    """A function of Python that replaces a typed one; called with the lock of states.

    Parameters
    ----------
    name : str
        Of what fails, for /diagnostics.
    function : callable
        Called without arguments; returns an integer or None.
    failed : int
        The result if it raises an error.
    arguments : int
        Number of addresses that compiled code passes; they are not used.
    """

    def __init__(
        self, name: str, function: Callable[[], int | None], failed: int = 0, arguments: int = 2
    ) -> None:
        self._name, self._function, self._failed = name, function, failed
        self._compiled = prototype(('address',) * arguments, 'i64')(self)
        self.address = ctypes.cast(self._compiled, ctypes.c_void_p).value or 0

    def __call__(self, *_: Any) -> int:
        """Return the result; errors are reported."""
        STATE_LOCK.nest(1)
        try:
            return int(self._function() or 0)
        except Exception as error:
            FAULTS.record(self._name, error)
            return self._failed
        finally:
            STATE_LOCK.nest(-1)
