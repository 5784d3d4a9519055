"""Torques for a controller: enabled on purpose, bounded, fresh and smooth."""

from screw_dynamics_ros.core.control.command_report import ActedLimit, CommandReport, Mode
from screw_dynamics_ros.core.control.command_settings import (
    ACTIONS,
    CommandSettings,
    command_limits,
    rate_limits,
)
from screw_dynamics_ros.core.control.torque_command import TorqueCommand

__all__ = [
    'ACTIONS',
    'ActedLimit',
    'CommandReport',
    'CommandSettings',
    'Mode',
    'TorqueCommand',
    'command_limits',
    'rate_limits',
]
