# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Laws as C: the interface read without its header, the bits of machine code, the C++ loader."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from screw_dynamics_ros.cli import compile as command
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.description_hash import description_hash
from screw_dynamics_ros.core.law import Law, RobotLaw
from screw_dynamics_ros.core.motion.laws.c_law import TYPES, vectors_of
from screw_dynamics_ros.core.motion.laws.law import evaluate
from screw_dynamics_ros.core.motion.laws.law_fields import LawInputs
from screw_dynamics_ros.core.motion.laws.law_source import LawSource
from screw_dynamics_ros.core.robot.c_interface import FIELD_TYPES
from screw_dynamics_ros.entry import DONE, NEGATIVE
from support.compilation import needs_llvmlite
from support.cpp_programs import (
    COMPILER,
    HEADER,
    SANITIZERS,
    Vector,
    built,
    needs_compilers,
    needs_fma,
    run,
    shared_object,
    with_digest,
)
from support.robots import urdf_path

pytestmark = needs_compilers

#: Has memory, an option, all kinds of inputs, conditions, and bounds of zero.
LAW_FILE = """
import numpy as np
from screw_dynamics_ros.core.law import JOINTS, Parameter, control_law

@control_law(
    {
        'stiffness': Parameter(30.0, 'N/m', 'toward the \\"target\\" µ ??/', 0.0, 1e3),
        'damping': Parameter(2.0, size=JOINTS),
        'rate': Parameter(4.0, '1/s', 'of the filter', minimum=0.1),
    },
    memory={'wrench': 6, 'steps': 1},
)
def held(robot, state, reference, parameters, memory, *, link):
    pull = parameters.stiffness * (reference.pose - robot.link_pose(state.q, link))[:3, 3]
    share = np.clip(state.dt * parameters.rate, 0.0, 1.0)
    wrench = memory.wrench + share * (state.wrench - memory.wrench)
    F = wrench + np.concatenate([np.zeros(3), pull])
    v = np.where(np.abs(state.v) < 1.0, state.v, np.maximum(state.v, 0.0))
    tau = robot.jacobian(state.q, link, 'hybrid').T @ F + robot.gravity_torques(state.q)
    return tau - parameters.damping * v, {'wrench': wrench, 'steps': memory.steps + 1.0}
"""
LAW, OPTION = 'held+joint_limit_repulsion', 'link=tip'
P = ctypes.c_void_p


class Constants(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_uint32) for name in ('version', 'bytes')),
        *(
            (name, ctypes.c_char_p)
            for name in ('name', 'options', 'robot', 'robot_hash', 'description_hash', 'law_hash')
        ),
        *((name, Vector) for name in ('q', 'v', 'state', 'reference', 'parameters', 'memory')),
        ('gravity', ctypes.c_double * 3),
        ('effort_limits', ctypes.POINTER(ctypes.c_double)),
        ('update', ctypes.CFUNCTYPE(None, *[P] * 9)),
        ('start', ctypes.CFUNCTYPE(None, P, P)),
    ]


@pytest.fixture(scope='module')
def source(tmp_path_factory) -> str:
    """Return the name of the law, with its file."""
    path = tmp_path_factory.mktemp('source') / 'laws.py'
    path.write_text(LAW_FILE)
    return f'{path}:{LAW}'


@pytest.fixture(scope='module')
def law(source) -> RobotLaw:
    return LawSource(source).law.on(Robot.from_urdf(urdf_path('planar_2r')), link='tip')


@pytest.fixture(scope='module')
def folder(source, tmp_path_factory) -> Path:
    """Return the folder of law.so."""
    folder = tmp_path_factory.mktemp('law')
    write(source, folder)
    shared_object(folder / 'law.c')
    return folder


def write(source: str, folder: Path, *options: str) -> None:
    """Write law.h and law.c by the command."""
    own = ['--law', source, '--law-option', OPTION, '--name', 'law', '--folder', str(folder)]
    assert command.main([str(urdf_path('planar_2r')), *own, *options]) == DONE


def constants_of(path: Path) -> tuple[Constants, ctypes.CDLL]:
    """Return the constants, and the library that they belong to."""
    library = ctypes.CDLL(str(path))
    return Constants.in_dll(library, 'screw_dynamics_law'), library


def samples(law: RobotLaw, count: int):
    """Yield inputs of a program: q, v, gravity, state, reference, parameters, memory."""
    rng = np.random.default_rng(3)
    sizes = (2, 2, 3, law.state.size, law.reference.size)
    for _ in range(count):
        *inputs, memory = (rng.normal(size=size) for size in (*sizes, law.memory.size))
        yield [*inputs, law.defaults, memory]


