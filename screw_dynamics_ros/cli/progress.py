"""A progress bar on a terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType

WIDTH = 40  # characters
INTERVAL = 0.1  # s between two pictures


class ProgressBar:
    """Shows on stderr, if that is a terminal, how much is done; to be used in a `with` statement.

    Parameters
    ----------
    name : str
        What is done.
    """

    def __init__(self, name: str) -> None:
        self._name, self._start, self._shown = name, time.monotonic(), -1.0
        self._is_wanted = sys.stderr.isatty()

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_wanted and self._shown >= 0.0:
            sys.stderr.write('\r' + ' ' * (len(self._name) + WIDTH + 30) + '\r')

    def show(self, share: float, detail: str = '') -> None:
        """Show a share from 0 to 1, not more often than one can see."""
        now = time.monotonic()
        if not self._is_wanted or (now - self._shown < INTERVAL and share < 1.0):
            return
        self._shown = now
        done = round(WIDTH * min(max(share, 0.0), 1.0))
        bar = '#' * done + '.' * (WIDTH - done)
        sys.stderr.write(
            f'\r{self._name} [{bar}] {share:4.0%} {now - self._start:.0f} s {detail:<12}'
        )
        sys.stderr.flush()
