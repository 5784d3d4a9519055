"""What all tests share: a cache of compiled programs of their own, never that of the user."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

CACHE = pytest.StashKey[Callable[[], None]]()


def pytest_configure(config: pytest.Config) -> None:
    """Choose an empty cache directory; child processes inherit it, doctests use it too."""
    folder = tempfile.TemporaryDirectory(prefix='screw_dynamics_cache_')
    before = os.environ.get('SCREW_DYNAMICS_CACHE')
    os.environ['SCREW_DYNAMICS_CACHE'] = folder.name

    def restore() -> None:
        folder.cleanup()
        if before is None:
            del os.environ['SCREW_DYNAMICS_CACHE']
        else:
            os.environ['SCREW_DYNAMICS_CACHE'] = before

    config.stash[CACHE] = restore


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the cache directory of this run."""
    config.stash[CACHE]()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one more than processors: tests of nodes wait most of the time."""
    from screw_dynamics_ros.core.compile.native import worker_count

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
    from screw_dynamics_ros.cli.demo_processes import free_domain

    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    if os.environ.get('ROS_DISTRO') == 'humble':
        os.environ['ROS_LOCALHOST_ONLY'] = '1'
    return free_domain(1, 39)


@pytest.fixture(scope='module')
def start(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Start nodes that end with the module."""
    from ros_harness import NodeProcess

    folder, running = tmp_path_factory.mktemp('nodes'), []

    def start_node(name: str, parameters: Any = None, arguments: Any = ()) -> NodeProcess:
        running.append(NodeProcess(name, ros_domain, folder, parameters, arguments))
        return running[-1]

    yield start_node
    for node in running:
        node.stop()


@pytest.fixture(scope='module')
def connect(ros_domain: int) -> Iterator[Any]:
    """Make clients that end with the module."""
    from ros_harness import Client

    clients = []

    def make_client(namespace: str = '') -> Client:
        clients.append(Client(ros_domain, namespace))
        return clients[-1]

    yield make_client
    for client in clients:
        client.close()
