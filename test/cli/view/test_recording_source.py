# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A recording: what is recorded is shown, and what is not is computed as `annotate` does."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rosbags')

from screw_dynamics_ros.cli.view.recording_source import RecordingSource
from screw_dynamics_ros.core import Robot, ScrewDynamicsError
from screw_dynamics_ros.core.annotation import annotate_arrays
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.ros.recordings.stamped import ARRAY, POSE
from support.recordings import (
    JOINT_STATE,
    STRING,
    WRENCH,
    header,
    joint_state,
    message,
    serialized,
    string,
    wrench,
    writing,
)
from support.robots import urdf_path

URDF = urdf_path('planar_2r')
JOINTS = ('joint1', 'joint2')
STEP, COUNT, GAP = 10_000_000, 100, 2_000_000_000  # ns; a pause in the middle
START = 10**18
TIP = 'tip'


@pytest.fixture(scope='module')
def motion():
    t = START + STEP * np.arange(COUNT) + np.where(np.arange(COUNT) < COUNT // 2, 0, GAP)
    phase = (t - START)[:, None] * 1e-9 * np.array([1.0, 2.0])
    return t, np.sin(phase), np.cos(phase) * [1.0, 2.0], np.cos(phase)


def write(path, motion, described=True, start='', **more):
    topics = {
        f'{start}/joint_states': JOINT_STATE,
        **({f'{start}/robot_description': STRING} if described else {}),
    }
    with writing(path, {**topics, **{topic: kind for topic, (kind, _) in more.items()}}) as put:
        if described:
            put(f'{start}/robot_description', START, string(URDF.read_text()))
        for k, (t, q, v, tau) in enumerate(zip(*motion)):
            put(f'{start}/joint_states', t, joint_state(t, JOINTS, q, v, tau))
            for topic, (_, make) in more.items():
                put(topic, t, make(t, k))
    return path


@pytest.fixture(scope='module')
def path(motion, tmp_path_factory):
    return write(tmp_path_factory.mktemp('view') / 'run', motion)


def at(source, motion, k):
    source.playback.seek((motion[0][k] - START) * 1e-9 + 1e-3)
    return source.latest()


def test_torques_are_those_of_annotate(path, motion):
    source = RecordingSource(path)
    robot = Robot.from_urdf(URDF)
    restarted = np.zeros(COUNT, dtype=bool)
    expected = annotate_arrays(
        robot, *motion, outputs=('gravity', 'inertia', 'external_torque'), restarted=restarted
    )
    for k in (0, COUNT // 2 - 1, COUNT // 2, COUNT - 1):
        state = at(source, motion, k)
        np.testing.assert_array_equal(state.q, motion[1][k])
        assert state.stamp == motion[0][k] / 1e9
        np.testing.assert_array_equal(state.torques['measured'], motion[3][k])
        for name, shown in (
            ('gravity', 'gravity'),
            ('inertia', 'inertia'),
            ('external_torque', 'external'),
        ):
            np.testing.assert_allclose(state.torques[shown], expected[name][k], atol=1e-12)
        assert not state.diagnostics
    assert source.latest() is source.latest()


def test_a_pause_of_the_recording_is_no_state(path, motion):
    source = RecordingSource(path)
    source.playback.seek((motion[0][COUNT // 2] - START) * 1e-9 - 0.1)
    state = source.latest()
    assert not state.torques
    assert [line.level for line in state.diagnostics] == ['stale']


def test_what_is_recorded_is_shown(motion, tmp_path):
    def torque(t, k):
        return joint_state(t, JOINTS[::-1], (), (), [k, 2.0 * k])

    def of_tip(t, k):
        return wrench(t, TIP, (1.0, 2.0, 3.0), (4.0, 5.0, k))

    source = RecordingSource(
        write(
            tmp_path / 'run',
            motion,
            start='/left',
            **{
                '/left/dynamics/gravity': (JOINT_STATE, torque),
                f'/left/wrench_estimator/wrench/{TIP}': (WRENCH, of_tip),
            },
        ),
        topic='/left/joint_states',
    )
    state = at(source, motion, 7)
    np.testing.assert_array_equal(state.torques['gravity'], [14.0, 7.0])
    (shown,) = state.wrenches
    assert shown.link == TIP
    np.testing.assert_array_equal(shown.wrench, [4.0, 5.0, 7.0, 1.0, 2.0, 3.0])
    source.carry('link2', RigidBody(1.0, np.zeros(3), np.zeros((3, 3))))
    state = at(source, motion, 7)
    assert state.torques['gravity'][1] != 7.0
    assert state.torques['payload'].any()


def test_recorded_torques_of_this_robot_only(motion, tmp_path):
    """Topics without valid messages, of other types and of other robots hide no others."""
    path = write(
        tmp_path / 'run',
        motion,
        **{
            '/dynamics/gravity': (JOINT_STATE, lambda t, k: joint_state(t, (), ())),
            '/dynamics/coriolis': (JOINT_STATE, lambda t, k: joint_state(t, 'ab', (), (), (1, 2))),
            '/dynamics/inertia': (STRING, lambda t, k: string('x')),
            '/wrench_estimator/external_torque': (
                JOINT_STATE,
                lambda t, k: joint_state(t, JOINTS[1:], (), (), (k,)),
            ),
        },
    )
    source = RecordingSource(path)
    assert set(source._recorded) == {'external_torque'}
    state, robot = at(source, motion, 7), Robot.from_urdf(URDF)
    np.testing.assert_array_equal(state.torques['external'], [0.0, 7.0])
    np.testing.assert_allclose(state.torques['gravity'], robot.gravity_torques(motion[1][7]))


def test_numbers_of_the_wrong_length_are_not_shown(motion, tmp_path):
    name = f'/wrench_estimator/wrench_covariance/{TIP}'
    path = write(tmp_path / 'run', motion, **{name: (ARRAY, lambda t, k: array(np.ones(6)))})
    assert RecordingSource(path)._covariances == {}


def array(numbers, labels=()):
    """Return a serialized std_msgs/Float64MultiArray."""
    dimensions = [
        message('std_msgs/msg/MultiArrayDimension', label=label, size=6, stride=6)
        for label in labels
    ]
    layout = message('std_msgs/msg/MultiArrayLayout', dim=dimensions, data_offset=0)
    return serialized(ARRAY, message(ARRAY, layout=layout, data=numbers.ravel()))


def contact_point(t, frame, point):
    kinds = {'x': 0.0, 'y': 0.0, 'z': 0.0, 'w': 1.0}
    pose = message(
        'geometry_msgs/msg/Pose',
        position=message('geometry_msgs/msg/Point', **dict(zip('xyz', map(float, point)))),
        orientation=message('geometry_msgs/msg/Quaternion', **kinds),
    )
    whole = message('geometry_msgs/msg/PoseWithCovariance', pose=pose, covariance=np.zeros(36))
    return serialized(POSE, message(POSE, header=header(t, frame), pose=whole))


@pytest.mark.parametrize('labels', [(), ('row', 'column')])
def test_covariances_and_contacts_are_shown(motion, tmp_path, labels):
    """(moment, force) of (force, moment); the contact moves from link to link."""
    numbers = np.arange(36.0).reshape(6, 6)

    def of_contact(make):
        return lambda t, k: make(t, f'left_link{1 + k % 2}')

    places = 'wrench_estimator/'
    source = RecordingSource(
        write(
            tmp_path / 'run',
            motion,
            **{
                f'/{places}wrench/{TIP}': (
                    WRENCH,
                    lambda t, k: wrench(t, TIP, (1, 2, 3), (4, 5, 6)),
                ),
                f'/{places}wrench_covariance/{TIP}': (ARRAY, lambda t, k: array(numbers, labels)),
                f'/{places}contact_point': (
                    POSE,
                    of_contact(lambda t, frame: contact_point(t, frame, (0.1, 0.2, 0.3))),
                ),
                f'/{places}contact_force': (
                    WRENCH,
                    of_contact(lambda t, frame: wrench(t, frame, (7, 8, 9), (0, 0, 0))),
                ),
            },
        )
    )
    for k in (4, 7):
        state = at(source, motion, k)
        (shown,) = state.wrenches
        # moments are the last three rows and columns of the message
        np.testing.assert_array_equal(shown.covariance[:3, :3], numbers[3:, 3:])
        np.testing.assert_array_equal(shown.covariance[:3, 3:], numbers[3:, :3])
        (contact,) = state.contacts
        assert contact.link == f'link{1 + k % 2}'
        np.testing.assert_array_equal(contact.point, [0.1, 0.2, 0.3])
        np.testing.assert_array_equal(contact.force, [7.0, 8.0, 9.0])
    source.carry('link2', RigidBody(1.0, np.zeros(3), np.zeros((3, 3))))
    state = at(source, motion, 7)
    assert not state.contacts
    assert all(each.covariance is None for each in state.wrenches)


def test_a_description_is_needed(motion, tmp_path):
    path = write(tmp_path / 'run', motion, described=False)
    with pytest.raises(ScrewDynamicsError, match='robot_description is not recorded'):
        RecordingSource(path)
    source = RecordingSource(path, (URDF.read_text(), URDF))
    np.testing.assert_array_equal(source.latest().q, motion[1][0])
