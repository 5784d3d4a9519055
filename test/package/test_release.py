# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a release needs: a workspace with both packages, what bloom evaluates, the changelogs."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from screw_dynamics_ros.registry import EXECUTABLES
from support.paths import ROOT
from support.working_tree import copy_tracked

PAGES = ROOT / 'README.md', ROOT / 'doc/start/installation.md'
REMEDY = ROOT / 'screw_dynamics_ros/ros/services.py'  # of nodes without the messages
MESSAGES, PACKAGE = 'screw_dynamics_msgs', 'screw_dynamics_ros'
DISTRIBUTIONS = ('humble', 'jazzy', 'kilted', 'lyrical', 'rolling')


def run(*command, folder, **more):
    """Return what a command prints."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={name: os.environ[name] for name in os.environ if name != 'PYTHONPATH'} | more,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope='module')
def workspace(tmp_path_factory):
    """A workspace with this clone."""
    place = tmp_path_factory.mktemp('workspace')
    source = copy_tracked(place / 'src' / PACKAGE)
    git = ('git', '-c', 'user.name=test', '-c', 'user.email=test@localhost')
    run(*git, 'init', '-q', folder=source)
    run(*git, 'add', '--all', folder=source)
    run(*git, 'commit', '-q', '-m', 'all', folder=source)
    return place


def tool(name):
    """Return the path of a program beside this Python, or in PATH; skip the test without it."""
    places = f'{Path(sys.executable).parent}{os.pathsep}{os.environ["PATH"]}'
    found = shutil.which(name, path=places)
    if found is None:
        pytest.skip(f'{name} is not installed')
    return found


def colcon(verb, *arguments, workspace):
    """Return what colcon prints, with the options of the pages."""
    options = ('--base-paths', *printed_paths('colcon build --base-paths'))
    logs = {'COLCON_LOG_PATH': str(workspace / 'log')}
    return run(tool('colcon'), verb, *options, *arguments, folder=workspace, **logs)


def printed_paths(command):
    """Return the paths that follow a command, which are the same wherever it is printed."""
    (paths,) = {
        tuple(match.split())
        for file in (*PAGES, REMEDY)
        for match in re.findall(rf'{command}((?: [\w/]+)+)', file.read_text(encoding='utf-8'))
    }
    return paths


def test_pages_print_one_set_of_paths():
    paths = printed_paths('colcon build --base-paths')
    assert paths == printed_paths('rosdep install --ignore-src --from-paths')
    for page in PAGES:
        text = page.read_text(encoding='utf-8')
        assert not re.search('(?m)^ *(vcs|ln) ', text)
        for command in re.findall('(?m)^ *((?:colcon build|rosdep install).*)', text):
            assert ' '.join(paths) in command


def test_the_messages_are_a_package_of_their_own(workspace):
    names = {path.name for path in (workspace / 'src' / PACKAGE / MESSAGES).iterdir()}
    assert names >= {'CHANGELOG.rst', 'CMakeLists.txt', 'LICENSE', 'README.md', 'package.xml'}
    assert (ROOT / MESSAGES / 'LICENSE').read_text() == (ROOT / 'LICENSE').read_text()


def test_colcon_finds_both(workspace):
    found = colcon('list', '--names-only', workspace=workspace)
    assert found.split() == [MESSAGES, PACKAGE]


def test_rosdep_finds_the_dependencies_of_both(workspace):
    """With an index and rules of its own, because rosdep fetches those of ROS."""
    (workspace / 'sources').mkdir()
    (workspace / 'sources/own.list').write_text(f'yaml {(workspace / "own.yaml").as_uri()}\n')
    (workspace / 'own.yaml').write_text('ament_cmake: {debian: [a]}\n')
    (workspace / 'index.yaml').write_text('{type: index, version: 4, distributions: {}}\n')
    environment = {
        'ROSDEP_SOURCE_PATH': str(workspace / 'sources'),
        'ROS_HOME': str(workspace / 'home'),
        'ROSDISTRO_INDEX_URL': (workspace / 'index.yaml').as_uri(),
        'ROS_DISTRO': 'jazzy',
        'ROS_PYTHON_VERSION': '3',
        'AMENT_PREFIX_PATH': str(workspace / 'home'),
    }
    run(tool('rosdep'), 'update', folder=workspace, **environment)
    options = ('--ignore-src', '--from-paths')
    paths = printed_paths(f'rosdep install {" ".join(options)}')
    keys = run(tool('rosdep'), 'keys', *options, *paths, folder=workspace, **environment).split()
    assert {'python3-numpy', 'rclpy', 'ament_cmake', 'rosidl_default_generators'} <= set(keys)
    assert not {MESSAGES, PACKAGE} & set(keys)


@pytest.mark.parametrize('linked', [False, True], ids=['copied', 'linked'])
def test_colcon_builds_what_ros2_run_and_python_find(workspace, linked):
    base = workspace / ('linked' if linked else 'copied')
    bases = ['--build-base', base / 'build', '--install-base', base / 'install']
    link = ['--symlink-install'] if linked else []
    colcon('build', *bases, *link, '--packages-select', PACKAGE, workspace=workspace)
    prefix = base / 'install' / PACKAGE
    assert {path.name for path in (prefix / 'lib' / PACKAGE).iterdir()} == set(EXECUTABLES)
    assert (prefix / 'share/ament_index/resource_index/packages' / PACKAGE).is_file()
    modules = base / 'build' / PACKAGE if linked else next(prefix.glob('lib/*/site-packages'))
    code = f'from {PACKAGE}.core import bundled_urdf as f; print(f("panda"))'
    found = run(sys.executable, '-c', code, folder=workspace, PYTHONPATH=str(modules))
    files = workspace / 'src' / PACKAGE if linked else prefix / 'share' / PACKAGE
    assert Path(found.strip()) == files / 'urdf/panda.urdf'


def test_colcon_builds_the_messages(workspace):
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    if not any(Path(each, 'share/ament_cmake').is_dir() for each in prefixes if each):
        pytest.skip('ament_cmake is not here; it is in no Python wheel')
    colcon('build', '--packages-select', MESSAGES, workspace=workspace)
    assert (workspace / 'install' / MESSAGES / 'share' / MESSAGES / 'srv/Jacobian.srv').is_file()


@pytest.mark.parametrize('distribution', DISTRIBUTIONS)
def test_bloom_releases_one_package_with_all_dependencies(tmp_path, workspace, distribution):
    """With an index of its own, because bloom fetches that of ROS when it is imported."""
    pytest.importorskip('rosdistro')
    row = {
        'distribution': ['none.yaml'],
        'distribution_status': 'active',
        'distribution_type': 'ros2',
        'python_version': 3,
    }
    index = {'type': 'index', 'version': 4, 'distributions': {distribution: row}}
    (tmp_path / 'index.yaml').write_text(f'%YAML 1.1\n---\n{yaml.safe_dump(index)}')
    code = f"""if True:
        from bloom.generators.common import package_conditional_context
        from bloom.packages import get_package_data
        names, version, packages = get_package_data()
        (package,) = packages.values()
        package.evaluate_conditions(package_conditional_context({distribution!r}))
        print(names, version, [each.name for each in package.exec_depends
                               if not each.evaluated_condition])
        print('python3-numba' in [each.name for each in package.exec_depends])
    """
    index_url = (tmp_path / 'index.yaml').as_uri()
    source = workspace / 'src' / PACKAGE
    lines = run(sys.executable, '-c', code, folder=source, ROSDISTRO_INDEX_URL=index_url)
    assert lines.split('\n')[-3:-1] == [f"['{PACKAGE}'] 0.1.0 []", 'True']


@pytest.mark.parametrize('folder', ['.', MESSAGES])
def test_manifests_are_valid_for_a_release(folder):
    catkin_pkg = pytest.importorskip('catkin_pkg.package')
    warnings: list[str] = []
    package = catkin_pkg.parse_package(str(ROOT / folder), warnings=warnings)
    package.validate(warnings=warnings)
    assert warnings == []
    assert {url.type for url in package.urls} == {'website', 'repository', 'bugtracker'}


@pytest.mark.filterwarnings('ignore:nodes.Node.traverse:DeprecationWarning')  # of catkin_pkg
@pytest.mark.parametrize('folder', ['.', MESSAGES])
def test_changelogs_have_the_version(folder):
    changelog = pytest.importorskip('catkin_pkg.changelog')
    package = pytest.importorskip('catkin_pkg.package').parse_package(str(ROOT / folder))
    log = changelog.get_changelog_from_path(str(ROOT / folder), package.name)
    released = [version for version, date, _ in log.foreach_version() if date is not None]
    assert released[0] == package.version
    assert log.get_content_of_version(package.version)


def test_ci_builds_each_distribution_and_a_wheel_for_each_python():
    jobs = yaml.safe_load((ROOT / '.github/workflows/ci.yml').read_text())['jobs']
    assert jobs['ros']['strategy']['matrix']['distribution'] == list(DISTRIBUTIONS)
    classifiers = (ROOT / 'setup.py').read_text()
    assert 'range(10, 14)' in classifiers
    assert jobs['wheel']['strategy']['matrix']['python'] == [f'3.{n}' for n in range(10, 14)]
    for job in jobs.values():
        files = [word for step in job['steps'] for word in step.get('run', '').split()]
        assert all((ROOT / word).exists() for word in files if word.startswith(('test/', '.ci/')))


def test_the_citation_has_the_version():
    citation = yaml.safe_load((ROOT / 'CITATION.cff').read_text())
    (version,) = re.findall('<version>(.*)</version>', (ROOT / 'package.xml').read_text())
    assert citation['version'] == version
    assert f'\n{version} ({citation["date-released"]})\n' in (ROOT / 'CHANGELOG.rst').read_text()


def test_conda_packages_are_those_of_the_manifest():
    """Each dependency on ROS has its conda package, or is a part of ros-base."""
    tomllib = pytest.importorskip('tomllib', reason='Python 3.10 has no tomllib')
    project = tomllib.loads((ROOT / 'pixi.toml').read_text())
    assert {'build', 'demo', 'test'} <= set(project['tasks'])
    names = re.findall(
        '<exec_depend>([a-z0-9_]+)</exec_depend>', (ROOT / 'package.xml').read_text()
    )
    in_base = re.compile(
        'ament_index_python|(builtin|rcl)_interfaces|launch|launch_ros|rclpy'
        '|(diagnostic|geometry|rosgraph|sensor|std)_(msgs|srvs)'
    )
    conda = {f'ros-jazzy-{name.replace("_", "-")}' for name in names if not in_base.fullmatch(name)}
    assert conda <= set(project['dependencies'])


@pytest.mark.parametrize('file', ['Dockerfile', '.devcontainer/devcontainer.json'])
def test_containers_are_built_as_workspaces_are(file):
    """By the commands of README.md, with `-y`, since nobody answers."""
    text = ' '.join((ROOT / file).read_text().replace('\\\n', ' ').split())
    commands = re.findall(r'^(?:rosdep install|colcon build) (.+)$', PAGES[0].read_text(), re.M)
    assert len(commands) == 2
    for arguments in commands:
        assert arguments in text
    if file.endswith('.json'):
        json.loads(text)


def test_issue_forms_are_valid():
    """Each has a title and questions with an identifier."""
    forms = [*(ROOT / '.github/ISSUE_TEMPLATE').glob('*.yml')]
    for path in forms:
        form = yaml.safe_load(path.read_text())
        if path.stem != 'config':
            assert {'name', 'description'} <= form.keys()
            assert all('label' in each['attributes'] and 'id' in each for each in form['body'])
    assert len(forms) == 3
