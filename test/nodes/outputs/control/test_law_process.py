# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Laws in another process: refusals with their lines, limits, imports, and what it leaves."""

import os
import pickle
import signal
from pathlib import Path

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot, ScrewDynamicsError
from screw_dynamics_ros.core.errors import NotRecordableError
from screw_dynamics_ros.core.law import LAWS
from screw_dynamics_ros.core.motion.laws.law import record
from screw_dynamics_ros.core.motion.laws.robot_law import LawRecording
from screw_dynamics_ros.core.tree.examples import planar_arm_description
from screw_dynamics_ros.nodes.outputs.control.law_process import LawProcess, loaded_law
from screw_dynamics_ros.ros.process.worker import Worker

ROBOT = Robot(planar_arm_description())
TIMEOUT = 120.0  # s; only a failing test waits that long
FILE = """
import os, signal, sys, time
import numpy as np
from screw_dynamics_ros.core.law import JOINTS, Parameter, control_law
BEFORE
@control_law({'gain': Parameter(2.0, 'N m', 'a gain', 0.0, 9.0)}, {'last': JOINTS})
def own(robot, state, reference, parameters, memory, *, factor=1.0):
    x = state.v
    INSIDE
    return parameters.gain * x, {'last': state.v}
"""


@pytest.fixture(scope='module')
def worker():
    made = Worker('loads laws of tests')
    yield made
    made.end()


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'laws.py'


def load(worker, path, before='', inside='', timeout=TIMEOUT, text=None):
    """Return what the process answers about a file."""
    path.write_text((text or FILE).replace('BEFORE', before).replace('INSIDE', inside))
    return answer(worker, path, timeout)


def answer(worker, path, timeout=TIMEOUT, contents=None):
    robot = pickle.dumps(ROBOT)
    return worker.call(loaded_law, f'{path}:own', {}, robot, contents, {}, timeout)


def test_a_law_is_data(worker, path):
    found = load(worker, path)
    assert found.reason == ''
    assert found.contents == {str(path): path.read_bytes()}
    assert (found.law.name, list(found.law.memory)) == ('own', ['last'])
    (gain,) = found.law.parameters.values()
    assert (gain.default, gain.unit, gain.text) == (2.0, 'N m', 'a gain')
    assert (gain.minimum, gain.maximum, gain.size) == (0.0, 9.0, 1)
    assert found.recording.read == {'state': [], 'reference': []}
    assert b'Scalar' not in pickle.dumps(found)


@pytest.mark.parametrize(
    ('before', 'inside', 'reason'),
    [
        ('sys.exit(3)', '', 'laws.py:5: sys.exit(3): SystemExit: 3'),
        ('raise KeyboardInterrupt', '', 'laws.py:5: raise KeyboardInterrupt: KeyboardInterrupt'),
        ('os._exit(0)', '', 'laws.py:5: os._exit(0): its process ended with exit status 0'),
        ('os.kill(os.getpid(), 9)', '', 'laws.py:5: os.kill(os.getpid(), 9): PermissionError'),
        ('os.fork()', '', 'laws.py:5: os.fork(): PermissionError: os.fork is not possible here'),
        ('import ctypes; ctypes.string_at(0)', '', '(SIGSEGV)'),
        ('os.closerange(3, 99)', '', 'laws.py:'),
        ('np.ones(10**11)', '', 'laws.py:5: np.ones(10**11): MemoryError'),
        ('x = []\nwhile True: x.append(bytearray(2**24))', '', 'laws.py:6: while True: x.app'),
        ('def f(): f()\nf()', '', 'laws.py:5: def f(): f(): RecursionError'),
        ('1 / 0', '', 'laws.py:5: 1 / 0: ZeroDivisionError: division by zero'),
        ('x ==== 3', '', 'laws.py, line 5'),
        ('', 'while True: x = x * x + state.v', 'laws.py:9: while True: x = x * x + state.v: more'),
        ('', 'return "text", {"last": x}', 'own (laws.py:6) returns torques of shape ()'),
        ('', 'return ["a", "b"], {"last": x}', "own (laws.py:6) returns torques with 'a', a str"),
        ('', 'return 1j * x, {"last": x}', 'laws.py:9: return 1j * x'),
        ('', 'return x', 'own (laws.py:6) returns the memory []'),
        ('JOINTS = 5000', '', 'own (laws.py:6): memory of 5000 numbers, at most 4096'),
    ],
)  # fmt: skip
def test_refusals_name_the_line(worker, path, before, inside, reason):
    """And the process goes on with the next file."""
    found = load(worker, path, before, inside)
    assert reason in found.reason
    assert 'laws.py' in found.reason
    assert found.law is None
    process = worker.pid
    assert load(worker, path).reason == ''
    assert worker.pid == process


