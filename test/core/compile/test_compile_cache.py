# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The cache of compiled programs on disk, and what happens without a compiler."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.compile import cache as disk
from screw_dynamics_ros.core.compile import sources
from screw_dynamics_ros.core.compile.kernels import KernelSpecification
from screw_dynamics_ros.core.compile.llvm import native
from screw_dynamics_ros.core.compile.typed import library
from screw_dynamics_ros.core.compile.typed.functions import declaration_of
from screw_dynamics_ros.core.motion.trajectory import joint_path
from screw_dynamics_ros.core.state_clock import StateClock, advance_clock
from support.compilation import ROOT, close, needs_llvmlite, run_python
from support.models import random_description


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    path = tmp_path / 'cache'
    monkeypatch.setenv('SCREW_DYNAMICS_CACHE', str(path))
    return path


def torques() -> np.ndarray:
    robot = Robot(random_description(0, 3), backend='native')
    return robot.gravity_torques([0.1, 0.2, 0.3])


def kinds(folder: Path) -> list[str]:
    """Return the kinds of files, without those of entry points and of the processor."""
    others = '.typed', '.host'
    return sorted(path.suffix for path in folder.iterdir() if path.suffix not in others)


def nothing_is_recorded(monkeypatch) -> None:
    def fail(self) -> None:
        raise AssertionError('compiled again')

    monkeypatch.setattr(KernelSpecification, 'record', fail)


USE_THE_CACHE = """
    import numpy as np
    from support.models import random_description
    from screw_dynamics_ros.core import Robot
    from screw_dynamics_ros.core.compile.kernels import KernelSpecification
    made = []
    record = KernelSpecification.record
    KernelSpecification.record = lambda self: made.append(self) or record(self)
    robot = Robot(random_description(0, 3), backend='native')
    print(len(made), robot.gravity_torques([0.1, 0.2, 0.3]).tolist(), len(made))
"""


@needs_llvmlite
def test_what_was_compiled_once_is_loaded(folder, monkeypatch):
    expected = torques()
    files = sorted(folder.iterdir())
    assert kinds(folder) == ['.name', '.program']
    nothing_is_recorded(monkeypatch)
    np.testing.assert_array_equal(torques(), expected)
    assert sorted(folder.iterdir()) == files


@needs_llvmlite
def test_another_process_loads_it_too(folder):
    first, second = run_python(USE_THE_CACHE).strip(), run_python(USE_THE_CACHE).strip()
    assert (first[0], first[-1]) == ('0', '1')
    assert (second[0], second[-1]) == ('0', '0')
    assert first[:-1] == second[:-1]
    np.testing.assert_allclose(np.array(first[3:-3].split(','), dtype=float), torques(), rtol=1e-15)


@needs_llvmlite
def test_processes_that_compile_at_once(folder):
    """Each finds nothing or a whole file, never half of one; no temporary file stays."""
    command = [sys.executable, '-c', textwrap.dedent(USE_THE_CACHE)]
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join([str(ROOT), str(ROOT / 'test')])}
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT)
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=600)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert len({output[:-2] for output in outputs}) == 1
    assert kinds(folder) == ['.name', '.program']


@needs_llvmlite
@pytest.mark.parametrize(
    'damage',
    [
        lambda data: b'',
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: data[:120] + bytes([data[120] ^ 1]) + data[121:],
        lambda data: b'\0' * len(data),
        lambda data: data + b'x',
        lambda data: b'not a cache file',
    ],
    ids=['empty', 'half', 'one byte less', 'one bit', 'zeros', 'one byte more', 'other'],
)
@pytest.mark.parametrize('kind', ['name', 'program'])
def test_a_damaged_file_is_replaced(folder, kind, damage, monkeypatch):
    expected = torques()
    (file,) = folder.glob(f'*.{kind}')
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    np.testing.assert_array_equal(torques(), expected)
    assert len(file.read_bytes()) == len(whole)
    nothing_is_recorded(monkeypatch)
    np.testing.assert_array_equal(torques(), expected)


def with_metadata(file: Path, metadata: object) -> None:
    """Write other metadata into a file of the cache, with a checksum that is right."""
    _, _, code = file.read_bytes().split(b'\n', 2)
    header = metadata if isinstance(metadata, bytes) else json.dumps(metadata).encode()
    file.write_bytes(b'\n'.join([disk.checksum(file.name, header, code), header, code]))


