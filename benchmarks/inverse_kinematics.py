# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inverse position kinematics on random poses, against pink, Robotics Toolbox and EAIK.

All solvers take turns on the same poses, ten at a time. All of them use one thread, whose
processor time counts: other processes would interrupt slow solvers, and spare fast ones. They
start in the middle of the joint ranges, go on from random configurations within the limits, and
stop at 1e-9. An answer counts as solved if our forward kinematics finds it within 2e-9 (norms
differ) of the target and the joints within their limits (to 1e-6 rad, because a QP solver has a
tolerance).

The others get the settings that were fastest when all poses are to be solved this precisely:
pink Gauss-Newton steps of full length with its own Levenberg-Marquardt damping and a QP solver for
the limits, restarted when the error no longer falls; the toolbox's compiled Levenberg-Marquardt
the better of two gains. It knows one chain only, so of several tips it gets the first one.

EAIK solves arms of six joints in closed form, those that it knows a decomposition for: it returns
all solutions, of which the first exact one within the limits is taken. Arms that it refuses have no
line.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pinocchio as pin
from figures import Figure

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Joint, RobotDescription
from screw_dynamics_ros.core.description.urdf_writer import write_urdf
from screw_dynamics_ros.core.tree.multibody_tree import rotation_of_z_to
from support.reachable_poses import ROBOTS, distance, reachable_poses

TOLERANCE, RESTARTS, STEPS = 1e-9, 100, 100
TURN = 10  # poses
SHARE = 99.5  # percent that must be solved


@dataclass
class Solver:
    """A solver that brings `links` to poses.

    `solve` takes the poses (k, 4, 4) and returns the values of `joints`, None if it gave up.
    """

    solve: Callable[[np.ndarray], np.ndarray | None]
    joints: list[str]
    links: tuple[str, ...]
    times: list[float] = field(default_factory=list)  # us
    solved: int = 0

    def percentile(self, percent: float) -> float:
        """Return the time [us] that so many percent of the poses took at most."""
        return float(np.percentile(self.times, percent))

    def turns(self) -> np.ndarray:
        """Return the median [us] of each turn."""
        return np.median(np.reshape(self.times, (-1, TURN)), axis=1)


def figures(quick: bool) -> Iterator[Figure]:
    """Measure."""
    count = 50 if quick else 1000
    for name, describe, links in ROBOTS:
        description = describe()
        robot = Robot(description)
        targets = reachable_poses(robot, links, count)
        solvers = {'ours': our_solver(robot, links)}
        for package, label, make in (
            ('pin-pink', 'pink', pink_solver),
            ('roboticstoolbox-python', 'Robotics Toolbox', toolbox_solver),
            ('EAIK', 'EAIK', closed_form_solver),
        ):
            try:
                label = f'{label} {version(package)}'
            except PackageNotFoundError:
                print(
                    f'{package} is not installed and left out; '
                    '"pip install -r requirements/solvers.txt" installs it'
                )
            else:
                solver = make(description, robot, links)
                if solver is not None:
                    solvers[label] = solver
        run(robot, list(solvers.values()), targets)
        tips = 'one tip' if len(links) == 1 else f'{len(links)} tips'
        yield from compared(f'{name}, {robot.nv} dof, {tips}', solvers, len(targets))


def run(robot: Robot, solvers: list[Solver], targets: np.ndarray) -> None:
    """Let all solvers take turns."""
    for solver in solvers:
        solver.solve(targets[0])  # compiles
    for first in range(0, len(targets), TURN):
        turn = targets[first : first + TURN]
        for solver in solvers:
            answers = []
            for T in turn:
                start = time.thread_time_ns()
                answers.append(solver.solve(T))
                solver.times.append(1e-3 * (time.thread_time_ns() - start))
            solver.solved += sum(holds(robot, solver, q, T) for q, T in zip(answers, turn))


def compared(robot: str, solvers: dict[str, Solver], count: int) -> Iterator[Figure]:
    """Return the figures of one robot."""
    group = f'Inverse kinematics, {count} random reachable poses'
    ours = solvers['ours']
    share = 100.0 * ours.solved / count
    yield Figure(
        group,
        robot,
        'solved',
        share,
        unit='%',
        required=SHARE,
        meaning='ours at least',
        more=True,
    )
    median, tail = ours.percentile(50), ours.percentile(99)
    yield Figure(group, robot, 'time', median, tail)
    for name, theirs in list(solvers.items())[1:]:
        note = '' if theirs.links == ours.links else 'theirs: one tip only'
        their_share = 100.0 * theirs.solved / count
        yield Figure(
            group,
            robot,
            'solved',
            share,
            peer=name,
            theirs=their_share,
            unit='%',
            more=True,
            note=note,
        )
        low, ratio, high = np.quantile(np.divide(theirs.turns(), ours.turns()), [0.1, 0.5, 0.9])
        yield Figure(
            group,
            robot,
            'time',
            median,
            tail,
            name,
            theirs.percentile(50),
            theirs.percentile(99),
            ratio=float(ratio),
            ratio_low=float(low),
            ratio_high=float(high),
            required=1.0,
            note=note,
        )


def holds(robot: Robot, solver: Solver, q: np.ndarray | None, T: np.ndarray) -> bool:
    """Return whether an answer is right: within limits, and all links where they should be."""
    if q is None:
        return False
    full, places = np.zeros(robot.nq), [robot.joint_names.index(j) for j in solver.joints]
    full[places] = q  # all joints of these robots have one coordinate
    lower, upper = robot.limits.lower[places], robot.limits.upper[places]
    return bool(((q >= lower - 1e-6) & (q <= upper + 1e-6)).all()) and all(
        distance(robot.link_pose(full, link), C) <= 2.0 * TOLERANCE
        for link, C in zip(solver.links, T)
    )


