# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""All observers of external torques by name, and their functions for recorded programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ...types import Array
from .filtered_dynamics import FilteredDynamics
from .generalized_momentum import GeneralizedMomentum
from .kalman import MomentumKalmanFilter
from .observer import Observer, Sample
from .parameters import PER_JOINT, ObserverParameters
from .sliding_mode import SlidingMode
from .static import Static

#: All observers, in the order of the documentation.
OBSERVERS: dict[str, Observer] = {
    'static': Static(),
    'filtered': FilteredDynamics(),
    'momentum': GeneralizedMomentum(),
    'kalman': MomentumKalmanFilter(),
    'sliding': SlidingMode(),
}


def descriptions() -> str:
    """Return the methods of all observers in one line."""
    return '; '.join(f'{name}: {each.text}' for name, each in OBSERVERS.items())


def reads(observer: str, name: str) -> bool:
    """Return whether an observer reads one of `ObserverParameters`."""
    found = OBSERVERS[observer]
    return name in found.parameters or (
        name == 'observer_time_constant' and found.follows_time_constant
    )


def described(values: Mapping[str, Any]) -> str:
    """Return an observer and those of its parameters that are common to all joints, as a text."""
    name = values['observer']
    common = (each.name for each in fields(ObserverParameters) if each.name not in PER_JOINT)
    return ', '.join([name, *(f'{each} {values[each]:g}' for each in common if reads(name, each))])


def parameter_texts() -> dict[str, str]:
    """Return the descriptions of `ObserverParameters`, with the observers that read each."""
    texts = {}
    for each in fields(ObserverParameters):
        readers = [name for name in OBSERVERS if reads(name, each.name)]
        listed = ' and '.join(filter(None, [', '.join(readers[:-1]), *readers[-1:]]))
        observers = f'the observer{"s" if readers[1:] else ""} {listed}'
        texts[each.name] = each.metadata['text'].format(observers=observers)
    return texts


def next_state(state: Array, *arrays_and_name: Any) -> Array:
    """Return the state after a sample; arguments are those of `Sample.of` and the observer name."""
    *arrays, name = arrays_and_name
    return OBSERVERS[name].advance(state, Sample.of(OBSERVERS[name], arrays))


def torques(state: Array, *arrays_name_and_n: Any) -> Array:
    """Return the external torques (n,) from a state and the inputs `Observer.torques_read`."""
    *arrays, name, n = arrays_name_and_n
    observer = OBSERVERS[name]
    return observer.torques(n, state, dict(zip(observer.torques_read, arrays)))


def covariance(state: Array, name: str, n: int) -> Array:
    """Return the covariance (n^2,) of the torques."""
    return OBSERVERS[name].covariance(n, state)
