# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Digests of what is recorded for robots, arms, loops and platforms.

They depend on the recursions and on the numbers of the models alone: not on the processor, not on
the versions of NumPy and Python. `PYTHONPATH=test python -m support.recorded_programs` writes the
file that a test compares them with; do so when recursions change, and look at what has changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial

import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.arms.families.branches import make_candidates
from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.arms.families.chain_solutions import make_jacobian, make_polisher
from screw_dynamics_ros.core.arms.families.classifier import classify
from screw_dynamics_ros.core.arms.families.closed_form import ClosedForm
from screw_dynamics_ros.core.arms.families.pieper import Pieper
from screw_dynamics_ros.core.compile import kernels
from screw_dynamics_ros.core.compile.kernels import KernelSpecification
from screw_dynamics_ros.core.compile.program.tracing import Program
from screw_dynamics_ros.core.compile.text.python_source import python_functions
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import (
    example_systems,
    system_equations,
)
from screw_dynamics_ros.core.mechanisms.closures.closed_robot import ClosedRobot
from screw_dynamics_ros.core.mechanisms.closures.inverse_kinematics import ClosedInverseKinematics
from screw_dynamics_ros.core.mechanisms.parallel import example_mechanisms, recursions
from screw_dynamics_ros.core.robot.functions import FUNCTIONS
from support import closed_chains
from support.arms import arm
from support.paths import TEST
from support.poe_models import random_geometry, random_inertias
from support.robots import urdf_path

FILE = TEST / 'core' / 'robot' / 'recorded_programs.json'

#: Robots by a URDF, with a '+' on a floating base.
DESCRIBED = ('planar_2r', 'panda+', 'gripper_tree', 'solo12+')

#: Options of functions where there is no default.
OPTIONS = {'representation': 'hybrid', 'orientation': 'xyz'}

#: Programs of these take longer to record than all others together.
LONG = {'inverse_dynamics_second_derivatives'}

ARMS = ('UR5', 'UR5e', 'Panda', 'JACO2 j2s6s200', 'PUMA 560', 'CENTAURO', 'Barrett WAM', 'Z1')

LOOPS = ('excavator', 'delta_gripper', 'figure_5_7', 'four_revolute_one_prismatic')

PLATFORMS = ('stewart_gough', 'three_two_one', 'hexa', 'delta')

SYSTEMS = ('heavy_top', 'double_pendulum', 'three_bar_linkage')


def of_robot(robot: Robot) -> None:
    """Record each function of a robot."""
    known = {**OPTIONS, 'link': robot.link_names[-1], 'prescribed': '1' + '0' * (robot.nv - 1)}
    for name, function in FUNCTIONS.items():
        options = tuple(function.option_defaults[each] or known[each] for each in function.options)
        of_free_base = name.startswith('spatial_moment') and robot.nq == robot.nv
        if name not in LONG and not of_free_base:
            robot._make_kernel(name, options, ())


def of_description(name: str) -> None:
    """Record the functions of a robot of `DESCRIBED`."""
    path = urdf_path(name.rstrip('+'))
    of_robot(Robot.from_urdf(path, floating_base=name.endswith('+'), backend='python'))


def of_screws() -> None:
    """Record those of a tree of revolute, prismatic and helical joints in any directions."""
    geometry, inertias = random_geometry(3, 6), random_inertias(3, 6)
    of_robot(Robot.from_geometry(geometry, inertias=inertias, backend='python'))


def of_arm(name: str) -> None:
    """Record the closed form of an arm, its Jacobian and the steps that polish solutions."""
    robot = arm(name).robot('python')
    chain = SerialChain.of(robot.tree, arm(name).tool)
    found = classify(chain).arm or Pieper.recognized(chain)
    if found is not None:
        further = (('swivel', 1),) if len(chain) > 6 else ()
        closed = ClosedForm('closed form', found, chain, range(len(chain)), 'python', further)
        if len(chain) == 6:
            make_candidates(closed, robot.tree, arm(name).tool, 'python')
    make_polisher(chain, tuple(range(6)), 1, 'python')
    make_jacobian(chain, 'python')


def of_loops(name: str) -> None:
    """Record the closing of loops and the inverse kinematics with them."""
    closed = getattr(closed_chains, name)()
    closed = ClosedRobot(Robot(closed.robot.description, backend='python'), closed.loops)
    ClosedInverseKinematics(
        closed.robot,
        closed._closure,
        closed.partition.closures,
        closed.places,
        closed.robot.link_names[-1],
    )


def of_platform(name: str) -> None:
    """Record what is compiled of a platform on legs."""
    functions = recursions.LegFunctions(getattr(example_mechanisms, name)(), 'python')
    for recursion in (recursions.motor_positions, recursions.wrench_basis, recursions.newton_step):
        functions._make(recursion, recursion is not recursions.motor_positions)


def of_system(name: str) -> None:
    """Record the equations of bodies in absolute coordinates."""
    equations = getattr(example_systems, name)().system._equations
    functions = system_equations.SystemFunctions(equations, 'python')
    for each in functions._inputs:
        functions._kernel(each)


SUBJECTS: dict[str, Callable[[], None]] = {
    **{name: partial(of_description, name) for name in DESCRIBED},
    'screws anywhere': of_screws,
    **{f'arm {name}': partial(of_arm, name) for name in ARMS},
    **{f'loops {name}': partial(of_loops, name) for name in LOOPS},
    **{f'platform {name}': partial(of_platform, name) for name in PLATFORMS},
    **{f'system {name}': partial(of_system, name) for name in SYSTEMS},
}


def when_called(recorded: Program) -> tuple[Callable[..., object], ...]:
    """Return the functions of a program in Python, made when one is called: few are."""
    made = cache(partial(python_functions, recorded))
    return tuple(lambda *inputs, k=k: made()[k](*inputs) for k in range(2))


def digests(subject: str) -> dict[str, str]:
    """Return a digest and the number of operations of each program recorded for a subject.

    Raises `LookupError` if its description is not installed.
    """
    found: dict[str, str] = {}

    def record(specification: KernelSpecification) -> Program:
        program = original(specification)
        found[specification.name] = f'{program.digest()[:12]} {program.operation_count}'
        return program

    original = KernelSpecification.record
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KernelSpecification, 'record', record)
        patch.setattr(kernels, 'python_functions', when_called)
        SUBJECTS[subject]()
    return found


if __name__ == '__main__':
    text = json.dumps({subject: digests(subject) for subject in SUBJECTS}, indent=1)
    FILE.write_text(f'{text}\n', encoding='utf-8')
