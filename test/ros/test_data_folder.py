# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The folder of the files that parameters name: plain names, and nothing else is touched."""

import os

import pytest

pytest.importorskip('rclpy')

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.ros.data_folder import DataFolder, check_name
from screw_dynamics_ros.ros.description_file import located

HEADING = '# kind'
LARGEST = 1000

NO_NAMES = [
    '.', '..', '.profile', '../map.yaml', '/etc/passwd', 'a/b', 'a\\b', '~', '~/map', '$HOME',
    '$(id)', '`id`', 'a b', 'a\nb', 'a\0b', 'é', '-rf', 'x' * 101, 'file:map', 'a;b', '*',
]  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    return DataFolder(str(tmp_path / 'data'))


@pytest.mark.parametrize('name', NO_NAMES)
def test_what_is_no_plain_name_is_refused(folder, name):
    with pytest.raises(ArgumentError, match='plain name') as caught:
        check_name('residual_map', name)
    assert name in ('.', '-', '~', '*') or name not in str(caught.value)
    for refused in (
        lambda: folder.read(name, LARGEST),
        lambda: folder.write(name, 'x', HEADING, LARGEST),
    ):
        folder.path.mkdir(exist_ok=True, mode=0o700)
        with pytest.raises(ArgumentError, match='not a plain file name'):
            refused()
    assert list(folder.path.iterdir()) == []


def test_written_and_read(folder):
    """Made when first written, for this user only."""
    check_name('residual_map', '')
    check_name('residual_map', 'arm-1_b.yaml')
    assert folder.read('arm.yaml', LARGEST) is None
    assert not folder.path.exists()
    folder.write('arm.yaml', 'a: 1\n', HEADING, LARGEST)
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert (folder.path / 'arm.yaml').stat().st_mode & 0o777 == 0o600
    assert folder.read('arm.yaml', LARGEST) == '# kind\na: 1\n'
    folder.write('arm.yaml', 'a: 2\n', HEADING, LARGEST)
    assert folder.read('arm.yaml', LARGEST) == '# kind\na: 2\n'
    assert [each.name for each in folder.path.iterdir()] == ['arm.yaml']


def test_a_file_that_is_no_text(folder):
    folder.write('arm.yaml', 'a: 1\n', HEADING, LARGEST)
    (folder.path / 'arm.yaml').write_bytes(b'\xff')
    with pytest.raises(ArgumentError, match=r'^arm\.yaml is not UTF-8 text$'):
        folder.read('arm.yaml', LARGEST)


def test_the_default_is_the_data_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_DATA_HOME', str(tmp_path))
    assert DataFolder('').path == tmp_path / 'screw_dynamics_ros'
    monkeypatch.delenv('XDG_DATA_HOME')
    monkeypatch.setenv('HOME', str(tmp_path))
    assert DataFolder('').path == tmp_path / '.local' / 'share' / 'screw_dynamics_ros'


def test_without_a_home_directory_files_are_refused(monkeypatch):
    """As in a container or a service whose user has no entry; other nodes go on."""
    import pwd

    monkeypatch.delenv('XDG_DATA_HOME', raising=False)
    monkeypatch.delenv('HOME')
    monkeypatch.setattr(pwd, 'getpwuid', lambda user: pwd.getpwnam('no such user'))
    folder = DataFolder('')
    with pytest.raises(ArgumentError, match='no such home directory; set HOME'):
        folder.read('map', LARGEST)
    with pytest.raises(ArgumentError, match='no such home directory; set HOME'):
        folder.write('map', 'x', HEADING, LARGEST)
    with pytest.raises(ArgumentError, match='~nobody_here/x: there is no such home directory'):
        DataFolder('~nobody_here/x')
    with pytest.raises(ArgumentError, match='~nobody_here/x: there is no such home directory'):
        located('file://~nobody_here/x')


def put(folder, kind, tmp_path):
    """Put something under the name of a file; return what must stay as it is."""
    folder.path.mkdir(mode=0o700)
    path, other = folder.path / 'map', tmp_path / 'other'
    other.write_text('# kind\nsecret')
    if kind == 'link':
        path.symlink_to(other)
    elif kind == 'dangling link':
        path.symlink_to(tmp_path / 'nowhere')
    elif kind == 'pipe':
        os.mkfifo(path)
    elif kind == 'device':
        path.symlink_to('/dev/zero')
    elif kind == 'folder':
        path.mkdir()
    elif kind == 'other kind':
        path.write_text('export PATH=secret')
    elif kind == 'too large':
        path.write_text('# kind\n' + 'x' * LARGEST)
    elif kind == 'writable for others':
        path.write_text('# kind\nsecret')
        path.chmod(0o666)
    return path, other


@pytest.mark.parametrize(
    'kind',
    [
        'link', 'dangling link', 'pipe', 'device', 'folder', 'other kind', 'too large',
        'writable for others',
    ],
)  # fmt: skip
def test_what_is_no_file_of_ours_is_neither_read_nor_overwritten(folder, tmp_path, kind):
    path, other = put(folder, kind, tmp_path)
    before = os.lstat(path), path.read_bytes() if path.is_file() else None
    if kind != 'other kind':
        with pytest.raises(ArgumentError, match='map cannot be read') as caught:
            folder.read('map', LARGEST)
        assert 'secret' not in str(caught.value)
    with pytest.raises(ArgumentError, match=r'map (cannot be written|is a file of another kind)'):
        folder.write('map', 'x', HEADING, LARGEST)
    after = os.lstat(path), path.read_bytes() if path.is_file() else None
    assert after[1] == before[1]
    assert after[0].st_ino == before[0].st_ino
    assert other.read_text() == '# kind\nsecret'
    assert not (tmp_path / 'nowhere').exists()


@pytest.mark.parametrize('where', ['folder', 'parent', 'link'])
def test_a_folder_where_others_may_write_is_not_used(folder, tmp_path, where):
    folder.write('map', 'x', HEADING, LARGEST)
    if where == 'folder':
        folder.path.chmod(0o777)
    elif where == 'parent':
        tmp_path.chmod(0o777)
    else:
        folder.path.rename(tmp_path / 'elsewhere')
        folder.path.symlink_to(tmp_path / 'elsewhere')
    with pytest.raises(ArgumentError, match='data_folder is not used'):
        folder.read('map', LARGEST)
    with pytest.raises(ArgumentError, match='data_folder is not used'):
        folder.write('map', 'y', HEADING, LARGEST)
    assert (folder.path / 'map').read_text() == '# kind\nx'
