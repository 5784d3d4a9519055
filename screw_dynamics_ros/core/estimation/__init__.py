"""Estimation of contact wrenches from joint torques."""

from screw_dynamics_ros.core.estimation.contact_wrench import (
    contact_wrench,
    external_torques,
    observability_pivots,
    smallest_singular_value,
)

__all__ = [
    'contact_wrench',
    'external_torques',
    'observability_pivots',
    'smallest_singular_value',
]
