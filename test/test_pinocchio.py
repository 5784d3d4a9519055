"""Agreement with Pinocchio on every robot of example-robot-data, to 1e-10 of the norm.

Every function of the facade, fixed and floating base, mimic joints exact and taken apart (K-13,
K-19, K-21, K-25, K-28, D-17, D-27, D-29, D-36, D-38). All robots run on the `reference` backend, a
few, small and large, on the compiled ones; `test_compile.py` shows that the backends agree.

Differences of meaning, accounted for in `pinocchio_oracle`:

* Pinocchio leaves the root link of a fixed base out of mass, centre of mass and potential energy.
* Its articulated-body and energy functions refuse mimic joints: the reduced equations of the model
  with independent joints are the oracle; where Pinocchio can reduce by itself, that is compared
  too.

Exceptions:

* `NO_FREEDOM`: robots without a moving joint on a fixed base: Pinocchio crashes (segmentation fault
  in getFrameJacobian). Only their frames are compared.
* `SINGULAR`: joints that move no mass; M(q) is singular, and forward dynamics says so.
* The Coriolis matrix that Pinocchio 4.1 makes of a model it has reduced itself (`mimic=True`): it
  does not even give Pinocchio's own Coriolis torques. G^T C G of the full model is compared
  instead.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from models import (
    random_configuration,
    random_description,
    random_wrenches,
    to_urdf,
    without_mimic,
)
from robots import example_robots, robot_id, urdf_path

pin = pytest.importorskip('pinocchio')

from pinocchio_oracle import Pinocchio  # noqa: E402

from screw_dynamics_ros.core import InertiaError, Robot  # noqa: E402
from screw_dynamics_ros.core.model import RobotDescription, read_urdf  # noqa: E402

TOLERANCE = 1e-10

NO_FREEDOM = {'quadrotor_base', 'iris_simple'}
SINGULAR = {'romeo', 'romeo_laas_small'}

BASES = [pytest.param(False, id='fixed'), pytest.param(True, id='floating')]
ROBOTS = pytest.mark.parametrize('path', example_robots(), ids=robot_id)
FLOATING = pytest.mark.parametrize('floating', BASES)


def agrees(actual: np.ndarray, expected: np.ndarray, what: str, floor: float = 1e-3) -> None:
    """Assert a relative error of the norm below `TOLERANCE`; `floor` is the least norm."""
    assert np.shape(actual) == np.shape(expected), what
    error = np.linalg.norm(np.subtract(actual, expected))
    assert error <= TOLERANCE * max(np.linalg.norm(expected), floor), f'{what}: {error}'


class Case:
    """A robot, Pinocchio's model of it, and a random state."""

    def __init__(self, urdf: str, robot: Robot, *, mimic: bool = False, seed: int = 1) -> None:
        self.robot, self.pin = robot, Pinocchio(urdf, robot, mimic=mimic)
        self.reduced_by_pinocchio = mimic
        rng = np.random.default_rng(seed)
        self.q = random_configuration(robot, rng)
        self.v, self.a, self.tau = rng.uniform(-1.0, 1.0, (3, robot.nv))
        self.wrenches = random_wrenches(robot, rng)

    def compare_kinematics(self, most: int | None = None) -> None:
        """Compare all frames, and the Jacobians of the last `most` interesting links."""
        robot, oracle, q = self.robot, self.pin, self.q
        poses = oracle.link_poses(q)
        agrees(robot.link_poses(q), poses, 'link_poses')
        agrees(robot.link_pose(q, robot.link_names[-1]), poses[-1], 'link_pose')
        if robot.nv == 0:
            return
        links = interesting_links(robot)[-(most or 0):]
        for representation in ('body', 'spatial', 'hybrid'):
            expected = oracle.jacobians(q, links, representation)
            for link, J in zip(links, expected, strict=True):
                agrees(robot.jacobian(q, link, representation), J, f'{representation} {link}')
            agrees(robot.velocity(q, self.v, links[-1], representation), expected[-1] @ self.v,
                   f'{representation} velocity')

    def compare_dynamics(self) -> None:
        robot, oracle, q, v, a = self.robot, self.pin, self.q, self.v, self.a
        for wrenches in (None, self.wrenches):
            agrees(robot.inverse_dynamics(q, v, a, wrenches),
                   oracle.inverse_dynamics(q, v, a, wrenches), 'inverse_dynamics')
        agrees(robot.mass_matrix(q), oracle.mass_matrix(q), 'mass_matrix')
        agrees(robot.gravity_torques(q), oracle.gravity_torques(q), 'gravity_torques')
        agrees(robot.coriolis_torques(q, v), oracle.coriolis_torques(q, v), 'coriolis_torques')
        if not self.reduced_by_pinocchio:
            agrees(robot.coriolis_matrix(q, v), oracle.coriolis_matrix(q, v), 'coriolis_matrix')

    def compare_forward_dynamics(self) -> None:
        robot, oracle, q, v, tau = self.robot, self.pin, self.q, self.v, self.tau
        for wrenches in (None, self.wrenches):
            agrees(robot.forward_dynamics(q, v, tau, wrenches),
                   oracle.forward_dynamics(q, v, tau, wrenches), 'forward_dynamics')

    def compare_energies(self) -> None:
        robot, oracle, q = self.robot, self.pin, self.q
        agrees(robot.kinetic_energy(q, self.v), oracle.kinetic_energy(q, self.v), 'kinetic_energy')
        mass, moment = oracle.mass_and_moment(q)
        agrees(robot.total_mass, mass, 'total_mass')
        agrees(robot.center_of_mass(q), moment / mass, 'center_of_mass')
        agrees(robot.potential_energy(q), -moment @ robot.gravity, 'potential_energy')

    def compare_everything(self) -> None:
        self.compare_kinematics(most=2)
        self.compare_dynamics()
        self.compare_forward_dynamics()
        self.compare_energies()


