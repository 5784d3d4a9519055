# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Markers as messages, and singularity measures, from numbers that a reader can check by hand."""

import pickle

import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from scipy.spatial.transform import Rotation
from visualization_msgs.msg import Marker, MarkerArray

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.nodes.outputs import marker_topic
from screw_dynamics_ros.nodes.outputs.external_wrenches import wrench_markers
from screw_dynamics_ros.nodes.outputs.kinematics import kinematics_markers
from screw_dynamics_ros.nodes.outputs.kinematics.singularity_measures import (
    LinkMeasures,
    fill_measures,
)
from screw_dynamics_ros.nodes.outputs.marker_topic import MarkerMaker
from screw_dynamics_ros.ros.data_path.records import LoopRecord
from screw_dynamics_ros.ros.messages.cdr import packed
from screw_dynamics_ros.ros.topics.channel_record import VALID
from support.robots import urdf_path

STAMP = packed(7 * 10**9 + 3)
#: The parameters by default.
PARAMETERS = {
    row.name: row.default
    for row in (*marker_topic.TABLE, *kinematics_markers.TABLE, *wrench_markers.TABLE)
}
GREEN, GRAY = (0.2, 0.8, 0.2), (0.7, 0.7, 0.7, 0.6)


def markers(*plans, lifetime=0.75):
    """Return the markers of plans, drawn where a pickled maker comes out."""
    made = MarkerMaker(tuple((plan.drawing, len(plan.sources)) for plan in plans), lifetime)
    values = [source() for plan in plans for source in plan.sources]
    data = pickle.loads(pickle.dumps(made))(STAMP, *values)
    return None if data is None else deserialize_message(data, MarkerArray).markers


def points(marker):
    return np.array([[p.x, p.y, p.z] for p in marker.points])


def color(marker):
    rgba = marker.color.r, marker.color.g, marker.color.b, marker.color.a
    return pytest.approx(rgba, abs=1e-6)


#: Rotation of 2 rad/s about an axis along z through (0.5, 0, 0), with 0.3 m/s along it.
TWIST = np.array([0.0, 0.0, 2.0, 0.0, -1.0, 0.3])


def test_a_twist_is_two_arrows_and_its_screw_axis():
    linear, angular, axis = markers(kinematics_markers.twist('tool', PARAMETERS, lambda: TWIST))
    np.testing.assert_allclose(points(linear), [[0.0] * 3, [0.0, -0.5, 0.15]])
    np.testing.assert_allclose(points(angular), [[0.0] * 3, [0.0, 0.0, 0.4]])
    np.testing.assert_allclose(points(axis), [[0.5, 0.0, -0.15], [0.5, 0.0, 0.15]])
    assert [each.type for each in (linear, angular, axis)] == [
        Marker.ARROW, Marker.ARROW, Marker.LINE_LIST,
    ]  # fmt: skip
    names = ['linear_velocities', 'angular_velocities', 'screw_axes']
    assert [each.ns for each in (linear, angular, axis)] == names
    for each, of_kind in ((linear, (*GREEN, 1.0)), (angular, (0.9, 0.6, 0.1, 1.0)), (axis, GRAY)):
        assert color(each) == of_kind
        assert each.header.frame_id == 'tool'
        assert (each.header.stamp.sec, each.header.stamp.nanosec) == (7, 3)
        assert (each.lifetime.sec, each.lifetime.nanosec) == (0, 750_000_000)
        assert each.action == Marker.ADD
    assert [each.scale.x for each in (linear, angular, axis)] == [0.01, 0.01, 0.005]


