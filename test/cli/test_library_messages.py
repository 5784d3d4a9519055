# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages of libraries on stderr: caught, counted, never lost."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from screw_dynamics_ros.cli import parity
from screw_dynamics_ros.cli.doctor import command as doctor
from screw_dynamics_ros.cli.library_messages import MAX_KINDS, caught_messages, counted
from screw_dynamics_ros.entry import DONE
from support.robots import UNIT_INERTIA, joint, robot


def write(text: str) -> None:
    """Write as a library does."""
    os.write(2, text.encode())


def descriptors() -> set[str]:
    return {path.name for path in Path('/proc/self/fd').iterdir()}


def test_messages_are_caught_and_stderr_is_restored(capfd):
    with caught_messages() as messages:
        write('inside\n')
        assert messages == []
    write('outside\n')
    assert messages == ['inside']
    assert capfd.readouterr().err == 'outside\n'


@pytest.mark.parametrize('kind', [ValueError, KeyboardInterrupt, SystemExit])
def test_nothing_is_lost_when_an_exception_leaves_the_block(kind, capfd):
    def fault():
        with caught_messages():
            write('before the fault\n')
            raise kind('fault')

    with pytest.raises(kind, match='fault'):
        fault()
    write('after it\n')
    assert capfd.readouterr().err == 'before the fault\nafter it\n'


def test_an_exception_within_the_block_is_none_of_its_business(capfd):
    with caught_messages() as messages:
        try:
            write('before the fault\n')
            raise ValueError
        except ValueError:
            pass
    assert messages == ['before the fault']
    assert capfd.readouterr().err == ''


@pytest.mark.skipif(not Path('/proc/self/fd').is_dir(), reason='no /proc here')
def test_no_descriptor_is_left_open():
    before = descriptors()
    for _ in range(3):
        with caught_messages():
            write('x\n')
        with pytest.raises(ValueError), caught_messages():
            raise ValueError
    assert descriptors() == before


def test_blocks_of_threads_wait_for_each_other(capfd):
    """The second thread is started in the block of the first, and enters its own after that."""
    found, entered = [], threading.Event()

    def other():
        with caught_messages() as messages:
            entered.set()
            write('second\n')
        found.append(messages)

    with caught_messages() as first:
        thread = threading.Thread(target=other)
        thread.start()
        assert not entered.wait(0.3)
        write('first\n')
    thread.join()
    assert (first, found) == (['first'], [['second']])
    assert capfd.readouterr().err == ''


def test_a_block_within_a_block(capfd):
    with caught_messages() as outer:
        write('a\n')
        with caught_messages() as inner:
            write('b\n')
        write('c\n')
    assert (outer, inner) == (['a', 'c'], ['b'])


