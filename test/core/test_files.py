# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Files: sizes, kinds, what others may have written, and writing as a whole."""

from __future__ import annotations

import errno
import grp
import os
import pwd
from pathlib import Path
from types import SimpleNamespace

import pytest

from screw_dynamics_ros.core import ArgumentError, files

OTHERS = 65534  # a user who is not this one


@pytest.fixture
def folder(tmp_path) -> Path:
    """Return a private folder in a private one."""
    tmp_path.chmod(0o700)
    path = tmp_path / 'folder'
    path.mkdir(mode=0o700)
    return path


def is_root() -> None:
    """Skip what only root can set up."""
    if os.geteuid():
        pytest.skip('only root can give files away')


def test_private_folders(folder):
    """Others may read; they may write above where the sticky bit keeps what is not theirs."""
    assert files.why_not_private(folder) == ''
    folder.chmod(0o755)
    assert files.why_not_private(folder) == ''
    folder.parent.chmod(0o1777)
    assert files.why_not_private(folder) == ''
    folder.parent.chmod(0o777)
    assert files.why_not_private(folder) == f'others may write in {folder.parent}'
    folder.chmod(0o1777)  # the sticky bit does not keep others from writing here
    assert files.why_not_private(folder) == f'others may write in {folder}'


def test_links_and_files_are_no_private_folders(folder):
    link, file = folder / 'link', folder / 'file'
    link.symlink_to(folder)
    file.write_text('')
    assert files.why_not_private(link) == f'{link} is a link'
    assert files.why_not_private(file) == f'{file} is no folder'
    with pytest.raises(FileNotFoundError):
        files.why_not_private(folder / 'missing')
    above = folder.parent / 'above'
    above.symlink_to(folder)
    (folder / 'inner').mkdir(mode=0o700)
    assert files.why_not_private(above / 'inner') == ''
    folder.chmod(0o777)  # what the link leads to, not where the link is
    assert files.why_not_private(above / 'inner') == f'others may write in {folder}'


def test_folders_of_another_user(folder):
    is_root()
    os.chown(folder.parent, OTHERS, -1)
    assert files.why_not_private(folder) == f'{folder.parent} belongs to another user'
    os.chown(folder.parent, 0, -1)
    os.chown(folder, OTHERS, -1)
    assert files.why_not_private(folder) == f'{folder} belongs to another user'


def test_folders_above_may_belong_to_root(folder, monkeypatch):
    """As / does; the folder itself may not."""
    owner = os.stat('/').st_uid
    if owner:
        pytest.skip('/ does not belong to root')
    own = folder.stat().st_uid
    if own:
        assert files.why_not_private(folder) == ''
    monkeypatch.setattr(os, 'geteuid', lambda: own + 1)
    assert files.why_not_private(folder) == f'{folder} belongs to another user'


@pytest.mark.parametrize(
    ('name', 'members', 'is_own'),
    [('ada', [], True), ('ada', ['ada'], True), ('ada', ['ada', 'bob'], False),
     ('ada', ['bob'], False), ('staff', [], False), (None, [], False)],
)  # fmt: skip
def test_the_group_of_a_user_is_no_other(folder, monkeypatch, name, members, is_own):
    """If it has the user's name and no other members; a group that is not known may have some."""

    def group(_: int) -> SimpleNamespace:
        if name is None:
            raise KeyError(_)
        return SimpleNamespace(gr_name=name, gr_mem=members)

    monkeypatch.setattr(grp, 'getgrgid', group)
    monkeypatch.setattr(pwd, 'getpwuid', lambda _: SimpleNamespace(pw_name='ada'))
    file = folder / 'file'
    file.write_bytes(b'x')
    for place, mode in ((file, 0o660), (folder, 0o770)):
        place.chmod(mode)
    assert (files.why_not_private(folder) == '') == is_own
    if is_own:
        assert files.read(file, 1, private=True) == b'x'
    else:
        with pytest.raises(PermissionError, match='Others may have written it'):
            files.read(file, 1, private=True)
    file.chmod(0o640)
    assert files.read(file, 1, private=True) == b'x'
    file.chmod(0o642)
    with pytest.raises(PermissionError):
        files.read(file, 1, private=True)
    assert files.read(file, 1) == b'x'


