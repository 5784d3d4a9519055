"""Motion in time steps, on the configuration space as a Lie group; doc/integration.md."""

from screw_dynamics_ros.core.integration.configuration_space import ConfigurationSpace
from screw_dynamics_ros.core.integration.integrator import Integrator
from screw_dynamics_ros.core.integration.momentum_preserving import MomentumPreserving
from screw_dynamics_ros.core.integration.munthe_kaas import munthe_kaas_step
from screw_dynamics_ros.core.integration.runge_kutta import RungeKutta
from screw_dynamics_ros.core.integration.semi_implicit import SemiImplicitEuler
from screw_dynamics_ros.core.integration.tableau import EULER, RK4, TABLEAUS, Tableau

__all__ = [
    'EULER',
    'RK4',
    'TABLEAUS',
    'ConfigurationSpace',
    'Integrator',
    'MomentumPreserving',
    'RungeKutta',
    'SemiImplicitEuler',
    'Tableau',
    'munthe_kaas_step',
]
