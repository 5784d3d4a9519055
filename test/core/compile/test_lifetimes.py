# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Nothing leaks, dangles or waits: memory, garbage collection, threads and forks.

Single calls on the native backend are builtin functions written in machine code; these tests try to
break them in the ways in which hand-made C extensions break.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from support.compilation import BACKENDS, build, call, close, needs_llvmlite, run_python, states
from support.models import random_description


def resident() -> int:
    """Return the memory of this process in bytes."""
    return int(Path('/proc/self/statm').read_text().split()[1]) * os.sysconf('SC_PAGESIZE')


@needs_llvmlite
@pytest.mark.skipif(not Path('/proc/self/statm').exists(), reason='no /proc')
def test_a_quarter_of_a_million_calls_leave_no_trace():
    """Memory flat and reference counts as they were: results, arguments, None, the dtype."""
    robot = build('tree', 'native')
    q, v, a = (x[0] for x in states(robot, 1).values())
    kernel = robot.fuse('gravity_torques', 'mass_matrix')
    out = [np.empty(shape) for shape in kernel.shapes]
    gravity = robot.gravity

    def work(repeats: int) -> None:
        poses, torques, energy = robot.link_pose, robot.inverse_dynamics, robot.potential_energy
        jacobian = robot.jacobian
        for _ in range(repeats):
            torques(q, v, a)
            poses(q, 'link3')
            energy(q)
            jacobian(q, 'link3', 'body')
            kernel(q, gravity, out=out)

    work(2)
    robot.link_pose(q, 'link3')
    work(5_000)
    watched = [
        q,
        v,
        a,
        gravity,
        np.dtype(np.float64),
        out[0],
        'link3',
        robot,
        *robot.kernels.values(),
    ]
    counts, memory = [sys.getrefcount(x) for x in watched], resident()
    work(50_000)
    assert resident() - memory < 2**20
    assert [sys.getrefcount(x) for x in watched] == counts
    result = robot.inverse_dynamics(q, v, a)
    assert sys.getrefcount(result) == 2


@needs_llvmlite
def test_calls_that_fall_back_leave_no_trace():
    """Stacks, lists, keywords and refused arguments go through Python; they leak nothing either."""
    robot = build('tree', 'native')
    state = states(robot, 16)
    q, many = state['q'][0], state['q']
    row = q.tolist()

    def work(repeats: int) -> None:
        for _ in range(repeats):
            robot.mass_matrix(many)
            robot.mass_matrix(row)
            robot.mass_matrix(q=q)
            robot.link_pose(q, link='link3')
            for bad in (q[1:], None, 'x'):
                with pytest.raises(ValueError, match='q must'):
                    robot.mass_matrix(bad)

    work(50)
    gc.collect()
    counts, memory = [sys.getrefcount(x) for x in (q, many, row, robot)], resident()
    work(500)
    gc.collect()
    assert [sys.getrefcount(x) for x in (q, many, row, robot)] == counts
    assert resident() - memory < 2 * 2**20


@needs_llvmlite
def test_robots_are_released():
    description = random_description(0, 3)
    robot = Robot(description, backend='native')
    robot.mass_matrix(np.zeros(3))
    robot.jacobian(np.zeros(3), 'link1', 'body')
    alive = weakref.ref(robot)
    del robot
    gc.collect()
    assert alive() is None


@needs_llvmlite
def test_functions_outlive_their_robot():
    """Bound functions and fused kernels, called in every way after the robot is gone."""
    reference = build('tree', 'reference')
    state = states(reference, 9)
    q, v, a = (x[0] for x in state.values())
    kept = []
    for _ in range(2):
        robot = build('tree', 'native')
        robot.inverse_dynamics(q, v, a)
        robot.jacobian(q, 'link2')
        robot.jacobian(q, 'link3', 'body')
        kept.append(
            (
                robot.inverse_dynamics,
                robot.jacobian,
                robot.fuse('mass_matrix'),
                robot.gravity_torques,
            )
        )
        del robot
        gc.collect()
    for torques, jacobian, mass, gravity in kept:
        for _ in range(3):
            gc.collect()
            close(torques(q, v, a), reference.inverse_dynamics(q, v, a))
            close(torques(list(q), v, a), reference.inverse_dynamics(q, v, a))
            close(torques(*state.values()), reference.inverse_dynamics(*state.values()))
            close(jacobian(q, 'link2'), reference.jacobian(q, 'link2'))
            close(jacobian(q, 'link4', 'spatial'), reference.jacobian(q, 'link4', 'spatial'))
            close(jacobian(q, 'link3', 'body'), reference.jacobian(q, 'link3', 'body'))
            close(mass(q)[0], reference.mass_matrix(q))
            close(mass(list(q))[0], reference.mass_matrix(q))
            close(gravity(q), reference.gravity_torques(q))
            with pytest.raises(ValueError, match='q must'):
                torques(q[1:], v, a)


@needs_llvmlite
def test_garbage_collection_at_any_time():
    """Robots made, used, put into cycles and dropped while the collector runs all the time."""
    description = random_description(0, 3)
    q = np.array([0.1, 0.2, 0.3])
    expected = Robot(description, backend='reference').mass_matrix(q)
    before = gc.get_threshold()
    try:
        gc.set_threshold(1)
        for k in range(20):
            robot = Robot(description, backend='native')
            robot.mass_matrix(q)
            robot.cycle = [robot, robot.mass_matrix, robot.link_pose]
            function = robot.mass_matrix
            robot.gravity = (0, 0, -float(k))
            close(robot.mass_matrix(q), expected)
            del robot
            close(function(q), expected)
    finally:
        gc.set_threshold(*before)
    gc.collect()
    close(function(q), expected)


@BACKENDS
def test_many_threads_call_at_once(backend):
    """First calls, which compile, and later ones, from eight threads."""
    robot, reference = build('tree', backend), build('tree', 'reference')
    state = states(robot, 12)
    expected = {
        name: call(reference, name, state)
        for name in ('mass_matrix', 'gravity_torques', 'link_pose')
    }
    failures: list[BaseException] = []
    start = threading.Barrier(8)

    def work() -> None:
        try:
            start.wait()
            for name, right in expected.items():
                for k in range(12):
                    close(call(robot, name, {key: x[k] for key, x in state.items()}), right[k])
                close(call(robot, name, state), right)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@needs_llvmlite
@pytest.mark.skipif(not hasattr(os, 'fork'), reason='no fork')
def test_a_forked_process_computes_stacks():
    """The threads that share the stacks do not survive a fork; the child must not wait for them."""
    output = run_python("""
        import os, signal, sys
        import numpy as np
        from support.models import random_description
        from screw_dynamics_ros.core import Robot
        from screw_dynamics_ros.core.compile import stack_runs
        from screw_dynamics_ros.core.compile.llvm import native
        stack_runs.THREAD_WORK, native.worker_count = 0, lambda: 2
        robot = Robot(random_description(0, 3), backend='native')
        q = np.random.default_rng(0).uniform(-1, 1, (100, 3))
        expected = robot.mass_matrix(q)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            os._exit(0 if np.array_equal(robot.mass_matrix(q), expected) else 1)
        _, status = os.waitpid(child, 0)
        print('child', os.waitstatus_to_exitcode(status))
    """)
    assert 'child 0' in output
