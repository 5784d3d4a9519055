# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""YAML with bounds, and errors that say nothing of what is in a file."""

import os

import pytest

pytest.importorskip('yaml')

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.ros.text_files import MAX_DEPTH, MAX_FILE_BYTES, read_yaml, read_yaml_file

BOMB = 'a: &a [x, x, x, x, x, x, x, x, x]\n' + ''.join(
    f'{chr(ord("b") + k)}: &{chr(ord("b") + k)} [{", ".join(["*" + chr(ord("a") + k)] * 9)}]\n'
    for k in range(9)
)

#: Texts, and what is said about them.
REFUSED = {
    BOMB: 'line 2: ROS 2 does not support aliases',
    '&a [*a]': 'does not support aliases',
    '[' * (MAX_DEPTH + 1) + ']' * (MAX_DEPTH + 1): f'line 1: more than {MAX_DEPTH} levels',
    '[' * 1_000_000: 'line 1',
    '{a: ' * 1_000_000: f'more than {MAX_DEPTH} levels',
    '- ' * 100_000 + 'x': f'more than {MAX_DEPTH} levels',
    'secret: "word': 'it is not YAML',
    'secret: word: other': 'it is not YAML: line 1',
    'secret\nword: 3': 'it is not YAML: line 2',
    '!!python/object/apply:os.system ["secret"]': 'not YAML of plain data: line 1',
    '!!python/name:os.secret': 'not YAML of plain data',
    '!secret word': 'not YAML of plain data',
    '%secret!': 'it is not YAML',
    '!!int secret': 'not YAML of plain data',
    '!!timestamp secret': 'not YAML of plain data',
    '? [secret]\n: 3': 'not YAML of plain data',
    'secret: \x00': 'it is not YAML',
}


@pytest.mark.parametrize(('text', 'reason'), REFUSED.items(), ids=range(len(REFUSED)))
def test_refused(text, reason):
    with pytest.raises(ArgumentError) as caught:
        read_yaml(text)
    assert reason in str(caught.value)
    assert 'secret' not in str(caught.value)
    assert 'word' not in str(caught.value)


def test_plain_data():
    assert read_yaml('a: [1, 2.5, {b: null, c: true}]\nd: "x"') == {
        'a': [1, 2.5, {'b': None, 'c': True}],
        'd': 'x',
    }
    assert read_yaml('[' * MAX_DEPTH + ']' * MAX_DEPTH)
    assert read_yaml('') is None


def test_files(tmp_path):
    """Regular ones up to a size; a pipe and a device hold up nobody."""
    path = tmp_path / 'file.yaml'
    path.write_text('\ufeffa: 3')
    assert read_yaml_file(path) == {'a': 3}
    link = tmp_path / 'link'
    link.symlink_to(path)
    assert read_yaml_file(link) == {'a': 3}
    path.write_bytes(b'#' * MAX_FILE_BYTES)
    assert read_yaml_file(path) is None
    path.write_bytes(b'#' * (MAX_FILE_BYTES + 1))
    os.mkfifo(tmp_path / 'pipe')
    for name, reason in {
        'file.yaml': f'Larger than {MAX_FILE_BYTES} bytes',
        'pipe': 'Not a regular file',
        '/dev/zero': 'Not a regular file',
        '.': 'this is a folder',
        'missing': 'there is no such file',
        'with\0nul': 'this is no name of a file',
    }.items():
        with pytest.raises(ArgumentError, match=reason) as caught:
            read_yaml_file(tmp_path / name)
        assert str(tmp_path) not in str(caught.value)
