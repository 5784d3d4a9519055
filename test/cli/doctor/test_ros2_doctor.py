# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The plugin of `ros2 doctor`, with classes that have the interface of its own."""

import sys
from importlib import import_module
from types import ModuleType

import pytest

from screw_dynamics_ros.core.compile.llvm import native
from screw_dynamics_ros.core.errors import BackendError
from support.paths import ROOT


class Result:
    """Counts errors and warnings, which the real one prints."""

    def __init__(self):
        self.errors, self.warnings = [], []
        self.add_error, self.add_warning = self.errors.append, self.warnings.append


class Report:
    """A name, and items."""

    def __init__(self, name):
        self.name, self.items = name, []

    def add_to_report(self, name, value):
        self.items.append((name, value))


@pytest.fixture
def plugin(monkeypatch):
    api = ModuleType('ros2doctor.api')
    api.DoctorCheck = api.DoctorReport = object
    api.Result, api.Report = Result, Report
    monkeypatch.setitem(sys.modules, 'ros2doctor', ModuleType('ros2doctor'))
    monkeypatch.setitem(sys.modules, 'ros2doctor.api', api)
    name = 'screw_dynamics_ros.cli.doctor.ros2_doctor'
    monkeypatch.delitem(sys.modules, name, raising=False)
    return import_module(name)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv('SCREW_DYNAMICS_CACHE', str(tmp_path))
    tmp_path.chmod(0o700)
    return tmp_path


def test_nothing_is_missing(plugin, folder):
    pytest.importorskip('screw_dynamics_msgs')
    result = plugin.PackageCheck().check()
    assert result.errors == result.warnings == []


def test_what_is_missing(plugin, folder, monkeypatch):
    def missing():
        raise BackendError('needs llvmlite')

    monkeypatch.setattr(native, 'llvm', missing)
    monkeypatch.setattr(native, 'host', missing)
    monkeypatch.setattr(plugin, 'find_spec', lambda name: None)
    folder.chmod(0o777)
    warnings = plugin.PackageCheck().check().warnings
    for text in ('needs llvmlite', 'each process compiles again', 'no package screw_dynamics_msgs'):
        assert sum(text in each for each in warnings) == 1
    assert all(each.startswith(plugin.PackageCheck().category()) for each in warnings)
    assert dict(plugin.PackageReport().report().items)['machine code'] == 'none'


def test_report(plugin, folder):
    items = dict(plugin.PackageReport().report().items)
    assert items['cache'] == str(folder)
    assert items['version'][0].isdigit()


def test_entry_points(plugin):
    """Those of setup.py name the two classes."""
    text = (ROOT / 'setup.py').read_text()
    for name in ('PackageCheck', 'PackageReport'):
        assert f'{{package_name}}.cli.doctor.ros2_doctor:{name}' in text
        assert hasattr(plugin, name)
    assert text.count('ros2doctor.') == 2