@needs_llvmlite
@pytest.mark.parametrize(
    ('kind', 'metadata'),
    [
        *(
            ('name', metadata)
            for metadata in (
                [], {}, None, 'program', {'program': 3}, {'program': None}, b'no JSON',
                {'program': '../../somewhere.program'}, {'program': '/dev/zero'},
                {'program': 'a' * 64 + '.name'},
            )
        ),
        *(
            ('program', metadata)
            for metadata in (
                {}, 3, {'program': 3}, b'[' * 100_000, b'\xff', {'shapes': 3, 'operations': 1},
                {'shapes': [3], 'operations': 1}, {'shapes': [['3']], 'operations': 1},
                {'shapes': [[-3]], 'operations': 1}, {'shapes': [[True]], 'operations': 1},
                {'shapes': [[3]]}, {'shapes': [[3]], 'operations': 1.5},
            )
        ),
    ],
    ids=repr,
)  # fmt: skip
def test_unexpected_metadata_are_compiled_anew(folder, kind, metadata, monkeypatch):
    expected = torques()
    (file,) = folder.glob(f'*.{kind}')
    whole = file.read_bytes()
    with_metadata(file, metadata)
    np.testing.assert_array_equal(torques(), expected)
    assert file.read_bytes() == whole
    nothing_is_recorded(monkeypatch)
    np.testing.assert_array_equal(torques(), expected)


# --- others write there -------------------------------------------------------------------------


def as_seen_by_others(folder: Path) -> None:
    """Let a file be another one that has been put there, with a right checksum."""
    for file in folder.glob('*.program'):
        with_metadata(file, {'shapes': [[1]], 'operations': 0})


def writable_folder(folder: Path) -> None:
    folder.chmod(0o777)


def writable_parent(folder: Path) -> None:
    folder.parent.chmod(0o777)


def link(folder: Path) -> None:
    folder.rename(folder.with_name('elsewhere'))
    folder.symlink_to(folder.with_name('elsewhere'))


def of_another_user(folder: Path) -> None:
    if os.geteuid():
        pytest.skip('only root can give files away')
    os.chown(folder, 65534, 65534)


def parent_of_another_user(folder: Path) -> None:
    if os.geteuid():
        pytest.skip('only root can give files away')
    os.chown(folder.parent, 65534, 65534)


@needs_llvmlite
@pytest.mark.parametrize(
    'attack', [writable_folder, writable_parent, link, of_another_user, parent_of_another_user]
)
def test_a_folder_where_others_may_write_is_not_used(folder, attack, caplog):
    """It is neither read nor written; the warning comes once."""
    expected = torques()
    as_seen_by_others(folder)
    attack(folder)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with caplog.at_level(logging.WARNING, 'screw_dynamics_ros'):
        np.testing.assert_array_equal(torques(), expected)
        np.testing.assert_array_equal(torques(), expected)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    (record,) = caplog.records
    assert 'SCREW_DYNAMICS_CACHE' in record.message
    assert str(folder) in record.message or str(folder.parent) in record.message


@needs_llvmlite
@pytest.mark.parametrize('attack', ['writable', 'link', 'pipe', 'other user'])
def test_a_file_that_others_may_have_written_is_compiled_anew(folder, attack, tmp_path):
    expected = torques()
    as_seen_by_others(folder)
    (file,) = folder.glob('*.program')
    if attack == 'writable':
        file.chmod(0o666)
    elif attack == 'link':
        file.rename(tmp_path / 'elsewhere')
        file.symlink_to(tmp_path / 'elsewhere')
    elif attack == 'pipe':
        file.unlink()
        os.mkfifo(file)
    elif os.geteuid():
        pytest.skip('only root can give files away')
    else:
        os.chown(file, 65534, 65534)
    np.testing.assert_array_equal(torques(), expected)
    assert file.is_file()
    assert not file.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o600


@needs_llvmlite
def test_a_parent_with_a_sticky_bit_is_safe(folder, caplog):
    """As /tmp is: no other user can put another folder in place of this one."""
    folder.parent.chmod(0o1777)
    torques()
    assert kinds(folder) == ['.name', '.program']
    assert not caplog.records


