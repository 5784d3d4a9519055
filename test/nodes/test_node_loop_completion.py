# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""States of joints without sensors in the nodes, and what is refused (C-006, C-008)."""

import numpy as np
import pytest
import yaml
from scipy.optimize import minimize_scalar

from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.mechanisms.closures import LoopClosures, read_loop_closures
from screw_dynamics_ros.core.mechanisms.closures.closure_equations import gap
from screw_dynamics_ros.core.mechanisms.closures.example_loops import golden_four_bar
from screw_dynamics_ros.nodes.model.closed_loops import LoopCompletion, RobotWithLoops
from screw_dynamics_ros.nodes.model.running_model import joint_state_mapper
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.policies import Reason
from support.linkages import CLOSURES, FOUR_BAR

POSITIONS = 'positions: {a: 1.0, b: -0.5, c: -1.2}\n'


def completion_from(sensed):
    """Return a four-bar whose motor is at its crank `a`, and what completes its states."""
    content = yaml.safe_load(f'{CLOSURES}actuated: [a]\nsensed: {sensed}\n{POSITIONS}')
    robot = RobotWithLoops(read_urdf(FOUR_BAR), read_loop_closures(content), backend='reference')
    return robot.closed, LoopCompletion(robot)


@pytest.mark.parametrize(('sensed', 'has_efforts'), [('[b]', False), ('[a]', True)])
def test_a_joint_with_a_sensor_gives_all(sensed, has_efforts):
    """The state is that of the core; efforts count only if the joint with the motor reports."""
    closed, completion = completion_from(sensed)
    expected = closed.state(closed.assembly[:1] + 0.03, [0.4])
    place = closed.robot.joint_names.index(sensed[1])
    measured = np.array([[expected.q[place]], [expected.v[place]], [7.0]])
    state = np.full((3, 3), np.nan)
    assert completion.complete(measured, state) == ''
    np.testing.assert_allclose(state[:2], [expected.q, expected.v], atol=1e-8)
    np.testing.assert_array_equal(state[2], [7.0 if has_efforts else 0.0, 0.0, 0.0])
    assert completion.has_efforts == has_efforts


def test_sensors_that_contradict_each_other_are_refused():
    """The state before stays, and so does the assembly: the next good message is accepted."""
    closed, completion = completion_from('[a, c]')
    q = closed.assembly[[0, 2]]
    state = np.zeros((3, 3))
    assert completion.complete(np.array([q, [0.0, 0.0], [0.0, 0.0]]), state) == ''
    before = state.copy()
    wrong = np.array([q + [0.0, 0.01], [0.0, 0.0], [0.0, 0.0]])
    assert 'do not close' in completion.complete(wrong, state)
    np.testing.assert_array_equal(state, before)
    assert completion.complete(np.array([q, [0.0, 0.0], [0.0, 0.0]]), state) == ''


def test_a_singular_state_is_refused():
    """With the crank on the line of the frame the angle at the rocker, `c`, is at its extremum."""
    closed, completion = completion_from('[c]')
    state = np.zeros((3, 3))
    for crank, problem in ((0.1, ''), (0.0, 'singular: the joints with sensors')):
        measured = np.array([closed.configuration([crank])[2:], [0.1], [0.0]])
        found = completion.complete(measured, state)
        assert problem in found
        assert bool(found) == bool(problem)


# --- messages -------------------------------------------------------------------------------------

CRANK, COUPLER, ROCKER = 'crank_joint', 'coupler_joint', 'rocker_joint'


def linkage(sensed=(), **options):
    """Return the golden four-bar with these sensors, as the nodes have it."""
    closed = golden_four_bar()
    loops = LoopClosures(closed.loops.closures, [CRANK], sensed, closed.loops.positions, **options)
    return RobotWithLoops(closed.robot.description, loops, backend='reference')


def mapper_of(robot, **settings):
    return joint_state_mapper(robot, clock=lambda: 10**18, **settings)


def message(k, names, position, velocity, effort):
    return JointStateMessage.of(tuple(names), position, velocity, effort, 10**18 + k * 10**7)


def refusals(mapper):
    """Return how many states were refused because loops did not close."""
    record = mapper.records.get(Reason.LOOPS_OPEN)
    return record.count if record else 0