def updated(constants: Constants, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """Return torques and next memory; the next memory replaces the memory."""
    arrays = [np.ascontiguousarray(each, dtype=float).copy() for each in inputs]
    results = [np.full(constants.v.size, np.nan), arrays[-1]]
    constants.update(*(each.ctypes.data for each in (*arrays, *results)))
    return results


def test_the_shared_object_describes_itself(law, folder):
    constants, _library = constants_of(folder / 'law.so')
    assert (constants.version, constants.bytes) == (2, ctypes.sizeof(Constants))
    texts = (constants.name, constants.options, constants.robot, constants.robot_hash)
    digest = law.robot.regrouped_tree.digest
    assert [text.decode() for text in texts] == [LAW, OPTION, 'planar_2r', digest]
    own = description_hash(urdf_path('planar_2r').read_text())
    assert constants.description_hash.decode() == own
    assert list(constants.gravity) == list(law.robot.gravity)
    assert constants.effort_limits[:2] == law.robot.limits.effort.tolist()
    for name in ('state', 'reference', 'parameters', 'memory'):
        vector, layout = getattr(constants, name), getattr(law, name)
        fields = vector.fields[: vector.count]
        numbers = np.arange(float(vector.size))
        assert [each.name.decode() for each in fields] == list(layout.shapes)
        for each, expected in zip(fields, layout.unpacked(numbers).values()):
            assert numbers[each.offset :][: each.size].tolist() == np.ravel(expected).tolist()
    for each, parameter in zip(constants.parameters.fields, law.law.parameters.values()):
        row = each.value, each.minimum, each.maximum, each.unit.decode(), each.text.decode()
        assert row == tuple(
            getattr(parameter, key) for key in ('default', 'minimum', 'maximum', 'unit', 'text')
        )
    assert [each.name.decode() for each in constants.v.fields[:2]] == list(law.robot.joint_names)
    assert FIELD_TYPES + '\n' + TYPES in (folder / 'law.h').read_text()
    assert TYPES in HEADER.read_text()


def test_a_floating_base_comes_first():
    robot = Robot.from_urdf(urdf_path('planar_2r'), floating_base=True)
    law = LawSource('gravity_compensation').law.on(robot)
    names = ['floating_base', 'joint1', 'joint2']
    for vector, starts in (('q', [0, 7, 8]), ('v', [0, 6, 7])):
        rows = vectors_of(law)[vector]
        assert ([row.name for row in rows], [row.offset for row in rows]) == (names, starts)


def evaluated(own: Law, law: RobotLaw, q, v, gravity, *packed):
    """Return what the function of a law returns for numbers."""
    names = 'state', 'reference', 'parameters', 'memory'
    groups = {
        name: LawInputs(name, getattr(law, name).unpacked(numbers))
        for name, numbers in zip(names, packed)
    }
    groups['state'] = LawInputs('state', {'q': q, 'v': v, **law.state.unpacked(packed[0])})
    return evaluate(own, law.robot.regrouped_tree, law.robot, gravity, groups, law.options)


def test_torques_and_memory_are_those_of_the_recursion(law, source, folder):
    own = LawSource(source).law
    constants, _library = constants_of(folder / 'law.so')
    for inputs in samples(law, 20):
        expected = evaluated(own, law, *inputs)
        for result, value in zip(updated(constants, inputs), expected):
            np.testing.assert_allclose(result, value.astype(float), rtol=1e-12, atol=1e-11)


@needs_llvmlite
@needs_fma
def test_with_the_object_file_it_has_the_bits_of_machine_code(law, source, tmp_path):
    write(source, tmp_path, '--target', 'x86_64-linux-gnu', '--cpu', 'x86-64-v3')
    library = shared_object(tmp_path / 'law.c', '-DLAW_OBJECT', 'law.o')
    constants, _library = constants_of(library)
    kernel = law.robot.fuse(law.torques, law.next_memory, parameters=law.sizes)
    for inputs in samples(law, 1000):
        for result, value in zip(updated(constants, inputs), kernel(*inputs)):
            assert result.tobytes() == value.tobytes()


def test_the_run_time_does_not_depend_on_numbers(folder):
    """The function of the operations has no branches; compilers make none of `one_of`."""
    source = (folder / 'law.c').read_text()
    begin = source.index('{', source.rindex('void law_program('))
    body = source[begin : source.index('\n}', begin)]
    assert body.count('one_of(') >= 2
    assert not re.search(r'[?]|&&|[|][|]|\b(if|for|while|switch|goto)\b', body)
    (choice,) = re.findall(r'double one_of\(.*?\n}', source, re.DOTALL)
    assert not re.search(r'[?]|(?<!#)\bif\b', choice)


@pytest.mark.parametrize(
    ('options', 'status', 'reason'),
    [
        (['--law', 'payload_compensation'], NEGATIVE, 'needs the option link'),
        (['--law', 'joint_impedance', '--law-option', 'a=b'], NEGATIVE, "no 'a'"),
        (['--law', 'joint_impedance', '--name', 'sin'], NEGATIVE, "'sin' cannot be a name"),
        (
            ['--law', 'joint_impedance', 'mass_matrix'],
            2,
            'either outputs, --law or --model-library',
        ),
        (['mass_matrix', '--law-option', 'link=tip'], 2, '--law-option needs --law'),
    ],
)
def test_the_command_refuses(options, status, reason, capsys):
    try:
        found = command.main([str(urdf_path('planar_2r')), *options])
    except SystemExit as end:
        found = end.code
    assert found == status
    assert reason in capsys.readouterr().err


# --- the C++ loader -------------------------------------------------------------------------------

PROGRAM = r"""
#include <cstdio>
#include "counted_allocations.hpp"
#include "screw_dynamics_control/control_law.hpp"
#include "law.h"  // both headers have the types

using namespace screw_dynamics_control;

template<typename Function> void refuse(Function && function)
{
  try {
    function();
    std::puts("not refused");
  } catch (const ControlLawError & error) {
    std::puts(error.what());
  }
}

int main(int count, char ** files)
{
  ControlLawExpectation expected;
  expected.robot_hash = files[1];
  expected.joints = {"joint1", "joint2"};
  expected.state = {"wrench", "dt"};
  expected.reference = {"pose"};
  ControlLaw law("law.so", expected);
  law.set_parameter("held.rate", 2.5);
  const double q[2] = {0.3, -0.7}, v[2] = {0.5, 0.25};
  double tau[2];
  const long before = allocations;
  *law.state("dt") = 0.125;
  for (int k = 0; k < 16; ++k) {law.reference("pose")[k] = 0.0625 * k;}
  for (int k = 0; k < 6; ++k) {law.state("wrench")[k] = 0.5 * k;}
  for (int k = 0; k < 3; ++k) {law.update(q, v, law.constants().gravity, tau);}
  const double * const memory = law.memory("held.wrench");
  const long allocated = allocations - before;
  for (int k = 0; k < 7; ++k) {std::printf("%a ", memory[k]);}
  std::printf("%a %a %ld\n", tau[0], tau[1], allocated);
  std::printf("%d\n", law.reference("twist") == nullptr && law.parameter("rate") == nullptr);
  refuse([&] {law.set_parameter("rate", 1.0);});
  refuse([&] {law.set_parameter("held.rate", -1.0);});
  auto other = expected;
  other.robot_hash = "00";
  refuse([&] {ControlLaw("law.so", other);});
  other = expected;
  other.robot_description = "<robot/>";
  refuse([&] {ControlLaw("law.so", other);});
  other = expected;
  other.law_hash = "11";
  refuse([&] {ControlLaw("law.so", other);});
  other = expected;
  other.joints = {"joint2"};
  refuse([&] {ControlLaw("law.so", other);});
  other = expected;
  other.state = {"dt"};
  refuse([&] {ControlLaw("law.so", other);});
  for (int k = 2; k < count; ++k) {refuse([&] {ControlLaw(files[k], expected);});}
}
"""

#: What is changed in law.c, and the reason that the loader gives.
DAMAGES = {
    'version': ('  SCREW_DYNAMICS_LAW_VERSION,', '  1,', 'has version 1 of the interface'),
    'bytes': ('sizeof(struct screw_dynamics_law_constants)', '8', 'is for another processor or'),
    'offset': ('{"wrench", "N m, N", "", 1', '{"wrench", "N m, N", "", 2', "'wrench' is misplaced"),
    'size': ('  {7, 2, state_fields}', '  {8, 2, state_fields}', 'not as long as their vector'),
    'constants': (' screw_dynamics_law =', ' another_law =', 'is not a control law'),
    'update': ('  update,\n', '  0,\n', 'it has no function update'),
}


def test_the_loader_runs_a_law_and_refuses_others(law, folder):
    source, files = (folder / 'law.c').read_text(), []
    begin, update, constants = map(
        source.index, ('#ifdef LAW_OBJECT', 'static void update(', 'static const struct')
    )
    signature = source[update : source.index('{', update)]
    short = source[:begin] + signature + '{}\n' + source[constants:].replace('  start,\n', '  0,\n')
    for name, (before, after, _) in DAMAGES.items():
        assert short.count(before) == 1, before
        (folder / f'{name}.c').write_text(short.replace(before, after))
        files.append(f'{name}.so')
        command = [COMPILER, '-w', '-shared', '-fPIC', f'{name}.c', '-o', files[-1]]
        subprocess.run(command, check=True, cwd=folder)
        with_digest(folder / files[-1])
    digest = law.robot.regrouped_tree.digest
    program = built(folder, 'program', PROGRAM, *SANITIZERS)
    lines = run(program, digest, *files)

    constants, _library = constants_of(folder / 'law.so')
    inputs = [
        [0.3, -0.7],
        [0.5, 0.25],
        law.robot.gravity,
        [0.125, *(0.5 * np.arange(6))],
        0.0625 * np.arange(16),
        law.values_of({'held.rate': 2.5}),
        np.zeros(7),
    ]
    for _ in range(3):
        tau, inputs[-1] = updated(constants, inputs)
    *numbers, allocated = lines[0].split()
    assert [float.fromhex(number) for number in numbers] == [*inputs[-1], *tau]
    assert (allocated, lines[1]) == ('0', '1')
    own_hash = constants.law_hash.decode()
    names = ', '.join(law.parameters.shapes)
    own = constants.description_hash.decode()
    assert lines[2:9] == [
        f"law.so has no parameter 'rate'; it has {names}",
        "law.so parameter 'held.rate' must be in [0.100000, inf], not -1.000000",
        f"law.so is for robot 'planar_2r' with hash {digest}, expected 00: write it again for the "
        'robot of this program',
        f"law.so is for description 'planar_2r' with hash {own}, expected "
        f'{description_hash("<robot/>")}: write it again for the description of this program',
        f"law.so is for law '{LAW}' with hash {own_hash}, expected 11: write it again for the law "
        'of this program',
        'law.so has the joints joint1, joint2, expected joint2',
        "law.so reads 'wrench' of the state, which this program does not fill",
    ]
    reasons = [reason for *_, reason in DAMAGES.values()]
    for line, reason in zip(lines[9:], reasons, strict=True):
        assert reason in line


SWITCH = r"""
#include <atomic>
#include <cstdio>
#include <fstream>
#include <thread>
#include "screw_dynamics_control/control_law.hpp"
using namespace screw_dynamics_control;

int main()
{
  ControlLawExpectation expected;
  expected.joints = {"joint1", "joint2"};
  expected.state = {"wrench", "dt"};
  expected.reference = {"pose"};
  ControlLawSwitch laws;
  std::atomic<bool> stop{false};
  long adopted = 0, wrong = 0;
  std::thread real_time([&] {
    const double q[2] = {0.3, -0.7}, v[2] = {0.5, 0.25};
    double tau[2], stiffness = -1.0, first = 0.0;
    ControlLaw * before = nullptr;
    while (!stop) {
      ControlLaw * const law = laws.current();
      if (!law) {continue;}
      const double now = *law->parameter("joint_limit_repulsion.stiffness");
      law->reset();
      law->update(q, v, law->constants().gravity, tau);
      if (law != before || now != stiffness) {
        ++adopted;
        first = tau[0];
      }
      wrong += tau[0] != first;
      before = law;
      stiffness = now;
    }
  });
  for (int k = 0; k < 30; ++k) {
    auto law = std::make_unique<ControlLaw>("law.so", expected);
    law->set_parameter("joint_limit_repulsion.stiffness", k);
    laws.install(std::move(law));
    while (k % 3 && laws.is_pending()) {std::this_thread::yield();}
  }
  while (laws.is_pending()) {std::this_thread::yield();}
  stop = true;
  real_time.join();
  laws.collect();
  int mapped = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line); ) {
    mapped += line.find("memfd:screw_dynamics") != std::string::npos &&
      line.find(" r-xp ") != std::string::npos;
  }
  std::printf("%ld %ld %d\n", adopted, wrong, mapped);
}
"""


def test_laws_are_replaced_while_they_run(folder):
    """Old ones are closed; a race would end the program with the status of the sanitizer."""
    flags = ['-fsanitize=thread']
    try:
        run(built(folder, 'empty', 'int main() {}', *flags))
    except (AssertionError, subprocess.CalledProcessError):
        flags = []  # some kernels place memory where the sanitizer does not expect it
    program = built(folder, 'switch', SWITCH, '-O1', *flags)
    adopted, wrong, mapped = map(int, run(program)[0].split())
    assert 20 <= adopted <= 30
    assert (wrong, mapped) == (0, 1)
