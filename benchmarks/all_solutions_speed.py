# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Time for all inverse solutions of a pose from Python, against EAIK and ssik.

All solvers take turns on the same poses, which come from random configurations. The robots are
those of ssik's prebuilt modules: our axes are read off its forward kinematics, and EAIK gets the
same ones. Joints range over a turn, so that every solution counts once; one line has two turns, of
the elbow one, and all images. What is returned is counted, and checked by our forward kinematics,
to 1e-6.

* UR5, PUMA 560: all eight solutions.
* KUKA LBR iiwa 14: all eight at 16 swivel angles, which is what ssik samples.
* Panda with a locked joint 7: EAIK and we; ssik has no call for it.
* JACO 2, a wrist without a center: EAIK refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import cycle
from types import ModuleType

import numpy as np
from figures import Figure, compared
from scipy.spatial.transform import Rotation
from timing import Loop, measure

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Limits
from screw_dynamics_ros.core.kinematics.product_of_exponentials import SpatialScrews
from screw_dynamics_ros.core.lie import se3

GROUP = 'All inverse solutions of a pose'
TOOL = 'tool'
SWIVEL = 0.1 + np.linspace(-np.pi, np.pi, 16, endpoint=False)
LOCKED = 0.5  # of the Panda's joint 7 [rad]

#: Returns solutions (k, nq) for a pose.
Solve = Callable[[np.ndarray], np.ndarray]


@dataclass
class Case:
    """An arm and what it is solved with.

    Attributes
    ----------
    name : str
    module : str
        Of ssik.
    turns : tuple of float
        Ranges of the joints, in turns; a single number is that of all.
    peers : dict
        Those that can do it and how many times faster we have to be.
    locked : int
        The joint that is locked, from 1; 0 for none.
    swivel : bool
    """

    name: str
    module: str
    peers: dict[str, float]
    turns: tuple[float, ...] = (1.0,)
    locked: int = 0
    swivel: bool = False


CASES = (
    Case('UR5', 'universal_robots.ur5_ik', {'EAIK': 1.0, 'ssik': 1.0}),
    Case(
        'UR5, joints of two turns',
        'universal_robots.ur5_ik',
        {'ssik': 1.0},
        turns=(2.0, 2.0, 1.0, 2.0, 2.0, 2.0),
    ),
    Case('PUMA 560', 'unimation.puma560_ik', {'EAIK': 1.0, 'ssik': 1.0}),
    Case('iiwa 14, 16 swivel angles', 'kuka.iiwa14_ik', {'ssik': 5.0}, swivel=True),
    Case('Panda, joint 7 locked', 'franka.panda_ik', {'EAIK': 1.0}, locked=7),
    Case('JACO 2', 'kinova.jaco2_ik', {'ssik': 5.0}),
)


def figures(quick: bool) -> Iterator[Figure]:
    """Measure."""
    versions = {}
    for package in ('EAIK', 'ssik'):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            print(
                f'{package} is not installed and left out; '
                '"pip install -r requirements/ik_solvers.txt" installs it'
            )
    if 'ssik' in versions:  # it has the robots
        for case in CASES:
            yield from figures_of(case, versions, quick)


def figures_of(case: Case, versions: dict[str, str], quick: bool) -> Iterator[Figure]:
    """Return the figures of one case."""
    module = import_module(f'ssik.prebuilt.{case.module}')
    e, p, home = axes_of(module)
    robot = robot_of(e, p, home, case.turns)
    count = 20 if quick else 500
    rng = np.random.default_rng(0)
    q = rng.uniform(-np.pi, np.pi, (count, len(e)))
    if case.locked:
        q[:, case.locked - 1] = LOCKED
    poses = robot.link_pose(q, TOOL)
    solvers = {'ours': our_solver(robot, case)}
    for peer in case.peers:
        if peer in versions:
            make = eaik_solver if peer == 'EAIK' else ssik_solver
            solvers[f'{peer} {versions[peer]}'] = make(module, e, p, home, case)
    numbers = {name: numbers_of(robot, solve, poses) for name, solve in solvers.items()}
    runs = {
        name: Loop('solve(next(poses))', solve=solve, poses=cycle(poses))
        for name, solve in solvers.items()
    }
    times = measure(runs, repeats=20 if quick else 500)
    required = {name: case.peers[name.split()[0]] for name in solvers if name != 'ours'}
    yield from compared(GROUP, case.name, 'time', times, required=required)
    for name in required:
        same = np.mean(numbers['ours'] == numbers[name])
        yield Figure(
            GROUP,
            case.name,
            'solutions',
            float(numbers['ours'].mean()),
            peer=name,
            theirs=float(numbers[name].mean()),
            unit='',
            more=True,
            note=f'as many for {100 * same:.1f} % of {count} poses',
        )


