# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Validity of wrenches with a model of residuals."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from screw_dynamics_ros.core.estimation.residual_model import set_doubts
from screw_dynamics_ros.core.estimation.residual_offset import ResidualOffset
from screw_dynamics_ros.core.estimation.wrench_observability import WrenchObservability
from screw_dynamics_ros.nodes.outputs.external_wrenches.observable_step import (
    ObservableState,
    set_validity,
)
from screw_dynamics_ros.nodes.outputs.external_wrenches.torque_covariance import TorqueCovariance
from support.residual_models import some_model


def test_deviations_of_wrenches_follow_the_model():
    """As those of the same variances of a parameter, with the joints of the Jacobian only."""
    model, J = some_model(n=3), np.random.default_rng(0).normal(size=(6, 2))
    model.advance(np.linspace(-0.3, 0.4, 9), 0)
    set_doubts(model)
    found = []
    for offset_model in (model, None):
        state = ObservableState()
        state.decomposition = WrenchObservability(2)
        state.decomposition.characteristic_length = 1.0
        state.decomposition.threshold = 0.01
        state.decomposition.decompose(J)
        state.places, state.selected = np.array([2, 0]), np.zeros(2)
        state.variances = (model.deviations**2 + model.doubts)[[2, 0]] * (offset_model is None)
        state.torque_covariance = TorqueCovariance.__new__(TorqueCovariance)
        state.torque_covariance.offset = ResidualOffset()
        state.torque_covariance.offset.model = offset_model
        found.append(np.zeros(21))
        assert set_validity(state, found[-1])
    np.testing.assert_allclose(*found)
    assert (found[0][15:] > 0.0).any()
