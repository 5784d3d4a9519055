# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mechanisms with loops for the tests, as trees with cut joints."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import yaml

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Inertia, Joint, Link, RobotDescription
from screw_dynamics_ros.core.lie import se3, so3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import (
    PRISMATIC,
    REVOLUTE,
    ConstraintJoint,
    frame,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.from_description import absolute_system
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.lower_pairs import WELD
from screw_dynamics_ros.core.mechanisms.closures import (
    ClosedRobot,
    LoopClosures,
    read_loop_closures,
)
from screw_dynamics_ros.core.mechanisms.closures.example_loops import UNLIMITED, bar
from support.paths import URDF

X, Y, Z = np.eye(3)
EXCAVATOR, EXCAVATOR_LOOPS = (
    URDF / 'loops' / name for name in ('excavator.urdf', 'excavator_closures.yaml')
)


def at(*r: float) -> np.ndarray:
    """Return a pose without rotation."""
    return se3.pose(np.eye(3), r)


def joint(
    name: str, parent: str, child: str, origin: np.ndarray, axis: np.ndarray = Z, kind: str = ''
) -> Joint:
    """Return a joint without limits, continuous by default."""
    return Joint(name, kind or 'continuous', parent, child, origin, axis, UNLIMITED)


@cache
def excavator() -> ClosedRobot:
    """Return the excavator of this package: swing and three cylinders, four loops."""
    robot = Robot.from_urdf(EXCAVATOR)
    return ClosedRobot(robot, read_loop_closures(yaml.safe_load(EXCAVATOR_LOOPS.read_text())))


def delta_gripper(backend: str = 'reference', tolerance: float = 1e-10) -> ClosedRobot:
    """Return the Delta of this package as a graph: three legs of R, U and U joints, two loops."""
    robot = Robot.from_urdf(URDF / 'loops' / 'delta_gripper.urdf', backend=backend)
    content = (URDF / 'loops' / 'delta_gripper_closures.yaml').read_text()
    loops = read_loop_closures(yaml.safe_load(content))
    return ClosedRobot(robot, loops, tolerance=tolerance)


def figure_5_7(sensed: Sequence[str] = ()) -> ClosedRobot:
    """Return the chain of Fig. 5.7: six joints, a loop over 2, 3, 4 and 6, 1, 2, 5 actuated.

    Joint 1 carries the base of the loop; the branch 2, 3 ends in `ee1`, the branch 4, 5 in `ee2`,
    where joint 5 turns the end of the link between 4 and the cut joint 6.
    """
    loop = ('base', 'one', 'two', 'three', 'four', 'five')
    lengths = {'two': 0.4, 'three': 0.7, 'four': 0.6, 'five': 0.3, 'one': 0.5}
    links = [Link(name, bar(lengths[name]) if name in lengths else None) for name in loop]
    tilted = se3.pose([[1, 0, 0], [0, 0, -1], [0, 1, 0]], [0.1, 0, 0.2])
    joints = [
        joint('j1', 'base', 'one', np.eye(4)),
        joint('j2', 'one', 'two', tilted),
        joint('j3', 'two', 'three', at(0.4, 0, 0)),
        joint('j4', 'one', 'four', tilted @ at(0.6, 0, 0)),
        joint('j5', 'four', 'five', at(0.8, 0, 0), Y),
    ]
    for name, parent, place in (('ee1', 'three', at(0.9, 0.1, 0)), ('ee2', 'five', at(0.3, 0, 0))):
        links.append(Link(name))
        joints.append(Joint(f'{name}_joint', 'fixed', parent, name, place, Z, UNLIMITED))
    description = RobotDescription.from_parts('figure_5_7', links, joints)
    cut = ConstraintJoint('j6', REVOLUTE, 'four', 'three', frame([0.6, 0, 0]), frame([0.7, 0, 0]))
    loops = LoopClosures(
        [cut], ['j1', 'j2', 'j5'], sensed, {'j1': 0.3, 'j2': 1.2, 'j3': -0.8, 'j4': 1.4, 'j5': 0.2}
    )
    return ClosedRobot(Robot(description, backend='reference'), loops)


def four_revolute_one_prismatic() -> ClosedRobot:
    """Return a planar loop of five segments, 4R + 1P: two freedoms."""
    links = [Link(name, bar(0.5)) for name in ('lower', 'barrel', 'rod', 'upper')]
    joints = [
        joint('r1', 'frame', 'lower', np.eye(4)),
        joint('r2', 'frame', 'barrel', at(0.4, 0, 0)),
        joint('p', 'barrel', 'rod', at(0.2, 0, 0), X, 'prismatic'),
        joint('r3', 'lower', 'upper', at(0.8, 0, 0)),
    ]
    description = RobotDescription.from_parts('4r1p', [Link('frame'), *links], joints)
    pin = ConstraintJoint('r4', REVOLUTE, 'upper', 'rod', frame([0.5, 0, 0]), frame([0.5, 0, 0]))
    positions = {'r1': 1.2, 'r2': 1.0, 'p': 0.2, 'r3': -0.8}
    return ClosedRobot(
        Robot(description, gravity=(0, -9.81, 0), backend='reference'),
        LoopClosures([pin], ['r1', 'p'], positions=positions),
    )


def slider_with_prismatic_cut() -> ClosedRobot:
    """Return a slider crank that is cut at its slider."""
    links = [Link('frame'), Link('crank', bar(0.3)), Link('rod', bar(0.8))]
    links.append(Link('slider', Inertia(2.0, np.array([0.1, 0.0, 0.0]), 0.01 * np.eye(3))))
    joints = [
        joint('crank_joint', 'frame', 'crank', np.eye(4)),
        joint('rod_joint', 'crank', 'rod', at(0.3, 0, 0)),
        joint('pin', 'rod', 'slider', at(0.8, 0, 0)),
    ]
    description = RobotDescription.from_parts('slider_crank', links, joints)
    rail = ConstraintJoint('rail', PRISMATIC, 'frame', 'slider', frame(axis=X), frame(axis=X))
    return ClosedRobot(
        Robot(description, gravity=(0, -9.81, 0), backend='reference'),
        LoopClosures(
            [rail], ['crank_joint'], positions={'crank_joint': 0.9, 'rod_joint': -1.2, 'pin': 0.3}
        ),
    )


def stewart_gough() -> ClosedRobot:
    """Return the platform of golden case 8.4 as a graph: six UPS legs, 36 joint freedoms.

    The first leg carries the platform; the others end in spare links that are welded to it.
    """
    base = 0.5 * circle([10, 110, 130, 230, 250, 350])
    top = 0.3 * circle([50, 70, 170, 190, 290, 310])
    small = Inertia(0.5, np.array([0.02, 0.01, 0.05]), 0.01 * np.eye(3))
    links, joints, closures = [Link('base')], [], []
    positions: dict[str, float] = {}
    for k, (b, t) in enumerate(zip(base, top), 1):
        tip = t + [0.0, 0.0, 0.6]
        d = tip - b
        length = float(np.linalg.norm(d))
        tilt_y = np.arcsin(d[0] / length)
        tilt_x = np.arctan2(-d[1], d[2])
        names = [f'{what}{k}' for what in ('ux', 'uy', 'p', 'sx', 'sy', 'sz')]
        axes, kinds = [X, Y, Z, X, Y, Z], ['', '', 'prismatic', '', '', '']
        origins = [at(*b), *[np.eye(4)] * 5]
        ends = [f'{name}_link' for name in names[:-1]] + ['platform' if k == 1 else f'end{k}']
        parent = 'base'
        for name, axis, kind, origin, child in zip(names, axes, kinds, origins, ends):
            links.append(Link(child, small))
            joints.append(joint(name, parent, child, origin, axis, kind))
            parent = child
        R = so3.exp([tilt_x, 0, 0]) @ so3.exp([0, tilt_y, 0])
        # The S joint turns the platform back upright: Rx(sx) Ry(sy) Rz(sz) = R^T.
        back = R.T
        sy = np.arcsin(back[0, 2])
        sx, sz = np.arctan2(-back[1, 2], back[2, 2]), np.arctan2(-back[0, 1], back[0, 0])
        positions.update(zip(names, (tilt_x, tilt_y, length, sx, sy, sz)))
        if k > 1:
            place = at(*(t - top[0]))
            closures.append(ConstraintJoint(f'weld{k}', WELD, 'platform', f'end{k}', place))
    description = RobotDescription.from_parts('stewart_gough', links, joints)
    loops = LoopClosures(closures, [f'p{k}' for k in range(1, 7)], positions=positions)
    return ClosedRobot(Robot(description, backend='reference'), loops)


def circle(degrees: Sequence[float]) -> np.ndarray:
    """Return points of the unit circle in the plane of x and y, (n, 3)."""
    a = np.radians(degrees)
    return np.column_stack([np.cos(a), np.sin(a), np.zeros(len(a))])


def accelerations_of_bodies(
    closed: ClosedRobot, q: np.ndarray, v: np.ndarray, tau: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the accelerations of all bodies twice, (6 n,) each, for torques of the motors.

    By the closed robot, and by a pose for each body with joints and mimic couplings as constraints.
    """
    robot, state = closed.robot, closed.state(q, v)
    system = absolute_system(
        robot.description,
        closures=closed.loops.closures,
        groups='SE(3)',
        positions=dict(zip(robot.joint_names, state.q.tolist())),
        gravity=robot.gravity,
        backend='sparse',
    )
    names = [body.name for body in system.bodies]
    twists = np.concatenate([robot.velocity(state.q, state.v, name, 'body') for name in names])
    forces = system.joint_forces(system.configuration, dict(zip(closed.joint_names, tau)))
    independent = system.forward_dynamics(system.configuration, twists, forces)
    whole = state.G @ closed.forward_dynamics(q, v, tau) + state.d
    ours = [robot.acceleration(state.q, state.v, whole, name, 'body') for name in names]
    return np.concatenate(ours), independent
