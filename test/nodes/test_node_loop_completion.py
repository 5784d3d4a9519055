"""States of joints without sensors in the nodes, and what is refused (C-006, C-008)."""

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy')

from screw_dynamics_ros.core.closures import read_loop_closures
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.nodes.model.closed_loops import LoopCompletion, RobotWithLoops
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
