"""From the text of a robot description to what a node needs of it, in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.ros.scheduling import use_ordinary_time

T = TypeVar('T')


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What became of a description: a model, or the reason why there is none."""

    text: str
    origin: str
    model: T | None
    reason: str = ''


class DescriptionLoader(Generic[T]):
    """Builds models in a background thread; of texts that come meanwhile the last one counts.

    Parameters
    ----------
    build : callable
        Makes the model from the text, or raises `ScrewDynamicsError`; runs in another thread.
    """

    def __init__(self, build: Callable[[str], T]) -> None:
        self._build = build
        self._lock = threading.Lock()
        self._waiting: tuple[str, str] | None = None
        self._outcome: Outcome[T] | None = None
        self._thread: threading.Thread | None = None

    @property
    def busy(self) -> bool:
        """Whether a model is being built, or waits to be fetched."""
        with self._lock:
            return self._thread is not None or self._outcome is not None

    def submit(self, text: str, origin: str) -> None:
        """Build the model of `text` as soon as possible; `origin` comes back with the outcome."""
        with self._lock:
            self._waiting = text, origin
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name='description loader', daemon=True)
                self._thread.start()

    def poll(self) -> Outcome[T] | None:
        """Return the latest outcome once, None if there is no new one."""
        with self._lock:
            outcome, self._outcome = self._outcome, None
            return outcome

    def _work(self) -> None:
        use_ordinary_time()
        while True:
            with self._lock:
                if self._waiting is None:
                    self._thread = None
                    return
                (text, origin), self._waiting = self._waiting, None
            try:
                outcome = Outcome(text, origin, self._build(text))
            except ScrewDynamicsError as error:
                outcome = Outcome[T](text, origin, None, str(error))
            except Exception as error:  # the node must survive whatever a description does
                outcome = Outcome[T](text, origin, None, f'{type(error).__name__}: {error}')
            with self._lock:
                self._outcome = outcome
