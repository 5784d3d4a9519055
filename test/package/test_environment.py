# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The set-up of `make`: what it says when something is missing, and how it goes on later."""

import errno
import fcntl
import importlib.util
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from support.paths import ROOT

TOOLS = ROOT / 'tools/environment'


def load(name: str) -> ModuleType:
    """Import a module of tools/environment, which is no installed package."""
    path = TOOLS / f'{name}.py'
    specification = importlib.util.spec_from_file_location(f'environment_{name}', path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope='module')
def tool():
    """The modules of the set-up."""
    sys.path.insert(0, str(TOOLS))
    try:
        yield {
            name: load(name)
            for name in ('__main__', 'condition_wait', 'prerequisites', 'interfaces')
        }
    finally:
        sys.path.remove(str(TOOLS))
        for name in ('console', 'condition_wait', 'prerequisites', 'interfaces'):
            sys.modules.pop(name, None)


def make(target: str, tmp_path: Path, path: str = os.defpath, **variables: str):
    """Run a make target with a bare environment and a virtual environment of its own."""
    return subprocess.run(
        ['make', '--no-print-directory', target, f'VENV={tmp_path / "venv"}'],
        cwd=ROOT,
        text=True,
        env={'PATH': path, 'HOME': str(tmp_path), **variables},
        capture_output=True,
        timeout=60,
    )


def commands(tmp_path: Path, *names: str, **scripts: str) -> str:
    """A PATH that has only these commands of this machine, and these scripts."""
    folder = tmp_path / 'commands'
    folder.mkdir()
    for name in ('sh', 'make', 'dirname', 'cat', *names):
        (folder / name).symlink_to(shutil.which(name))
    for name, text in scripts.items():
        (folder / name).write_text(f'#!/bin/sh\n{text}\n')
        (folder / name).chmod(0o755)
    return str(folder)


@pytest.fixture(autouse=True)
def no_chosen_distribution(monkeypatch):
    """Begin without the ROS of `make test ROS=kilted`."""
    monkeypatch.delenv('ROS', raising=False)


# A script that runs the interpreter under this environment.
PYTHON = f'exec {Path(sys.executable).resolve()} "$@"'

# Elsewhere the set-up stops earlier, with the message that `test_machine_without_wheels` is about.
where_wheels_exist = pytest.mark.skipif(
    platform.machine() != 'x86_64' or sys.version_info >= (3, 14),
    reason='there are no ROS 2 wheels for this machine and Python',
)


# --- what is missing is named, with what installs it ---


@where_wheels_exist
def test_missing_compilers(tmp_path):
    run = make('test', tmp_path, commands(tmp_path, python3=PYTHON))
    assert run.returncode != 0
    assert 'a C++ compiler (c++, g++ or clang++; or name it in CXX)' in run.stderr
    assert 'sudo apt install gcc g++\n' in run.stderr
    assert not (tmp_path / 'venv').exists()


@where_wheels_exist
def test_named_compiler_that_is_not_there(tmp_path):
    path = commands(tmp_path, python3=PYTHON, cc='', gcc='')
    run = make('setup', tmp_path, path, CXX='g++-99 -O2')
    assert 'sudo apt install g++\n' in run.stderr


def test_old_python(tmp_path):
    run = make('demo', tmp_path, commands(tmp_path, python3='[ $1 = -V ] && echo Python 3.8.10'))
    assert run.returncode != 0
    assert 'needs Python 3.10, 3.11, 3.12 or 3.13; found: Python 3.8.10' in run.stderr
    assert 'sudo apt install python3 python3-venv python3-dev' in run.stderr


def test_no_python(tmp_path):
    run = make('demo', tmp_path, commands(tmp_path))
    assert 'found: no python3\n' in run.stderr


def test_named_python_that_is_not_there(tmp_path):
    run = make('demo', tmp_path, commands(tmp_path, python3=PYTHON), PYTHON='python3.12-dbg')
    assert 'found: no python3.12-dbg\n' in run.stderr


