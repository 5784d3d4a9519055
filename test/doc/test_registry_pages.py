"""Generated files are what the registry and the declarations say."""

import pytest

pytest.importorskip('rclpy')

import yaml

from screw_dynamics_ros.nodes.known_parameters import own_parameters
from screw_dynamics_ros.registry import NODES
from support.paths import CONFIG
from support.tools import load_tool

tool = load_tool('registry_pages')


def test_files_are_what_the_registry_says():
    for path, text in tool.pages().items():
        assert path.read_text() == text, f'{path}: run python tools/registry_pages.py'


def test_check_finds_a_stale_file(monkeypatch, capsys):
    monkeypatch.setitem(tool.EXECUTABLES, 'commands', lambda: '')
    monkeypatch.setattr('sys.argv', ['registry_pages', '--check'])
    assert tool.main() == 1
    assert 'doc/nodes.md is not what the registry says' in capsys.readouterr().err


def test_parameter_files_have_the_defaults():
    for name, row in NODES.items():
        sections = yaml.safe_load((CONFIG / f'{row.config}.yaml').read_text())
        values = sections[f'/**/{name}']['ros__parameters']
        for each in own_parameters(name):
            assert values[each.name] == each.default, (name, each.name)


@pytest.mark.parametrize('value', [1e-6, 1.5e300, 0.1, [1e-6, 0.0], [], [''], 'off', True, 3])
def test_yaml_reads_values_back(value):
    """A number with an exponent and no decimal point would be a text."""
    assert yaml.safe_load(tool.yaml_text(value)) == value
