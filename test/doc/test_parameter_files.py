# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameter files in config/ have the defaults; test_generated_pages compares their texts."""

import pytest

pytest.importorskip('rclpy')

import yaml

from screw_dynamics_ros.nodes.known_parameters import own_parameters
from screw_dynamics_ros.registry import NODES
from support.paths import CONFIG
from support.tools import load_tool

registry = load_tool('page_tables.registry')


def test_parameter_files_have_the_defaults():
    for name, row in NODES.items():
        sections = yaml.safe_load((CONFIG / f'{row.config}.yaml').read_text())
        values = sections[f'/**/{name}']['ros__parameters']
        for each in own_parameters(name):
            assert values[each.name] == each.default, (name, each.name)


@pytest.mark.parametrize('value', [1e-6, 1.5e300, 0.1, [1e-6, 0.0], [], [''], 'off', True, 3])
def test_yaml_reads_values_back(value):
    """A number with an exponent and no decimal point would be a text."""
    assert yaml.safe_load(registry.yaml_text(value)) == value
