# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A signal ends nodes in order, whatever they are publishing just then."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from screw_dynamics_ros.ros.process.children import end_with_parent
from support.paths import ROOT
from support.processes import wait_for
from support.robots import urdf_path
from support.ros_harness import DEADLINE


@pytest.mark.parametrize(
    ('number', 'executor'), [(signal.SIGINT, 'auto'), (signal.SIGTERM, 'single')]
)
def test_signal_while_publishing(start, connect, number, executor):
    """With driver and model nodes in one process, at a rate they cannot keep."""
    name = f'end_{number.name.lower()}_{executor}'
    node = start(
        'bringup',
        {
            'nodes': "['kinematics', 'dynamics', 'simulator']",
            'executor': executor,
            'rate': 2000.0,
            'robot_description': f"'{urdf_path('planar_2r').read_text()}'",
        },
        ['-r', f'__ns:=/{name}'],
    )
    client = connect(name)
    client.subscribe(JointState, 'joint_states', profile=qos_profile_sensor_data)
    client.subscribe(JointState, 'dynamics/gravity')
    client.wait(lambda: len(client.received['dynamics/gravity']) > 20, what='gravity torques')
    assert node.stop(number) == 0
    # Whether joint states come in time is up to the machine.
    output = [line for line in node.output.splitlines() if ': joint states: ' not in line]
    for sign in ('Traceback', 'FATAL', 'ERROR', 'invalid'):
        assert not [line for line in output if sign in line], node.output


def test_a_description_that_nobody_writes_holds_up_no_start(start, tmp_path):
    """A pipe is refused: opening it would wait for a writer."""
    path = tmp_path / 'nobody_writes.urdf'
    os.mkfifo(path)
    node = start('simulator', {'urdf': path}, ['-r', '__ns:=/early'])
    assert node.wait() == 1
    assert 'nobody_writes.urdf: it cannot be read: Not a regular file' in node.output
    assert 'Traceback' not in node.output


URDF = str(urdf_path('panda'))
STARTS = {
    'bringup': ['-m', 'screw_dynamics_ros', 'bringup'],
    'simulator': ['-m', 'screw_dynamics_ros', 'simulator'],
    'doctor': ['-m', 'screw_dynamics_ros', 'doctor', '--wait', '60'],
    'compile': [
        '-c',
        'import sys; from screw_dynamics_ros.entry import compile; sys.exit(compile())',
        URDF,
        'mass_matrix',
        '--folder',
        '{folder}',
    ],
    'bench': ['-m', 'screw_dynamics_ros', 'bench', URDF, 'mass_matrix', 'inverse_dynamics'],
    'dynamics': ['-c', 'from screw_dynamics_ros.entry import dynamics; dynamics()'],
}


def interrupted(name, event, presses, domain, folder):
    """Start an executable; send SIGINT after an event.

    Which is that it has imported so many modules from its own first one on, or printed a text, or
    that something holds. Before its first import the interpreter is still busy with itself, and
    prints what it likes.

    Returns
    -------
    status : int
    output : list of str
        Without the lines about imports, which PYTHONPROFILEIMPORTTIME makes.
    """
    environment = {
        **os.environ,
        'ROS_DOMAIN_ID': str(domain),
        'PYTHONPROFILEIMPORTTIME': '1',
        'PYTHONPATH': os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')]),
    }
    log = Path(folder) / f'{name}.log'
    command = [word.format(folder=folder) for word in STARTS[name]]
    with log.open('w') as file:
        process = subprocess.Popen(
            [sys.executable, *command],
            env=environment,
            stdout=file,
            stderr=file,
            preexec_fn=end_with_parent,
        )

    def has_come():
        text = log.read_text(errors='replace')
        if isinstance(event, str):
            return event in text
        if callable(event):
            return event()
        own = text.rpartition('| screw_dynamics_ros.entry')[2] if '_ros.entry\n' in text else ''
        return own.count('import time:') >= event

    wait_for(lambda: has_come() or process.poll() is not None)
    for _ in range(presses):
        process.send_signal(signal.SIGINT)
    try:
        status = process.wait(DEADLINE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f'{name} did not end:\n{log.read_text()}') from None
    return status, [
        line
        for line in log.read_text(errors='replace').splitlines()
        if line and not line.startswith('import time:')
    ]


@pytest.mark.parametrize(
    ('name', 'event', 'presses'),
    [
        ('bringup', 1, 1),
        ('bringup', 500, 2),
        ('bringup', 'waiting for the robot description', 1),
        ('simulator', 40, 2),
        ('dynamics', 300, 1),
        ('doctor', 250, 1),
        ('doctor', 'its node', 2),
        ('compile', 200, 1),
        ('bench', 500, 1),
    ],
)
def test_sigint_while_starting_prints_no_traceback(
    name, event, presses, ros_domain, connect, tmp_path
):
    """Whatever it imports just then; tools say that they were interrupted, and nodes nothing."""
    if event == 'its node':
        client = connect(name)

        def event():
            client.executor.spin_once(timeout_sec=0.01)
            return 'doctor' in client.node.get_node_names()

    status, output = interrupted(name, event, presses, ros_domain, tmp_path)
    text = '\n'.join(output)
    for sign in ('Traceback', 'Exception', 'Error', 'Fatal'):
        assert sign not in text, text
    if name in ('bringup', 'simulator', 'dynamics'):
        assert status == 0, text
    elif status != 0:  # it may have been done before
        assert (status, output[-1]) == (130, f'{name}: interrupted')


def compilers_of(process):
    """Return the numbers of the processes that compile for another one."""
    found = []
    with suppress(OSError):  # threads come and go
        for task in Path(f'/proc/{process.pid}/task').iterdir():
            found += map(int, (task / 'children').read_text().split())
    return [pid for pid in found if 'compiler_process' in Path(f'/proc/{pid}/cmdline').read_text()]


@pytest.mark.skipif(not Path('/proc/self/task').exists(), reason='processes are found by /proc')
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signal_while_a_description_compiles(start, connect, tmp_path, monkeypatch, number):
    """However long that takes: here the processes that compile stand still."""
    monkeypatch.setenv('SCREW_DYNAMICS_CACHE', str(tmp_path))
    name = f'compiling_{number.name.lower()}'
    node, client = start('bringup', None, ['-r', f'__ns:=/{name}']), connect(name)
    client.describe(urdf_path('panda').read_text())
    stopped = set()

    def stop():
        for pid in compilers_of(node.process):
            os.kill(pid, signal.SIGSTOP)
            stopped.add(pid)
        return stopped

    try:
        client.wait(stop, what='a description that compiles')
        assert 'ready: ' not in node.output
        assert node.stop(number) == 0, node.output
        assert 'Traceback' not in node.output
    finally:
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