@pytest.mark.parametrize(
    ('before', 'inside', 'line'),
    [
        ('while True: pass', '', 5),
        ('', 'while True: pass', 9),
        ('time.sleep(1e6)', '', 5),
        ('while True:\n    try: time.sleep(1e6)\n    except BaseException: pass', '', 6),
        ('signal.pthread_sigmask(signal.SIG_BLOCK, {15, 2})\nwhile True: pass', '', 6),
    ],
)
def test_laws_that_hang(worker, path, before, inside, line):
    found = load(worker, path, before, inside, timeout=1.5)
    assert f'laws.py:{line}: ' in found.reason
    assert 'it takes longer than 1.5 s' in found.reason
    assert load(worker, path).reason == ''


def test_nothing_is_left(worker, path):
    """Threads end with the process, modules and changes of modules with it, too."""
    loop = 'def f():\n    while True: pass\nimport threading\nthreading.Thread(target=f).start()'
    assert load(worker, path, f'{loop}\nnp.where = None').reason == ''
    assert load(worker, path, '', 'x = np.where(x > 0.0, x, 0.0)').reason == ''
    children = Path(f'/proc/{worker.pid}/task/{worker.pid}/children')
    assert not children.exists() or children.read_text() == ''


def test_what_a_law_prints_is_no_answer(worker, path):
    writing = '    try: os.write(k, b"nothing")\n    except OSError: pass'
    found = load(worker, path, f'for k in range(3, 64):\n{writing}')
    assert 'laws.py' in found.reason  # its own pipe is the only one
    assert load(worker, path, 'print("x" * 10**6)').reason == ''


def test_a_process_that_is_killed_is_started_again(path):
    path.write_text(FILE.replace('BEFORE', '').replace('INSIDE', ''))
    laws = LawProcess(f'{path}:own', {}, lambda: TIMEOUT)
    os.kill(laws._worker.pid, signal.SIGKILL)
    laws._worker.process.wait()
    assert laws.first.on(ROBOT).torques.name == 'torques of own'
    laws._worker.end()
    with pytest.raises(NotRecordableError, match='the process that loads control laws is ended'):
        laws.first.on(Robot(planar_arm_description(), floating_base=True))


# --- imports --------------------------------------------------------------------------------------

DATA_CLASS = """
from __future__ import annotations
from dataclasses import dataclass
from screw_dynamics_ros.core.law import control_law

@dataclass
class Gains:
    stiffness: float = 2.0

@control_law()
def own(robot, state, reference, parameters, memory):
    return Gains().stiffness * state.v
"""
IMPORTING = """
IMPORT
from screw_dynamics_ros.core.law import control_law

@control_law()
def own(robot, state, reference, parameters, memory):
    return gain(state.v)
"""
HELPER = 'import numpy as np\ndef gain(v):\n    return FACTOR * v\n'


def torques(found, v):
    return found.recording and robot_law(found).step([0.0, 0.0], v)[0]


def robot_law(found):
    from screw_dynamics_ros.core.law import RobotLaw

    return RobotLaw(found.law, ROBOT, {}, found.recording)


def test_a_data_class_with_postponed_annotations(worker, path):
    np.testing.assert_array_equal(torques(load(worker, path, text=DATA_CLASS), [1.0, 3.0]), [2, 6])


