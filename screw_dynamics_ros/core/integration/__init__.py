# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Integration of motion on Lie groups; doc/theory/integration.md."""

from screw_dynamics_ros.core.integration.adaptive import AdaptiveRun, AdaptiveRungeKutta
from screw_dynamics_ros.core.integration.configuration_space import ConfigurationSpace
from screw_dynamics_ros.core.integration.constrained_system import (
    ConstrainedSystem,
    UnconstrainedSystem,
)
from screw_dynamics_ros.core.integration.generalized_alpha import AlphaState, GeneralizedAlpha
from screw_dynamics_ros.core.integration.integrator import DynamicSystem, Integrator
from screw_dynamics_ros.core.integration.momentum_preserving import MomentumPreserving
from screw_dynamics_ros.core.integration.munthe_kaas import munthe_kaas_step
from screw_dynamics_ros.core.integration.runge_kutta import RungeKutta
from screw_dynamics_ros.core.integration.semi_implicit import SemiImplicitEuler
from screw_dynamics_ros.core.integration.tableau import (
    BOGACKI_SHAMPINE,
    DORMAND_PRINCE,
    EMBEDDED,
    EULER,
    HEUN_EULER,
    RK4,
    TABLEAUS,
    Tableau,
)
from screw_dynamics_ros.core.integration.variational import Variational

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
