# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Free bodies, planes and springs in the simulator, through DDS, with a published clock."""

import re

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import TwistStamped, WrenchStamped
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.nodes.simulation.assembly import make_robot
from screw_dynamics_ros.nodes.simulation.simulator import TABLE, Simulator
from screw_dynamics_ros.ros.parameters import Parameters
from support.ball_robots import PENDULUM
from support.robots import UNIT_INERTIA, joint
from support.robots import robot as robot_of
from support.ros_harness import stamp_of, vector

NAME = 'world/simulator: simulation'
TWIST = 'simulator/ground_truth/base_twist'
MASSES = 3.0 + 2.0 + 1.0


def body(name, mass):
    return f'<link name="{name}"><inertial><mass value="{mass}"/>{UNIT_INERTIA}</inertial></link>'


def vehicle():
    """Return a free box that carries a wheel, and a puck that slides on its roof."""
    return robot_of(
        body('box', 3.0),
        body('wheel', 2.0),
        body('puck', 1.0),
        joint(
            'axle',
            'box',
            'wheel',
            '<axis xyz="0 0 1"/><limit effort="5" velocity="9"/><dynamics damping="0.25"/>',
            'continuous',
        ),
        joint('roof', 'box', 'puck', '<axis xyz="0 0 1"/><origin xyz="0 0 0.5"/>', 'planar'),
    )


FEET = {
    f'contact_points.{name}.{field}': value
    for name, place in (
        ('a', '[1.0, 0.0, 0.0]'),
        ('b', '[-1.0, 1.0, 0.0]'),
        ('c', '[-1.0, -1.0, 0.0]'),
    )
    for field, value in (('link', 'box'), ('position', place))
}


@pytest.fixture(scope='module')
def client(start, connect, tmp_path_factory):
    """The vehicle falls by a centimeter onto a floor, on three feet, as fast as possible."""
    path = tmp_path_factory.mktemp('urdf') / 'vehicle.urdf'
    path.write_text(vehicle())
    start(
        'simulator',
        {
            'urdf': str(path),
            'rate': 100.0,
            'floating_base': True,
            'world_frame': 'ground',
            'initial_base_pose': '[0.0, 0.0, 0.01, 0.0, 0.0, 0.0, 1.0]',
            'motion_amplitude': 0.0,
            'clock': 'publish',
            'real_time_factor': 0.0,
            'paused': True,
            'plane_names': "['floor']",
            'planes.floor.stiffness': 2e4,
            'planes.floor.damping': 5.0,
            'contact_point_names': "['a', 'b', 'c']",
            **FEET,
            'spring_names': "['tether']",
            'springs.tether.link': 'puck',
            'springs.tether.anchor': '[0.0, 0.0, 2.51]',
            'springs.tether.stiffness': 5.0,
            'springs.tether.rest_length': 1.0,
            'diagnostic_updater.period': 0.1,
        },
        ['-r', '__ns:=/world'],
    )
    made = connect('world')
    made.subscribe(TFMessage, '/tf')
    made.subscribe(WrenchStamped, 'simulator/contact_wrench/box')
    made.subscribe(Float64MultiArray, 'simulator/energy', 'simulator/violation')
    made.subscribe(JointState, 'joint_states')
    made.subscribe(TwistStamped, TWIST)
    made.wait(lambda: step(made, 1) and all(made.received.values()), what='all topics')
    return made


def step(client, count):
    """Make single steps during a pause; wait for the state after them."""
    assert client.set_parameter('simulator', 'steps_per_request', count).successful
    client.received['joint_states'].clear()
    answer = client.call(Trigger, 'simulator/step', Trigger.Request())
    assert answer.success, answer.message
    stamp = round(float(answer.message.split()[1]) * 1e9)
    client.wait(lambda: stamp in client.stamps('joint_states'), what=answer.message)
    return stamp


@pytest.fixture
def resting(client):
    """Let it come to rest, in a pause; return the stamp of its state."""
    client.call(SetBool, 'simulator/pause', SetBool.Request(data=True))
    client.call(Trigger, 'simulator/reset', Trigger.Request())
    step(client, 300)
    return step(client, 1)


def test_it_rests_on_its_feet_with_the_right_wrench(client, resting):
    """The feet carry the weight less the pull of the spring, m g - k (l - l0)."""
    message = client.wait(
        lambda: client.with_stamp('simulator/contact_wrench/box', resting), what='a wrench'
    )
    assert message.header.frame_id == 'box'
    force = vector(message.wrench.force)
    height = resting_height(client, resting)
    pull = 5.0 * (2.51 - (0.5 + height) - 1.0)
    np.testing.assert_allclose(force, [0.0, 0.0, MASSES * 9.81 - pull], atol=0.05)
    np.testing.assert_allclose(vector(message.wrench.torque), 0.0, atol=0.05)


