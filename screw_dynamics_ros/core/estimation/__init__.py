"""Estimation of what acts on a robot from what its joints feel."""

from screw_dynamics_ros.core.estimation.contact_wrench import (
    ContactWrench,
    contact_wrench,
    external_torques,
)

__all__ = ['ContactWrench', 'contact_wrench', 'external_torques']
