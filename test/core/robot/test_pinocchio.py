# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Agreement with Pinocchio on robots of example-robot-data, to 1e-10 of the norm.

Every function of the facade that Pinocchio has, fixed and floating base, mimic joints exact and
taken apart (K-13, K-19, K-21, K-25, K-28, D-17, D-18, D-27, D-29, D-34, D-36, D-38, D-40, D-43,
C-055, C-071, C-074, C-075); what depends on the inverse of the mass matrix to 1e-9, if not on one
pass of articulated bodies. With EVERY_ROBOT=1 it is each robot of the collection. All run on the
`reference` backend, the recursions as they are written, with all functions on a floating base;
those of `TYPICAL`, one of each kind, with all functions on a fixed base, too, and on the `native`
backend on a floating one. Compiled are all functions of small ones; of large ones those that nodes
compute at each state, since the others would take minutes. A few run on the `python` backend too.

Differences of meaning, accounted for in `pinocchio_oracle`:

* Pinocchio leaves the root link of a fixed base out of mass, center of mass and potential energy.
* Its articulated bodies, constrained dynamics and energies refuse mimic joints: the reduced
  equations of the model with independent joints are the oracle; where Pinocchio can reduce by
  itself, that is compared too.
* Its regressor has columns for moving bodies, at the joints; ours for links, in their frames.

Exceptions:

* `NO_FREEDOM`: robots without a moving joint on a fixed base: Pinocchio crashes (segmentation fault
  in getFrameJacobian). Only their frames are compared.
* `SINGULAR`: joints that move no mass; M(q) is singular, and all that needs its inverse says so.
* `TOO_FEW_FREEDOMS`: on a fixed base no leaf moves in three independent directions, and Pinocchio
  knows no contacts of fewer; `test_constrained_dynamics.py` has such constraints.
* `ILL_CONDITIONED`: with a floating base Pinocchio's derivatives of forward dynamics are 1e-9 to
  6e-9 off the truth, which `test_extended_precision.py` knows; ours are closer to it.
* The Coriolis matrix that Pinocchio 4.1 makes of a model it has reduced itself (`mimic=True`): it
  does not even give Pinocchio's own Coriolis torques. G^T C G of the full model is compared
  instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.ball_robots import HUMANOID
from support.models import (
    mimicking,
    random_configuration,
    random_description,
    random_wrenches,
    to_urdf,
    with_planar_axis_z,
    without_mimic,
)
from support.robots import robot_id, sampled_robots, urdf_path

pin = pytest.importorskip('pinocchio')

from oracles.pinocchio_model import Contact, Pinocchio  # noqa: E402
from screw_dynamics_ros.core import InertiaError, Robot  # noqa: E402
from screw_dynamics_ros.core.compile.llvm import native  # noqa: E402
from screw_dynamics_ros.core.constraints.motion_constraint import (  # noqa: E402
    fixed_frame,
    fixed_point,
)
from screw_dynamics_ros.core.description import RobotDescription, read_urdf  # noqa: E402
from screw_dynamics_ros.core.robot.functions import FUNCTIONS  # noqa: E402

TOLERANCE = 1e-10

NO_FREEDOM = {'quadrotor_base', 'iris_simple'}
SINGULAR = {'romeo', 'romeo_laas_small'}
TOO_FEW_FREEDOMS = {
    'TwoDofs',
    'borinot_flying_arm_2',
    'double_pendulum',
    'double_pendulum_continuous',
    'double_pendulum_simple',
    'iris',
    'quadruped',
    'solo',
}
ILL_CONDITIONED = {'icub'}

#: An arm that is compiled whole; an arm with a mimic joint.
TYPICAL = {'ur_description/ur5_robot.urdf', 'panda_description/panda.urdf'}

#: Freedoms up to which everything is compiled. For more, it is what nodes compute at each state,
#: with a floating base; the rest, and everything with a fixed one, runs on `reference`.
SMALL = 12
EVERYDAY = [
    'link_poses',
    'inverse_dynamics',
    'mass_matrix',
    'gravity_torques',
    'coriolis_torques',
    'forward_dynamics',
    'kinetic_energy',
    'potential_energy',
    'center_of_mass',
    'center_of_mass_velocity',
    'total_momentum',
    'centroidal_momentum',
    'centroidal_map',
]
FURTHER = [
    'coriolis_matrix',
    'regressor',
    'inverse_dynamics_derivatives',
    'inverse_mass_matrix',
    'forward_dynamics_derivatives',
]
#: How many arrays there are of one function, if not one.
RESULTS = {'inverse_dynamics_derivatives': 3, 'forward_dynamics_derivatives': 3}
REPRESENTATIONS = ('body', 'spatial', 'hybrid')
JACOBIANS = 5  # of large robots, of the last links; those of others run on `reference`