def test_passive_joints_follow_the_measured_crank():
    """All joints, golden case 8.6; efforts of motors, none of others (C-006, C-008, C-009)."""
    robot = linkage()
    mapper = mapper_of(robot)
    assert mapper.joints == robot.joint_names
    assert mapper.measured_joints == (CRANK,)
    for k in range(3):  # the first one joint by joint, the others at once
        assert mapper.update(message(k, [CRANK], [np.pi / 3], [1.0], [5.0]))
        where = dict(zip(mapper.joints, mapper.state.T))
        np.testing.assert_allclose(where[CRANK], [np.pi / 3, 1.0, 5.0], atol=1e-12)
        np.testing.assert_allclose(where[COUPLER], [-0.418482424, -1.211457636, 0.0], atol=5e-10)
        np.testing.assert_allclose(where[ROCKER], [1.795774973, 0.147301188, 0.0], atol=5e-10)
    assert mapper.accepted == 3


def test_what_the_driver_says_of_passive_joints_is_known_and_not_used():
    mapper = mapper_of(linkage())
    assert mapper.update(message(0, [ROCKER, CRANK], [0.0, np.pi / 3], [0.0, 1.0], [9.0, 5.0]))
    assert mapper.q[mapper.joints.index(ROCKER)] == pytest.approx(1.795774973)
    assert not mapper.tau[mapper.joints.index(ROCKER)]
    assert Reason.UNKNOWN_JOINTS not in mapper.records


def test_refused_state_leaves_the_one_before():
    """Sensed at the rocker, which cannot go everywhere; the next good state is taken again."""
    mapper = mapper_of(linkage(sensed=[ROCKER]))
    assert mapper.update(message(0, [ROCKER], [1.9], [0.1], [0.0]))
    before, arrival = mapper.state.copy(), mapper.last_accepted
    assert not mapper.update(message(1, [ROCKER], [0.2], [0.1], [0.0]))
    assert refusals(mapper) == 1
    np.testing.assert_array_equal(mapper.state, before)
    assert (mapper.accepted, mapper.last_accepted) == (1, arrival)
    assert mapper.update(message(2, [ROCKER], [1.91], [0.1], [0.0]))
    assert mapper.accepted == 2


def test_more_sensors_than_freedoms():
    """The joint without a sensor fits both best; a contradiction beyond the tolerance is refused.

    With errors e of the sensors the gap of the loop is g = g_0 + J_b db, least for the angle b of
    the coupler; it is compared with a search for the least gap.
    """
    sensed = [CRANK, ROCKER]
    robot = linkage(sensed, tolerance=1e-3)
    mapper, closed = mapper_of(robot), robot.closed
    q, rates = np.array([np.pi / 3, 1.795774973]), [1.0, 0.147301188]
    measured = q + [1e-4, -1e-4]
    assert robot.closed.sensed == (CRANK, ROCKER)
    assert mapper.update(message(0, sensed, measured, rates, [0.0, 0.0]))
    found = dict(zip(mapper.joints, mapper.q))
    assert [found[CRANK], found[ROCKER]] == pytest.approx(measured)

    def opened(angle):
        at = {CRANK: measured[0], ROCKER: measured[1], COUPLER: angle}
        whole = np.array([at[name] for name in robot.joint_names])
        return np.linalg.norm(gap(robot.tree, whole, closed.loops.closures))

    best = minimize_scalar(opened, bounds=(-0.43, -0.41), options={'xatol': 1e-10})
    assert opened(found[COUPLER]) == pytest.approx(best.fun, rel=1e-6)
    assert 1e-5 < best.fun < 1e-3
    assert found[COUPLER] == pytest.approx(best.x, abs=1e-6)
    before = mapper.state.copy()
    assert not mapper.update(message(1, sensed, q + [0, 0.05], rates, [0.0, 0.0]))
    assert refusals(mapper) == 1
    np.testing.assert_array_equal(mapper.state, before)


def test_assembly_after_time_begins_anew():
    """A reset forgets where the joints were; loops are closed from the assembly again."""
    mapper = mapper_of(linkage())
    assert mapper.update(message(0, [CRANK], [4.0], [0.0], [0.0]))
    first = mapper.q.copy()
    mapper.reset()
    assert mapper.update(message(1, [CRANK], [4.0], [0.0], [0.0]))
    np.testing.assert_allclose(mapper.q, first, atol=1e-9)


def test_calibration_is_for_measured_joints():
    mapper = mapper_of(linkage(), calibration=(np.array([2.0]), np.array([0.5])))
    for k in range(2):
        assert mapper.update(message(k, [CRANK], [1.0], [0.0], [3.0]))
        assert mapper.tau.max() == pytest.approx(6.5)