def test_a_wrench_is_two_arrows_and_its_axis():
    """A force of 5 N along x through (0, 0.4, 0) has the moment -2 N m about z; moment first."""
    wrench = np.array([0.0, 0.0, -2.0, 5.0, 0.0, 0.0])
    force, moment, axis = markers(wrench_markers.wrench('tool', PARAMETERS, lambda: wrench))
    np.testing.assert_allclose(points(force), [[0.0] * 3, [0.1, 0.0, 0.0]])
    np.testing.assert_allclose(points(moment), [[0.0] * 3, [0.0, 0.0, -0.2]])
    np.testing.assert_allclose(points(axis), [[-0.15, 0.4, 0.0], [0.15, 0.4, 0.0]])
    assert [each.ns for each in (force, moment, axis)] == ['forces', 'moments', 'wrench_axes']
    for each, of_kind in (
        (force, (0.8, 0.2, 0.2, 1.0)),
        (moment, (0.8, 0.8, 0.2, 1.0)),
        (axis, GRAY),
    ):
        assert color(each) == of_kind
    assert [each.scale.x for each in (force, moment, axis)] == [0.01, 0.01, 0.005]


@pytest.mark.parametrize('metric', [None, np.diag([4.0, 1.0, 1.0])])
def test_ellipsoids(metric):
    """Joint rates of norm 1 move the origin by 1, 2 and 4 m/s along axes of a turned frame."""
    axes = Rotation.from_euler('xyz', [0.3, -0.4, 0.5]).as_matrix()
    jacobian = np.vstack([np.eye(3), axes * [1.0, 2.0, 4.0]])
    given = (lambda: jacobian), None if metric is None else (lambda: metric)
    speeds = np.array([1.0 if metric is None else 0.5, 2.0, 4.0])
    velocity, force = markers(
        kinematics_markers.ellipsoids('tool', PARAMETERS, kinematics_markers.ELLIPSOIDS, *given)
    )
    for each, semi_axes, what, of_kind in (
        (velocity, np.minimum(0.2 * speeds, 0.5), 'velocity', (*GREEN, 0.3)),
        (force, np.minimum(0.05 / speeds, 0.5), 'force', (0.8, 0.2, 0.2, 0.3)),
    ):
        assert each.type == Marker.SPHERE
        assert each.ns == f'{what}_ellipsoids'
        assert color(each) == of_kind
        o = each.pose.orientation
        R = Rotation.from_quat([o.x, o.y, o.z, o.w]).as_matrix()
        size = np.array([each.scale.x, each.scale.y, each.scale.z])
        np.testing.assert_allclose(
            R * size**2 @ R.T, axes * (2.0 * semi_axes) ** 2 @ axes.T, atol=1e-12
        )
    (only,) = markers(
        kinematics_markers.ellipsoids('tool', PARAMETERS, ['force_ellipsoids'], *given)
    )
    assert only.ns == 'force_ellipsoids'
    assert only.scale == force.scale


def test_masses():
    """Links of 2 kg with 0.02, 0.04, 0.052 kg m^2, one without a mass; the robot in the root."""
    inertial = (
        '<inertial><origin xyz="0.1 0 0.2"/><mass value="2"/><inertia ixx="0.02" iyy="0.04" '
        'izz="0.052" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    text = (
        f'<robot name="r"><link name="a">{inertial}</link><link name="b"/><joint name="j" '
        'type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>'
    )
    robot = Robot.from_urdf(text, backend='reference')
    inertia, center = markers(
        *kinematics_markers.masses(robot, 'left_', PARAMETERS, kinematics_markers.MASSES)
    )
    state = np.array([0.3, 0.2, 0.1, 9.0, 9.0, 9.0])  # position, velocity
    (whole,) = markers(kinematics_markers.center_of_mass('left_a', 2.0, PARAMETERS, lambda: state))
    names = ['inertias', 'centers_of_mass', 'center_of_mass']
    diameter = 2.0 * np.cbrt(2.0 / 7850.0 / (4.0 / 3.0 * np.pi))
    for each, name, place, size in zip(
        (inertia, center, whole),
        names,
        ([0.1, 0.0, 0.2], [0.1, 0.0, 0.2], [0.3, 0.2, 0.1]),
        ([0.6, 0.4, 0.2], [diameter] * 3, [diameter] * 3),
    ):
        assert (each.ns, each.type, each.header.frame_id) == (name, Marker.SPHERE, 'left_a')
        p, d = each.pose.position, each.scale
        np.testing.assert_allclose([p.x, p.y, p.z], place, atol=1e-12)
        np.testing.assert_allclose(sorted([d.x, d.y, d.z]), sorted(size), atol=1e-9)
    assert color(inertia) == (0.6, 0.4, 0.9, 0.4)
    assert color(center) == (0.9, 0.8, 0.1, 0.9)
    assert color(whole) == (0.9, 0.8, 0.1, 0.9)