PROGRAM = """
import os, sys, warnings
from screw_dynamics_ros.cli.library_messages import caught_messages
if 'closed' in sys.argv:
    os.close(2)
with caught_messages() as messages:
    if 'closed' not in sys.argv:
        os.write(2, b'library\\n')
        print('python', file=sys.stderr)
        warnings.warn('a warning')
print(messages)
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, '-c', PROGRAM, *arguments], capture_output=True, text=True, check=True
    )


def test_what_python_prints_appears_as_ever():
    done = run()
    assert done.stdout == "['library']\n"
    assert done.stderr.startswith('python\n')
    assert 'UserWarning: a warning' in done.stderr
    assert 'library' not in done.stderr


def test_without_a_stderr_nothing_is_caught():
    assert run('closed').stdout == '[]\n'


# --- counting -------------------------------------------------------------------------------------


def place(message: str) -> str:
    """Return a message as console_bridge prints it."""
    return f'Error:   {message}\n         at line 380 in /project/urdf_parser/src/link.cpp\n'


def test_the_same_is_told_once():
    text = 'odd\n' + place('mass [1\n] is no float') + place('no element') * 3
    text += ''.join(place(f'no inertial for Link [{k}]') for k in range(220)) + '\n  \n'
    assert counted(text) == [
        'odd',
        r'Error: mass [1\n] is no float',
        'Error: no element (3 times)',
        'Error: no inertial for Link [0] (and 219 more like this)',
    ]


def test_a_message_without_a_place_stands_alone():
    text = 'Error: one\nError: two\n' + place('three') + 'four'
    assert counted(text) == ['Error: one', 'Error: two', 'Error: three', 'four']


def test_a_flood_is_cut():
    lines = counted('\n'.join('x' * k for k in range(1, MAX_KINDS + 6)))
    assert len(lines) == MAX_KINDS + 1
    assert lines[-1] == '... and 5 other messages'


def test_control_characters_do_no_harm():
    assert counted('\x1b[2Jgone') == [r'\x1b[2Jgone']


# --- commands -------------------------------------------------------------------------------------


def arm(mass: str) -> str:
    """Return a URDF of three links on a base, with this mass of each."""
    inertial = f'<inertial><mass value="{mass}"/>{UNIT_INERTIA}</inertial>'
    links = (f'<link name="{name}">{inertial}</link>' for name in 'abc')
    limit = '<limit effort="9" velocity="9" lower="-1" upper="1"/>'
    limit = f'<axis xyz="0 1 0"/><origin xyz="0.5 0 0"/>{limit}'
    return robot(
        '<link name="base"/>',
        *links,
        *(joint(b, a, b, limit) for a, b in [('base', 'a'), *zip('ab', 'bc')]),
    )


@pytest.fixture
def dropped(tmp_path: Path) -> Path:
    """Return a file whose inertials urdfdom drops, with six messages."""
    pytest.importorskip('pinocchio')
    file = tmp_path / 'arm.urdf'
    file.write_text(arm('2 '))
    return file


def test_doctor_names_the_library(dropped, capfd):
    assert doctor.main([str(dropped)]) == DONE
    printed = capfd.readouterr()
    assert printed.err == ''
    lines = [line.strip() for line in printed.out.splitlines() if 'prints' in line]
    assert lines == [
        'note    Pinocchio: prints: Error: Inertial: mass [2 ] is not a float (3 times)',
        'note    Pinocchio: prints: Error: Could not parse inertial element for Link [a] '
        '(and 2 more like this)',
    ]


def test_doctor_does_not_blame_itself_for_what_pinocchio_drops(tmp_path, capfd):
    """The same difference without a message would be an error."""
    pytest.importorskip('pinocchio')
    file = tmp_path / 'arm.urdf'
    one = arm('2').replace('value="2"', 'value="2 "', 1)
    file.write_text(one.replace('<inertial>', '<inertial><origin xyz="0.4 0 0"/>'))
    assert doctor.main([str(file)]) == DONE
    report = capfd.readouterr().out
    assert 'WARNING gravity torques: differ from those of Pinocchio' in report
    assert 'it has not read the whole description' in report


def test_doctor_shows_why_pinocchio_refuses(tmp_path, capfd):
    pytest.importorskip('pinocchio')
    file = tmp_path / 'arm.urdf'
    file.write_text(arm('2').replace(' name="r"', ''))
    assert doctor.main([str(file)]) == DONE
    printed = capfd.readouterr()
    assert printed.err == ''
    assert 'WARNING Pinocchio: refuses the description' in printed.out
    assert 'note    Pinocchio: prints: Error: No name given for the robot.' in printed.out


def test_parity_names_the_library(dropped, capfd):
    parity.main([str(dropped), '--only', 'pinocchio', '--states', '1'])
    printed = capfd.readouterr()
    assert printed.err == ''
    assert '  prints     Error: Inertial: mass [2 ] is not a float (3 times)\n' in printed.out
    parity.main([str(dropped), '--only', 'pinocchio', '--states', '1', '--json'])
    printed = capfd.readouterr()
    assert printed.err == ''
    assert '"Error: Inertial: mass [2 ] is not a float (3 times)"' in printed.out


def test_parity_shows_why_a_program_refuses(tmp_path, capfd):
    pytest.importorskip('pinocchio')
    file = tmp_path / 'arm.urdf'
    file.write_text(arm('2').replace(' name="r"', ''))
    parity.main([str(file), '--only', 'pinocchio', '--states', '1'])
    printed = capfd.readouterr()
    assert printed.err == ''
    assert 'prints     Error: No name given for the robot.\n' in printed.out
