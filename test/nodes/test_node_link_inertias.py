# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inertias of links at run time: the robot is that of the corrected description, in all outputs."""

import numpy as np
import pytest

pytest.importorskip('screw_dynamics_msgs.srv._set_link_inertia')

import rclpy
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_msgs import srv
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import ErrorCode
from screw_dynamics_ros.core.formulas import ENERGY
from screw_dynamics_ros.nodes.model.link_inertias import with_inertias
from screw_dynamics_ros.nodes.outputs.quantity_messages import numbers_of
from screw_dynamics_ros.ros.messages.conversions import write_inertia
from screw_dynamics_ros.ros.status import Level
from support.host_bench import Bench, serialized
from support.robots import urdf_path

PANDA = urdf_path('panda').read_text()
ROBOT = Robot.from_urdf(PANDA, friction=False)
BODIES = {
    'panda_link5': RigidBody(5.0, [0.01, 0.05, -0.1], np.diag([0.04, 0.03, 0.02])),
    'panda_link8': RigidBody(0.8, [0.0, 0.02, 0.03], np.diag([0.002, 0.001, 0.002])),  # had none
    'panda_hand': RigidBody(0.1, [0.0, 0.0, 0.01], np.zeros((3, 3))),  # less than described
}


@pytest.fixture(scope='module')
def running(ros_domain):
    with pytest.MonkeyPatch.context() as monkeypatch:
        rclpy.init(domain_id=ros_domain)
        made = Bench(monkeypatch, max_delay=10.0, backend='auto')
        yield made
        made.host.services.worker.end()
        made.close()
        rclpy.shutdown()


@pytest.fixture
def bench(running):
    running.describe(PANDA)
    for link in ROBOT.link_names:
        set_inertia(running, link, None)
    state(running)
    return running


def ask(bench, name, request):
    nodes = [bench.node, *bench.host.services.nodes]
    found = [s for node in nodes for s in node.services if s.srv_name.endswith(f'/{name}')]
    return found[0].callback(request, found[0].srv_type.Response())


def set_inertia(bench, link, body, seconds=0.0):
    request = srv.SetLinkInertia.Request(link=link, reset=body is None)
    if body is not None:
        write_inertia(request.inertia, body)
    request.transition_time.sec, request.transition_time.nanosec = divmod(
        round(1e9 * seconds), 10**9
    )
    return ask(bench, 'set_link_inertia', request)


def state(bench, seed=1, seconds=0.004):
    """Let a state come; return it with a reference acceleration."""
    rng = np.random.default_rng(seed)
    width = ROBOT.limits.upper - ROBOT.limits.lower
    q = ROBOT.limits.lower + width * rng.uniform(0.2, 0.8, ROBOT.nv)
    v, a = 0.1 * rng.normal(size=(2, ROBOT.nv))
    bench.clock.offset += seconds
    point = JointTrajectoryPoint(positions=q, velocities=v, accelerations=a)
    bench.part.reference.receive(
        JointTrajectory(joint_names=list(ROBOT.joint_names), points=[point])
    )
    bench.host.states.receive(serialized(ROBOT.joint_names, q, bench.clock.time_ns(), v), {})
    return q, v, a


def check(bench, robot, seed=1, seconds=0.004):
    """See that all outputs are those of a robot."""
    q, v, a = state(bench, seed, seconds)
    results, terms = bench.host.model.results, bench.part.outputs.terms
    tolerance = {'rtol': 1e-9, 'atol': 1e-9}
    np.testing.assert_allclose(results[terms.gravity], robot.gravity_torques(q), **tolerance)
    np.testing.assert_allclose(results[terms.coriolis], robot.coriolis_torques(q, v), **tolerance)
    np.testing.assert_allclose(results['mass_matrix'], robot.mass_matrix(q), **tolerance)
    np.testing.assert_allclose(results[terms.inertia], robot.mass_matrix(q) @ a, **tolerance)
    np.testing.assert_allclose(
        results[terms.feedforward], robot.inverse_dynamics(q, v, a), **tolerance
    )
    momentum = np.roll(robot.centroidal_momentum(q, v), 3)
    np.testing.assert_allclose(results[numbers_of('momentum', robot)], momentum, **tolerance)
    energies = [robot.kinetic_energy(q, v), robot.potential_energy(q)]
    np.testing.assert_allclose(results[ENERGY], energies, **tolerance)


