# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Equations and fits of efforts made of arrays, without a robot."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.identification.effort_equations import (
    EffortEquations,
)
from screw_dynamics_ros.core.identification.effort_fit import EffortFit


def effort_equations(effort, W=None, **arrays):
    """Return equations with some arrays; all others are zero, instants 0.1 s apart in one part."""
    effort = np.asarray(effort, dtype=float)
    zeros, (count, n) = np.zeros_like(effort), effort.shape
    fields = {
        't': 0.1 * np.arange(count),
        'part': np.zeros(count, dtype=int),
        'W': np.zeros((count, n, 0)) if W is None else W,
        'effort': effort,
        'loaded': np.zeros(count, dtype=bool),
        'recording': np.zeros(count, dtype=int),
        **dict.fromkeys(('known', 'rigid', 'nominal', 'q', 'v', 'a', 'direction'), zeros),
    }
    return EffortEquations(**fields | arrays)


def effort_fit(gains, x=(), deviations=(), *, free=(), **fields):
    """Return a fit of base parameters x and gains, with deviations of x and the free gains."""
    gains, x = np.array(gains, dtype=float), np.array(x, dtype=float)
    size = len(x) + len(free)
    sigma = np.array(deviations, dtype=float) if len(deviations) else np.full(size, 0.1)
    return EffortFit(**{
        'x': x,
        'gains': gains,
        'free': tuple(free),
        'covariance': np.diag(sigma**2),
        'freedom': np.full(size, 8.0),
        'identified': np.ones(size, dtype=bool),
        'combinations': (),
        'noise': np.ones(len(gains)),
        'correlation': np.ones(len(gains)),
        'condition': 1.0,
        'information': (np.eye(len(x)), x),
        'weights': np.ones(1),
    } | fields)  # fmt: skip
