# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The mechanism simulator: examples in both formulations, loops, loads, refusals.

In the process of the tests, whose clock they turn; as a node of its own through DDS.
"""

from functools import partial

import numpy as np
import pytest
from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import heavy_top
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.simulated_mechanism import (
    SimulatedMechanism,
)
from screw_dynamics_ros.nodes.mechanism.parameters import TABLE
from screw_dynamics_ros.nodes.mechanism.simulator import MechanismSimulator, make_mechanism
from screw_dynamics_ros.nodes.simulation.simulator import Simulator
from support.linkages import BARS, CLOSURES, FOUR_BAR
from support.node_bench import NodeBench
from support.robots import urdf_path
from support.ros_harness import matrix, stamp_of

STATUS = 'linkage/mechanism_simulator: simulation'
PERIOD = 20_000_000  # ns


@pytest.fixture
def make(node_bench):
    return partial(node_bench, MechanismSimulator)


@pytest.fixture
def make_top(make):
    """Return what makes a heavy top that moves on request."""

    def make_bench(groups, steps):
        return make(
            example='heavy_top',
            groups=groups,
            steps_per_request=steps,
            clock='publish',
            rate=10.0,
            paused=True,
        )

    return make_bench


def test_heavy_top_in_both_formulations(make_top):
    """One second: the pivot is kept in SE(3), and drifts by 9.27e-7 m otherwise (I-34, I-48)."""
    worst = {}
    for groups in ('se3', 'so3_r3'):
        top = make_top(groups, 10)
        assert top.trigger('step').success
        top.forget()
        assert top.trigger('reset').success
        assert top.trigger('step').success
        violations = top.sent['violation']
        assert {len(top.sent[topic]) for topic in ('violation', 'energy', 'tf', 'clock')} == {10}
        assert violations[0].layout.dim[0].label == 'pivot'
        worst[groups] = max(matrix(message)[0, 0] for message in violations)
        energy = np.array(top.sent['energy'][-1].data)
        assert energy[0] == pytest.approx(13972.4, rel=1e-5)
        assert abs(energy[3]) < 1e-7
        clock = top.sent['clock'][-1].clock
        assert clock.sec + clock.nanosec * 1e-9 == pytest.approx(1.1)
        transform = top.sent['tf'][-1].transforms[0]
        assert (transform.header.frame_id, transform.child_frame_id) == ('world', 'top')
        r = transform.transform.translation  # golden trajectory of spec 9.3 at 1 s
        assert [r.x, r.y, r.z] == pytest.approx([0.320297, 0.169771, -0.344365], abs=3e-6)
    assert worst['se3'] < 1e-12
    assert worst['so3_r3'] == pytest.approx(9.27e-7, rel=0.05)


def test_reaction_of_the_pivot(make_top):
    """It equals what the model says of the state, in the frame of the top."""
    bench = make_top('se3', 1)
    bench.trigger('step')
    (message,) = bench.sent['reaction/pivot']
    top = SimulatedMechanism(*heavy_top())
    for _ in range(100):
        top.step(1e-3)
    assert message.header.frame_id == 'top'
    force = np.array([message.wrench.force.x, message.wrench.force.y, message.wrench.force.z])
    expected = top.system.reactions(top.q, top.v)['pivot'][3:]
    np.testing.assert_allclose(force, expected, rtol=1e-9)


def test_reaction_to_a_force_through_the_pivot(make_top):
    """It turns nothing: the pivot takes it alone, in whose frame the moment is zero."""
    reactions = []
    for force in (np.zeros(3), np.array([30.0, -20.0, 10.0])):
        bench = make_top('se3', 1)
        moment = np.cross([-0.5, 0.0, 0.0], force)  # about the center of mass
        wrench = Wrench(force=Vector3(**dict(zip('xyz', force))))
        wrench.torque = Vector3(**dict(zip('xyz', moment)))
        message = WrenchStamped(header=Header(frame_id='top'), wrench=wrench)
        bench.hear('external_wrench', message)
        bench.trigger('step')
        (message,) = bench.sent['reaction/pivot']
        w = message.wrench
        reactions.append([w.force.x, w.force.y, w.force.z, w.torque.x, w.torque.y, w.torque.z])
    change = np.subtract(reactions[1], reactions[0])
    np.testing.assert_allclose(change[:3], -force, atol=1e-8)
    np.testing.assert_allclose(change[3:], -moment, atol=1e-8)


def test_pause_and_resume(make_top):
    """Single steps only during a pause; time goes on afterwards."""
    top = make_top('so3_r3', 1)
    top.go_on(5.0)
    assert not top.sent['clock']
    top.switch('pause', False)
    top.go_on(0.55)
    assert len(top.sent['clock']) == pytest.approx(6, abs=1)
    response = top.trigger('step')
    assert not response.success
    assert '~/pause' in response.message
    top.switch('pause', True)
    assert top.trigger('step').success


def parameters_of_linkage(folder):
    """Return those of a four-bar linkage with its loop closed by a file, that hangs in gravity."""
    closures, urdf = folder / 'loops.yaml', folder / 'four_bar.urdf'
    closures.write_text(CLOSURES)
    urdf.write_text(FOUR_BAR)
    return {
        'urdf': str(urdf),
        'loop_closures': str(closures),
        'initial_joints': ['a', 'b', 'c'],
        'initial_positions': [1.0, -0.5, -1.5],
        'gravity': [0.0, -9.81, 0.0],
        'stabilization': [20.0, 20.0],
        'step': 0.005,
        'rate': 50.0,
        'command_timeout': 0.3,
    }


def test_positions_of_the_file_of_closures(make, tmp_path):
    """They are used where parameters have no others; invalid ones are refused by the file."""
    parameters = parameters_of_linkage(tmp_path)
    expected = make(**parameters).states(1)[1]
    (tmp_path / 'loops.yaml').write_text('positions: {a: 1.0, b: -0.5, c: 9.0}' + CLOSURES)
    bench = make(**parameters | {'initial_joints': ['c'], 'initial_positions': [-1.5]})
    np.testing.assert_allclose(bench.states(1)[1], expected, atol=1e-9)
    (tmp_path / 'loops.yaml').write_text('positions: {a: north}' + CLOSURES)
    with pytest.raises(ScrewDynamicsError, match=r'loops\.yaml: .*north'):
        make(**parameters)


@pytest.mark.parametrize('how', ['text', 'path'])
def test_loops_of_an_mjcf(make, tmp_path, how):
    """It is published as URDF with the loop, and the loop stays closed."""
    pytest.importorskip('mujoco')
    path = tmp_path / 'bars.xml'
    path.write_text(BARS)
    given = {'urdf': str(path)} if how == 'path' else {'robot_description': BARS}
    bench = make(**given, loop_closures='description', gravity=[3.0, 0.0, -9.81], rate=50.0)
    bench.go_on(0.5)
    received = bench.sent['joint_states'][-1]
    angles = dict(zip(received.name, received.position, strict=True))
    a, b, c = (angles[name] for name in ('left', 'elbow', 'right'))
    bar = 0.2j * np.exp(-1j * a) + 0.3 * np.exp(-1j * (a + b))  # x + i z of its end
    assert bar == pytest.approx(0.3 - 0.1j + 0.3j * np.exp(-1j * c), abs=1e-6)
    assert abs(a) > 0.01  # it falls
    (published,) = bench.sent['robot_description']
    (closure,) = read_urdf(published.data).closures
    assert closure.links == ('right', 'bar')


@pytest.fixture
def linkage(make, tmp_path):
    return make(**parameters_of_linkage(tmp_path))


def test_loop_stays_closed_while_it_moves(linkage):
    """Joint states of all four joints, and no gap."""
    linkage.go_on(1.0)
    received = linkage.sent['joint_states']
    assert list(received[0].name) == ['a', 'b', 'c', 'd']
    for message in received[-20:]:
        angles = np.cumsum(message.position[:3])
        tip = (np.array([0.2, 0.5, 0.4]) * np.exp(1j * angles)).sum()
        assert tip == pytest.approx(0.5, abs=1e-6)
    assert np.ptp([m.position[0] for m in received]) > 0.01  # it moves
    assert set(np.diff([stamp_of(m) for m in received])) == {PERIOD}
    assert max(matrix(m)[:, 0].max() for m in linkage.sent['violation']) < 1e-6
    status = linkage.status()
    assert status.level == 0
    assert 'd: rotation about x' in status.values['redundant constraints']
    gap, _, name = status.values['widest gap [rad, m]'].partition(' in ')
    assert float(gap) < 1e-6
    assert name in ('a', 'b', 'c', 'd')


def test_time_that_is_lost_is_told(linkage):
    """A process that gets no processor for a second goes on from then."""
    before = linkage.states(5)[0][-1]
    linkage.stand_still(1.0)
    after = linkage.states(5)[0]
    assert after[0] - before == pytest.approx(10**9, abs=2 * PERIOD)
    assert float(linkage.status().values['time skipped [s]']) == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize(
    ('kind', 'model'),
    [
        (Simulator, {'urdf': str(urdf_path('planar_2r'))}),
        (MechanismSimulator, {'example': 'heavy_top'}),
    ],
)
def test_a_simulated_clock_that_does_not_run_is_reported(ros_domain, monkeypatch, kind, model):
    """Stamps would begin at zero; with a clock of its own the simulator needs none."""
    for clock, is_reported in (('wall', True), ('publish', False)):
        bench = NodeBench(ros_domain, monkeypatch, kind, clock=clock, backend='reference', **model)
        bench.set(use_sim_time=True)
        bench.go_on(0.1)
        bench.node.get_clock().set_ros_time_override(Time(nanoseconds=0))
        assert ('has arrived on /clock' in bench.tested.status().summary) == is_reported
        bench.close()


def test_torque_drives_the_crank(linkage):
    """Efforts act by name, and end with the messages."""
    message = JointState(name=['a'], effort=[3.0])
    linkage.until(
        lambda q, v, tau: tau[0] == 3.0 and abs(v[0]) > 6.0,
        lambda: linkage.hear('joint_commands', message),
    )
    tau = linkage.states(20)[-1]
    assert tau[0, 0] == 3.0
    assert tau[-1, 0] == 0.0


def test_wrench_on_a_body(linkage):
    """A wrench on a body is refused with a reason if no body has that name."""
    message = WrenchStamped(header=Header(frame_id='nobody'), wrench=Wrench(force=Vector3(x=1.0)))
    linkage.hear('external_wrench', message)
    status = linkage.status()
    assert status.level == 1
    assert "'nobody' is not a body" in status.summary
    message.header.frame_id = 'crank'
    linkage.hear('external_wrench', message)
    assert linkage.status().level == 0


def test_a_wrench_turns_the_crank_its_way(linkage):
    """A moment about the axis of the crank acts as its motor does."""
    wrench = Wrench(torque=Vector3(z=30.0))
    message = WrenchStamped(header=Header(frame_id='crank'), wrench=wrench)
    speeds = []

    def is_fast(q, v, tau):
        speeds.append(v[0])
        return abs(v[0]) > 6.0

    linkage.until(is_fast, lambda: linkage.hear('external_wrench', message))
    assert speeds[-1] > 6.0


@pytest.mark.parametrize(
    ('message', 'reason'),
    [
        (JointState(name=['a'], effort=[]), 'one effort for each'),
        (JointState(name=['elbow'], effort=[1.0]), "'elbow'"),
        (JointState(name=['a'] * 2, effort=[1.0, 1.0]), 'different names'),
        (JointState(name=['a'], effort=[np.nan]), 'finite'),
    ],
)
def test_bad_commands_are_refused(linkage, message, reason):
    """They change nothing, and the simulation goes on."""
    linkage.hear('joint_commands', message)
    status = linkage.status()
    assert status.level == 1
    assert reason in status.summary
    assert (linkage.states(3)[-1] == 0.0).all()
    linkage.hear('joint_commands', JointState(name=['a'], effort=[0.0]))
    assert linkage.status().level == 0


def test_divergence_stops_with_a_reason(make):
    """Long steps of the spinning pendulum cannot be followed; a reset goes back to the start."""
    bench = make(example='double_pendulum', rate=10.0, step=0.1, tableau='euler')
    while not bench.status().level:
        bench.go_on(1.0)
    status = bench.status()
    assert status.level == 2
    for text in ('has stopped', 'diverged', 'shorter steps'):
        assert text in status.summary
    (published,) = (s for name, s in bench.diagnostics().items() if name == 'simulation')
    assert published.message == status.summary
    assert bench.switch('pause', True).success
    assert bench.trigger('reset').success
    assert bench.status().level == 0


HOSTILE = (0.0, 1.0, -3.0, 1e3, 1e17, -1e155, 1e200, 1.7e308, -1.7e308, np.nan, np.inf, 1e-320)


@pytest.mark.filterwarnings('ignore::RuntimeWarning')  # overflow, which is noticed
def test_hostile_commands(linkage):
    """Efforts and wrenches of any size: what is published is finite and closed, or it stops."""
    random, stops = np.random.default_rng(0), 0
    for _ in range(60):
        names = [['a'], ['a'], ['d', 'a'], ['nose'], ['a', 'a'], ['x' * 10_000]]
        named = names[random.integers(len(names))]
        efforts = [float(each) for each in random.choice(HOSTILE, len(named))]
        linkage.hear('joint_commands', JointState(name=named, effort=efforts))
        frame = str(random.choice(['coupler', 'crank', 'base', '', 'x' * 10_000, '\n']))
        x, y, z = map(float, random.choice(HOSTILE, 3))
        wrench = Wrench(force=Vector3(x=x, y=y, z=z), torque=Vector3(x=z, y=x, z=y))
        linkage.hear('external_wrench', WrenchStamped(header=Header(frame_id=frame), wrench=wrench))
        linkage.forget()
        linkage.go_on(0.05)
        for message in linkage.sent['joint_states']:
            assert np.isfinite([message.position, message.velocity, message.effort]).all()
        for message in linkage.sent['violation']:
            assert np.isfinite(matrix(message)).all()
            assert np.abs(matrix(message)[:, 0]).max() < 0.1
        status = linkage.status()
        assert status.summary.isprintable()
        assert len(status.summary) < 2000
        if 'has stopped' in status.summary:
            stops += 1
            assert linkage.trigger('reset').success
    assert 0 < stops < 60
    assert linkage.faults() == []
    linkage.go_on(0.2)  # until all commands have ended
    starts = []
    for _ in range(2):
        assert linkage.trigger('reset').success
        starts.append(linkage.states(3)[1])
    np.testing.assert_array_equal(*starts)


def test_it_is_a_node(start, connect, tmp_path):
    """Through DDS: states, their names, a command and a status."""
    parameters = {**parameters_of_linkage(tmp_path), 'command_timeout': 3600.0}
    start('mechanism_simulator', parameters, ['-r', '__ns:=/linkage'])
    client = connect('linkage')
    client.subscribe(JointState, 'joint_states')
    received = client.received['joint_states']
    client.wait(lambda: received, what='joint states')
    assert list(received[0].name) == ['a', 'b', 'c', 'd']
    assert not any(received[0].effort)
    client.publisher(JointState, 'joint_commands').publish(JointState(name=['a'], effort=[3.0]))
    client.wait(lambda: received[-1].effort[0] == 3.0, what='the torque')
    client.expect(STATUS, 0)


def test_it_does_not_start_with_bad_parameters(start):
    """The reason is logged, and the exit status is not 0."""
    process = start('mechanism_simulator', {'loop_closures': '/nowhere.yaml'}, ['-r', '__ns:=/bad'])
    assert process.wait() != 0
    assert 'parameter loop_closures: nowhere.yaml: there is no such file' in process.output


@pytest.mark.parametrize(
    ('parameters', 'reason'),
    [
        ({'gravity': [1.0]}, 'gravity must be empty or three numbers'),
        ({'initial_joints': ['a']}, '0 initial_positions for 1 initial_joints'),
        ({'initial_joints': ['a'], 'initial_positions': [1.0]}, "no joint named 'a'"),
        ({'urdf': '/nowhere.urdf'}, 'there is no such file'),
    ],
)
def test_parameters_that_do_not_fit(parameters, reason):
    """They are refused when the mechanism is made."""
    values = {specification.name: specification.default for specification in TABLE}
    with pytest.raises(ScrewDynamicsError, match=reason):
        make_mechanism({**values, **parameters})