def test_all_outputs_are_those_of_the_corrected_description(bench):
    check(bench, ROBOT)
    model = bench.host.model
    for link, body in BODIES.items():
        response = set_inertia(bench, link, body)
        assert response.success, response.message
        assert response.header.frame_id == link
    check(bench, with_inertias(ROBOT, BODIES))
    assert bench.host.model is model  # nothing was compiled
    assert set_inertia(bench, 'panda_link5', None).success
    rest = {link: body for link, body in BODIES.items() if link != 'panda_link5'}
    check(bench, with_inertias(ROBOT, rest), 2)


def test_transitions_and_other_descriptions(bench):
    """Halfway the parameters are halfway; another description with the link is corrected, too."""
    q, _, _ = state(bench)
    before = ROBOT.gravity_torques(q)
    after = with_inertias(ROBOT, {'panda_link5': BODIES['panda_link5']}).gravity_torques(q)
    begin = bench.clock.monotonic()
    assert set_inertia(bench, 'panda_link5', BODIES['panda_link5'], 10.0).success
    state(bench, seconds=5.0)
    share = (bench.clock.monotonic() - begin) / 10.0
    found = bench.host.model.results[bench.part.outputs.terms.gravity]
    largest = np.abs(after - before).max()
    np.testing.assert_allclose(found, before + share * (after - before), atol=0.02 * largest)
    heavy = PANDA.replace('<mass value="', '<mass value="1')
    bench.describe(heavy)
    other = Robot.from_urdf(heavy, friction=False)
    check(bench, with_inertias(other, {'panda_link5': BODIES['panda_link5']}), seconds=20.0)
    bench.describe(PANDA.replace('panda_link5', 'forearm'))
    texts = bench.host.payload_status().texts
    assert any("no inertia of link 'panda_link5'" in text for text in texts)


def test_typed_services_answer_for_the_corrected_robot(bench):
    assert set_inertia(bench, 'panda_link5', BODIES['panda_link5']).success
    q, _, _ = state(bench)
    names = list(ROBOT.joint_names)
    request = srv.MassMatrix.Request(joint_state=JointState(name=names, position=q.tolist()))
    response = ask(bench, 'mass_matrix', request)
    assert response.success, response.message
    expected = with_inertias(ROBOT, {'panda_link5': BODIES['panda_link5']}).mass_matrix(q)
    np.testing.assert_allclose(response.mass_matrix, expected.ravel(), rtol=1e-9, atol=1e-12)


def test_refusals(bench):
    good = BODIES['panda_link5']
    impossible = srv.SetLinkInertia.Request(link='panda_link5')
    write_inertia(impossible.inertia, good)
    impossible.inertia.izz = 1.0
    assert ask(bench, 'set_link_inertia', impossible).error_code == ErrorCode.INVALID_INERTIA
    impossible.inertia.izz = float('nan')
    assert ask(bench, 'set_link_inertia', impossible).error_code == ErrorCode.NOT_FINITE
    assert set_inertia(bench, 'nose', good).error_code == ErrorCode.UNKNOWN_NAME
    assert set_inertia(bench, 'panda_link0', good).error_code == ErrorCode.INVALID_ARGUMENT
    assert set_inertia(bench, 'panda_link5', good, -1.0).error_code == ErrorCode.INVALID_ARGUMENT
    check(bench, ROBOT)
    status = bench.host.payload_status()
    assert status.level == Level.OK
    assert not any(key.startswith('inertia of') for key in status.values)