def test_python_without_venv_and_headers(tool, monkeypatch):
    """Debian splits both off; everything is named in one message."""
    prerequisites = tool['prerequisites']
    monkeypatch.setattr(prerequisites, 'find_spec', lambda name: None)
    monkeypatch.setattr(prerequisites.sysconfig, 'get_path', lambda name: '/nowhere')
    monkeypatch.setattr(prerequisites, '_require_wheel_platform', lambda: None)
    monkeypatch.setattr(prerequisites.shutil, 'which', lambda command, path=None: command)
    with pytest.raises(Exception, match='venv module') as error:
        prerequisites.require(None)
    version = f'python{sys.version_info[0]}.{sys.version_info[1]}'
    assert f'sudo apt install {version}-venv {version}-dev' in str(error.value)


def test_sourced_ros_without_build_tools(tool, monkeypatch, tmp_path):
    prerequisites = tool['prerequisites']
    (tmp_path / 'share/ament_cmake').mkdir(parents=True)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    monkeypatch.setattr(prerequisites, 'find_spec', lambda name: True)
    monkeypatch.setattr(prerequisites.sysconfig, 'get_path', lambda name: str(tmp_path))
    (tmp_path / 'Python.h').touch()
    monkeypatch.setattr(prerequisites.shutil, 'which', lambda command, path=None: command)
    with pytest.raises(Exception, match='missing') as error:
        prerequisites.require('humble')
    assert 'ros-humble-rosidl-default-generators ros-humble-tf2-msgs' in str(error.value)
    assert 'ament-cmake' not in str(error.value)


def test_sourced_ros_that_does_not_import(tool, monkeypatch, tmp_path):
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    monkeypatch.setenv('ROS_DISTRO', 'lyrical')
    with pytest.raises(Exception, match='cannot import its rclpy') as error:
        tool['prerequisites'].sourced_ros(Path('/bin/false'))
    assert 'sudo apt install ros-lyrical-ros-base' in str(error.value)


@pytest.mark.parametrize(
    ('name', 'attribute', 'value', 'message'),
    [
        ('platform', 'machine', lambda: 'aarch64', 'no ROS 2 wheels for Linux aarch64'),
        (
            'os',
            'confstr',
            lambda name: None,
            'glibc 2.28 or newer, this machine has another C library',
        ),
        ('os', 'confstr', lambda name: 'glibc 2.27', 'this machine has glibc 2.27'),
        ('sys', 'version_info', (3, 14, 0), 'no ROS 2 wheels for Python'),
    ],
)
def test_machine_without_wheels(tool, monkeypatch, name, attribute, value, message):
    prerequisites = tool['prerequisites']
    monkeypatch.setattr(getattr(prerequisites, name), attribute, value)
    with pytest.raises(Exception, match='ROS 2 wheels') as error:
        prerequisites._require_wheel_platform()
    monkeypatch.undo()
    assert message in str(error.value)
    assert 'source its setup.bash' in str(error.value)


def test_foreign_environment_is_left_alone(tmp_path):
    (tmp_path / 'venv').mkdir()
    (tmp_path / 'venv/precious').touch()
    run = make('setup', tmp_path, commands(tmp_path, python3=PYTHON))
    assert run.returncode != 0
    assert 'was not made by this set-up and is left alone' in run.stderr
    assert (tmp_path / 'venv/precious').exists()


@pytest.mark.parametrize('foreign', [True, False])
def test_clean_removes_what_was_made_here(tmp_path, foreign):
    shutil.copy(ROOT / 'Makefile', tmp_path)
    (tmp_path / '.venv' / ('bin' if foreign else 'setup')).mkdir(parents=True)
    for folder in ('results', 'src/__pycache__', 'src/kept'):
        (tmp_path / folder).mkdir(parents=True)
    subprocess.run(
        ['make', 'clean'],
        cwd=tmp_path,
        env={'PATH': os.defpath},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob('*')}
    assert left == {'Makefile', 'src', 'src/kept'} | ({'.venv', '.venv/bin'} if foreign else set())