@pytest.mark.parametrize(
    ('statement', 'place', 'is_package'),
    [
        ('from helper import gain', 'helper.py', False),
        ('from .helper import gain', 'helper.py', False),
        ('from .helper import gain', 'helper.py', True),
        ('from parts.helper import gain', 'parts/helper.py', False),
        ('from .parts.helper import gain', 'parts/helper.py', True),
    ],
)
def test_files_beside_a_law(worker, tmp_path, statement, place, is_package):
    """They are loaded, checked and watched as the law is."""
    folder = tmp_path / 'package'
    path, helper = folder / 'laws.py', folder / place
    helper.parent.mkdir(parents=True)
    if is_package:
        (folder / '__init__.py').touch()
    helper.write_text(HELPER.replace('FACTOR', '3.0'))
    found = load(worker, path, text=IMPORTING.replace('IMPORT', statement))
    assert found.reason == ''
    assert {str(path), str(helper)} <= set(found.contents)
    assert found.contents.keys() == found.stamps.keys()
    np.testing.assert_array_equal(torques(found, [1.0, 2.0]), [3.0, 6.0])
    helper.write_text(HELPER.replace('FACTOR', '5.0'))
    np.testing.assert_array_equal(torques(answer(worker, path), [1.0, 2.0]), [5.0, 10.0])
    before = answer(worker, path, contents=found.contents)  # whatever the files are now
    np.testing.assert_array_equal(torques(before, [1.0, 2.0]), [3.0, 6.0])
    helper.write_text(HELPER.replace('FACTOR', 'np.exp(v)'))
    assert 'helper.py:3: return np.exp(v) * v: np.exp cannot' in answer(worker, path).reason
    helper.write_text('1 / 0')
    assert 'helper.py:1: 1 / 0: ZeroDivisionError' in answer(worker, path).reason
    helper.chmod(0o666)
    assert 'law file helper.py is not executed: others may write' in answer(worker, path).reason


def test_a_change_of_a_file_beside_the_law_is_seen(path):
    helper = path.with_name('helper.py')
    helper.write_text(HELPER.replace('FACTOR', '3.0'))
    path.write_text(IMPORTING.replace('IMPORT', 'from helper import gain'))
    laws = LawProcess(f'{path}:own', {}, lambda: TIMEOUT)
    laws.look(ROBOT)
    assert not laws.is_loading
    for text, factor in (('9.0', 9.0), ('nothing', None), ('-4.0', -4.0)):
        helper.write_text(HELPER.replace('FACTOR', text))
        laws.look(ROBOT)
        while laws.is_loading:
            pass
        if factor is None:
            with pytest.raises(
                ScrewDynamicsError, match=r"helper.py:3: .*'nothing' is not defined"
            ):
                laws.poll()
        else:
            tau, _ = laws.poll().on(ROBOT).step([0.0, 0.0], [1.0, 2.0])
            np.testing.assert_array_equal(tau, [factor, 2.0 * factor])
    laws._worker.end()


# --- data -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    'change',
    [
        lambda data: data['program'][1].append(['add', 0, 10**6]),
        lambda data: data['program'][1].append(['exec', 'text']),
        lambda data: data['program'][1].insert(0, ['neg', 0]),
        lambda data: data['program'][1].append(['input', 'q', 2]),
        lambda data: data['program'][1].append(['scale', 'nan', 0]),
        lambda data: data['program'][1].append(['constant', 'text']),
        lambda data: data['program'][2].pop(),
        lambda data: data['program'][2][0][1].append(0),
        lambda data: data['program'][2][0][1].__setitem__(0, -1),
        lambda data: data['program'][2][0][1].__setitem__(0, True),
        lambda data: data['program'][0].pop(),
        lambda data: data['program'].clear(),
        lambda data: data['read'].clear(),
        lambda data: data['read'].update(state=['dt']),
        lambda data: data.clear(),
    ],
)
def test_programs_of_another_process_are_checked(change):
    law = LAWS['gravity_compensation']
    found = record(law, ROBOT, {}).data()
    data = {
        'read': {group: list(names) for group, names in found['read'].items()},
        'program': [
            [list(each) for each in found['program'][0]],
            [list(each) for each in found['program'][1]],
            [[list(shape), list(elements)] for shape, elements in found['program'][2]],
        ],
    }
    assert LawRecording.of(data, law, ROBOT).program.operations == found['program'][1]
    change(data)
    with pytest.raises(ArgumentError):
        LawRecording.of(data, law, ROBOT)