@needs_llvmlite
def test_what_another_user_has_put_into_a_shared_folder_is_not_executed(folder, monkeypatch):
    if os.geteuid() or not shutil.which('setpriv'):
        pytest.skip('takes root, and setpriv')
    expected = torques()
    as_seen_by_others(folder)
    with tempfile.TemporaryDirectory() as shared:
        os.chmod(shared, 0o1777)
        readable = Path(shared, 'readable')
        shutil.copytree(folder, readable)
        for path in [readable, *readable.iterdir()]:
            path.chmod(0o755)
        planted = Path(shared, 'cache')
        other = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
        subprocess.run([*other, 'cp', '-r', readable, planted], check=True)
        subprocess.run([*other, 'chmod', '777', planted], check=True)
        monkeypatch.setenv('SCREW_DYNAMICS_CACHE', str(planted))
        np.testing.assert_array_equal(torques(), expected)


@needs_llvmlite
@pytest.mark.parametrize(
    'where', ['below a file', 'read-only', 'no such device', 'switched off', 'a file']
)
def test_without_a_place_to_write_everything_works(tmp_path, monkeypatch, where):
    (tmp_path / 'file').write_text('')
    (tmp_path / 'frozen').mkdir(mode=0o500)
    monkeypatch.setenv(
        'SCREW_DYNAMICS_CACHE',
        {
            'below a file': str(tmp_path / 'file' / 'cache'),
            'read-only': str(tmp_path / 'frozen' / 'cache'),
            'no such device': '/proc/self/nothing/here',
            'switched off': '',
            'a file': str(tmp_path / 'file'),
        }[where],
    )
    expected = Robot(random_description(0, 3), backend='reference').gravity_torques([0.1, 0.2, 0.3])
    close(torques(), expected)
    close(torques(), expected)


def test_without_a_home_directory_everything_works(monkeypatch, caplog):
    """As in a service with a user of its own: compiled in each process, reported once."""
    import pwd

    for name in ('SCREW_DYNAMICS_CACHE', 'XDG_CACHE_HOME', 'HOME'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, 'getpwuid', lambda user: pwd.getpwnam('no such user'))
    expected = Robot(random_description(0, 3), backend='reference').gravity_torques([0.1, 0.2, 0.3])
    for _ in range(2):
        close(torques(), expected)
    assert sum('no such home directory' in each.message for each in caplog.records) <= 1
    assert disk.directory() is None