def interesting_links(robot: Robot) -> list[str]:
    """Return the root, all leaves, and every fifth link in between."""
    parents = {joint.parent for joint in robot.description.joints}
    names = robot.link_names
    leaves = [name for name in names if name not in parents]
    return list(dict.fromkeys([names[0], *names[2::5], *leaves]))


@lru_cache(maxsize=4)
def cases(path: Path, floating: bool) -> list[Case]:
    """Return the robot as it is and, if some joints mimic others, with all joints independent."""
    text, description = path.read_text(encoding='utf-8'), read_urdf(path)
    variants = [description]
    if any(joint.mimic and joint.type != 'fixed' for joint in description.joints):
        variants.append(without_mimic(description))
    return [Case(text, Robot(variant, floating_base=floating, backend='reference'))
            for variant in variants]


@FLOATING
@ROBOTS
def test_frames_and_jacobians(path, floating):
    for case in cases(path, floating):
        case.compare_kinematics()


@FLOATING
@ROBOTS
def test_inverse_dynamics_and_its_terms(path, floating):
    if path.stem in NO_FREEDOM and not floating:
        pytest.skip('no degree of freedom: Pinocchio crashes')
    for case in cases(path, floating):
        case.compare_dynamics()


@FLOATING
@ROBOTS
def test_forward_dynamics(path, floating):
    """D-38, against articulated bodies, or the dense reduced equations with mimic joints."""
    if path.stem in NO_FREEDOM and not floating:
        pytest.skip('no degree of freedom: Pinocchio crashes')
    for case in cases(path, floating):
        if path.stem in SINGULAR:
            with pytest.raises(InertiaError, match='joint'):
                case.robot.forward_dynamics(case.q, case.v, case.tau)
        else:
            case.compare_forward_dynamics()


@FLOATING
@ROBOTS
def test_energies_and_center_of_mass(path, floating):
    if path.stem in NO_FREEDOM and not floating:
        pytest.skip('no degree of freedom: Pinocchio crashes')
    for case in cases(path, floating):
        case.compare_energies()


@FLOATING
@pytest.mark.parametrize('name', ['baxter', 'panda_description/urdf/panda', 'pr2', 'tiago_pro'])
def test_mimic_as_pinocchio_reduces_it(name, floating):
    """Pinocchio can reduce mimic joints by itself where each follows a joint above it."""
    path = urdf_path(name)
    robot = Robot.from_urdf(path, floating_base=floating, backend='reference')
    case = Case(path.read_text(encoding='utf-8'), robot, mimic=True)
    assert case.pin.model.nv == robot.nv < len(robot.transform_joints) + 6 * floating
    case.compare_kinematics()
    case.compare_dynamics()


COMPILED = [
    ('native', 'panda_description/urdf/panda', False),
    ('native', 'ur5_robot', False),
    ('native', 'kinova', True),
    ('native', 'solo12', True),
    ('native', 'tiago_no_hand', False),
    ('native', 'talos_full_v2', False),
    ('python', 'panda_description/urdf/panda', True),
    ('python', 'tiago_no_hand', True),
    ('python', 'double_pendulum_continuous', False),
]


@pytest.mark.parametrize(('backend', 'name', 'floating'), COMPILED)
def test_compiled_backends(backend, name, floating):
    """Everything again on the programs that are used in practice."""
    if backend == 'native':
        pytest.importorskip('llvmlite')
    path = urdf_path(name)
    robot = Robot.from_urdf(path, floating_base=floating, backend=backend)
    for seed in range(3):
        Case(path.read_text(encoding='utf-8'), robot, seed=seed).compare_everything()


@FLOATING
@pytest.mark.parametrize('seed', range(6))
def test_random_trees_of_all_joint_types(seed, floating):
    """Planar and floating joints anywhere in the tree; no real robot above has one (K-10, K-11)."""
    kinds = ('revolute', 'prismatic', 'continuous', 'planar', 'floating', 'fixed')
    description = random_description(seed, 9, kinds)
    robot = Robot(with_planar_axis_z(description), floating_base=floating, backend='reference')
    Case(to_urdf(robot.description), robot, seed=seed).compare_everything()


def with_planar_axis_z(description: RobotDescription) -> RobotDescription:
    """Turn the axes of planar joints to (0, 0, 1): Pinocchio knows no other."""
    joints = tuple(
        replace(joint, axis=np.array([0.0, 0.0, 1.0])) if joint.type == 'planar' else joint
        for joint in description.joints
    )
    return replace(description, joints=joints)


@FLOATING
@pytest.mark.parametrize('gravity', [(0.0, 0.0, 0.0), (1.0, -2.0, 3.0)])
def test_gravity_in_any_direction(gravity, floating):
    path = urdf_path('z1')
    robot = Robot.from_urdf(path, floating_base=floating, gravity=gravity, backend='reference')
    Case(path.read_text(encoding='utf-8'), robot).compare_everything()
