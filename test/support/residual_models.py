# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Models of residuals with random numbers."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.estimation.residual_map import ResidualMap
from screw_dynamics_ros.core.estimation.residual_model import FEATURES, FITTED, ResidualModel

POSITIVE = ('speeds', 'loads', 'ranges')


def some_model(seed=0, n=3, turning=(1, 1, 0)):
    """Return a model with random numbers."""
    rng = np.random.default_rng(seed)
    fitted = {name: rng.normal(size=n * size) for name, size in FITTED.items()}
    fitted |= {name: rng.uniform(0.5, 2.0, n) for name in POSITIVE}
    roots = rng.normal(size=(n, FEATURES, FEATURES))
    fitted['posterior'] = (roots @ roots.transpose(0, 2, 1)).ravel() * 1e-3
    fitted['explained'], fitted['middles'] = rng.uniform(1.0, 2.0, n), np.zeros(n)
    fitted['limits'] = np.tile([-2.0, 2.0], n)
    fitted['noise'] = rng.uniform(0.1, 0.5, n)
    fitted['tails'] = np.tile([1.0, 0.5, 5.0], n)
    root = rng.normal(size=(n, n))
    root /= np.linalg.norm(root, axis=1)[:, None]
    plain = ResidualMap.none(n)
    plain.turning = np.array(turning)
    plain.scales = np.where(plain.turning, 1.0, 0.4)
    plain.plain = rng.normal(size=n)
    return ResidualModel(plain, fitted | {'correlation': root @ root.T})
