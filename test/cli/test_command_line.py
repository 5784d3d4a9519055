# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What commands share: progress on a terminal, parsers."""

from __future__ import annotations

import io
import sys

import pytest

from screw_dynamics_ros.cli.command_line import add_gravity, command_parser, progress_bar


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


def test_no_progress_without_a_terminal(capsys):
    with progress_bar('annotate') as show:
        show(0.5, 'a.mcap')
        show(1.0)
    assert capsys.readouterr() == ('', '')


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
