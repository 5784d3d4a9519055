# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The active robot description, and the models built from it in the background."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from ..core.errors import DescriptionError, ScrewDynamicsError
from .names import shown
from .process.faults import FAULTS
from .process.latest import Latest

T = TypeVar('T')

TOPIC, PARAMETER = 'topic', 'parameter'  # where a description comes from

MAX_DESCRIPTION_LENGTH = 16 * 2**20  # characters of a description


def urdf_text(text: str, what: str) -> str:
    """Return a text from the network if it begins as XML; raises `DescriptionError`.

    Any other text would be interpreted as a path, and the file opened.
    """
    if not text.lstrip('\ufeff \t\r\n').startswith('<'):
        raise DescriptionError(
            f'{what} is not XML but {shown(text)!r}; give the text of the description, not its name'
        )
    if len(text) > MAX_DESCRIPTION_LENGTH:
        raise DescriptionError(f'{what} is longer than {MAX_DESCRIPTION_LENGTH} characters')
    return text


@dataclass(frozen=True)
class Description:
    """The text of a URDF and its origin: TOPIC or PARAMETER."""

    text: str
    origin: str


@dataclass(frozen=True)
class DescriptionOutcome(Generic[T]):
    """The result of a request with several descriptions: the model of the first valid one.

    Attributes
    ----------
    description : Description or None
        The description of the model; None if there is no model.
    model : object or None
    reason : str
        Why the preferred description was refused; empty if it is in use.
    """

    description: Description | None
    model: T | None
    reason: str = ''


class DescriptionLoader(Latest[DescriptionOutcome[T]], Generic[T]):
    """Builds models in a background thread; the latest request takes precedence.

    Parameters
    ----------
    build : callable
        Makes the model from the text, or raises `ScrewDynamicsError`; runs in another thread.
    """

    def __init__(self, build: Callable[[str], T]) -> None:
        super().__init__('description loader')
        self.build = build

    @property
    def is_pending(self) -> bool:
        """Whether a model is being built, or has not been fetched yet."""
        return self.is_busy or self.outcome is not None

    def submit(self, descriptions: Sequence[Description]) -> None:
        """Build the model of the first valid description, as soon as possible.

        Earlier requests are canceled, and their models discarded even if complete: they were built
        with earlier parameters.
        """
        self.ask(partial(self._first_of, tuple(descriptions)))

    def _first_of(self, descriptions: Sequence[Description]) -> DescriptionOutcome[T]:
        """Build the first valid one; stop if another request is waiting."""
        reason = ''
        for description in descriptions:
            try:
                return DescriptionOutcome(description, self.build(description.text), reason)
            except ScrewDynamicsError as error:
                reason = reason or str(error)
            except Exception as error:  # no description may end the node
                FAULTS.record('robot description', error)
                reason = reason or f'{type(error).__name__}: {error}'
            if self.waiting is not None:
                break
        return DescriptionOutcome(None, None, reason)


class DescriptionSource:
    """The descriptions from a parameter and a topic, and the active one.

    Attributes
    ----------
    from_topic : str or None
        Latest description of the topic; None before the first message.
    from_parameter : str
        Value of the parameter, empty if not set.
    active : Description or None
    urdf : str
        The URDF of the active description, empty without one.
    reason : str
        Why the preferred description is not active; empty if it is, or is being compiled.
    """

    def __init__(self) -> None:
        self.from_topic: str | None = None
        self.from_parameter = ''
        self.active: Description | None = None
        self.urdf = ''
        self.reason = ''

    def candidates(self) -> list[Description]:
        """Return the descriptions to try, the preferred one first.

        The parameter takes precedence unless it has never been valid.
        """
        wanted = []
        follows_topic = self.active is None or self.active.origin == TOPIC
        if self.from_parameter:
            wanted.append(Description(self.from_parameter, PARAMETER))
        if self.from_topic is not None and (follows_topic or not self.from_parameter):
            wanted.append(Description(self.from_topic, TOPIC))
        if self.active is not None:
            wanted.append(self.active)
        texts = [description.text for description in wanted]
        return [
            description for k, description in enumerate(wanted) if description.text not in texts[:k]
        ]

    @property
    def is_wanted(self) -> bool:
        """Whether the preferred description is active."""
        return self.active is not None and self.candidates()[0].text == self.active.text

    @property
    def fault(self) -> str:
        """Why the active description may not be that of the robot, empty if it is."""
        is_old = self.active is not None and not self.is_wanted
        return self.reason or ('another robot description is being compiled' if is_old else '')

    @property
    def ignores_topic(self) -> bool:
        """Whether the parameter is in use and the topic offers another description."""
        return (
            bool(self.from_parameter)
            and self.from_topic is not None
            and self.active is not None
            and self.from_topic not in (self.active.text, self.urdf)
        )
