# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Makes the virtual environment of this repository, or brings it up to date.

    python tools/environment VENV [run | all]

`run` is what the nodes and the demo need, `all` adds what tests, checks and benchmarks need. ROS 2
comes from the sourced installation when there is one, else from Python wheels.

Each step leaves a stamp with a hash of what it was made from, written last: a step whose stamp is
current is skipped, so a second run ends at once and an interrupted one goes on. A pip command that
was interrupted may have left half a package behind, which pip would take for installed; the
environment is then made again.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import condition_wait
import interfaces
from console import Console, SetupError
from prerequisites import chosen_wheels, require, sourced_ros

ROOT = Path(__file__).resolve().parents[2]
# Interface packages without wheels.
STAND_INS = tuple(
    ROOT / 'tools' / name for name in ('tf2_msgs', 'control_msgs', 'pal_statistics_msgs')
)
SHARED_FOLDERS = ('launch', 'config', 'urdf', 'rviz')

# Runs at every start of the environment's Python: ROS 2 wheels do not tell where they are.
WHEELS_PTH = "import os, sys; os.environ.setdefault('AMENT_PREFIX_PATH', sys.prefix)\n"

# Fails with the missing name in the log when the environment cannot run the nodes. Python compiles
# here what it imports, once, instead of in each process of the demo.
CHECK = (
    'import rclpy, numpy, scipy, tf2_msgs.msg, control_msgs.action, screw_dynamics_msgs.srv; '
    'from screw_dynamics_ros.nodes import bringup, executables; '
    'from screw_dynamics_ros.cli.demo import client, command; '
    'rclpy.init(); rclpy.create_node("setup_check").destroy_node(); rclpy.shutdown()'
)

ACTIVATE_WHEELS = """
# A ROS 2 of another place must not be mixed with the wheels.
if [ -n "${AMENT_PREFIX_PATH:-}" ] && [ "$AMENT_PREFIX_PATH" != "$VIRTUAL_ENV" ]; then
    unset PYTHONPATH LD_LIBRARY_PATH CMAKE_PREFIX_PATH RMW_IMPLEMENTATION ROS_DISTRO
fi
unset _ROS_WHEELS_BOOTSTRAP_COMPLETE
export AMENT_PREFIX_PATH="$VIRTUAL_ENV"
"""
ACTIVATE_ROS = """
# The message types built into this environment, before those of the sourced ROS 2.
case ":${AMENT_PREFIX_PATH:-}:" in
*":$VIRTUAL_ENV:"*) ;;
*)
    export AMENT_PREFIX_PATH="$VIRTUAL_ENV${AMENT_PREFIX_PATH:+:$AMENT_PREFIX_PATH}"
    export LD_LIBRARY_PATH="$VIRTUAL_ENV/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    export PYTHONPATH="$VIRTUAL_ENV/SITE_PACKAGES${PYTHONPATH:+:$PYTHONPATH}"
    ;;
esac
"""


