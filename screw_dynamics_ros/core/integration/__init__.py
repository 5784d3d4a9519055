# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Integration of motion on Lie groups; doc/theory/integration.md."""

from .adaptive import AdaptiveRun, AdaptiveRungeKutta
from .configuration_space import ConfigurationSpace
from .constrained_system import ConstrainedSystem, UnconstrainedSystem
from .generalized_alpha import AlphaState, GeneralizedAlpha
from .integrator import DynamicSystem, Integrator
from .momentum_preserving import MomentumPreserving
from .runge_kutta import RungeKutta, munthe_kaas_step
from .semi_implicit import SemiImplicitEuler
from .tableau import (
    BOGACKI_SHAMPINE,
    DORMAND_PRINCE,
    EMBEDDED,
    EULER,
    HEUN_EULER,
    RK4,
    TABLEAUS,
    Tableau,
)
from .variational import Variational

__all__ = [
    'BOGACKI_SHAMPINE',
    'DORMAND_PRINCE',
    'EMBEDDED',
    'EULER',
    'HEUN_EULER',
    'RK4',
    'TABLEAUS',
    'AdaptiveRun',
    'AdaptiveRungeKutta',
    'AlphaState',
    'ConfigurationSpace',
    'ConstrainedSystem',
    'DynamicSystem',
    'GeneralizedAlpha',
    'Integrator',
    'MomentumPreserving',
    'RungeKutta',
    'SemiImplicitEuler',
    'Tableau',
    'UnconstrainedSystem',
    'Variational',
    'munthe_kaas_step',
]