def test_joint_axes_are_drawn_once_and_what_is_not_finite_not_at_all():
    robot = Robot.from_urdf(urdf_path('planar_2r'), backend='reference')
    plans = kinematics_markers.joint_axes(robot, 'left_', PARAMETERS)
    assert [plan.sources for plan in plans] == [(), ()]
    twist = kinematics_markers.twist('tool', PARAMETERS, lambda: TWIST)
    first, second, *others = markers(*plans, twist)
    for each, link in ((first, 'link1'), (second, 'link2')):
        np.testing.assert_allclose(points(each), [[0.0, 0.0, -0.15], [0.0, 0.0, 0.15]])
        assert (each.header.frame_id, each.ns) == (f'left_{link}', 'joint_axes')
        assert (each.type, each.scale.x) == (Marker.ARROW, 0.01)
        assert color(each) == (0.2, 0.6, 1.0, 0.8)
    np.testing.assert_allclose(points(others[0])[1], [0.0, -0.5, 0.15])
    assert [each.id for each in (first, second, *others)] == list(range(5))
    bad = kinematics_markers.twist('tool', PARAMETERS, lambda: TWIST * [1, 1, np.inf, 1, 1, 1])
    with np.errstate(all='ignore'):  # as in the process that draws
        assert markers(*plans, bad) is None


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.mark.parametrize('has_metric', [False, True])
def test_singularity_measures_are_those_of_numpy(rng, has_metric):
    """Of the Jacobian with angular rows times the length, for rates of norm 1 in the metric."""
    jacobian, L = rng.normal(size=(6, 7)), np.tril(rng.normal(size=(7, 7))) + 3.0 * np.eye(7)
    scaled = np.vstack([0.2 * jacobian[:3], jacobian[3:]])
    singular = np.linalg.svd(scaled @ np.linalg.inv(L).T if has_metric else scaled)[1]
    expected = [singular[-1], singular[0] / singular[-1], 6.0, singular.prod()]
    found = measures(jacobian, L @ L.T if has_metric else None)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_singular_state_has_measures_one_that_is_not_finite_has_none(rng):
    jacobian = rng.normal(size=(6, 7))
    jacobian[4] = jacobian[3]
    smallest, condition, rank, manipulability = measures(jacobian)
    assert (condition, rank) == (np.inf, 5.0)
    np.testing.assert_allclose([smallest, manipulability], 0.0, atol=1e-12)
    assert measures(jacobian * 1e200) is None
    assert measures(jacobian * np.nan) is None
    assert measures(np.zeros((6, 7)), freedoms=0).tolist() == [0.0, np.inf, 0.0, 0.0]
    M = np.ones((7, 7))  # without inertia for most motions
    assert np.isfinite(measures(jacobian, M)[0])


def measures(jacobian, metric=None, freedoms=6):
    """Return the measures, None if they cannot be published."""
    numbers = np.full(4, 7.0)
    link = LinkMeasures(jacobian.shape[1], freedoms, jacobian, metric, numbers)
    link.set_length(0.2)
    if fill_measures(link, LoopRecord()) == VALID:
        return numbers
    assert (numbers == 7.0).all()
    return None
