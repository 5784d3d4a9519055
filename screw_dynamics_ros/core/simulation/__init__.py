"""A simulated robot: motion under torques and contacts, and a controller to hold it."""

from screw_dynamics_ros.core.simulation.posture import Posture
from screw_dynamics_ros.core.simulation.simulated_robot import (
    INTEGRATORS,
    SimulatedRobot,
    middle_of_range,
)

__all__ = ['INTEGRATORS', 'Posture', 'SimulatedRobot', 'middle_of_range']
