# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Outputs that can be computed along a recorded motion, and their settings."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from .. import outputs as table
from ..errors import ArgumentError, UnknownNameError
from ..estimation.effort_terms import TERMS
from ..estimation.observers.parameters import JOINTS, ObserverParameters, check_per_joint
from ..estimation.observers.table import OBSERVERS

#: Outputs by name: accelerations, which no node publishes, and those of the table.
OUTPUTS = (
    'acceleration',
    *(row.name for row in table.OUTPUTS.values() if row.recorded and not row.of_base),
)

#: Default outputs: all except matrices.
DEFAULT = tuple(name for name in OUTPUTS if name not in ('mass_matrix', 'jacobian'))


@dataclass(frozen=True)
class AnnotationSettings(ObserverParameters):
    """Settings of the outputs; names and defaults are those of the parameters of the nodes.

    Attributes
    ----------
    effort_terms : tuple of str
        Terms of `TERMS` that the measured efforts contain.
    observer : str
        Method for external torques from motion and efforts, one of `OBSERVERS`; its parameters are
        those of `ObserverParameters`.
    state_timeout : float
        A longer step is a pause: the observer restarts, and no differences cross it [s].
    damping, characteristic_length, singularity_threshold : float
        Parameters of the wrenches, see `contact_wrench`; the length [m] is also used for
        singularity measures.
    singularity_rate : float
        Rate at which singularity measures are computed, NaN in between [Hz]; infinite for each
        state.
    acceleration_time_constant : float
        Time constant T of the smoothing of accelerations [s]: first-order filters forward and
        backward in time, without phase lag, of amplitude 1 / (1 + (omega T)^2). 0 for none.

    Raises
    ------
    ArgumentError, UnknownNameError
        A value out of range, or a name that does not exist.
    """

    effort_terms: tuple[str, ...] = TERMS
    observer: str = 'static'
    state_timeout: float = 0.5
    damping: float = 0.001
    characteristic_length: float = 0.2
    singularity_threshold: float = 0.02
    singularity_rate: float = math.inf
    acceleration_time_constant: float = 0.0

    def __post_init__(self) -> None:
        for term in self.effort_terms:
            if term not in TERMS:
                raise UnknownNameError(
                    f'effort_terms: no term {term!r}; choose of {", ".join(TERMS)}'
                )
        if self.observer not in OBSERVERS:
            raise UnknownNameError(
                f'no observer {self.observer!r}; choose one of {", ".join(OBSERVERS)}'
            )
        observed = {each.name: each.metadata['minimum'] for each in fields(ObserverParameters)}
        del observed[JOINTS]
        check_per_joint({name: getattr(self, name) for name in (*observed, JOINTS)})
        for name in (
            *(name for name, least in observed.items() if least > 0.0),
            'characteristic_length',
            'singularity_rate',
        ):
            if not np.all(np.asarray(getattr(self, name)) > 0.0):
                raise ArgumentError(f'{name} must be greater than 0, got {getattr(self, name)}')
        for name in (
            *(name for name, least in observed.items() if least == 0.0),
            'state_timeout',
            'damping',
            'singularity_threshold',
            'acceleration_time_constant',
        ):
            value = np.asarray(getattr(self, name))
            if not np.all((value >= 0.0) & (value < math.inf)):
                raise ArgumentError(
                    f'{name} must be a finite number >= 0, got {getattr(self, name)}'
                )

    @property
    def longest_step(self) -> float:
        """A step longer than this [s] is a pause."""
        return self.state_timeout or math.inf


def check_outputs(outputs: tuple[str, ...]) -> None:
    """Raise `UnknownNameError` for an unknown output."""
    for name in outputs:
        if name not in OUTPUTS:
            raise UnknownNameError(f'no output {name!r}; choose of {", ".join(OUTPUTS)}')