def our_solver(robot: Robot, links: tuple[str, ...]) -> Solver:
    """Return this package's."""

    def solve(T: np.ndarray) -> np.ndarray | None:
        result = robot.inverse_kinematics(T, links, tolerance=TOLERANCE)
        return result.q if result.success else None

    return Solver(solve, list(robot.joint_names), links)


def pink_solver(description: RobotDescription, robot: Robot, links: tuple[str, ...]) -> Solver:
    """Return a solver around pink's differential inverse kinematics.

    Joints that move none of the links are taken out of its model.
    """
    import pink
    from pink.limits import ConfigurationLimit
    from pink.tasks import FrameTask

    model = pin.buildModelFromXML(write_urdf(description))
    moving = {
        joint
        for link in links
        for joint in model.supports[model.frames[model.getFrameId(link)].parentJoint]
    }
    idle = [i for i in range(1, model.njoints) if i not in moving]
    model = pin.buildReducedModel(model, idle, pin.neutral(model))
    data = model.createData()
    lower, upper = model.lowerPositionLimit, model.upperPositionLimit
    middle = 0.5 * (lower + upper)
    limits = [ConfigurationLimit(model, config_limit_gain=1.0)]
    tasks = [
        FrameTask(link, position_cost=1.0, orientation_cost=1.0, lm_damping=1e-2) for link in links
    ]

    def solve(T: np.ndarray) -> np.ndarray | None:
        for task, C in zip(tasks, T):
            task.set_target(pin.SE3(C))
        random = np.random.default_rng(0)
        for attempt in range(RESTARTS + 1):
            start = random.uniform(lower, upper) if attempt else middle
            configuration = pink.Configuration(model, data, start)
            previous = np.inf
            for step in range(STEPS):
                error = np.sqrt(
                    sum((task.compute_error(configuration) ** 2).sum() for task in tasks)
                )
                if error <= TOLERANCE:
                    return configuration.q
                if step % 4 == 0:
                    if not error < 0.9 * previous:
                        break
                    previous = error
                try:
                    v = pink.solve_ik(
                        configuration, tasks, 1.0, solver='daqp', damping=1e-12, limits=limits
                    )
                except pink.exceptions.PinkError:
                    break
                configuration.integrate_inplace(v, 1.0)
        return None

    return Solver(solve, list(model.names)[1:], links)


def toolbox_solver(description: RobotDescription, robot: Robot, links: tuple[str, ...]) -> Solver:
    """Return the Robotics Toolbox's compiled Levenberg-Marquardt solver for the first link."""
    from roboticstoolbox import ET, ETS

    path = path_to(links[0], description)
    C, parts, joints = np.eye(4), [], []
    for joint in path:
        C = C @ joint.origin
        if joint.type == 'fixed':
            continue
        Q = np.eye(4)
        Q[:3, :3] = rotation_of_z_to(joint.axis)
        parts += [
            ET.SE3(C @ Q),
            ET.Rz(jindex=len(joints), qlim=(joint.limits.lower, joint.limits.upper)),
        ]
        joints.append(joint.name)
        C = Q.T
    chain = ETS([*parts, ET.SE3(C)]).compile()
    middle = chain.qlim.mean(axis=0)

    def with_gain(gain: float) -> Solver:
        def solve(T: np.ndarray) -> np.ndarray | None:
            found = chain.ik_LM(T[0], middle, STEPS, RESTARTS, 0.5 * TOLERANCE**2, k=gain)
            return found.q if found.success else None

        solver = Solver(solve, joints, links[:1])
        run(robot, [solver], reachable_poses(robot, links, 50))
        return solver

    best = min(map(with_gain, (1.0, 0.1)), key=lambda solver: solver.percentile(50))
    return Solver(best.solve, best.joints, best.links)


def closed_form_solver(
    description: RobotDescription, robot: Robot, links: tuple[str, ...]
) -> Solver | None:
    """Return EAIK's solver; None for a robot that it cannot solve."""
    from eaik.pybindings import EAIK

    C, axes, points, names = np.eye(4), [], [np.zeros(3)], []
    for joint in path_to(links[0], description):
        C = C @ joint.origin
        if joint.type != 'fixed':
            axes.append(C[:3, :3] @ joint.axis)
            points.append(C[:3, 3])
            names.append(joint.name)
    if len(links) > 1 or len(axes) != 6:
        return None
    points.append(C[:3, 3])
    arm = EAIK.Robot(np.array(axes).T, np.diff(points, axis=0).T, C[:3, :3], [], True)
    if not arm.has_known_decomposition():
        return None
    places = [robot.joint_names.index(name) for name in names]
    lower, upper = robot.limits.lower[places], robot.limits.upper[places]
    whole_turns = (lower <= -np.pi).all() and (upper >= np.pi).all()  # its answers are in there

    def solve(T: np.ndarray) -> np.ndarray | None:
        found = arm.calculate_IK(T[0])
        for q, is_approximate in zip(found.Q, found.is_LS):
            if not is_approximate and (whole_turns or ((q >= lower) & (q <= upper)).all()):
                return q
        return None

    return Solver(solve, names, links)


def path_to(link: str, description: RobotDescription) -> list[Joint]:
    """Return the joints from the base to a link."""
    above = {joint.child: joint for joint in description.joints}
    path: list[Joint] = []
    while link in above:
        path.insert(0, above[link])
        link = path[0].parent
    return path
