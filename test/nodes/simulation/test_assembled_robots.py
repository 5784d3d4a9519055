# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The simulated robot and its world, from the parameters of the node."""

import re

import numpy as np
import pytest
import rclpy
from rclpy.parameter import Parameter

from screw_dynamics_ros.core import ArgumentError, DescriptionError, Robot
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.core.simulation import ContactPoint, Plane, Spring
from screw_dynamics_ros.nodes.simulation.assembly import (
    description_text,
    initial_configuration,
    make_motors,
)
from screw_dynamics_ros.nodes.simulation.simulator import TABLE
from screw_dynamics_ros.nodes.simulation.world_parameters import NAMES, is_known, read_world
from screw_dynamics_ros.ros.parameters import Parameters
from support.robots import urdf_path
from support.sdf import axis, joint, link, sdf

JOINT = joint(axis())
DEFAULTS = {row.name: row.default for row in TABLE} | {'initial_joints': []}
PANDA = urdf_path('panda').read_text()


@pytest.fixture(scope='module')
def panda():
    return Robot.from_urdf(PANDA, backend='reference')


def test_other_formats_are_published_as_urdf(caplog):
    """What the URDF does not contain is logged."""
    text = sdf(link('a'), link('b', '<velocity_decay><linear>1</linear></velocity_decay>'), JOINT)
    found = description_text({**DEFAULTS, 'robot_description': text})
    assert [each.name for each in read_urdf(found).joints] == ['j']
    assert 'robot_description: link b: <velocity_decay> is ignored' in caplog.text
    assert description_text({**DEFAULTS, 'robot_description': PANDA}) == PANDA


@pytest.mark.parametrize(
    ('q4', 'fault'),
    [(-0.0698, ''), (-3.0718, ''), (-0.0697, 'is beyond its limits'), (-3.0719, '-3.0719 of')],
)
def test_initial_positions_within_the_limits(panda, q4, fault):
    given = {'initial_joints': ['panda_joint4', 'panda_joint1'], 'initial_positions': [q4, 0.5]}
    if fault:
        with pytest.raises(ArgumentError, match=fault) as raised:
            initial_configuration(panda, {**DEFAULTS, **given})
        assert "of 'panda_joint4' is beyond its limits, -3.0718 to -0.0698" in str(raised.value)
        return
    q = initial_configuration(panda, {**DEFAULTS, **given})
    expected = np.clip(np.zeros(panda.nq), panda.limits.lower, panda.limits.upper)
    expected[[0, 3]] = 0.5, q4
    np.testing.assert_array_equal(q, expected)


def test_initial_positions_beside_a_floating_base():
    """It has seven coordinates, and six velocities."""
    free = Robot.from_urdf(urdf_path('planar_2r'), backend='reference', floating_base=True)
    given = {**DEFAULTS, 'initial_joints': ['joint2', 'joint1'], 'initial_positions': [0.5, -0.25]}
    q = initial_configuration(free, given)
    np.testing.assert_array_equal(q[7:], [-0.25, 0.5])
    np.testing.assert_array_equal(q[:7], DEFAULTS['initial_base_pose'])


def test_the_pose_of_a_floating_base_has_a_quaternion_of_norm_one():
    """As far as it was written by hand; without a floating base it is not used."""
    half = np.sqrt(0.5)
    free = Robot.from_urdf(urdf_path('planar_2r'), backend='reference', floating_base=True)
    fixed = Robot.from_urdf(urdf_path('planar_2r'), backend='reference')
    for scale, is_valid in ((1.0, True), (0.9991, True), (1.0009, True), (0.9989, False),
                            (1.0011, False)):  # fmt: skip
        pose = [1.0, 2.0, 3.0, 0.0, 0.0, scale * half, scale * half]
        given = {**DEFAULTS, 'initial_base_pose': pose}
        for robot in (free, fixed):
            if not is_valid:
                with pytest.raises(ArgumentError, match=f'has norm {scale:g}, not 1'):
                    initial_configuration(robot, given)
                continue
            q = initial_configuration(robot, given)
            base = [1.0, 2.0, 3.0, 0.0, 0.0, half, half] if robot is free else []
            np.testing.assert_allclose(q, [*base, 0.0, 0.0], atol=1e-12)


def test_the_description_is_a_text_a_file_or_the_panda(tmp_path):
    assert description_text(DEFAULTS) == PANDA
    path = tmp_path / 'r.urdf'
    path.write_text('<robot/>')
    assert description_text({**DEFAULTS, 'urdf': str(path)}) == '<robot/>'
    both = {**DEFAULTS, 'urdf': str(path), 'robot_description': '<robot name="x"/>'}
    assert description_text(both) == '<robot name="x"/>'
    with pytest.raises(DescriptionError, match=r'^parameter robot_description is not XML'):
        description_text({**DEFAULTS, 'robot_description': str(path)})
    with pytest.raises(DescriptionError, match=rf'^parameter urdf: {path}x: '):
        description_text({**DEFAULTS, 'urdf': f'{path}x'})


def test_motors_have_the_limits_of_their_joints(panda):
    targets, motors = make_motors(panda, {**DEFAULTS, 'motion_amplitude': 0.0})
    assert targets.names == panda.joint_names
    q = panda.home()
    motors.hold(q)
    np.testing.assert_allclose(
        motors.torques(0, 1.0, q, np.zeros(panda.nv)), panda.gravity_torques(q), atol=1e-6
    )
    assert targets.clipped_path(np.array([3]), np.array([[0.0]])).endswith('clipped to -0.0698')


