"""What all tests share: a cache of compiled programs of their own, never that of the user."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable

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