def resting_height(client, stamp):
    transforms = client.wait(lambda: client.with_stamp('/tf', stamp), what='/tf').transforms
    return next(t for t in transforms if t.child_frame_id == 'box').transform.translation.z


def test_the_twist_of_the_base_is_that_of_its_fall(client):
    """In its own frame: down, and no turning, before it touches the floor."""
    client.call(SetBool, 'simulator/pause', SetBool.Request(data=True))
    client.call(Trigger, 'simulator/reset', Trigger.Request())
    stamp = step(client, 3)
    message = client.wait(lambda: client.with_stamp(TWIST, stamp), what='a twist')
    assert message.header.frame_id == 'box'
    np.testing.assert_allclose(vector(message.twist.linear), [0.0, 0.0, -9.81 * 0.03], atol=0.03)
    np.testing.assert_allclose(vector(message.twist.angular), 0.0, atol=1e-9)


def test_tf_has_the_base_and_the_planar_joint(client, resting):
    """No other node publishes these: joint states cannot say where they are."""
    message = client.wait(lambda: client.with_stamp('/tf', resting), what='/tf')
    frames = [(each.header.frame_id, each.child_frame_id) for each in message.transforms]
    assert frames == [('ground', 'box'), ('box', 'puck')]
    base, puck = (each.transform for each in message.transforms)
    assert -0.005 < base.translation.z < 0.0  # the feet are in the floor by m g / 3 k
    assert puck.translation.z == 0.5
    assert base.rotation.w == pytest.approx(1.0, abs=1e-6)
    assert client.received['joint_states'][-1].name == ['axle']


def test_energy_and_violation(client, resting):
    received = client.received['simulator/energy']
    client.wait(lambda: received[-1].data[0] < 1e-4, what='the energy at rest')
    energy = received[-1]
    assert energy.layout.dim[0].label == 'kinetic,potential'
    assert energy.data[1] < 0.01 * MASSES * 9.81 + 1.0 * 0.5 * 9.81 + 0.5 * 5.0 * 1.0**2
    assert abs(client.received['simulator/violation'][-1].data[0]) < 1e-12


def test_time_is_simulated_and_published(node_bench):
    """Ten times as fast, a tenth as fast, and not at all: in time that the test lets pass."""
    bench = node_bench(
        robot_description=vehicle(),
        backend='python',
        rate=100.0,
        clock='publish',
        real_time_factor=10.0,
        motion_amplitude=0.0,
    )

    def now():
        clock = bench.sent['clock'][-1].clock
        return clock.sec + 1e-9 * clock.nanosec

    bench.go_on(0.3)
    assert now() == pytest.approx(3.0, abs=0.05)
    assert bench.set(real_time_factor=0.1).successful
    begin = now()
    bench.go_on(2.0)
    assert now() - begin == pytest.approx(0.2, abs=0.011)
    stamps = [stamp_of(message) for message in bench.sent['joint_states']]
    assert set(np.diff(stamps)) == {10_000_000}
    bench.switch('pause', True)
    bench.sent['clock'].clear()
    bench.go_on(5.0)
    assert len(bench.sent['clock']) > 40
    held = {(message.clock.sec, message.clock.nanosec) for message in bench.sent['clock']}
    assert held == {divmod(stamps[-1] + 10_000_000, 10**9)}  # it has moved, and not yet said so
    assert len(stamps) == len(bench.sent['joint_states'])
    assert bench.set(real_time_factor=0.0).successful
    refused = bench.set(real_time_factor=0.01)
    assert not refused.successful
    assert 'must be 0, for as fast as possible, or in [0.1, 100]' in refused.reason


def test_a_ball_joint_swings_and_is_sent_with_several_coordinates(node_bench):
    """The energy of a pendulum, from its orientation and angular velocity, is constant [J]."""
    pytest.importorskip('mujoco')
    bench = node_bench(robot_description=PENDULUM, backend='python', rate=100.0)
    bench.go_on(0.5)
    robot, energies = Robot.from_mjcf(PENDULUM, gravity=(0, 0, -9.81)), []
    for message in bench.sent['multi_dof_joint_states']:
        assert message.joint_names == ['pivot']
        (transform,), (twist,) = message.transforms, message.twist
        np.testing.assert_array_equal(vector(transform.translation), 0.0)
        q = [getattr(transform.rotation, axis) for axis in 'xyzw']
        v = vector(twist.angular)
        energies.append([robot.kinetic_energy(q, v), robot.potential_energy(q)])
    assert np.ptp(energies, axis=0).min() > 5.0
    assert np.ptp(np.sum(energies, axis=1)) < 1e-4


def test_the_status_says_what_is_going_on(client, resting):
    values = client.expect(NAME, 0)
    assert values['state'] == 'paused'
    assert values['driven by'] == 'gravity compensation'
    assert float(values['time [s]']) == pytest.approx(resting * 1e-9)


