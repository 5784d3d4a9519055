# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Torque commands for controllers: enabled explicitly, limited, recent and continuous."""

from .command_report import ActedLimit, CommandReport, Mode
from .command_settings import ACTIONS, CommandSettings, command_limits, rate_limits
from .torque_command import TorqueCommand

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