FLOATING = pytest.mark.parametrize(
    'floating', [pytest.param(False, id='fixed'), pytest.param(True, id='floating')]
)


def on_fixed_base_too(path: Path) -> bool:
    """Whether everything is compared with a fixed base, too: robots that are not like others."""
    return robot_id(path) in TYPICAL or path.stem in NO_FREEDOM | SINGULAR | TOO_FEW_FREEDOMS


CASES = [
    pytest.param((path, floating), id=f'{robot_id(path)}-{"floating" if floating else "fixed"}')
    for path in sampled_robots()
    for floating in (False, True)
    if floating
    or robot_id(path) in TYPICAL
    or path.stem in NO_FREEDOM | SINGULAR | TOO_FEW_FREEDOMS
]


def agrees(
    actual: np.ndarray, expected: np.ndarray, what: str, tolerance: float = TOLERANCE
) -> None:
    """Assert a relative error of the norm below `tolerance`; norms below 1e-3 count as that."""
    assert np.shape(actual) == np.shape(expected), what
    error = np.linalg.norm(np.subtract(actual, expected)) / max(np.linalg.norm(expected), 1e-3)
    assert error <= tolerance, f'{what}: {error}'


class Case:
    """A robot, Pinocchio's model of it, and a random state.

    Parameters
    ----------
    urdf : str
    robot : Robot
    fused : bool
        Compile functions of the robot together: in half the time of one program each.
    mimic : bool
        Let Pinocchio reduce the mimic joints itself.
    seed : int
        Of the state.
    name : str
    """

    def __init__(
        self,
        urdf: str,
        robot: Robot,
        *,
        fused: bool = False,
        mimic: bool = False,
        seed: int = 1,
        name: str = '',
    ) -> None:
        self.name, self.robot, self.pin = name, robot, Pinocchio(urdf, robot, mimic=mimic)
        self.fused, self.reduced_by_pinocchio = fused, mimic
        rng = np.random.default_rng(seed)
        self.q = random_configuration(robot, rng)
        self.v, self.a, self.tau = rng.uniform(-1.0, 1.0, (3, robot.nv))
        self.wrenches = random_wrenches(robot, rng)

    def value(self, name: str, *options: str) -> Any:
        """Return what a function of the robot gives at the state of the case."""
        output = (name, *options) if options else name
        if output in self.compiled:
            return self.compiled[output]
        inputs = [getattr(self, x) for x in FUNCTIONS[name].inputs if x != 'gravity']
        return getattr(self.by_function, name)(*inputs, *options)

    @cached_property
    def by_function(self) -> Robot:
        """The robot for what is not in the program of all functions."""
        if not self.fused or self.robot.nv <= SMALL:
            return self.robot
        robot = self.robot
        return Robot(
            robot.description,
            floating_base=robot.nq > robot.nv,
            gravity=robot.gravity,
            backend='reference',
        )

    @cached_property
    def compiled(self) -> dict[Any, Any]:
        """What the programs give at the state of the case; nothing if it is not `fused`."""
        if not self.fused or not self.robot.nv:
            return {}
        links = interesting_links(self.robot)
        functions = [*EVERYDAY, *(FURTHER if self.robot.nv <= SMALL else [])]
        if self.name in SINGULAR:
            functions.remove('forward_dynamics')
        functions.append(('link_pose', self.robot.link_names[-1]))
        functions += [('velocity', links[-1], kind) for kind in REPRESENTATIONS]
        jacobians = [('jacobian', link, kind) for link in links for kind in REPRESENTATIONS]
        if self.robot.nv > SMALL:
            jacobians = jacobians[-JACOBIANS:]
        results = {}
        for outputs in (functions, jacobians):
            kernel = self.robot.fuse(*outputs)
            found = iter(kernel(*(getattr(self, x, self.robot.gravity) for x in kernel.inputs)))
            for output in outputs:
                arrays = [next(found) for _ in range(RESULTS.get(output, 1))]
                results[output] = arrays if output in RESULTS else arrays[0]
            assert next(found, None) is None
        return results

    @contextmanager
    def singular_mass_matrix_refused(self) -> Iterator[None]:
        """Expect an error where accelerations are not defined."""
        if self.name in SINGULAR:
            with pytest.raises(InertiaError, match='joint'):
                yield
        else:
            yield

    def compare_kinematics(self, most: int | None = None) -> None:
        """Compare all frames, and the Jacobians of the last `most` interesting links."""
        robot, oracle, q = self.robot, self.pin, self.q
        poses = oracle.link_poses(q)
        agrees(self.value('link_poses'), poses, 'link_poses')
        agrees(self.value('link_pose', robot.link_names[-1]), poses[-1], 'link_pose')
        if robot.nv == 0:
            return
        links = interesting_links(robot)[-(most or 0) :]
        for representation in REPRESENTATIONS:
            expected = oracle.jacobians(q, links, representation)
            for link, J in zip(links, expected, strict=True):
                found = self.value('jacobian', link, representation)
                agrees(found, J, f'{representation} {link}')
            agrees(
                self.value('velocity', links[-1], representation),
                expected[-1] @ self.v,
                f'{representation} velocity',
            )

    def compare_dynamics(self) -> None:
        oracle, q, v, a = self.pin, self.q, self.v, self.a
        free, loaded = (oracle.inverse_dynamics(q, v, a, W) for W in (None, self.wrenches))
        agrees(self.value('inverse_dynamics'), free, 'inverse_dynamics')
        found = self.by_function.inverse_dynamics(q, v, a, self.wrenches)
        agrees(found, loaded, 'inverse_dynamics with wrenches')
        agrees(self.value('mass_matrix'), oracle.mass_matrix(q), 'mass_matrix')
        agrees(self.value('gravity_torques'), oracle.gravity_torques(q), 'gravity_torques')
        agrees(self.value('coriolis_torques'), oracle.coriolis_torques(q, v), 'coriolis_torques')
        if not self.reduced_by_pinocchio:
            agrees(self.value('coriolis_matrix'), oracle.coriolis_matrix(q, v), 'coriolis_matrix')

    def compare_forward_dynamics(self) -> None:
        state, oracle = (self.q, self.v, self.tau), self.pin
        agrees(self.value('forward_dynamics'), oracle.forward_dynamics(*state), 'forward_dynamics')
        found = self.by_function.forward_dynamics(*state, self.wrenches)
        loaded = oracle.forward_dynamics(*state, self.wrenches)
        agrees(found, loaded, 'forward_dynamics with wrenches')

    def compare_energies(self) -> None:
        robot, oracle, q = self.robot, self.pin, self.q
        energy = oracle.kinetic_energy(q, self.v)
        agrees(self.value('kinetic_energy'), energy, 'kinetic_energy')
        mass, moment = oracle.mass_and_moment(q)
        agrees(robot.total_mass, mass, 'total_mass')
        agrees(self.value('center_of_mass'), moment / mass, 'center_of_mass')
        agrees(self.value('potential_energy'), -moment @ robot.gravity, 'potential_energy')

    def compare_momenta(self) -> None:
        oracle, q, v = self.pin, self.q, self.v
        h = oracle.centroidal_momentum(q, v)
        agrees(self.value('centroidal_momentum'), h, 'centroidal_momentum')
        agrees(self.value('centroidal_map'), oracle.centroidal_map(q), 'centroidal_map')
        mass, moment = oracle.mass_and_moment(q)
        velocity = self.value('center_of_mass_velocity')
        agrees(velocity, h[3:] / mass, 'center_of_mass_velocity')
        h[:3] += np.cross(moment / mass, h[3:])
        agrees(self.value('total_momentum'), h, 'total_momentum')

    def compare_regressor(self) -> None:
        robot, oracle, state = self.robot, self.pin, (self.q, self.v, self.a)
        Y = self.value('regressor')
        tau = oracle.inverse_dynamics(*state)
        agrees(Y @ robot.inertial_parameters, tau, 'regressor and parameters')
        theirs = oracle.regressor(*state)
        for k, link in enumerate(robot.link_names):
            columns = slice(10 * k, 10 * k + 10)
            agrees(Y[:, columns], theirs[:, columns], f'regressor {link}')

    def compare_inverse_dynamics_derivatives(self) -> None:
        expected = self.pin.inverse_dynamics_derivatives(self.q, self.v, self.a)
        for x, y in zip(self.value('inverse_dynamics_derivatives'), expected, strict=True):
            agrees(x, y, 'inverse_dynamics_derivatives')

    def compare_forward_dynamics_derivatives(self) -> None:
        actual = self.value('forward_dynamics_derivatives')
        expected = self.pin.forward_dynamics_derivatives(self.q, self.v, self.tau)
        tolerance = 1e-8 if self.name in ILL_CONDITIONED else 1e-9
        for x, y in zip(actual, expected, strict=True):
            agrees(x, y, 'forward_dynamics_derivatives', tolerance)
        inverse = self.value('inverse_mass_matrix')
        agrees(inverse, expected[2], 'inverse_mass_matrix', tolerance)

    def compare_constrained_dynamics(self) -> None:
        robot, state = self.by_function, (self.q, self.v, self.tau)
        contacts = self.contacts()
        if self.name in TOO_FEW_FREEDOMS and robot.nq == robot.nv:
            assert not contacts
            return
        constraints = [
            fixed_frame(c.link, representation='body')
            if c.point is None
            else fixed_point(c.link, point=c.point)
            for c in contacts
        ]
        a, wrenches = motion = robot.constrained_dynamics(*state, constraints)
        expected = self.pin.constrained_dynamics(*state, contacts)
        agrees(a, expected[0], 'constrained_dynamics', tolerance=1e-9)
        agrees(wrenches, expected[1], 'constraint wrenches', tolerance=1e-9)
        assert motion.feasible
        assert motion.unique

    def contacts(self) -> list[Contact]:
        """Return up to three independent ones on leaves: the last frame, points of others."""
        rng, found, rows = np.random.default_rng(2), [], np.zeros((0, self.robot.nv))
        parents = {joint.parent for joint in self.robot.description.joints}
        leaves = [name for name in self.robot.link_names[::-1] if name not in parents]
        for link, J in zip(leaves, self.pin.jacobians(self.q, leaves, 'body')):
            point = rng.uniform(-0.1, 0.1, 3)
            choice = [(Contact(link, point), J[3:] + np.cross(J[:3], point, axis=0))]
            if all(contact.point is not None for contact in found):
                choice = [(Contact(link), J), *choice]
            for contact, block in choice:
                more = np.concatenate([rows, block])
                sizes = np.linalg.norm(more, axis=1, keepdims=True)
                if (
                    len(found) < 3
                    and len(more) <= self.robot.nv
                    and sizes.all()
                    and (np.linalg.svd(more / sizes)[1].min() > 0.05)
                ):
                    found, rows = [*found, contact], more
                    break
        return found

    def compare_everyday_functions(self) -> None:
        self.compare_kinematics(most=2)
        self.compare_dynamics()
        self.compare_forward_dynamics()
        self.compare_energies()

    def compare_further_functions(self, *, derivatives: bool = True) -> None:
        self.compare_momenta()
        self.compare_regressor()
        self.compare_constrained_dynamics()
        if derivatives:
            self.compare_inverse_dynamics_derivatives()
            self.compare_forward_dynamics_derivatives()