@pytest.fixture(scope='module')
def context(ros_domain):
    made = rclpy.Context()
    rclpy.init(context=made, domain_id=ros_domain)
    yield made
    rclpy.shutdown(context=made)


def make_node(context, **parameters):
    values = {'robot_description': vehicle(), 'backend': 'python', **parameters}
    return rclpy.create_node(
        'simulator',
        context=context,
        parameter_overrides=[Parameter(name, value=value) for name, value in values.items()],
        start_parameter_services=False,
    )


@pytest.mark.parametrize(
    ('kind', 'floating_base'), [('planar', False), ('floating', False), ('fixed', True)]
)
def test_robots_that_no_motor_moves(context, kind, floating_base):
    """They fall; joint states without joints say when."""
    text = robot_of(body('a', 1.0), body('b', 1.0), joint('j', 'a', 'b', kind=kind))
    node = make_node(
        context,
        robot_description=text,
        floating_base=floating_base,
        gravity=[0.0, -9.81, 0.0],
        paused=True,
        clock='publish',
        rate=100.0,
    )
    simulator = Simulator(node)
    simulated = simulator._plant.simulated
    before = simulated.robot.link_pose(simulated.q, 'b')[1, 3]
    for _ in range(10):
        simulator._step()
    fallen = before - simulated.robot.link_pose(simulated.q, 'b')[1, 3]
    assert fallen == pytest.approx(9.81 / 2 * 0.1**2, rel=1e-3)
    assert simulator.status().level == 0
    node.destroy_node()


@pytest.mark.parametrize(
    ('parameters', 'inertia', 'friction'),
    [
        ({}, 1.0, 0.0),
        ({'friction': True}, 1.0, 0.25),
        ({'drive_joints': ['axle'], 'drives.axle.armature': 2.0}, 3.0, 0.25),
        ({'drive_joints': ['axle'], 'drives.axle.damping': 0.75}, 1.0, 0.75),
    ],
)
def test_drives_and_friction(context, parameters, inertia, friction):
    """The wheel has an inertia of 1 about its axle and a damping of 0.25 in the description."""
    node = make_node(context, **parameters)
    declared = Parameters(node, TABLE)
    robot = make_robot(node, declared, vehicle())
    assert robot.mass_matrix(robot.neutral())[0, 0] == pytest.approx(inertia)
    v = np.array([1.0, 0.0, 0.0, 0.0])
    tau = robot.inverse_dynamics(robot.neutral(), v, np.zeros(4))
    assert tau[0] == pytest.approx(friction)
    for name in declared['drive_joints']:
        assert node.describe_parameter(f'drives.{name}.armature').read_only
    node.destroy_node()


@pytest.mark.parametrize(
    ('parameters', 'reason'),
    [
        ({'plane_names': ['floor'], 'planes.floor.normal': [0.0] * 3}, "'floor' has a normal of"),
        (
            {'plane_names': ['floor'], 'planes.wall.point': [0.0] * 3},
            'planes.wall.point does not exist',
        ),
        (
            {'plane_names': ['floor'], 'planes.floor.colour': 1.0},
            'planes.floor.colour does not exist',
        ),
        ({'contact_point_names': ['toe'], 'contact_points.toe.link': 'nose'}, "'nose'"),
        ({'contact_point_names': ['toe']}, 'contact_points.toe.link is empty'),
        ({'spring_names': ['s'], 'springs.s.stiffness': -1.0}, 'springs.s.stiffness'),
        ({'initial_base_pose': [0.0] * 7}, 'initial_base_pose: its quaternion'),
        ({'initial_joints': ['roof'], 'initial_positions': [0.0]}, "no joint 'roof' with one"),
        ({'drive_joints': ['knee']}, "'knee'"),
        ({'drive_joints': ['axle'], 'drives.axle.rotor_inertia': -1.0}, 'rotor_inertia'),
        ({'real_time_factor': 0.05}, 'real_time_factor must be 0'),
        ({'clock': 'sun'}, 'wall, publish, lock_step'),
        ({'step': 0.0}, 'step'),
        ({'seed': -1}, 'seed'),
        ({'world_frame': ''}, 'world_frame is empty'),
        ({'faults.nan_joints': ['roof']}, "'roof'"),
        ({'initial_joints': ['axle']}, '0 initial_positions for 1'),
        ({'rate': 0.0}, 'rate'),
        ({'integrator': 'momentum_preserving'}, 'integrator'),
    ],
)
def test_it_refuses_to_start_with_a_reason(context, parameters, reason):
    node = make_node(context, **parameters)
    with pytest.raises(ScrewDynamicsError, match=re.escape(reason)):
        Simulator(node)
    node.destroy_node()