def axes_of(module: ModuleType) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return directions and points (n, 3) of the axes and the tool's pose (4, 4) at q = 0."""
    home, e, p = module.fk(np.zeros(module.DOF)), [], []
    for unit in np.eye(module.DOF):
        D = module.fk(unit) @ np.linalg.inv(home)
        turn = Rotation.from_matrix(D[:3, :3]).as_rotvec()
        e.append(turn / np.linalg.norm(turn))
        p.append(np.linalg.lstsq(np.eye(3) - D[:3, :3], D[:3, 3], rcond=1e-9)[0])
    return np.array(e), np.array(p), home


def robot_of(e: np.ndarray, p: np.ndarray, home: np.ndarray, turns: tuple[float, ...]) -> Robot:
    """Return our robot of these axes."""
    n = len(e)
    names = [f'joint{k + 1}' for k in range(n)]
    A = [*(se3.pose(np.eye(3), point) for point in p[:-1]), home]
    return Robot.from_geometry(
        SpatialScrews(A, np.hstack([e, np.cross(p, e)]), names=names),
        links=[*(f'link{k + 1}' for k in range(n - 1)), TOOL],
        limits={
            name: Limits(-bound, bound)
            for name, bound in zip(names, (np.pi * np.broadcast_to(turns, n)).tolist())
        },
    )


def numbers_of(robot: Robot, solve: Solve, poses: np.ndarray) -> np.ndarray:
    """Return how many different right solutions there are for each pose."""
    numbers = []
    for pose in poses:
        answers = np.reshape(solve(pose), (-1, robot.nq))
        right: list[np.ndarray] = []
        if len(answers):
            error = np.abs(robot.link_pose(answers, TOOL) - pose).max(axis=(1, 2))
            for q in answers[error < 1e-6]:
                if all(np.abs(q - other).max() > 1e-5 for other in right):
                    right.append(q)
        numbers.append(len(right))
    return np.array(numbers)


def our_solver(robot: Robot, case: Case) -> Solve:
    """Return this package's."""
    if case.swivel:
        return lambda T: robot.all_inverse_kinematics(T, TOOL, swivel=SWIVEL).q
    locked = {f'joint{case.locked}': LOCKED} if case.locked else None
    return lambda T: robot.all_inverse_kinematics(T, TOOL, locked=locked).q


def ssik_solver(
    module: ModuleType, e: np.ndarray, p: np.ndarray, home: np.ndarray, case: Case
) -> Solve:
    """Return ssik's, with its compiled path; joints range over a turn without limits."""
    if case.turns == (1.0,):
        return lambda T: np.array([each.q for each in module.solve(T, respect_limits=False)])
    return lambda T: np.array([each.q for each in module.solve(T)])


def eaik_solver(
    module: ModuleType, e: np.ndarray, p: np.ndarray, home: np.ndarray, case: Case
) -> Solve:
    """Return EAIK's closed form."""
    from eaik.pybindings import EAIK

    offsets = np.diff(np.vstack([np.zeros(3), p, home[:3, 3]]), axis=0)
    fixed = [(case.locked - 1, LOCKED)] if case.locked else []
    arm = EAIK.Robot(e.T, offsets.T, home[:3, :3], fixed, True)

    def solve(T: np.ndarray) -> np.ndarray:
        found = arm.calculate_IK(T)
        return np.array([q for q, near in zip(found.Q, found.is_LS) if not near])

    return solve