def interesting_links(robot: Robot) -> list[str]:
    """Return the root, all leaves, and every fifth link in between."""
    parents = {joint.parent for joint in robot.description.joints}
    names = robot.link_names
    leaves = [name for name in names if name not in parents]
    return list(dict.fromkeys([names[0], *names[2::5], *leaves]))


@pytest.fixture(scope='module', params=CASES)
def cases(request: pytest.FixtureRequest) -> list[Case]:
    """Return the robot as it is and, if some joints mimic others, with all joints independent."""
    path, floating = request.param
    text, description = path.read_text(encoding='utf-8'), read_urdf(path)
    if robot_id(path) in TYPICAL:
        cases = [compiled_case(text, description, floating, name=path.stem)]
    else:
        robot = Robot(description, floating_base=floating, backend='reference')
        cases = [Case(text, robot, name=path.stem)]
    if any(joint.mimic and joint.type != 'fixed' for joint in description.joints):
        apart = without_mimic(description)
        robot = Robot(apart, floating_base=floating, backend='reference')
        cases.append(Case(text, robot, name=path.stem))
    return cases


def compiled_case(urdf: str, description: RobotDescription, floating: bool, **options: Any) -> Case:
    """Return a case whose functions are compiled if it has a floating base."""
    fused = native.available() and floating
    backend = 'native' if fused else 'reference'
    robot = Robot(description, floating_base=floating, backend=backend)
    return Case(urdf, robot, fused=fused, **options)


