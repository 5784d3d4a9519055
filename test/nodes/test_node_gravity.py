# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gravity from /tf and from an IMU: direction, smoothness, what is said when it does not come."""

import numpy as np
import pytest
from geometry_msgs.msg import TransformStamped
from rclpy.serialization import serialize_message
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core.errors import MissingStateError
from screw_dynamics_ros.core.estimation.gravity_direction import MAX_STEP
from screw_dynamics_ros.core.lie import quaternions, so3
from screw_dynamics_ros.ros.status import Level
from support.host_bench import Bench, serialized
from support.robots import urdf_path

PLANAR = urdf_path('planar_2r').read_text()
TILT, YAW = so3.exp(np.array([0.5, -0.3, 0.0])), so3.exp(np.array([0.0, 0.0, 1.2]))
DOWN = np.array([0.0, 0.0, -9.81])
CUTOFF = 3.0  # Hz


@pytest.fixture
def bench(monkeypatch, keep):
    made = keep(Bench(monkeypatch, max_delay=10.0, state_timeout=0.0, gravity_cutoff=CUTOFF))
    made.describe(PLANAR)
    return made


def show(bench, q=(0.3, -0.5), seconds=0.004):
    """Let a joint state come; return the gravity of the kernel, and whether it was answered."""
    bench.clock.offset += seconds
    bench.sent.clear()
    bench.host.states.receive(serialized(('joint1', 'joint2'), q, bench.clock.time_ns()), {})
    return bench.host.gravity.copy(), bool(bench.sent)


def transform(parent, child, R):
    each = TransformStamped()
    each.header.frame_id, each.child_frame_id = parent, child
    rotation = each.transform.rotation
    rotation.x, rotation.y, rotation.z, rotation.w = quaternions.from_matrix(R).tolist()
    return each


def move(bench, *transforms, static=False):
    message = TFMessage(transforms=[transform(*each) for each in transforms])
    bench.host.gravity_source._chain.receive_bytes(serialize_message(message), static)


def turned(bench, refresh, expected):
    """Let gravity turn, and see that it does so without steps."""
    before, times = bench.host.gravity.copy(), [-np.inf, bench.clock.monotonic()]
    for _ in range(150):
        refresh()
        now, _ = show(bench, seconds=0.01)
        times.append(bench.clock.monotonic())
        elapsed = min(times[-1] - times[-3], MAX_STEP)  # since some time before the last turn
        share = 1.0 - np.exp(-2.0 * np.pi * CUTOFF * elapsed)
        distance = np.linalg.norm(expected - before)
        assert np.linalg.norm(now - before) <= 1.1 * share * distance + 1e-6
        before = now
    np.testing.assert_allclose(now, expected, atol=1e-6)
    q = [0.3, -0.5]
    robot = bench.host.model.robot
    bench.host.keep_house()
    np.testing.assert_allclose(robot.gravity, expected, atol=1e-6)
    results, terms = bench.host.model.results, bench.part.outputs.terms
    np.testing.assert_allclose(results[terms.gravity], robot.gravity_torques(q), atol=1e-6)


def status(bench):
    return bench.host.payload_status()


def test_by_transforms(bench):
    """Rotations multiply along the chain world, lift, base; yaw does not matter."""
    assert bench.set(gravity_source='tf').successful
    assert 'ends at' in ' '.join(status(bench).texts)
    np.testing.assert_array_equal(show(bench)[0], DOWN)  # that of the parameter until then
    move(bench, ('world', 'lift', YAW), static=True)
    turned(
        bench, lambda: move(bench, ('lift', 'base', TILT), ('base', 'link1', YAW)), TILT.T @ DOWN
    )
    assert status(bench).level == Level.OK
    bench.clock.offset += 5.0  # the driver of the lift has died
    now, answered = show(bench)
    np.testing.assert_allclose(now, TILT.T @ DOWN, atol=1e-6)
    assert answered
    assert status(bench).level == Level.ERROR
    assert 'the last vector stays active' in ' '.join(status(bench).texts)
    assert bench.set(on_gravity_loss='stop').successful
    assert not show(bench)[1]
    assert 'outputs have stopped' in ' '.join(status(bench).texts)
    move(bench, ('lift', 'base', TILT))
    show(bench, seconds=0.03)
    assert show(bench)[1]
    assert bench.set(gravity_source='parameter').successful
    np.testing.assert_array_equal(show(bench)[0], DOWN)
    assert status(bench).level == Level.OK


def test_transforms_in_any_order_and_bad_ones(bench):
    assert bench.set(gravity_source='tf', gravity_frame='map').successful
    chain = bench.host.gravity_source._chain
    move(bench, ('map', 'odom', np.eye(3)), ('odom', 'base', TILT))  # odom comes before base
    bench.host.gravity_source.keep_house()
    assert "ends at 'odom'" in ' '.join(status(bench).texts)
    move(bench, ('map', 'odom', np.eye(3)))
    np.testing.assert_allclose(chain.rotation('map')[0], TILT, atol=1e-12)
    bad = TFMessage(transforms=[transform('odom', 'base', TILT)])
    bad.transforms[0].transform.rotation.w = float('nan')
    chain.receive(bad, False)
    with pytest.raises(MissingStateError, match="the transform of 'base' in 'odom' is invalid"):
        chain.rotation('map')
    move(bench, ('odom', 'base', TILT))
    np.testing.assert_allclose(chain.rotation('map')[0], TILT, atol=1e-12)
    move(bench, ('base', 'odom', np.eye(3)))  # a circle ends somewhere
    bench.host.gravity_source.keep_house()
    assert 'does not connect' in bench.host.gravity_source._reason