def test_failing_command_shows_its_last_lines(tool, tmp_path):
    console = tool['__main__'].Console(tmp_path / 'log')
    with pytest.raises(Exception, match='exit status 3') as error:
        console.run(['sh', '-c', 'echo the reason; exit 3'], os.environ)
    assert '    the reason\n' in str(error.value)
    assert str(tmp_path / 'log') in str(error.value)
    with pytest.raises(Exception, match='index cannot be reached'):
        console.run(['sh', '-c', 'echo Retrying after connection broken by; exit 1'], os.environ)


# Waits until another thread, which needs the mutex for it, signals: with the deadline that Fast DDS
# of the wheels was seen to ask for when a process did not end.
WAIT = """
import ctypes, threading
libc = ctypes.CDLL(None)
mutex, condition = (ctypes.create_string_buffer(64) for _ in range(2))
deadline = (ctypes.c_long * 2)(-7427943011, -630671964)

def signal():
    libc.pthread_mutex_lock(mutex)
    libc.pthread_cond_signal(condition)
    libc.pthread_mutex_unlock(mutex)

libc.pthread_mutex_lock(mutex)
threading.Thread(target=signal).start()
print(libc.pthread_cond_timedwait(condition, mutex, deadline))
past = (ctypes.c_long * 2)(1, 0)
print(libc.pthread_cond_timedwait(condition, mutex, past))
libc.pthread_mutex_unlock(mutex)
"""


@where_wheels_exist
def test_a_wait_until_the_end_of_time(tool, tmp_path):
    """It lets others have the mutex; ordinary deadlines are as before; set for each process."""
    module, console = tool['condition_wait'], tool['__main__'].Console(tmp_path / 'log')
    (tmp_path / 'lib').mkdir()
    module.install(tmp_path, tmp_path, os.environ, console)
    program = (
        f'import sys; sys.prefix = {str(tmp_path)!r}; ' + (tmp_path / module.PTH_NAME).read_text()
    )
    program += 'print(os.environ["LD_PRELOAD"])'
    library = str(tmp_path / module.LIBRARY)
    for before, after in (('', library), ('x.so', f'{library}:x.so'), (library, library)):
        assert python(program, before) == [after]
    assert python(WAIT, library) == ['0', str(errno.ETIMEDOUT)]
    # The file that starts Python again with these variables: it must find them set.
    assert module.PTH_NAME < 'ros_wheels_bootstrapper.pth'


