# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What commands share: progress on a terminal, parsers."""

from __future__ import annotations

import argparse
import io
import os
import sys
import threading
from pathlib import Path

import pytest

from screw_dynamics_ros.cli import command_line
from screw_dynamics_ros.cli.command_line import (
    UnusableError,
    add_gravity,
    between,
    command_parser,
    names,
    number,
    option,
    own_arguments,
    positive,
    print_above,
    progress_bar,
    seconds,
    some_of,
    whole,
    write_file,
    write_whole,
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def screen(written: str) -> str:
    """Return what stands in the line of a terminal at the end."""
    return written.rpartition('\r')[2]


def test_progress_is_shown_on_a_terminal_and_removed(monkeypatch):
    monkeypatch.setattr(sys, 'stderr', terminal := Terminal())
    with progress_bar('annotate') as show:
        show(0.5, 'a.mcap')
        show(1.0, 'b.mcap')
    assert 'annotate [' in terminal.getvalue()
    assert screen(terminal.getvalue()).strip() == ''


def test_progress_ends_with_an_interruption(monkeypatch):
    """A message after it begins in an empty line."""
    monkeypatch.setattr(sys, 'stderr', terminal := Terminal())

    def interrupted() -> None:
        with progress_bar('replay') as show:
            show(0.5)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert 'replay [' in terminal.getvalue()
    assert screen(terminal.getvalue()).strip() == ''


def test_lines_above_the_progress_are_there_at_once(capsys):
    """In a file with a buffer, too."""
    written = io.BytesIO()
    file = io.TextIOWrapper(written, write_through=False)
    print_above('first', file)
    assert written.getvalue() == b'first\n'
    print_above('second')
    assert capsys.readouterr() == ('', 'second\n')


def test_no_progress_without_a_terminal(capsys):
    with progress_bar('annotate') as show:
        show(0.5, 'a.mcap')
        show(1.0)
    assert capsys.readouterr() == ('', '')


def test_lines_of_progress_without_a_terminal(capsys, monkeypatch):
    """At most one in each period, so that a log shows that a long search goes on."""
    monkeypatch.setattr(command_line, 'LINE_PERIOD_S', 0.0)
    with progress_bar('annotate') as show:
        show(0.256, 'a.mcap')
        show(1.0)
    assert capsys.readouterr() == ('', 'annotate: 26% a.mcap\nannotate: 100%\n')


def test_help_keeps_line_breaks():
    parser = command_parser('examine', 'First.\n\n    examine FILE', 'exit status: 0\n1')
    assert 'First.\n\n    examine FILE\n' in parser.format_help()
    assert parser.format_help().endswith('exit status: 0\n1\n')


def test_gravity_is_three_finite_numbers():
    parser = command_parser('examine', None)
    add_gravity(parser)
    assert parser.parse_args([]).gravity == (0.0, 0.0, -9.81)
    assert parser.parse_args(['--gravity', '1', '-2', '3']).gravity == [1.0, -2.0, 3.0]
    for words in (['0', '0', 'nan'], ['0', '0']):
        with pytest.raises(SystemExit):
            parser.parse_args(['--gravity', *words])


@pytest.mark.parametrize(
    ('kind', 'valid', 'invalid'),
    [
        (seconds, ('0', '600', '1e-3'), ('-1e-9', '600.1', 'nan', 'inf', 'soon')),
        (number, ('0', '-1e300'), ('nan', '-inf', 'many')),
        (positive, ('1e-300', '5'), ('0', '-1', 'nan', 'inf')),
        (between(0.0, 0.5), ('0', '0.5'), ('-1e-9', '0.51', 'nan')),
        (whole(2), ('2', '99999'), ('1', '-3', '2.5', 'two', '')),
        (whole(0, 101), ('0', '101'), ('102', '-1')),
    ],
)
def test_numbers_of_the_command_line(kind, valid, invalid):
    """The one at fault is named."""
    assert [kind(text) for text in valid] == [float(text) for text in valid]
    for text in invalid:
        with pytest.raises(argparse.ArgumentTypeError, match=f"^'{text}' is not "):
            kind(text)


def test_names_are_separated_by_commas():
    assert names(' a, b c ,,d,') == ('a', 'b c', 'd')
    assert some_of(('one', 'two'))('TWO, one') == ('two', 'one')
    for words in ('three', '', 'one,three'):
        with pytest.raises(argparse.ArgumentTypeError, match='expected names of one, two, sep'):
            some_of(('one', 'two'))(words)


def test_arguments_of_ros_are_not_those_of_the_command():
    assert own_arguments(['-o', 'x', '--ros-args', '-r', '--ros-args']) == ['-o', 'x']
    assert own_arguments(('-o', 'x')) == ['-o', 'x']


def test_pipes_are_written_directly(tmp_path):
    """A pipe stays one; files are written in other threads as well."""
    pipe, file = tmp_path / 'pipe', tmp_path / 'file'
    os.mkfifo(pipe)
    writers = [threading.Thread(target=write_whole, args=(p, b'x')) for p in (pipe, file)]
    for writer in writers:
        writer.start()
    assert pipe.read_bytes() == b'x'
    for writer in writers:
        writer.join()
    assert pipe.is_fifo()
    assert file.read_bytes() == b'x'


def test_a_file_that_cannot_be_written_is_named(tmp_path, capsys):
    path = tmp_path / 'new' / 'folder' / 'a.yaml'
    write_file(path, '-o', 'content')
    assert path.read_text() == 'content'
    assert capsys.readouterr().out == f'written: {path}\n'
    with pytest.raises(UnusableError, match=rf'^argument -o: cannot write {path}/b: .*; name a '):
        write_file(path / 'b', '-o', 'content')


def test_words_of_an_option():
    """Names, then the names of its values; without values it is a switch, unless it has choices."""
    parser = command_parser('examine', None)
    option(parser, 'robot FILE', 'a robot')
    option(parser, '-o --output FOLDER', 'a folder', Path)
    option(parser, '--point X Y', 'a point', number, (0.0, 0.0))
    option(parser, '--strict', 'a switch')
    option(parser, '--kind', 'a kind', default='a', choices=('a', 'b'))
    assert vars(parser.parse_args(['r'])) == {
        'robot': 'r', 'output': None, 'point': (0.0, 0.0), 'strict': False, 'kind': 'a',
    }  # fmt: skip
    words = ['r', '-o', 'f', '--point', '1', '2', '--strict', '--kind', 'b']
    assert vars(parser.parse_args(words)) == {
        'robot': 'r', 'output': Path('f'), 'point': [1.0, 2.0], 'strict': True, 'kind': 'b',
    }  # fmt: skip
    shown = ' '.join(parser.format_help().split())
    for text in ('FILE a robot', 'FOLDER a folder', '--point X Y a point', '--strict a switch'):
        assert text in shown
