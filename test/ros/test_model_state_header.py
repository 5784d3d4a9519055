# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The C++ reader of ~/model_state, with the message types that ROS 2 generates."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('rosidl_generator_cpp')
pytest.importorskip('screw_dynamics_msgs.msg._model_state')

import rclpy
import rosidl_adapter
import rosidl_generator_cpp
from ament_index_python.packages import get_package_prefix
from rclpy.serialization import deserialize_message
from rosidl_cli.command.helpers import generate_visibility_control_file

from screw_dynamics_msgs.msg import ModelState
from screw_dynamics_ros.nodes.outputs.kinematics.kinematics_outputs import Kinematics
from screw_dynamics_ros.ros.model_state import ModelStateLayout
from support.host_bench import Bench, serialized
from support.paths import ROOT
from support.robots import urdf_path

COMPILER = shutil.which('g++')
pytestmark = pytest.mark.skipif(COMPILER is None, reason='no C++ compiler')
PACKAGE = ROOT / 'screw_dynamics_msgs'
USED = (
    'std_msgs',
    'builtin_interfaces',
    'rcutils',
    'rosidl_runtime_c',
    'rosidl_runtime_cpp',
    'rosidl_typesupport_interface',
)
FLAGS = ['-std=c++17', '-Wall', '-Wextra', '-Wconversion', '-Wshadow', '-pedantic', '-Werror']
CHECKED = ['-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all']

PROGRAM = """
#include <cstdio>
#include <functional>
#include "message.hpp"
#include "counted_allocations.hpp"
#include "screw_dynamics_msgs/model_state.hpp"

using namespace screw_dynamics_msgs;

template<typename Function> void refuse(Function && function)
{
  try {
    function();
    std::puts("not refused");
  } catch (const std::logic_error & error) {
    std::puts(error.what());
  }
}

int main()
{
  msg::ModelStateLayout layout;
  msg::ModelState message;
  fill(layout, message);
  const ModelStateReader reader(layout);
  for (const auto & part : layout.parts) {
    const auto handle = reader.part(part.name);
    const long before = allocations;
    const auto state = reader.read(message);
    const auto array = state->array(handle);
    const bool valid = state->is_valid(handle);
    const double age = state->age(handle);
    const long allocated = allocations - before;
    std::printf("%s %d %a %ld", part.name.c_str(), valid, age, allocated);
    for (const auto length : array.shape()) {std::printf(" %u", length);}
    std::printf(" :");
    for (const double number : array) {std::printf(" %a", number);}
    std::printf("\\n");
    if (array.data() + array.size() > message.data.data() + message.data.size()) {std::abort();}
  }
  const auto & stamp = reader.read(message)->stamp();
  std::printf("%d %u\\n", stamp.sec, stamp.nanosec);

  auto other = layout;
  ++other.id;
  std::printf("%d\\n", ModelStateReader(other).read(message).has_value());
  std::printf("%d\\n", reader.find("torque").has_value());
  refuse([&] {reader.part("torque");});
  refuse([&] {reader.read(message)->array(ModelStateReader(other).part("position"));});
  for (const auto & damage : std::initializer_list<std::function<void(msg::ModelState &)>>{
      [](auto & m) {m.data.pop_back();}, [](auto & m) {m.data.push_back(0.0);},
      [](auto & m) {m.valid.pop_back();}, [](auto & m) {m.age.pop_back();}})
  {
    auto damaged = message;
    damage(damaged);
    refuse([&] {reader.read(damaged);});
  }
  for (const auto & damage : std::initializer_list<std::function<void(msg::ModelStateLayout &)>>{
      [](auto & m) {m.parts[1].offset += 1;}, [](auto & m) {m.size -= 1;},
      [](auto & m) {m.size += 1;}, [](auto & m) {m.parts[1].shape[0] += 1;},
      [](auto & m) {m.parts[1].labels[0] += ",more";}, [](auto & m) {m.parts[1].labels.clear();},
      [](auto & m) {m.parts[0].labels[0].clear(); m.parts[0].shape[0] = 0;},
      [](auto & m) {std::swap(m.parts[0], m.parts[1]);},
      [](auto & m) {m.parts[1].name = m.parts[0].name;},
      [](auto & m) {
        m.parts[0].shape.assign(70, 2);  // 2^70 elements: 64 in 64 bits would be 0
        m.parts[0].labels.assign(70, "a,b");
      }})
  {
    auto damaged = layout;
    damage(damaged);
    refuse([&] {ModelStateReader{damaged};});
  }
  msg::ModelStateLayout empty;  // of a robot without joints
  empty.parts.resize(1);
  empty.parts[0].shape = {6, 0};
  empty.parts[0].labels = {"a,b,c,d,e,f", ""};
  msg::ModelState nothing;
  nothing.valid = {false};
  nothing.age = {0.0};
  const ModelStateReader none(empty);
  std::printf("%zu\\n", none.read(nothing)->array(none.part("")).size());
#ifdef TEMPORARY
  reader.read(msg::ModelState());
#endif
}
"""