@needs_llvmlite
def test_a_full_disk_leaves_no_half_file(folder, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(disk.os, 'replace', full)
    torques()
    assert list(folder.iterdir()) == []


@needs_llvmlite
def test_keys_depend_on_everything_that_matters(folder, monkeypatch):
    """Robot, function, options, version, sources and processor; not gravity, an input."""
    torques()
    assert kinds(folder) == ['.name', '.program']
    q = [0.1, 0.2, 0.3]
    first = Robot(random_description(0, 3), backend='native')
    second = Robot(random_description(1, 3), backend='native')
    for files, use in enumerate(
        [
            lambda: second.gravity_torques(q),
            lambda: first.mass_matrix(q),
            lambda: first.link_pose(q, 'link1'),
            lambda: first.link_pose(q, 'link2'),
            lambda: first.jacobian(q, 'link2', 'body'),
            lambda: first.gravity_torques([q]),
        ],
        start=2,
    ):
        use()
        assert kinds(folder) == ['.name'] * files + ['.program'] * files
    first.gravity = (0, 0, -1)
    first.gravity_torques(q)
    assert kinds(folder) == ['.name'] * files + ['.program'] * files
    with monkeypatch.context() as other:  # sources that record the same program
        other.setattr(sources, 'RECORDING', 'another version')
        torques()
    assert kinds(folder) == ['.name'] * (files + 1) + ['.program'] * files
    monkeypatch.setattr(native, 'target_identity', lambda: 'another processor')
    torques()
    assert kinds(folder) == ['.name'] * (files + 2) + ['.program'] * (files + 1)


def test_keys_tell_kinds_and_parts_apart():
    keys = [
        disk.key('name', 'a', 'b'),
        disk.key('program', 'a', 'b'),
        disk.key('name', 'ab'),
        disk.key('name', ('a', 'b')),
        disk.key('name', 1),
        disk.key('name', '1'),
    ]
    assert len(set(keys)) == len(keys)


@needs_llvmlite
def test_the_cache_stays_below_its_size(folder, monkeypatch):
    """The files longest unused go first."""
    torques()
    old = sorted(folder.iterdir())
    for path in old:
        os.utime(path, (1, 1))
    size = sum(path.stat().st_size for path in old)
    again = sum(path.stat().st_size for path in old if path.suffix != '.typed')  # entry points
    monkeypatch.setattr(disk, 'LARGEST_SIZE', int(size + 0.8 * again))
    Robot(random_description(1, 3), backend='native').gravity_torques([0.1, 0.2, 0.3])
    assert not any(path.exists() for path in old if path.suffix == '.program')
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 1.8 * size
    assert '.program' in kinds(folder)


@needs_llvmlite
def test_compiling_is_told(folder, caplog):
    """Compiling a large robot takes seconds: the log says what and how long."""
    with caplog.at_level(logging.INFO, 'screw_dynamics_ros'):
        torques()
    assert any('compiled gravity_torques' in record.message for record in caplog.records)


# --- without llvmlite -----------------------------------------------------------------------------


WITHOUT_LLVMLITE = """
    import sys
    sys.modules['llvmlite'] = None
    sys.modules['llvmlite.binding'] = None
    import numpy as np
    from support.models import random_description
    from screw_dynamics_ros.core import BackendError, Robot
    robots = [Robot(random_description(0, 3)) for _ in range(3)]
    print([robot.backend for robot in robots], robots[0].gravity_torques([0.1, 0.2, 0.3]).tolist())
    print(robots[0].mass_matrix(np.zeros((9, 3))).shape, robots[0].fuse('link_poses').shapes)
    try:
        Robot(random_description(0, 3), backend='native')
    except BackendError as error:
        print('BackendError', error)
"""


def test_without_llvmlite():
    """`auto` takes the python backend and says so once; `native` says what to install."""
    output = run_python(WITHOUT_LLVMLITE)
    expected = Robot(random_description(0, 3), backend='python').gravity_torques([0.1, 0.2, 0.3])
    assert f"['python', 'python', 'python'] {expected.tolist()}" in output
    assert '(9, 3, 3) ((4, 4, 4),)' in output
    assert output.count('llvmlite is not installed') == 1
    assert 'BackendError the native backend needs llvmlite' in output
    assert 'pip install llvmlite' in output
    assert 'python3-llvmlite' in output


@needs_llvmlite
def test_auto_is_native():
    assert Robot(random_description(0, 2)).backend == 'native'


# --- typed functions ------------------------------------------------------------------------------


@needs_llvmlite
def test_typed_functions_of_the_package_are_found_by_their_sources(folder, monkeypatch):
    """Without generating code; a change of a source, or one that cannot be excluded, is seen."""

    class Generated(Exception):
        pass

    def generate(*_):
        raise Generated

    library.compiled([advance_clock])
    monkeypatch.setattr(library, 'Module', generate)
    advance, clock = library.compiled([advance_clock]).callable(advance_clock), StateClock()
    assert [advance(clock, stamp, False) for stamp in (5, 9, 9)] == [0, 4, 0]
    package = sources.package()
    for found in (package.replace(sys.version, 'another one'), None):
        monkeypatch.setattr(sources, 'package', lambda found=found: found)
        with pytest.raises(Generated):
            library.compiled([advance_clock])


def test_a_change_of_a_source_outside_the_core_changes_the_hash(monkeypatch):
    path, of = str(sources.PACKAGE / 'ros' / 'data_path' / 'records.py'), sources.text_hash
    before, hashes = sources.package.__wrapped__(), {path: 'changed'}
    assert sources.digest(sources.CORE) in before
    monkeypatch.setattr(sources, 'text_hash', lambda each: hashes.get(each, of(each)))
    assert sources.package.__wrapped__() != before
    hashes[path] = None
    assert sources.package.__wrapped__() is None


def test_typed_functions_of_arrays_are_known_by_their_sources(monkeypatch):
    """As functions of records; in the module, the name of one refers to what checks arguments."""
    functions = joint_path.write_pieces, joint_path.write_samples
    declarations = [declaration_of(each) for each in functions]
    assert library.source_key(functions, declarations)
    monkeypatch.setattr(joint_path, 'write_pieces', joint_path.write_samples)
    assert not library.source_key(functions, declarations)