def with_freedom(cases: list[Case]) -> list[Case]:
    """Return the cases, if they can move."""
    if not cases[0].robot.nv:
        assert cases[0].name in NO_FREEDOM
        pytest.skip('no degree of freedom: Pinocchio crashes')
    return cases


def test_frames_and_jacobians(cases):
    for case in cases:
        case.compare_kinematics()


def test_inverse_dynamics_and_its_terms(cases):
    for case in with_freedom(cases):
        case.compare_dynamics()


def test_forward_dynamics(cases):
    """D-38, against articulated bodies, or the dense reduced equations with mimic joints."""
    for case in with_freedom(cases):
        with case.singular_mass_matrix_refused():
            case.compare_forward_dynamics()


def test_energies_and_momenta(cases):
    for case in with_freedom(cases):
        case.compare_energies()
        case.compare_momenta()


def test_regressor(cases):
    """D-43: all columns, link by link."""
    for case in with_freedom(cases):
        case.compare_regressor()


def test_derivatives(cases):
    """D-40, to 1e-9; the inverse mass matrix."""
    for case in with_freedom(cases):
        case.compare_inverse_dynamics_derivatives()
        with case.singular_mass_matrix_refused():
            case.compare_forward_dynamics_derivatives()


def test_constrained_dynamics(cases):
    """C-071, C-074, C-075: frames and points of up to three links are held; to 1e-9."""
    for case in with_freedom(cases):
        with case.singular_mass_matrix_refused():
            case.compare_constrained_dynamics()