class Environment:
    """The virtual environment at `venv`, its stamps and the steps that make it."""

    def __init__(self, venv: Path, lock: int) -> None:
        self.venv = venv
        self.state = venv / 'setup'
        self.python = venv / 'bin/python'
        # What the interpreter's link leads to: inside the environment that is its base Python.
        self.base = Path(sys.executable).resolve()
        self.console = Console(self.state / 'log', [lock])
        self.distribution = sourced_ros(self.base)
        self.wheels = None if self.distribution else chosen_wheels(ROOT / 'requirements')
        self._lock = lock
        self._build: interfaces.WheelBuild | None = None
        self._pip_runs = self.state / 'pip-runs'
        self.site_packages = (
            venv / f'lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages'
        )

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables for commands that run inside the virtual environment."""
        foreign = {'_ROS_WHEELS_BOOTSTRAP_COMPLETE', 'PYTHONHOME'}
        if self.distribution is None:
            foreign |= {
                'PYTHONPATH',
                'AMENT_PREFIX_PATH',
                'CMAKE_PREFIX_PATH',
                'RMW_IMPLEMENTATION',
            }
        variables = {key: value for key, value in os.environ.items() if key not in foreign}
        variables |= {
            'PATH': f'{self.venv}/bin{os.pathsep}{os.environ.get("PATH", os.defpath)}',
            'VIRTUAL_ENV': str(self.venv),
            'PIP_USER': '0',
            'PYTHONNOUSERSITE': '1',
            'PIP_DISABLE_PIP_VERSION_CHECK': '1',
            'PYTHONUNBUFFERED': '1',
        }
        return variables

    def update(self, wanted: str) -> bool:
        """Do the steps that are due; tell whether there were any."""
        activate = ACTIVATE_ROS if self.distribution else ACTIVATE_WHEELS
        environment = _digest(
            f'{self.base} {sys.version} {self.distribution} {self.wheels} {self.venv} {ROOT}',
            activate,
            WHEELS_PTH,
        )
        packages = _digest(environment, *self._requirements('run'))
        steps = [
            ('environment', self._make, environment),
            ('packages', self._install_packages, packages),
            (
                'interfaces',
                self._build_interfaces,
                _digest(
                    packages,
                    *_files(ROOT / 'screw_dynamics_msgs'),
                    *(file for folder in STAND_INS for file in _files(folder)),
                    ROOT / 'tools/environment/interfaces.py',
                    ROOT / 'tools/environment/type_support.py',
                    condition_wait.PTH,
                    condition_wait.SOURCE,
                ),
            ),
            (
                'package',
                self._install_package,
                _digest(
                    packages, *(ROOT / name for name in ('setup.py', 'setup.cfg', 'package.xml'))
                ),
            ),
        ]
        if wanted == 'all':
            steps.append(
                ('develop', self._install_develop, _digest(packages, *self._requirements('all')))
            )

        is_rebuilt = self._stamp('environment') != environment or self._pip_runs.exists()
        due = steps if is_rebuilt else [step for step in steps if self._stamp(step[0]) != step[2]]
        if not due:
            return False
        if self.venv.exists() and not self.state.exists():
            raise SetupError(
                f'{self.venv} was not made by this set-up and is left alone.\n'
                'Move it away, or name another place: make VENV=.venv-ros ...'
            )
        require(self.distribution)
        if is_rebuilt:
            self._clear()
        try:
            for name, step, key in due:
                (self.state / f'{name}.stamp').unlink(missing_ok=True)
                step()
                partial = self.state / 'partial'
                partial.write_text(key)
                partial.replace(self.state / f'{name}.stamp')
        finally:
            if self._build is not None:
                self._build.stop()
        return True

    def _clear(self) -> None:
        """Remove all but the state folder, which marks the environment as this set-up's."""
        self.state.mkdir(parents=True, exist_ok=True)
        for path in [*self.state.iterdir(), *self.venv.iterdir()]:
            if path == self.state:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()

    def _make(self) -> None:
        site = ['--system-site-packages'] if self.distribution else []
        with self.console.step(f'virtual environment {self.venv.name} of {self.base}', 4):
            self.console.run([self.base, '-m', 'venv', *site, self.venv], self.variables)
            (self.venv / 'COLCON_IGNORE').touch()
            with (self.venv / 'bin/activate').open('a') as activate:
                activate.write(
                    ACTIVATE_ROS.replace(
                        'SITE_PACKAGES', str(self.site_packages.relative_to(self.venv))
                    )
                    if self.distribution
                    else ACTIVATE_WHEELS
                )
            if not self.distribution:
                (self.site_packages / 'screw_dynamics_ros_wheels.pth').write_text(WHEELS_PTH)

    def _install_packages(self) -> None:
        if self.distribution:
            with self.console.step(f'Python packages beside ROS 2 {self.distribution}', 30):
                self._pip_install(*self._listed('run'))
            return
        wheels, run = self._requirements('run')
        with self.console.step(f'ROS 2 {self.wheels} from Python wheels', 15):
            # Older ones take minutes to find versions that fit together.
            self._pip_install('--upgrade', 'pip>=24,<27')
            self._pip_install('-r', str(wheels))
        self._start_build()
        with self.console.step('Python packages, message types beside them', 25):
            self._pip_install('-r', str(run))

    def _start_build(self) -> None:
        """Begin to build the message types for wheels."""
        interfaces.remove('interfaces', self.venv)
        absent = [
            folder
            for folder in STAND_INS
            if not (self.venv / 'share/ament_index/resource_index/packages' / folder.name).exists()
        ]
        self._build = interfaces.WheelBuild(
            [*absent, ROOT / 'screw_dynamics_msgs'], self.venv, self.variables, [self._lock]
        )

    def _build_interfaces(self) -> None:
        if self.distribution:
            prefixes = f'{self.venv}{os.pathsep}{os.environ["AMENT_PREFIX_PATH"]}'
            with self.console.step('screw_dynamics_msgs', 60):
                interfaces.build(
                    ROOT / 'screw_dynamics_msgs', self.venv, prefixes, self.variables, self.console
                )
            return
        if self._build is None:
            self._start_build()
        assert self._build is not None
        kept = self._build.found
        with self.console.step(
            f'message types{", built before" if kept else ""}', 0 if kept else 15
        ):
            condition_wait.install(self.venv, self.site_packages, self.variables, self.console)
            self._build.install()

    def _install_package(self) -> None:
        """Install this package such that edits of its sources count at once."""
        with self.console.step('screw_dynamics_ros (editable)', 8):
            for path in self.site_packages.glob('*screw_dynamics_ros[-_][0-9]*'):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            self.console.run(
                [
                    self.python,
                    '-m',
                    'pip',
                    'install',
                    '--no-deps',
                    '--no-build-isolation',
                    '--editable',
                    ROOT,
                ],
                self.variables,
            )
            share = self.venv / 'share'
            links = {
                share / 'ament_index/resource_index/packages/screw_dynamics_ros': ROOT
                / 'resource/screw_dynamics_ros'
            }
            for name in ('package.xml', *SHARED_FOLDERS):
                links[share / 'screw_dynamics_ros' / name] = ROOT / name
            for link, target in links.items():
                link.parent.mkdir(parents=True, exist_ok=True)
                link.unlink(missing_ok=True)
                link.symlink_to(target)
            self.console.run([self.python, '-c', CHECK], self.variables)

    def _install_develop(self) -> None:
        with self.console.step('test tools and independent implementations to compare with', 45):
            if self.distribution is None:
                self._pip_install(*self._listed('all'))
                return
            *develop, oracles = self._requirements('all')
            self._pip_install(*(word for path in develop for word in ('-r', str(path))))
            for line in oracles.read_text().splitlines():
                if requirement := line.partition('#')[0].strip():
                    self._install_oracle(requirement)

    def _install_oracle(self, requirement: str) -> None:
        """Install one that runs with the NumPy of the sourced ROS 2, or go on without it."""
        try:
            self._pip_install('--only-binary', ':all:', requirement)
        except SetupError as error:
            if not re.search('ResolutionImpossible|No matching distribution', str(error)):
                raise
            self._pip_runs.unlink()
            self.console.say(
                f'       without {requirement}: no version of it runs with the Python '
                f'and NumPy of ROS 2 {self.distribution}'
            )

    def _pip_install(self, *arguments: str) -> None:
        if self.distribution and (numpy := self._imports('numpy', 'numpy.__version__')):
            # The message types of a sourced ROS 2 are compiled against its NumPy.
            constraint = self.state / 'constraint.txt'
            constraint.write_text(f'numpy=={numpy}\n')
            arguments = ('-c', str(constraint), *arguments)
        self._pip_runs.touch()
        self.console.run(
            # Python compiles what is imported; all of it would take longer than the download.
            [
                self.python,
                '-m',
                'pip',
                'install',
                '--no-compile',
                '--progress-bar',
                'off',
                *arguments,
            ],
            self.variables,
        )
        self._pip_runs.unlink()

    def _listed(self, wanted: str) -> list[str]:
        return [word for path in self._requirements(wanted) for word in ('-r', str(path))]

    def _requirements(self, wanted: str) -> list[Path]:
        names = {'run': ['run'], 'all': ['develop', 'docs', 'oracles']}[wanted]
        if wanted == 'run' and self.wheels:
            names.insert(0, f'ros-wheels-{self.wheels}')
        return [ROOT / 'requirements' / f'{name}.txt' for name in names]

    def _imports(self, module: str, value: str = 'True') -> str:
        """Value of an expression after importing a module in the environment; '' on failure."""
        return subprocess.run(
            [self.python, '-c', f'import {module}; print({value})'],
            env=self.variables,
            capture_output=True,
            text=True,
        ).stdout.strip()

    def _stamp(self, name: str) -> str | None:
        path = self.state / f'{name}.stamp'
        return path.read_text() if path.exists() else None


def _digest(*parts: str | Path) -> str:
    """Hash of strings, and of names and contents of files."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f'{part}\0'.encode())
        digest.update(part.read_bytes() if isinstance(part, Path) else b'')
    return digest.hexdigest()


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob('*') if path.is_file())


def main(venv: str, wanted: str = 'all') -> int:
    """Update the environment under a lock; return the exit status."""
    place = Path(os.path.abspath(venv))
    try:
        with open(f'{place}.lock', 'w') as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print(
                    f'setup: another set-up of {place} is at work; waiting for it',
                    file=sys.stderr,
                    flush=True,
                )
                fcntl.flock(lock, fcntl.LOCK_EX)
            Environment(place, lock.fileno()).update(wanted)
    except SetupError as error:
        print(f'setup: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('\nsetup: interrupted; the same command goes on from here', file=sys.stderr)
        return 130
    return 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