@pytest.fixture
def sent(monkeypatch, ros_domain):
    """Return the layout of a node, and one of its messages: without velocity and effort."""
    layouts, message = [], ModelStateLayout.message

    def record(layout, stamp):
        layouts.append(message(layout, stamp))
        return layouts[-1]

    monkeypatch.setattr(ModelStateLayout, 'message', record)
    rclpy.init(domain_id=ros_domain)
    parameters = {'model_state': ['all'], 'velocity_policy': 'reject'}
    bench = Bench(monkeypatch, Kinematics, 'kinematics', **parameters)
    bench.describe(urdf_path('planar_2r').read_text())
    joints = list(bench.host.mapper.joints)
    nothing = [np.nan] * len(joints)
    stamp = bench.clock.time_ns()
    bench.host.states.receive(serialized(joints, [0.3, -0.7], stamp, nothing, nothing), {})
    yield (
        layouts[-1],
        deserialize_message(dict(bench.sent)['/life/kinematics/model_state'], ModelState),
    )
    bench.close()
    rclpy.shutdown()


@pytest.fixture(scope='module')
def include(tmp_path_factory):
    """Generate the C++ types of the three messages; return the folders for the compiler."""
    work = tmp_path_factory.mktemp('types')
    folder = work / 'screw_dynamics_msgs'
    (folder / 'msg/detail').mkdir(parents=True)
    for path in sorted(PACKAGE.glob('msg/ModelState*.msg')):
        rosidl_adapter.convert_to_idl(PACKAGE, PACKAGE.name, path.relative_to(PACKAGE), work)
    generator = Path(get_package_prefix('rosidl_generator_cpp')) / 'share/rosidl_generator_cpp'
    arguments = {
        'package_name': PACKAGE.name,
        'output_dir': str(folder),
        'template_dir': str(generator / 'resource'),
        'idl_tuples': [
            f'{work}:{path.relative_to(work)}' for path in sorted(work.glob('msg/*.idl'))
        ],
        'target_dependencies': [],
    }
    (work / 'arguments.json').write_text(json.dumps(arguments))
    rosidl_generator_cpp.generate_cpp(str(work / 'arguments.json'))
    visibility = 'rosidl_generator_cpp__visibility_control.hpp'
    template = generator / f'resource/{visibility}.in'
    if template.exists():  # from ROS 2 Iron on
        generate_visibility_control_file(
            package_name=PACKAGE.name,
            template_path=template,
            output_path=folder / 'msg' / visibility,
        )
    roots = [Path(get_package_prefix(name)) / 'include' for name in USED]
    system = [path for root, name in zip(roots, USED) for path in (root, root / name)]
    return [
        f'-I{PACKAGE}/include',
        f'-I{ROOT}/test/support',
        *(f'-isystem{path}' for path in (work, *system)),
    ]


