# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Types of controllers in pages and generated files exist in all distributions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLACES = ('README.md', 'doc', 'config', 'launch', 'examples', 'screw_dynamics_ros')
DISTRIBUTIONS = ('humble', 'jazzy', 'kilted', 'lyrical', 'rolling')

#: Plugins of ros2_controllers, by the plugin files of its branches, and where each exists.
TYPES = {
    'admittance_controller/AdmittanceController': DISTRIBUTIONS,
    'effort_controllers/JointGroupEffortController': ('humble', 'jazzy', 'kilted'),
    'force_torque_sensor_broadcaster/ForceTorqueSensorBroadcaster': DISTRIBUTIONS,
    'forward_command_controller/ForwardCommandController': DISTRIBUTIONS,
    'forward_command_controller/MultiInterfaceForwardCommandController': DISTRIBUTIONS,
    'joint_state_broadcaster/JointStateBroadcaster': DISTRIBUTIONS,
    'joint_trajectory_controller/JointTrajectoryController': DISTRIBUTIONS,
}
TYPE = re.compile(r'\b[a-z_]+_(?:controllers?|broadcaster)/[A-Z]\w+')


def named_types() -> dict[str, set[str]]:
    """Return the files in which each type stands."""
    found: dict[str, set[str]] = {}
    for place in PLACES:
        path = ROOT / place
        for file in [path] if path.is_file() else path.rglob('*'):
            if file.suffix in ('.md', '.yaml', '.py', '.xacro', '.urdf') and file.is_file():
                for name in TYPE.findall(file.read_text(encoding='utf-8')):
                    found.setdefault(name, set()).add(str(file.relative_to(ROOT)))
    return found


def test_types_of_controllers_exist_in_all_distributions():
    """A type that one of them lacks must not be what a page or a generated file uses."""
    for name, files in named_types().items():
        assert name in TYPES, f'{name} in {sorted(files)}: enter it with its distributions'
        missing = set(DISTRIBUTIONS) - set(TYPES[name])
        assert not missing, f'{name} in {sorted(files)} does not exist in {sorted(missing)}'


@pytest.mark.parametrize('name', ['forward_command_controller/ForwardCommandController'])
def test_pages_are_searched(name):
    assert 'doc/how_to/gravity_compensation.md' in named_types()[name]
