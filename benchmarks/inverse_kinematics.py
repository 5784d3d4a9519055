"""Inverse position kinematics on random reachable poses, against pink and the Robotics Toolbox.

All solvers take turns on the same poses, ten at a time. They start in the middle of the joint
ranges, go on from random configurations within the limits, and stop at 1e-9. An answer counts as
solved if our forward kinematics finds it within 2e-9 (norms differ) of the target and the joints
within their limits (to 1e-6 rad, because a QP solver has a tolerance).

The others get the settings that were fastest when all poses are to be solved this precisely:
pink Gauss-Newton steps of full length with its own Levenberg-Marquardt damping and a QP solver for
the limits, restarted when the error no longer falls; the toolbox's compiled Levenberg-Marquardt
the better of two gains. It knows one chain only, so of several tips it gets the first one.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pinocchio as pin
from figures import Figure
from reachable_poses import ROBOTS, distance, reachable_poses

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.model import RobotDescription
from screw_dynamics_ros.core.model.tree import rotation_of_z_to
from screw_dynamics_ros.core.model.urdf_writer import write_urdf

TOLERANCE, RESTARTS, STEPS = 1e-9, 100, 100
TURN = 10  # poses
SHARE = 99.5  # percent that must be solved

#: Takes the poses (k, 4, 4) of all links and returns the values of `joints`, None if it gave up.
Solve = Callable[[np.ndarray], 'np.ndarray | None']


def figures(quick: bool) -> Iterator[Figure]:
    """Measure."""
    count = 50 if quick else 1000
    for name, describe, links in ROBOTS:
        description = describe()
        robot = Robot(description)
        targets = reachable_poses(robot, links, count)
        solvers: dict[str, tuple[Solve, list[str], tuple[str, ...]]] = {
            'ours': (
                lambda T, robot=robot, links=links: ours(robot, links, T),
                list(robot.joint_names),
                links,
            )
        }
        for package, short, make in (
            ('pin-pink', 'pink', pink_solver),
            ('roboticstoolbox-python', 'toolbox', toolbox_solver),
        ):
            try:
                label = f'{short} {version(package)}'
            except PackageNotFoundError:
                print(
                    f'{package} is not installed and left out; '
                    '"pip install -r requirements/solvers.txt" installs it'
                )
            else:
                solvers[label] = make(description, robot, links)
        robot_name = f'{name}, {robot.nv} dof, {len(links)} tips'.replace(' 1 tips', ' 1 tip')
        yield from compared(robot_name, robot, solvers, targets)


def compared(robot_name, robot, solvers, targets) -> Iterator[Figure]:
    """Let all solvers take turns, then compare."""
    times = {name: [] for name in solvers}
    solved = dict.fromkeys(solvers, 0)
    for solve, _, _ in solvers.values():
        solve(targets[0])  # compiles
    gc.disable()
    for first in range(0, len(targets), TURN):
        turn = targets[first : first + TURN]
        for name, (solve, joints, links) in solvers.items():
            answers = []
            for T in turn:
                start = time.perf_counter()
                answers.append(solve(T))
                times[name].append(1e6 * (time.perf_counter() - start))
            solved[name] += sum(
                q is not None and holds(robot, joints, links, q, T) for q, T in zip(answers, turn)
            )
    gc.enable()
    group = f'Inverse kinematics, {len(targets)} random reachable poses'
    for name in list(solvers)[1:] or ['ours']:
        alone = name == 'ours'
        note = '' if alone or solvers[name][2] == solvers['ours'][2] else 'theirs: one tip only'
        shares = [100.0 * solved[s] / len(targets) for s in ('ours', name)]
        yield Figure(
            group,
            robot_name,
            'solved' if alone else f'solved, {name}',
            shares[0],
            float('nan') if alone else shares[1],
            unit='%',
            required=SHARE,
            meaning='ours at least',
            note=note,
        )
        for kind, percentile in (('median', 50), ('99 %', 99)):
            mine, theirs = (float(np.percentile(times[s], percentile)) for s in ('ours', name))
            if alone:
                yield Figure(group, robot_name, kind, mine)
            else:
                yield Figure(
                    group,
                    robot_name,
                    f'{kind}, {name}',
                    mine,
                    theirs,
                    ratio=theirs / mine,
                    required=1.0 if kind == 'median' else float('nan'),
                    note=note,
                )


def holds(
    robot: Robot, joints: list[str], links: tuple[str, ...], q: np.ndarray, T: np.ndarray
) -> bool:
    """Return whether an answer is right: within limits, and all links where they should be."""
    full = np.zeros(robot.nq)
    for joint, value in zip(joints, q):
        full[robot.joint_coordinates(joint)[0]] = value
    mine = [robot.joint_names.index(joint) for joint in joints]
    lower, upper = robot.limits.lower[mine], robot.limits.upper[mine]
    return bool(((q >= lower - 1e-6) & (q <= upper + 1e-6)).all()) and all(
        distance(robot.link_pose(full, link), target) <= 2.0 * TOLERANCE
        for link, target in zip(links, T)
    )


def ours(robot: Robot, links: tuple[str, ...], T: np.ndarray) -> np.ndarray | None:
    """Solve with this package."""
    result = robot.inverse_kinematics(T, links, tolerance=TOLERANCE)
    return result.q if result.success else None


def pink_solver(
    description: RobotDescription, robot: Robot, links: tuple[str, ...]
) -> tuple[Solve, list[str], tuple[str, ...]]:
    """Return a solver around pink's differential inverse kinematics.

    Joints that move none of the links are taken out of its model.
    """
    import pink
    from pink.limits import ConfigurationLimit
    from pink.tasks import FrameTask

    model = pin.buildModelFromXML(write_urdf(description, unlimited=1e6))
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

    return solve, list(model.names)[1:], links


def toolbox_solver(
    description: RobotDescription, robot: Robot, links: tuple[str, ...]
) -> tuple[Solve, list[str], tuple[str, ...]]:
    """Return the Robotics Toolbox's compiled Levenberg-Marquardt solver for the first link."""
    from roboticstoolbox import ET, ETS

    above = {joint.child: joint for joint in description.joints}
    path, link = [], links[0]
    while link in above:
        path.insert(0, above[link])
        link = path[0].parent
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

    def solve_with(gain: float) -> Solve:
        def solve(T: np.ndarray) -> np.ndarray | None:
            found = chain.ik_LM(T[0], middle, STEPS, RESTARTS, 0.5 * TOLERANCE**2, k=gain)
            return found.q if found.success else None

        return solve

    def typical(solve: Solve) -> float:
        times = []
        for T in reachable_poses(robot, links, 50):
            start = time.perf_counter()
            solve(T)
            times.append(time.perf_counter() - start)
        return float(np.median(times))

    return min(map(solve_with, (1.0, 0.1)), key=typical), joints, links[:1]