def filled(layout, message):
    """Return a C++ header that gives two messages the contents of these."""
    lines = [
        '#include <cmath>',
        '#include "screw_dynamics_msgs/msg/model_state.hpp"',
        '#include "screw_dynamics_msgs/msg/model_state_layout.hpp"',
        'inline void fill(screw_dynamics_msgs::msg::ModelStateLayout & layout,',
        '  screw_dynamics_msgs::msg::ModelState & message) {',
        f'layout.id = {layout.id}u; layout.size = {layout.size}u;',
    ]
    for part in layout.parts:
        shape, labels = ', '.join(map(str, part.shape)), ', '.join(map(json.dumps, part.labels))
        lines.append(
            f'layout.parts.emplace_back(); layout.parts.back().name = "{part.name}"; '
            f'layout.parts.back().offset = {part.offset}u; '
            f'layout.parts.back().shape = {{{shape}}}; layout.parts.back().labels = {{{labels}}};'
        )
    stamp = message.header.stamp
    return '\n'.join(
        [
            *lines,
            f'message.header.stamp.sec = {stamp.sec}; message.layout_id = {message.layout_id}u;',
            f'message.header.stamp.nanosec = {stamp.nanosec}u;',
            f'message.valid = {{{", ".join(str(each).lower() for each in message.valid)}}};',
            f'message.age = {{{", ".join(map(number, message.age))}}};',
            f'message.data = {{{", ".join(map(number, message.data))}}};',
            '}',
        ]
    )


def number(value):
    """Return a literal of C++ with the same bits."""
    if np.isfinite(value):
        return float(value).hex()
    return 'NAN' if np.isnan(value) else 'INFINITY'


def test_parts_by_name_and_refusals(sent, include, tmp_path):
    layout, message = sent
    (tmp_path / 'message.hpp').write_text(filled(layout, message))
    source = tmp_path / 'program.cpp'
    source.write_text(PROGRAM)
    command = [COMPILER, *FLAGS, *include, str(source), f'-I{tmp_path}']
    subprocess.run([*command, *CHECKED, '-o', tmp_path / 'program'], check=True)
    # The program overrides `new`, to count; a library of the set-up may be preloaded.
    environment = {**os.environ, 'ASAN_OPTIONS': 'alloc_dealloc_mismatch=0', 'LD_PRELOAD': ''}
    done = subprocess.run(
        [tmp_path / 'program'], env=environment, check=True, capture_output=True, text=True
    )
    lines = done.stdout.splitlines()
    for part, line in zip(layout.parts, lines):
        words = line.split()
        valid, age, allocated = int(words[1]), float.fromhex(words[2]), int(words[3])
        assert (words[0], allocated) == (part.name, 0)
        k = list(layout.parts).index(part)
        assert (bool(valid), age) == (message.valid[k], message.age[k])
        colon = words.index(':')
        assert list(map(int, words[4:colon])) == list(part.shape)
        end = part.offset + int(np.prod(part.shape))
        given = [float.fromhex(word) for word in words[colon + 1 :]]
        np.testing.assert_array_equal(given, message.data[part.offset : end])
    assert {True, False} == set(message.valid)
    stamp = message.header.stamp
    names = ' '.join(part.name for part in layout.parts)
    first, second = layout.parts[0].name, layout.parts[1].name
    other_numbers = ['the message does not have the numbers of its layout'] * 4
    assert lines[len(layout.parts) :] == [
        f'{stamp.sec} {stamp.nanosec}',
        '0',
        '0',
        f"the model state has no part 'torque'; it has {names}: see the parameter model_state",
        'the part is of another layout: ask the reader of this layout for it',
        *other_numbers,
        f'{second}: the parts do not follow one another',
        f'{layout.parts[-1].name}: the parts do not follow one another',
        'the parts of the layout are smaller than its size',
        *[f'{second}: shape and labels have different lengths'] * 2,
        f'{second}: shape and labels have different dimensions',
        f'{second}: the parts do not follow one another',
        f'{second}: the parts do not follow one another',
        f'{first}: several parts have this name',
        f'{first}: the parts do not follow one another',
        '0',
    ]
    temporary = subprocess.run(
        [*command, '-DTEMPORARY', '-fsyntax-only'], capture_output=True, text=True
    )
    assert 'use of deleted function' in temporary.stderr
