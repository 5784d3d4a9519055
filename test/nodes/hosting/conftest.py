# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Two nodes with the same parameters and messages, one of them with the compiled loop."""

import pytest


@pytest.fixture
def pair(monkeypatch, keep):
    """Return a function that makes a `Pair`, with the parameters of both nodes."""
    from support.loop_pair import Pair

    return lambda **parameters: keep(Pair(monkeypatch, **parameters))
