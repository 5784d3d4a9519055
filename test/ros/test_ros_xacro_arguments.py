# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arguments of xacro files that have no value: all at once, why, and the words that give them."""

from __future__ import annotations

import shlex

import pytest

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.description.urdf import read_urdf
from screw_dynamics_ros.ros import launch_arguments
from screw_dynamics_ros.ros.description_file import assignments, read_description
from support.xacro_files import needs_xacro, refusal, robot_file

pytestmark = needs_xacro


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file of a name, with elements in a <robot>."""
    return lambda name, *content, **options: robot_file(tmp_path / name, *content, **options)


def suggested(message, option='description_arguments:='):
    """Return the arguments that an error says to give, read as a shell and the launch file do."""
    line = next(line for line in message.splitlines() if line.startswith('set them by '))
    word = shlex.split(line.removeprefix('set them by '))[-1]
    return assignments(word.removeprefix(option))


def test_all_arguments_without_a_value_are_told_at_once(write):
    """In macros and included files, too; without those that have a default."""
    parts = write(
        'parts.xacro',
        """<xacro:arg name="mass" default="2"/>
<xacro:macro name="body">
  <link name="$(arg side)_$(arg mass)_$(arg given)"/>
</xacro:macro>""",
    )
    path = write(
        'r.xacro',
        """<!-- $(arg comment) -->
<xacro:include filename="parts.xacro"/>
<xacro:body/>
<gazebo reference="${xacro.arg('tool')}"/>
<xacro:arg name="name" default="it's"/>
<xacro:arg name="title" default="${'a' + 'b'} $(arg name)"/>""",
        attributes='name="$(arg name) $(arg title)"',
    )
    message = refusal(path, {'given': 'yes'})
    assert message == (
        f"""xacro cannot expand it because arguments have no value:
  name, used at {path}:1: its default "it's" is declared after the first use, at {path}:6
  title, used at {path}:1: its default "ab it's" is declared after the first use, at {path}:7
  side, used at {parts}:4: it has no default
  tool, used at {path}:5: it has no default
set them by {message.splitlines()[5].removeprefix('set them by ')}
when processing file: {path}"""
    )
    values = {'given': 'yes', 'name': "it's", 'title': "ab it's", 'side': 'VALUE', 'tool': 'VALUE'}
    assert suggested(message) == values
    assert read_urdf(read_description(path, values)).name == "it's ab it's"


def test_arguments_beyond_an_error_are_told_too(write):
    """Where a value is needed to go on: all without a default, in files that can be found."""
    write(
        'parts/hand.xacro',
        '<xacro:arg name="side" default="left"/><xacro:include filename="tool.xacro"/>',
    )
    tool = write('parts/tool.xacro', '<link name="$(arg side)_$(arg tool)"/>')
    path = write(
        'r.xacro',
        """<xacro:include filename="$(arg model).xacro"/>
<xacro:include filename="${part}.xacro"/>
<xacro:arg name="name" default="arm"/>
<xacro:arg name="title" default="$(arg model) 2"/>
<xacro:include filename="parts/hand.xacro"/>""",
        attributes='name="$(arg name) $(arg title)"',
    )
    message = refusal(path)
    assert message.splitlines()[1:-2] == [
        f"  name, used at {path}:1: its default 'arm' is declared after the first use, at {path}:4",
        f'  title, used at {path}:1: its default is declared after the first use, at {path}:5',
        f'  model, used at {path}:2: it has no default',
        f'  tool, used at {tool}:2: it has no default',
    ]
    assert suggested(message) == {
        'name': 'arm',
        'title': 'VALUE',
        'model': 'VALUE',
        'tool': 'VALUE',
    }


def test_defaults_made_of_missing_values_are_not_suggested(write):
    path = write(
        'r.xacro',
        '<xacro:arg name="title" default="$(arg side) arm"/><link name="l"/>',
        attributes='name="$(arg title)"',
    )
    message = refusal(path)
    assert f'title, used at {path}:1: its default is declared after the first use' in message
    assert suggested(message) == {'title': 'VALUE', 'side': 'VALUE'}


def test_defaults_stand_in_for_their_arguments(write):
    """So that xacro finds the rest: a default is late, but includes what it has to include."""
    write('ur.xacro', '<link name="$(arg side)"/>')
    path = write(
        'r.xacro',
        '<xacro:include filename="$(arg model).xacro"/>\n<xacro:arg name="model" default="ur"/>'
        '<xacro:arg name="side" default="left"/>',
    )
    assert suggested(refusal(path)) == {'model': 'ur', 'side': 'left'}


def test_arguments_of_evaluations_are_found(write):
    path = write('r.xacro', """<link name="$(eval side + '_arm')"/>""")
    assert suggested(refusal(path)) == {'side': 'VALUE'}
    assert read_urdf(read_description(path, {'side': 'left'})).root == 'left_arm'


def test_includes_that_match_nothing_print_no_warning(write, capsys):
    """While the rest of the files is looked for."""
    elements = '<xacro:include filename="$(arg model).xacro"/><xacro:include filename="no*.xacro"/>'
    refusal(write('r.xacro', elements))
    assert not capsys.readouterr().err


def test_a_misspelled_argument_is_told_before_one_without_a_value(write):
    path = write('r.xacro', '<link name="$(arg side)"/>')
    assert 'it has no argument sid; did you mean side?' in refusal(path, {'sid': 'left'})


def test_arguments_of_other_files_are_unknown(write):
    write('parts.xacro', '<xacro:arg name="side" default="left"/>')
    both = write('both.xacro', '<xacro:include filename="parts.xacro"/><link name="l"/>')
    read_description(both, {'side': 'right'})
    one = write('one.xacro', '<link name="l"/>')
    assert refusal(one, {'side': 'right'}) == 'it has no argument side; it has none'


def test_launch_files_name_their_own_argument(write):
    path = write('r.xacro', '<link name="$(arg side)"/>')
    with pytest.raises(ArgumentError) as error:
        launch_arguments.description('model', str(path))
    message = str(error.value)
    assert message.startswith(f'launch argument model:={path}: xacro cannot expand it because')
    assert "\nset them by model_arguments:='side:=VALUE'\n" in message
    assert message.endswith(f'when processing file: {path}')