def python(program, preloaded):
    """Run a program with a library loaded first; return what it prints."""
    run = subprocess.run(
        [sys.executable, '-S', '-c', program],
        env={**os.environ, 'LD_PRELOAD': preloaded},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return run.stdout.split()


# --- steps, interruptions, concurrency ---


@pytest.fixture
def environment(tool, monkeypatch, tmp_path):
    """Returns new set-ups of a small repository whose steps only write down that they ran."""
    module = tool['__main__']
    root = tmp_path / 'repository'
    for name in ('run', 'develop', 'docs', 'oracles', 'ros-wheels-jazzy', 'ros-wheels-kilted'):
        (root / f'requirements/{name}.txt').parent.mkdir(parents=True, exist_ok=True)
        (root / f'requirements/{name}.txt').touch()
    for name in (
        'setup.py',
        'setup.cfg',
        'package.xml',
        'tools/environment/interfaces.py',
        'tools/environment/type_support.py',
        'screw_dynamics_msgs/srv/Ask.srv',
        'tools/tf2_msgs/msg/TFMessage.msg',
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    monkeypatch.setattr(module, 'ROOT', root)
    monkeypatch.setattr(module, 'STAND_INS', (root / 'tools/tf2_msgs',))
    monkeypatch.delenv('ROS', raising=False)
    monkeypatch.setattr(module, 'require', lambda distribution: None)
    monkeypatch.setattr(module, 'sourced_ros', lambda python: None)

    class Recorded(module.Environment):
        def __init__(self, interrupt: str = '') -> None:
            super().__init__(root / '.venv', 0)
            self.ran: list[str] = []
            self.interrupt = interrupt

        def _record(self, name: str) -> None:
            if name == self.interrupt:
                raise KeyboardInterrupt
            self.ran.append(name)

        def _make(self) -> None:
            self._record('environment')
            (self.venv / 'made').touch()

        def _pip_install(self, *arguments: str) -> None:
            if '-r' in arguments:
                self._pip_runs.touch()
                self._record('+'.join(Path(path).stem for path in arguments if path != '-r'))
                self._pip_runs.unlink()

        def _install_packages(self) -> None:
            self._pip_install(*self._listed('run'))

        def _build_interfaces(self) -> None:
            self._record('interfaces')

        def _install_package(self) -> None:
            self._record('package')

    return Recorded


ALL = ['environment', 'ros-wheels-jazzy+run', 'interfaces', 'package', 'develop+docs+oracles']


def test_second_run_does_nothing(environment):
    first, second, lesser = environment(), environment(), environment()
    assert first.update('all')
    assert first.ran == ALL
    assert not second.update('all')
    assert not lesser.update('run')
    assert second.ran == lesser.ran == []


def test_demo_needs_no_test_tools(environment):
    demo, test = environment(), environment()
    demo.update('run')
    assert demo.ran == ALL[:4]
    test.update('all')
    assert test.ran == ALL[4:]


@pytest.mark.parametrize(
    ('failure', 'passes'),
    [
        ('ERROR: ResolutionImpossible: for help visit', True),
        ('ERROR: No matching distribution found for oracle-b>=2', True),
        ('The disk is full', False),
    ],
)
def test_oracles_that_do_not_fit_a_sourced_ros_are_left_out(
    environment,
    tool,
    monkeypatch,
    capsys,
    failure,
    passes,
):
    """Its NumPy stays; Pinocchio's wheels, for one, want NumPy 2."""
    module = tool['__main__']
    monkeypatch.setattr(module, 'sourced_ros', lambda python: 'humble')
    (module.ROOT / 'requirements/oracles.txt').write_text(
        '# Oracles.\noracle-a>=1   # why\noracle-b>=2\n\noracle-c>=3\n'
    )

    class Unfit(environment):
        def _pip_install(self, *arguments: str) -> None:
            super()._pip_install(*arguments)
            if '-r' not in arguments:
                self._pip_runs.touch()
                if arguments[-1] == 'oracle-b>=2':
                    raise module.SetupError(failure)
                self.ran.append(arguments[-1])
                self._pip_runs.unlink()

    first = Unfit()
    if not passes:
        with pytest.raises(module.SetupError, match='disk is full'):
            first.update('all')
        return
    first.update('all')
    assert first.ran == [
        'environment',
        'run',
        'interfaces',
        'package',
        'develop+docs',
        'oracle-a>=1',
        'oracle-c>=3',
    ]
    assert 'without oracle-b>=2' in capsys.readouterr().err
    assert not Unfit().update('all')


@pytest.mark.parametrize(
    ('changed', 'due'),
    [
        ('requirements/run.txt', ALL[1:]),
        ('requirements/oracles.txt', ['develop+docs+oracles']),
        ('screw_dynamics_msgs/srv/Ask.srv', ['interfaces']),
        ('package.xml', ['package']),
    ],
)
def test_a_change_redoes_what_rests_on_it(environment, tool, changed, due):
    environment().update('all')
    (tool['__main__'].ROOT / changed).write_text('changed')
    again = environment()
    again.update('all')
    assert again.ran == due


@pytest.mark.parametrize('interrupted', ['interfaces', 'package'])
def test_goes_on_where_it_was_interrupted(environment, interrupted):
    with pytest.raises(KeyboardInterrupt):
        environment(interrupted).update('all')
    again = environment()
    again.update('all')
    assert again.ran == ALL[ALL.index(interrupted) :]


@pytest.mark.parametrize(
    'interrupted', ['environment', 'ros-wheels-jazzy+run', 'develop+docs+oracles']
)
def test_half_installed_packages_are_not_trusted(environment, interrupted):
    """pip leaves a package whose files are only partly there, and takes it for installed."""
    first = environment(interrupted)
    with pytest.raises(KeyboardInterrupt):
        first.update('all')
    (first.venv / 'half').mkdir()
    again = environment()
    again.update('all')
    assert again.ran == ALL
    assert not (again.venv / 'half').exists()
    assert not environment().update('all')


def test_wheels_of_another_distribution_start_anew(environment, monkeypatch):
    environment().update('run')
    monkeypatch.setenv('ROS', 'kilted')
    again = environment()
    again.update('run')
    assert again.ran == ['environment', 'ros-wheels-kilted+run', 'interfaces', 'package']


def test_distribution_without_wheels(environment, tool, monkeypatch):
    monkeypatch.setenv('ROS', 'humble')
    with pytest.raises(tool['__main__'].SetupError, match=r'humble.*ROS= takes jazzy, kilted'):
        environment()


def test_wheels_beside_another_sourced_distribution(tool, monkeypatch, tmp_path):
    for name, value in (
        ('AMENT_PREFIX_PATH', str(tmp_path)),
        ('ROS_DISTRO', 'jazzy'),
        ('ROS', 'kilted'),
    ):
        monkeypatch.setenv(name, value)
    with pytest.raises(Exception, match='jazzy is sourced, and ROS=kilted'):
        tool['prerequisites'].sourced_ros(Path(sys.executable))


@pytest.mark.parametrize(
    ('chosen', 'place'), [('', '.venv'), ('jazzy', '.venv'), ('kilted', '.venv-kilted')]
)
def test_environments_of_distributions_lie_side_by_side(chosen, place):
    echoed = subprocess.run(
        ['make', '-f', '-', 'show', f'ROS={chosen}'],
        cwd=ROOT,
        input='include Makefile\nshow:\n\t@echo $(VENV)\n',
        env={'PATH': os.defpath},
        capture_output=True,
        text=True,
        check=True,
    )
    assert echoed.stdout == f'{place}\n'


def test_another_interpreter_starts_anew(environment, monkeypatch):
    environment().update('all')
    monkeypatch.setattr(sys, 'version', 'another')
    again = environment()
    again.update('run')
    assert again.ran == ALL[:4]


@where_wheels_exist
def test_concurrent_run_waits(tmp_path):
    path = commands(tmp_path, python3=PYTHON)
    with open(tmp_path / 'venv.lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with subprocess.Popen(
            ['make', 'setup', f'VENV={tmp_path / "venv"}'],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
            env={'PATH': path, 'HOME': str(tmp_path)},
        ) as run:
            assert 'another set-up' in run.stderr.readline()
            assert run.poll() is None
            fcntl.flock(lock, fcntl.LOCK_UN)
            assert 'missing on this machine' in run.communicate(timeout=60)[1]


# --- interface packages ---


def test_older_interfaces_are_removed(tool, tmp_path):
    """A type that was deleted from the sources must not stay importable."""
    for name in (
        'setup/a_msgs.files',
        'lib/a_msgs/srv/old.py',
        'lib/a_msgs/__pycache__/old.pyc',
        'lib/other.py',
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / 'setup/a_msgs.files').write_text('lib/a_msgs/srv/old.py\nlib/a_msgs/gone.py\n')
    tool['interfaces'].remove('a_msgs', tmp_path)
    assert not (tmp_path / 'lib/a_msgs').exists()
    assert (tmp_path / 'lib/other.py').exists()


# A build that takes no wheels: it notes in `ran` that it ran and writes a type for its stage.
BUILDER = """
import os, pathlib, sys, time
stage = pathlib.Path(sys.argv[1])
(stage / 'lib').mkdir(parents=True)
(stage / 'lib/type.py').write_text('a type')
pathlib.Path(__file__).with_name('ran').open('a').write('x')
{end}
"""


@pytest.fixture
def wheel_build(tool, monkeypatch, tmp_path):
    """Returns new builds of one small package in an environment of the given name."""
    module = tool['interfaces']
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    monkeypatch.setattr(module, 'BUILDER', tmp_path / 'builder.py')
    source = tmp_path / 'a_msgs/msg/A.msg'
    source.parent.mkdir(parents=True)
    source.write_text('bool a')

    def begin(venv: str, end: str = ''):
        place = tmp_path / venv
        if not place.exists():
            (place / 'bin').mkdir(parents=True)
            (place / 'setup').mkdir()
            (place / 'bin/python').symlink_to(sys.executable)
        if not module.BUILDER.exists() or end:
            module.BUILDER.write_text(BUILDER.format(end=end))
        return module.WheelBuild([source.parents[1]], place, os.environ, [])

    return begin


def runs(tmp_path: Path) -> int:
    """How often the builder has run."""
    return len((tmp_path / 'ran').read_text())


def test_a_second_environment_takes_the_types_of_the_first(wheel_build, tmp_path):
    for venv in ('a', 'b'):
        wheel_build(venv).install()
        assert (tmp_path / venv / 'lib/type.py').read_text() == 'a type'
        assert not (tmp_path / venv / 'setup/build').exists()
    assert runs(tmp_path) == 1
    folder = tmp_path / 'cache/screw_dynamics_ros/interfaces'
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    'change',
    [
        lambda path: (path / 'a_msgs/msg/A.msg').write_text('bool b'),
        lambda path: (path / 'builder.py').write_text(BUILDER.format(end='# another')),
        lambda path: next(path.glob('cache/*/*/*/tree/lib/type.py')).unlink(),
        lambda path: (path / 'cache/screw_dynamics_ros/interfaces').chmod(0o777),
        lambda path: (path / 'b/lib/python3.99/site-packages/ros_rcl-2.dist-info').mkdir(
            parents=True
        ),
    ],
    ids=['definition', 'builder', 'damage', 'others can write', 'wheel'],
)
def test_types_that_may_be_wrong_are_built_anew(wheel_build, tmp_path, change):
    wheel_build('a').install()
    wheel_build('b').install()
    change(tmp_path)
    wheel_build('b').install()
    assert runs(tmp_path) == 2
    assert (tmp_path / 'b/lib/type.py').exists()


def test_failed_build_of_types(wheel_build, tool, tmp_path):
    build = wheel_build('a', 'sys.exit("no such type")')
    with pytest.raises(tool['interfaces'].SetupError, match='no such type'):
        build.install()
    assert not (tmp_path / 'a/lib').exists()
    assert not list(tmp_path.glob('cache/*/*/*'))


def test_interrupted_build_of_types_ends(wheel_build, tmp_path):
    build = wheel_build('a', 'time.sleep(60)')
    build.stop()
    assert build._process.returncode == -signal.SIGKILL
    assert not list(tmp_path.glob('cache/*/*/*'))


def test_without_a_place_for_a_cache(wheel_build, tmp_path):
    (tmp_path / 'cache').touch()
    wheel_build('a').install()
    assert (tmp_path / 'a/lib/type.py').exists()


@pytest.mark.parametrize('words', [[], ['VIEW=1', 'DURATION=5'], ['DURATION=']], ids=str)
def test_commands_of_make_are_commands_of_the_shell(words):
    """A comma within a function of make splits its arguments."""
    targets = ['demo', 'test', 'bench', 'tables', 'docs', 'lint', 'setup']
    lines = subprocess.run(
        ['make', '-n', *targets, *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for line in lines.replace('\\\n', ' ').splitlines():
        checked = subprocess.run(['sh', '-n', '-c', line], capture_output=True, text=True)
        assert checked.returncode == 0, line + checked.stderr
    assert ('viser' in lines) == ('VIEW=1' in words)


def test_tutorials_are_run_by_make_docs_alone():
    """CI runs both."""
    lines = {
        target: subprocess.run(
            ['make', '-n', target], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        for target in ('docs', 'test')
    }
    assert re.search(r'TUTORIALS=1 python -m pytest .*test_tutorials', lines['docs'])
    assert 'TUTORIALS' not in lines['test']
    run = (ROOT / '.ci' / 'run').read_text(encoding='utf-8')
    assert run.index('make docs') < run.index('make test')