@pytest.mark.parametrize(
    'path', [path for path in sampled_robots() if not on_fixed_base_too(path)], ids=robot_id
)
def test_fixed_base(path):
    """The recursions are those of a floating base, without its six freedoms."""
    case = Case(path.read_text(encoding='utf-8'), Robot.from_urdf(path, backend='reference'))
    case.compare_kinematics(most=1)
    case.compare_dynamics()
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


@pytest.mark.parametrize(
    ('name', 'floating'),
    [('panda_description/urdf/panda', True), ('double_pendulum_continuous', False)],
)
def test_recorded_programs(name, floating):
    """Everything again on programs in Python; `test_stacks.py` has those in machine code."""
    path = urdf_path(name)
    robot = Robot.from_urdf(path, floating_base=floating, backend='python')
    text = path.read_text(encoding='utf-8')
    case = Case(text, robot)
    case.compare_everyday_functions()
    if name != 'double_pendulum_continuous':
        case.compare_further_functions()


@FLOATING
@pytest.mark.parametrize('seed', range(3))
def test_random_trees_of_all_joint_types(seed, floating):
    """Planar and floating joints anywhere in the tree; no real robot above has one (K-10, K-11).

    `test_dynamics_derivatives.py` has their derivatives: the map of velocities to Pinocchio's
    depends on q.
    """
    kinds = ('revolute', 'prismatic', 'continuous', 'planar', 'floating', 'fixed')
    description = random_description(seed, 9, kinds)
    robot = Robot(with_planar_axis_z(description), floating_base=floating, backend='reference')
    case = Case(to_urdf(robot.description), robot, seed=seed)
    case.compare_everyday_functions()
    case.compare_further_functions(derivatives=False)


@FLOATING
@pytest.mark.parametrize('seed', range(2))
def test_trees_of_mimic_joints(seed, floating):
    """Masters later in the tree, which mimic others, of all scalar kinds (see `test_mimic.py`)."""
    description = mimicking(seed)
    robot = Robot(description, floating_base=floating, backend='reference')
    assert robot.nv == 7 + 6 * floating
    Case(to_urdf(description), robot, seed=seed).compare_everyday_functions()


def test_balls_of_an_mjcf():
    """Pinocchio reads it, too; anchors at the origins of bodies, since others add links here."""
    pytest.importorskip('mujoco')
    text = re.sub('type="ball" pos="[^"]*"', 'type="ball"', HUMANOID)
    robot = Robot.from_mjcf(text, backend='reference')
    case = Case(text, robot)
    case.compare_everyday_functions()
    case.compare_further_functions()


@FLOATING
@pytest.mark.parametrize('gravity', [(0.0, 0.0, 0.0), (1.0, -2.0, 3.0)])
def test_gravity_in_any_direction(gravity, floating):
    path = urdf_path('z1')
    robot = Robot.from_urdf(path, floating_base=floating, gravity=gravity, backend='reference')
    case = Case(path.read_text(encoding='utf-8'), robot)
    case.compare_everyday_functions()
    case.compare_further_functions()
