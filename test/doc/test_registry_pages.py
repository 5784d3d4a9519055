"""Generated files are what the registry and the declarations say."""

import importlib.util
import re

import pytest

pytest.importorskip('rclpy')

import yaml

from support.paths import CONFIG, ROOT

PAGE = ROOT / 'doc/parameters.md'


@pytest.fixture(scope='module')
def tool():
    specification = importlib.util.spec_from_file_location(
        'registry_pages', ROOT / 'tools/registry_pages.py'
    )
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_files_are_what_the_registry_says(tool):
    for path, text in tool.pages().items():
        assert path.read_text() == text, f'{path}: run python tools/registry_pages.py'


def test_check_finds_a_stale_file(tool, monkeypatch, capsys):
    monkeypatch.setitem(tool.EXECUTABLES, 'commands', lambda: '')
    monkeypatch.setattr('sys.argv', ['registry_pages', '--check'])
    assert tool.main() == 1
    assert 'doc/nodes.md is not what the registry says' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('heading', 'file', 'section'),
    [
        ('Shared', 'model', '/**'),
        ('bringup', 'model', '/**/bringup'),
        ('kinematics', 'model', '/**/kinematics'),
        ('dynamics', 'model', '/**/dynamics'),
        ('wrench_estimator', 'model', '/**/wrench_estimator'),
        ('trajectory_proxy', 'model', '/**/trajectory_proxy'),
        ('simulator', 'simulator', '/**/simulator'),
        ('mechanism_simulator', 'mechanism_simulator', '/**/mechanism_simulator'),
        ('odometry', 'odometry', '/**/odometry'),
        ('parallel_robot', 'parallel_robot', '/**/parallel_robot'),
    ],
)
def test_page_has_the_parameters_of_each_node(heading, file, section):
    """Those of the files in config/, which are compared with running nodes."""
    (text,) = re.findall(rf'^## {heading}$(.*?)(?=^## |\Z)', PAGE.read_text(), re.M | re.S)
    named = re.findall(r'^\| `([^`]+)`', text, re.M)
    sections = yaml.safe_load((CONFIG / f'{file}.yaml').read_text())
    assert sorted(named) == sorted(sections[section]['ros__parameters'])
