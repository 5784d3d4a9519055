# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The service `calibrate` of `kinematics` through DDS (C-018): corrected URDF, numbers, reasons."""

import numpy as np
import pytest

pytest.importorskip('screw_dynamics_msgs.srv._calibrate')

from geometry_msgs.msg import Point
from sensor_msgs.msg import JointState

from screw_dynamics_msgs.msg import ErrorCode
from screw_dynamics_msgs.srv import Calibrate
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.calibration.chain_errors import ChainErrors
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.lie import se3
from support.messages import pose_message
from support.robots import urdf_path
from support.ros_harness import ERROR

URDF = urdf_path('panda').read_text()
LINK = 'panda_hand_tcp'
SERVICE = 'kinematics/calibrate'
FINGERS = ('panda_finger_joint1', 'panda_finger_joint2')


@pytest.fixture(scope='module')
def client(start, connect):
    """Return a client of `kinematics`, which has a robot and no joint states."""
    start('kinematics', {'frame_prefix': 'left_'}, ['-r', '__ns:=/calibration'])
    made = connect('calibration')
    made.describe(URDF)
    made.expect('calibration/kinematics: joint states', ERROR, 'no message has arrived')
    return made


@pytest.fixture(scope='module')
def session():
    """Return the true robot, joint positions (25, nq) and exact poses (25, 4, 4)."""
    model = ChainErrors(read_urdf(URDF), LINK, ('axes', 'tool'))
    rng = np.random.default_rng(0)
    P = rng.uniform(-1e-3, 1e-3, len(model.names))
    truth = Robot(model.corrected(P), backend='reference')
    q = rng.uniform(-2, 2, (25, truth.nq))
    return truth, dict(zip(model.names, P)), q, truth.link_pose(q, LINK)


def request(truth, q, **others):
    """Return a request with the joints of the arm, in another order; the fingers are not named."""
    arm = [k for k, name in enumerate(truth.joint_names) if name not in FINGERS][::-1]
    states = [
        JointState(name=[truth.joint_names[k] for k in arm], position=[float(row[k]) for k in arm])
        for row in q
    ]
    return Calibrate.Request(joint_states=states, frame=LINK, **others)


def exact(C):
    deviations = {'rotation_deviation': 1e-4, 'position_deviation': 1e-4}
    return {'poses': [pose_message(each).pose for each in C], **deviations}


def test_corrected_description(client, session):
    """C-018: parameters, residuals and a URDF that predicts the poses; frame names with prefix."""
    truth, errors, q, C = session
    asked = request(truth, q, **exact(C), estimate=['axes', 'tool'])
    asked.frame = f'left_{LINK}'
    answer = client.call(Calibrate, SERVICE, asked)
    assert answer.success, answer.message
    found = dict(zip(answer.parameters, answer.corrections))
    assert found == pytest.approx(errors, abs=1e-9)
    assert not answer.held
    assert max(answer.distances_before) > 1e-3
    assert max(answer.distances_after) < 1e-12
    assert max(answer.angles_after) < 1e-12
    assert 0.0 < min(answer.deviations) < max(answer.deviations) < 1e-3
    corrected = Robot.from_urdf(answer.robot_description, backend='reference')
    np.testing.assert_allclose(corrected.link_pose(q, LINK), C, rtol=0, atol=1e-12)
    np.testing.assert_allclose(corrected.total_mass, truth.total_mass)


def test_points_and_a_description_of_the_request(client, session):
    """C-018: a camera somewhere sees points; the text of the request keeps its meshes."""
    truth, _, q, C = session
    base, target = se3.exp([0.3, -0.2, 2, 1.5, 0.4, 0.2]), se3.exp([0, 0, 0, 0.05, 0.03, 0.04])
    seen = (base @ C @ target)[:, :3, 3]
    points = [Point(x=x, y=y, z=z) for x, y, z in seen.tolist()]
    asked = request(truth, q, points=points, position_deviation=1e-4, robot_description=URDF)
    asked.target = pose_message(target).pose
    answer = client.call(Calibrate, SERVICE, asked)
    assert answer.success, answer.message
    assert len(answer.held) == 6
    assert 'held at their nominal values' in answer.message
    assert len(answer.angles_after) == 0
    assert max(answer.distances_after) < 1e-9
    assert answer.robot_description.count('<mesh') == URDF.count('<mesh')


def test_refusals(client, session):
    """C-018: a reason by name, and nothing else."""
    truth, _, q, C = session
    one_less = request(truth, q, **exact(C[1:]))
    no_joint = request(truth, q, **exact(C))
    no_joint.joint_states[3].name.pop()
    no_joint.joint_states[3].position.pop()
    nan = request(truth, q, **exact(C))
    nan.joint_states[5].position[0] = float('nan')
    for asked, reason in [
        (one_less, '25 joint_states for 24 measurements'),
        (no_joint, r'joint_states[3] does not name panda_joint1'),
        (nan, "position of joint 'panda_joint7' is nan"),
        (request(truth, q), '0 poses and 0 points for 25 joint states'),
        (request(truth, q, poses=exact(C)['poses']), 'rotation_deviation must be'),
        (request(truth, q, **exact(C), estimate=['axis']), 'give several of axes'),
        (request(truth, q, **exact(C), fixed=['hand']), "no parameter 'hand'"),
        (request(truth, q, **exact(C), robot_description='<r/>'), 'root element is <r>'),
        (
            request(truth, q[:2], **exact(C[:2]), estimate=['axes']),
            '2 poses give 12 equations for 28',
        ),
    ]:
        answer = client.call(Calibrate, SERVICE, asked)
        assert not answer.success
        assert reason in answer.message
        assert not answer.robot_description


def test_description_that_predicts_no_better_is_not_returned(client, session):
    """C-018: few noisy poses; corrections and residuals are there to look at."""
    truth, _, q, C = session
    rng = np.random.default_rng(1)
    noisy = [each @ se3.exp(rng.normal(size=6) * 0.02) for each in C[:8]]
    asked = request(truth, q[:8], **exact(noisy), estimate=['axes', 'tool'])
    answer = client.call(Calibrate, SERVICE, asked)
    assert not answer.success
    assert answer.error_code == ErrorCode.NOT_ENOUGH_DATA
    assert 'does not improve the prediction of poses' in answer.message
    assert not answer.robot_description
    assert len(answer.corrections) == len(answer.parameters) > 0
    assert sum(answer.distances_after) < sum(answer.distances_before)
