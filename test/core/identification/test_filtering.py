# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Filters of identification: what passes, what does not, where a recording has gaps."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.identification import JointRecording
from screw_dynamics_ros.core.identification.filtering import (
    chosen_cutoff,
    kernel,
    needed_time,
    pieces,
)

NAMES = ('a',)


def recording(t, x, v=None):
    return JointRecording(t, x[:, None], None if v is None else v[:, None], x[:, None])


def one_piece(record, cutoff, measured=False):
    (piece,) = pieces(record, cutoff, measured)
    return piece


def test_a_slow_motion_passes_without_delay():
    t = np.arange(0, 12, 0.004)
    w = 2 * np.pi * 0.7
    piece = one_piece(recording(t, np.sin(w * t)), 4.0)
    assert np.allclose(piece.q[:, 0], np.sin(w * piece.t), atol=1e-4)
    assert np.allclose(piece.v[:, 0], w * np.cos(w * piece.t), atol=1e-4 * w)
    assert np.allclose(piece.a[:, 0], -(w**2) * np.sin(w * piece.t), atol=1e-3 * w**2)
    at = piece.low_pass(piece.t)
    assert np.allclose(piece.low_pass(piece.tau)[:, 0], np.sin(w * at), atol=1e-4)


def test_what_is_fast_does_not_pass_the_filter_of_torques():
    t = np.arange(0, 12, 0.004)
    piece = one_piece(recording(t, np.sin(2 * np.pi * 10.0 * t)), 4.0)
    assert np.abs(piece.low_pass(piece.tau)).max() < 1e-4


def test_uneven_stamps():
    rng = np.random.default_rng(0)
    t = np.sort(np.arange(0, 12, 0.004) + rng.uniform(0, 0.0015, 3000))
    piece = one_piece(recording(t, np.sin(3 * t)), 4.0)
    assert np.allclose(piece.v[:, 0], 3 * np.cos(3 * piece.t), atol=1e-3)


def test_nothing_is_invented_over_a_gap():
    t = np.concatenate([np.arange(0, 8, 0.01), np.arange(12, 20, 0.01)])
    found = list(pieces(recording(t, np.sin(t)), 2.0, False))
    assert len(found) == 2
    assert found[0].t[-1] < 8 < 12 < found[1].t[0]


def test_long_recordings_are_filtered_in_parts_that_join():
    t = np.arange(0, 65, 0.01)
    found = list(pieces(recording(t, np.sin(t)), 2.0, False))
    at = np.concatenate([piece.low_pass(piece.t) for piece in found])
    assert len(found) > 1
    assert np.diff(at).max() < 0.2  # s: 1 / (3 cutoff) and less
    assert np.diff(at).min() > -0.2


def test_too_short_leaves_nothing():
    t = np.arange(0, 0.99 * needed_time(2.0), 0.01)
    assert list(pieces(recording(t, np.sin(t)), 2.0, False)) == []


def test_too_coarse_is_refused():
    with pytest.raises(ArgumentError, match=r'at least 30 samples per second, there are 20'):
        kernel(10.0, 0.05)


def test_the_cutoff_is_well_above_the_motion():
    t = np.arange(0, 20, 0.01)
    motion = np.sin(2 * np.pi * 0.2 * t) + 0.3 * np.sin(2 * np.pi * 0.6 * t)
    assert 2.4 < chosen_cutoff([recording(t, motion)]) < 4.0
    assert chosen_cutoff([recording(t, np.sin(0.3 * t))]) == 2.0