def test_gains_of_parameters_replace_those_of_the_description(panda):
    drives = {
        'impedance_joints': ['panda_joint3', 'panda_joint1'],
        'impedance_stiffness': [30.0, 0.0],
        'impedance_damping': [3.0, 1.0],
    }
    described = {
        'panda_joint1': (9.0, 9.0),
        'panda_joint2': (20.0, 2.0),
        'panda_finger': (1.0, 1.0),
    }
    targets, _ = make_motors(panda, {**DEFAULTS, **drives}, described)
    assert targets.is_drive.tolist() == [True, True, True, *[False] * 5]
    np.testing.assert_array_equal(targets.gains[:, :4], [[0, 20, 30, 0], [1, 2, 3, 0]])
    for joints, reason in (
        (['panda_joint1', 'nose'], "'nose'"),
        (['panda_joint1'], '2 impedance_stiffness for 1 impedance_joints'),
        (['panda_joint1'] * 2, 'names a joint twice'),
    ):
        with pytest.raises(ScrewDynamicsError, match=reason):
            make_motors(panda, {**DEFAULTS, **drives, 'impedance_joints': joints})


# --- the world ------------------------------------------------------------------------------------


@pytest.fixture
def read(ros_domain):
    """Return what reads the world of a node with parameters."""
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=ros_domain)
    nodes = []

    def world(**overrides):
        nodes.append(
            rclpy.create_node(
                'world',
                context=context,
                enable_rosout=False,
                start_parameter_services=False,
                parameter_overrides=[Parameter(k, value=v) for k, v in overrides.items()],
            )
        )
        return read_world(nodes[-1], Parameters(nodes[-1], NAMES))

    yield world
    for node in nodes:
        node.destroy_node()
    rclpy.shutdown(context=context)


def test_planes_points_and_springs(read):
    """What is not given has a default of its own."""
    world = read(
        **{
            'plane_names': ['floor', 'wall'],
            'planes.wall.point': [1.0, 2.0, 3.0],
            'planes.wall.normal': [1.0, 0.0, 0.0],
            'planes.wall.stiffness': 5e3,
            'planes.wall.damping': 2.0,
            'planes.wall.friction': 0.25,
            'contact_point_names': ['toe', 'heel'],
            'contact_points.toe.link': 'foot',
            'contact_points.toe.position': [0.1, 0.2, 0.3],
            'contact_points.toe.radius': 0.05,
            'contact_points.heel.link': 'leg',
            'spring_names': ['coil', 'soft'],
            'springs.coil.link': 'leg',
            'springs.coil.position': [0.4, 0.5, 0.6],
            'springs.coil.anchor': [7.0, 8.0, 9.0],
            'springs.coil.stiffness': 50.0,
            'springs.coil.damping': 3.0,
            'springs.coil.rest_length': 0.75,
            'springs.soft.link': 'foot',
        }
    )
    zero = [0.0, 0.0, 0.0]
    expected = (
        Plane(name='floor', point=zero, normal=[0.0, 0.0, 1.0], stiffness=1e4, damping=1.0,
              friction=0.5),
        Plane(name='wall', point=[1.0, 2.0, 3.0], normal=[1.0, 0.0, 0.0], stiffness=5e3,
              damping=2.0, friction=0.25),
        ContactPoint(link='foot', position=[0.1, 0.2, 0.3], radius=0.05),
        ContactPoint(link='leg', position=zero, radius=0.0),
        Spring(name='coil', link='leg', position=[0.4, 0.5, 0.6], anchor=[7.0, 8.0, 9.0],
               stiffness=50.0, damping=3.0, rest_length=0.75),
        Spring(name='soft', link='foot', position=zero, anchor=zero, stiffness=100.0, damping=0.0,
               rest_length=0.0),
    )  # fmt: skip
    found = (*world.planes, *world.contact_points, *world.springs)
    assert [(type(each), vars_of(each)) for each in found] == [
        (type(each), vars_of(each)) for each in expected
    ]
    empty = read()
    assert (empty.planes, empty.contact_points, empty.springs) == ((), (), ())


def vars_of(thing):
    return {name: np.asarray(value).tolist() for name, value in vars(thing).items()}


@pytest.mark.parametrize(
    ('overrides', 'reason'),
    [
        ({'planes.wall.point': [0.0] * 3}, 'name the object in plane_names; its parameters are po'),
        (
            {'plane_names': ['wall'], 'planes.wall.colour': 1.0},
            'parameter planes.wall.colour does not exist; name the object in plane_names; its '
            'parameters are point, normal, stiffness, damping, friction',
        ),
        ({'contact_points.a.link': 'b'}, 'in contact_point_names; its parameters are link, posit'),
        ({'springs.a.link': 'b'}, 'in spring_names; its parameters are link, position, anchor'),
        ({'contact_point_names': ['a']}, 'parameter contact_points.a.link is empty; name a link'),
        ({'spring_names': ['a']}, 'parameter springs.a.link is empty'),
        ({'spring_names': ['a'], 'springs.a.damping': -0.1}, 'springs.a.damping'),
    ],
)
def test_worlds_that_are_refused(read, overrides, reason):
    with pytest.raises(ArgumentError, match=re.escape(reason)):
        read(**overrides)


def test_parameters_of_objects_are_known_by_their_prefixes():
    assert all(map(is_known, ('planes.a.b', 'contact_points.a.link', 'springs.x')))
    assert not any(map(is_known, ('planes', 'plane_names', 'drives.planes.', 'spring_names')))
