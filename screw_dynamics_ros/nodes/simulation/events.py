"""Events that are counted and reported."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any


class Events:
    """Counter of events: their number, the last one, and how many since the last report."""

    def __init__(self) -> None:
        self.count, self.last, self._told = 0, '', 0

    def __str__(self) -> str:
        return f'{self.count}; the last {self.last}' if self.count else '0'

    def add(self, text: str) -> None:
        """Record an event."""
        self.count, self.last = self.count + 1, text

    def news(self) -> int:
        """Return how many events there were since the last call."""
        count = self.count
        news, self._told = count - self._told, count
        return news

    def guarded(self, what: str, callback: Callable[..., None]) -> Callable[..., None]:
        """Return a callback whose exceptions end only that call, and are recorded."""

        @wraps(callback)  # rclpy looks at the arguments
        def call(*arguments: Any) -> None:
            try:
                callback(*arguments)
            except Exception as error:  # rclpy lets it end the process
                self.add(f'{what}: {type(error).__name__}: {error}')

        return call
