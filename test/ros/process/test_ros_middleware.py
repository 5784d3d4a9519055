# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The profiles of Fast DDS: used by nodes, unless the user has others, and to some effect."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

from ament_index_python.packages import PackageNotFoundError
from defusedxml import ElementTree

from screw_dynamics_ros.ros.process import executor
from screw_dynamics_ros.ros.process.executor import PROFILES, use_profiles
from screw_dynamics_ros.share import share_folder


@pytest.fixture(autouse=True)
def no_variables(monkeypatch, tmp_path):
    """Begin without profiles, in a folder without any."""
    for variable, *_ in PROFILES:
        monkeypatch.setenv(variable, '')  # remembers what there was, also if that is nothing
        del os.environ[variable]
    monkeypatch.chdir(tmp_path)


@pytest.fixture(params=range(len(PROFILES)))
def generation(request, monkeypatch):
    """Place in PROFILES of the Fast DDS that is said to be installed."""
    monkeypatch.setattr(executor, 'generation', lambda: request.param)
    return request.param


@pytest.mark.parametrize(
    ('manifest', 'expected'),
    [
        ('<package><build_depend>fastdds</build_depend></package>', 1),
        ('<package><build_depend>fastrtps</build_depend></package>', 0),
        (None, 0),
    ],
)
def test_generation_of_the_middleware(monkeypatch, tmp_path, manifest, expected):
    """That of the manifest; the older one without a manifest, or with another middleware."""

    def absent(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr(executor, 'get_package_share_directory', lambda package: tmp_path)
    if manifest is None:
        assert executor.generation() == expected
        monkeypatch.setattr(executor, 'get_package_share_directory', absent)
    else:
        (tmp_path / 'package.xml').write_text(manifest)
    assert executor.generation() == expected


def test_profiles_are_used(generation):
    """Those of the generation that is installed: the other one complains about the file."""
    use_profiles()
    variable, ours, _ = PROFILES[generation]
    assert os.environ[variable] == str(share_folder() / 'config' / ours)
    assert Path(os.environ[variable]).is_file()
    assert sum(variable in os.environ for variable, *_ in PROFILES) == 1


def test_profiles_of_the_user_stay(monkeypatch, generation):
    """Fast DDS 3 goes on reading the variable of Fast DDS 2."""
    for variable, *_ in PROFILES[: generation + 1]:
        with monkeypatch.context() as context:
            context.setenv(variable, 'own.xml')
            use_profiles()
            assert [os.environ.get(known) for known, *_ in PROFILES if known in os.environ] == [
                'own.xml'
            ]


def test_profiles_in_the_folder_stay(generation):
    """Fast DDS reads a file of this name where it is started."""
    Path(PROFILES[generation][2]).touch()
    use_profiles()
    assert not any(variable in os.environ for variable, *_ in PROFILES)


def test_both_generations_say_the_same():
    """In their own words and namespaces."""
    durations = []
    for _, ours, _ in PROFILES:
        [writer] = ElementTree.parse(share_folder() / 'config' / ours).findall('*/*')
        assert writer.attrib['is_default_profile'] == 'true'
        durations.append([part.text for part in writer.iterfind('*/*/*')])
    assert durations == [['0', '20000000']] * 2


@pytest.mark.parametrize('is_whole', [True, False])
def test_the_middleware_understands_them(is_whole, ros_domain):
    """It says nothing about ours, and complains about half of it."""
    program = (
        'import rclpy\n'
        'from screw_dynamics_ros.ros.process.executor import use_profiles\n'
        'use_profiles()\nrclpy.init()\nrclpy.create_node("read").destroy_node()'
    )
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(ros_domain)}
    environment['PYTHONPATH'] = os.pathsep.join(sys.path)
    if not is_whole:
        use_profiles()
        for variable, *_ in PROFILES:
            if variable in os.environ:
                text = Path(os.environ[variable]).read_text()
                Path('half.xml').write_text(text[: len(text) // 2])
                environment[variable] = str(Path('half.xml').resolve())
    run = subprocess.run(
        [sys.executable, '-c', program], env=environment, capture_output=True, text=True, check=True
    )
    assert ('Error' in run.stdout + run.stderr) != is_whole, run.stdout + run.stderr