def test_files_of_another_user_are_not_private(folder):
    is_root()
    file = folder / 'file'
    file.write_bytes(b'x')
    os.chown(file, OTHERS, -1)
    assert files.read(file, 1) == b'x'
    with pytest.raises(PermissionError, match='Others may have written it'):
        files.read(file, 1, private=True)


def test_what_is_read(folder):
    """Regular files up to a size, through links if they need not be private; no file stays open."""
    already_open = os.listdir('/proc/self/fd') if os.path.isdir('/proc/self/fd') else []
    file, link, pipe = folder / 'file', folder / 'link', folder / 'pipe'
    file.write_bytes(b'12345')
    link.symlink_to(file)
    os.mkfifo(pipe)
    for private in (False, True):
        assert files.read(file, 5, private) == b'12345'
        for path, largest, reason, number in (
            (file, 4, 'Larger than 4 bytes', errno.EFBIG),
            (folder, 5, 'Is a directory', errno.EISDIR),
            (pipe, 5, 'Not a regular file', errno.EINVAL),
            (folder / 'missing', 5, os.strerror(errno.ENOENT), errno.ENOENT),
        ):
            with pytest.raises(OSError) as refused:
                files.read(path, largest, private)
            error = refused.value
            assert (error.errno, error.strerror) == (number, reason)
            assert str(error.filename) == str(path)
    file.chmod(0o666)
    with pytest.raises(PermissionError) as refused:
        files.read(file, 5, private=True)
    assert refused.value.args == (errno.EPERM, 'Others may have written it')
    assert refused.value.filename == str(file)
    if already_open:
        assert os.listdir('/proc/self/fd') == already_open
    assert files.read(link, 5) == b'12345'
    with pytest.raises(OSError, match='symbolic links'):
        files.read(link, 5, private=True)


def test_text(folder):
    """Texts without a byte order mark; refusals say what is wrong and do not name the file."""
    file = folder / 'file'
    file.write_bytes('\ufeffgrüße'.encode())
    assert files.text_of(file, 100) == 'grüße'
    file.write_bytes(b'\xff')
    os.mkfifo(folder / 'pipe')
    for path, kind, message in (
        (file, '', 'it is not UTF-8 text'),
        (folder, '', 'this is a folder'),
        (folder, 'YAML', 'this is a folder; name a YAML file in it'),
        (folder / 'missing', 'YAML', 'there is no such file'),
        (folder / 'pipe', '', 'it cannot be read: Not a regular file'),
        (Path('nul\0'), '', 'it cannot be read: this is no name of a file'),
    ):
        with pytest.raises(ArgumentError) as refused:
            files.text_of(path, 100, kind)
        assert str(refused.value) == message
    with pytest.raises(ArgumentError, match='it cannot be read: Larger than 0 bytes'):
        files.text_of(file, 0)


def test_a_file_is_written_as_a_whole_or_not_at_all(folder, monkeypatch):
    """What cannot be put in its place leaves the old file, and no other."""
    file = folder / 'file'
    files.write(file, b'one')
    files.write(file, b'two')
    assert file.read_bytes() == b'two'
    assert file.stat().st_mode & 0o777 == 0o600

    def full(source: str, target: Path) -> None:
        assert Path(source).parent == folder
        assert Path(source).read_bytes() == b'three'
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(os, 'replace', full)
    with pytest.raises(OSError, match='No space left'):
        files.write(file, b'three')
    assert file.read_bytes() == b'two'
    assert list(folder.iterdir()) == [file]
