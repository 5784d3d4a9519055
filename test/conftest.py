# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What all tests share: a shuffled order, and a cache of compiled programs of their own.

Files are shuffled, and the tests within each file: what a module sets up is set up once. The order
is the same in each run unless another is asked for; try some, so that a test that needs another one
to come first does not stay unnoticed.
"""

from __future__ import annotations

import faulthandler
import fcntl
import gc
import os
import random
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from screw_dynamics_ros.pipes import ONE_THREAD

os.environ.update({**ONE_THREAD, **os.environ})  # as of commands; read when NumPy is imported

import numpy as np

ORDER = 131926  # of a run that is not asked for another one

LONGEST = 'test/core/robot/test_pinocchio.py'  # all real robots: a minute

collect_ignore = ['endurance']  # programs, run by path

ENVIRONMENT = pytest.StashKey[pytest.MonkeyPatch]()
TRACES, TRACE = pytest.StashKey[Path](), '.crash'  # folder of the traces of crashes, and suffix

# Nothing fails for being slow.
settings.register_profile('tests', deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile('tests')


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the order of a run be asked for again."""
    parser.addoption(
        '--order-seed',
        type=int,
        metavar='N',
        default=ORDER,
        help=f'order of the tests, {ORDER} by default; 0 for a random one',
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose an order, and a cache directory that is empty at first; workers share those of all.

    Child processes inherit the directory, and one for bytecode where Python is configured to write
    none; doctests use it too.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background command; nodes
        signal.signal(signal.SIGINT, signal.default_int_handler)  # would inherit that
    shared = getattr(config, 'workerinput', {})
    if not config.option.order_seed:
        chosen = shared.get('order_seed')
        config.option.order_seed = chosen or random.SystemRandom().randrange(1, 10**6)
    config.stash[ENVIRONMENT] = environment = pytest.MonkeyPatch()
    if 'cache' in shared:
        environment.setenv('SCREW_DYNAMICS_CACHE', shared['cache'])
        path = Path(shared['traces'], shared['workerid']).with_suffix(TRACE)
        trace_crashes(environment, path.open('w'))
        return
    trace_crashes(environment, os.dup(2))
    # a process of a node that has just ended may still be writing there
    folder = tempfile.TemporaryDirectory(prefix='screw_dynamics_tests_', ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)
    config.stash[TRACES] = Path(folder.name)
    kept = os.environ.get('SCREW_DYNAMICS_TEST_CACHE')  # of runs that follow each other
    environment.setenv('SCREW_DYNAMICS_CACHE', kept or os.path.join(folder.name, 'programs'))
    if sys.dont_write_bytecode and not sys.pycache_prefix:
        # a node would compile its sources for half of the time of a start
        environment.setenv('PYTHONPYCACHEPREFIX', os.path.join(folder.name, 'bytecode'))
        environment.delenv('PYTHONDONTWRITEBYTECODE', raising=False)


def trace_crashes(environment: pytest.MonkeyPatch, file: Any) -> None:
    """Write the stacks of all threads to a file if this process crashes, or is ended by SIGTERM.

    Each EventsExecutor of rclpy enables the trace again, to the stderr that pytest captures, and it
    would be lost.
    """
    faulthandler.enable(file)
    faulthandler.register(signal.SIGTERM, file, chain=True)
    environment.setattr(faulthandler, 'enable', lambda *_, **__: None)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Put the environment back."""
    config.stash[ENVIRONMENT].undo()


def pytest_report_header(config: pytest.Config) -> str:
    """Say which order this is."""
    return f'order of tests: --order-seed {config.option.order_seed}'


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """Say it again beside failures, a quiet run has no header; show why workers have crashed."""
    if exitstatus:
        terminalreporter.write_line(pytest_report_header(config))
    for path in sorted(config.stash[TRACES].glob(f'*{TRACE}')):
        if text := path.read_text(errors='replace'):
            terminalreporter.section(f'crash of worker {path.stem}')
            terminalreporter.write_line(text)


@pytest.hookimpl(tryfirst=True)  # then pytest puts together what shares a fixture for one parameter
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle the files, and the tests of each; a part of them alone keeps its order.

    The longest file goes first, then those with processes, which wait more than they compute: no
    worker is left alone with a long one at the end.
    """

    def place(text: object) -> float:
        return random.Random(f'{config.option.order_seed} {text}').random()

    def key(item: pytest.Item) -> tuple[bool, bool, float, float]:
        path = item.path.relative_to(config.rootpath)
        waits = path.parts[:2] in (('test', 'nodes'), ('test', 'cli'))
        return path.as_posix() != LONGEST, not waits, place(path), place(item.nodeid)

    items.sort(key=key)


@pytest.hookimpl(hookwrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Collect ten thousand tests, and let the garbage collector look at none of them ever again.

    It would take a tenth of the time of a run: they are most of what is in memory. What tests keep
    is looked at less often than by default. One worker collects before the others do, which then
    find the bytecode of all files.
    """
    gc.disable()
    gc.set_threshold(20_000, 10, 100)
    with Path(os.environ['SCREW_DYNAMICS_CACHE']).with_name('collecting').open('w') as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(lock, fcntl.LOCK_SH)
        yield
    gc.freeze()
    session.config.stash[ENVIRONMENT].setattr(gc, 'unfreeze', lambda: None)  # of nodes
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give a worker the order and the cache of all."""
    node.workerinput['order_seed'] = node.config.option.order_seed
    node.workerinput['cache'] = os.environ['SCREW_DYNAMICS_CACHE']
    node.workerinput['traces'] = str(node.config.stash[TRACES])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one more than processors: tests of nodes wait most of the time."""
    from screw_dynamics_ros.core.compile.llvm.native import worker_count

    return worker_count() + 1


@pytest.fixture(autouse=True)
def print_options() -> Iterator[None]:
    """Let a page's `np.set_printoptions` end with the test that runs the page."""
    with np.printoptions():
        yield


# --- nodes in processes of their own, see ros_harness -------------------------------------------


@pytest.fixture(scope='session')
def ros_domain() -> int:
    """Return a ROS domain for this run, on this machine only."""
    from screw_dynamics_ros.ros.process.children import free_domain

    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    if os.environ.get('ROS_DISTRO') == 'humble':
        os.environ['ROS_LOCALHOST_ONLY'] = '1'
    return free_domain(1, 39)


@pytest.fixture(scope='module')
def start(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Start nodes that end with the module, or with the test that starts them."""
    from support.ros_harness import NodeProcess

    folder, running = tmp_path_factory.mktemp('nodes'), []

    def start_node(name: str, parameters: Any = None, arguments: Any = ()) -> NodeProcess:
        running.append(NodeProcess(name, ros_domain, folder, parameters, arguments))
        return running[-1]

    yield start_node
    for node in running:
        node.stop()


@pytest.fixture(autouse=True)
def end_of_nodes(request: pytest.FixtureRequest) -> Iterator[None]:
    """End the nodes that a test starts, with the test; those of fixtures end with the module."""
    if 'start' not in request.fixturenames:
        yield
        return
    from support.ros_harness import NodeProcess

    before = list(NodeProcess.running)
    yield
    for node in [node for node in NodeProcess.running if node not in before]:
        node.stop()


@pytest.fixture(scope='module')
def connect(ros_domain: int) -> Iterator[Any]:
    """Make clients that end with the module."""
    from support.ros_harness import Client

    clients = []

    def make_client(namespace: str = '') -> Client:
        clients.append(Client(ros_domain, namespace))
        return clients[-1]

    yield make_client
    for client in clients:
        client.close()
