# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sizes, places, colors and names in layouts, for a robot of one meter."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest
import yaml

pytest.importorskip('rclpy')

from screw_dynamics_ros.cli.layouts import foxglove, plotjuggler, rviz
from screw_dynamics_ros.cli.layouts.command import (
    COLORS,
    LayoutNames,
    efforts,
    extent,
    joint_plots,
    measured_efforts,
    parse,
    robot_of,
    rounded,
    wrench_plots,
)
from screw_dynamics_ros.core import DescriptionError, Robot
from screw_dynamics_ros.core.lie.screws import WRENCH_ROWS
from screw_dynamics_ros.ros.model_state import ModelStateLayout, StatePart

LINK = '<link name="{0}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'  # fmt: skip  # noqa: E501


def chain(count):
    """Return a robot with joints j0, j1, ... of which the first is 1 m up and 0.5 m ahead."""
    links = ''.join(LINK.format(f'l{k}') for k in range(count + 1))
    joints = ''.join(
        f'<joint name="j{k}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/>'
        f'<origin xyz="{"0.5 0 1" if k == 0 else "0 0 0"}"/><axis xyz="0 0 1"/></joint>'
        for k in range(count)
    )
    return Robot.from_urdf(f'<robot name="chain">{links}{joints}</robot>', backend='reference')


ROBOT = chain(12)
NAMES = LayoutNames('/cell', 'left_', 'odom')


@pytest.mark.parametrize(
    ('number', 'expected'),
    [(1.25, 1.2), (0.01234, 0.012), (987.0, 990.0), (10.0, 10.0), (9.96, 10.0), (1000.0, 1000.0)],
)
def test_two_digits(number, expected):
    assert rounded(number) == expected


def test_box_around_all_links():
    center, size = extent(ROBOT)
    assert (center.tolist(), size) == ([0.25, 0.0, 0.5], 1.0)


def test_curves_of_joints():
    """Places of joints in messages of nodes, unknown places in those of the driver."""
    curves = efforts(ROBOT, '/t')
    assert [(c.joint, c.label, c.index) for c in curves] == [
        (f'j{k}', f'j{k}', k) for k in range(12)
    ]
    assert {(c.topic, c.fields) for c in curves} == {('/t', ('effort',))}
    assert [c.color for c in curves] == [*COLORS, *COLORS[:2]]
    measured = measured_efforts(ROBOT, NAMES)
    assert (measured.title, {c.topic for c in measured.curves}) == (
        'Measured efforts',
        {'/cell/joint_states'},
    )
    assert {c.index for c in measured.curves} == {-1}
    assert {plot.title: plot.curves[0].topic for plot in joint_plots(ROBOT, NAMES)} == {
        'Gravity torques': '/cell/dynamics/gravity',
        'Coriolis torques': '/cell/dynamics/coriolis',
        'Friction torques': '/cell/dynamics/friction',
        'External torques': '/cell/wrench_estimator/external_torque',
    }


def test_curves_of_wrenches():
    force, moment = wrench_plots(ROBOT, NAMES)
    for plot, title, field in ((force, 'Force', 'force'), (moment, 'Moment', 'torque')):
        assert plot.title == f'{title} on l12'
        assert [(c.fields, c.label, c.joint) for c in plot.curves] == [
            (('wrench', field, axis), axis, '') for axis in 'xyz'
        ]
        assert {c.topic for c in plot.curves} == {'/cell/wrench_estimator/wrench/l12'}
        assert len({c.color for c in plot.curves}) == 3


def test_scene_of_foxglove():
    scene = foxglove.scene(ROBOT, NAMES)
    camera = scene['cameraState']
    assert scene['followTf'] == scene['layers']['grid']['frameId'] == 'left_odom'
    assert (camera['distance'], camera['near'], camera['far']) == (2.2, 0.01, 1000.0)
    assert camera['targetOffset'] == [0.25, 0.0, 0.5]
    assert scene['layers']['grid']['size'] == 5.0
    assert scene['scene']['transforms']['axisScale'] == 0.3
    visible = {name: each['visible'] for name, each in scene['transforms'].items()}
    expected = {f'frame:left_l{k}': k in (0, 12) for k in range(13)} | {'frame:left_odom': True}
    assert visible == expected
    assert scene['topics'] == {
        '/cell/kinematics/markers': {'visible': True},
        '/cell/wrench_estimator/markers': {'visible': True},
    }
    model = scene['layers']['robot']
    assert (model['topic'], model['framePrefix']) == ('/cell/robot_description', 'left_')
    assert {layer['visible'] for layer in scene['layers'].values()} == {True}


def test_panels_of_foxglove_have_the_same_height():
    """Beside the scene, which takes half of the width; each panel has the curves of its plot."""
    text = foxglove.layout(ROBOT, NAMES)
    content = json.loads(text)
    assert text == json.dumps(content, indent=1) + '\n'  # which a user can edit
    layout = content['layout']
    assert content['playbackConfig'] == {'speed': 1}
    assert (layout['direction'], layout['first'], layout['splitPercentage']) == (
        'row',
        '3D!robot',
        50,
    )
    heights, pending = {}, [(layout['second'], 100.0)]
    while pending:
        place, height = pending.pop()
        if isinstance(place, str):
            heights[place] = height
            continue
        assert place['direction'] == 'column'
        share = place['splitPercentage'] / 100.0
        pending += (place['first'], share * height), (place['second'], (1 - share) * height)
    assert heights.keys() == content['configById'].keys() - {'3D!robot'}
    assert list(heights.values()) == pytest.approx([100.0 / len(heights)] * len(heights), rel=1e-3)
    plots = [*joint_plots(ROBOT, NAMES), *wrench_plots(ROBOT, NAMES)]
    for k, plot in enumerate(plots):
        panel = content['configById'][f'Plot!{k}']
        assert panel['foxglovePanelTitle'] == plot.title
        assert [(x['label'], x['color']) for x in panel['paths']] == [
            (c.label, c.color) for c in plot.curves
        ]
        assert all(x['enabled'] and x['timestampMethod'] == 'headerStamp' for x in panel['paths'])
    paths = content['configById']['Plot!1']['paths']
    assert paths[11]['value'] == '/cell/dynamics/coriolis.effort[11]'
    assert content['configById']['DiagnosticSummary!nodes']['minLevel'] == 0


def test_tabs_of_plotjuggler():
    """Plots of equal height; topics are subscribed once, with stamps of headers."""
    root = ElementTree.fromstring(plotjuggler.layout(ROBOT, NAMES))
    tabs = {tab.get('tab_name'): tab for tab in root.iter('Tab')}
    titles = {
        name: [area.get('name') for area in tab.iter('DockArea')] for name, tab in tabs.items()
    }
    assert titles == {
        'Joint torques': ['Measured efforts', 'Gravity torques', 'Coriolis torques',
                          'Friction torques'],
        'Contacts': ['External torques', 'Force on l12', 'Moment on l12'],
    }  # fmt: skip
    for splitter in root.iter('DockSplitter'):
        sizes = [float(x) for x in splitter.get('sizes').split(';')]
        assert len(sizes) == int(splitter.get('count')) == len(splitter.findall('DockArea'))
        assert sizes == pytest.approx([1.0 / len(sizes)] * len(sizes), abs=1e-6)
    (plugin,) = root.iter('plugin')
    selected = plugin.find('selected_topics')
    topics = [topic.get('name') for topic in selected]
    assert selected.get('value') == ';'.join(topics)
    assert len(topics) == len(set(topics)) == 6
    values = {each.tag: each.get('value') for each in plugin if each is not selected}
    assert values['use_header_stamp'] == 'true'
    assert int(values['max_array_size']) == 100
    (streamer,) = root.iter('previouslyLoaded_Streamer')
    assert streamer.get('name') == plugin.get('ID') == 'ROS2 Topic Subscriber'
    curves = list(root.iter('curve'))
    assert [each.get('color') for each in curves][:12] == [*COLORS, *COLORS[:2]]


def test_curves_of_the_model_state():
    """Elements of one array, which PlotJuggler must not drop for its size."""
    joints = tuple(f'j{k}' for k in range(12))
    parts = [
        StatePart('effort', (joints,)),
        StatePart('mass_matrix', (joints, joints)),
        StatePart('gravity', (joints,)),
        StatePart('external_torque', (joints,)),
        StatePart('wrench/l12', (WRENCH_ROWS,), 'l12'),
    ]
    names = replace(NAMES, model_state=ModelStateLayout.of('chain', 'l0', parts))
    root = ElementTree.fromstring(plotjuggler.layout(ROBOT, names))
    plots = {
        area.get('name'): [curve.get('name') for curve in area.iter('curve')]
        for area in root.iter('DockArea')
    }
    array = '/cell/bringup/model_state/data'
    assert plots == {
        'Measured efforts': [f'{array}[{k}]' for k in range(12)],
        'Gravity torques': [f'{array}[{k}]' for k in range(156, 168)],
        'Coriolis torques': [],
        'Friction torques': [],
        'External torques': [f'{array}[{k}]' for k in range(168, 180)],
        'Force on l12': [f'{array}[{k}]' for k in range(180, 183)],
        'Moment on l12': [f'{array}[{k}]' for k in range(183, 186)],
    }
    assert next(root.iter('max_array_size')).get('value') == '186'
    assert [topic.get('name') for topic in root.iter('topic')] == ['/cell/bringup/model_state']
    panels = json.loads(foxglove.layout(ROBOT, names))['configById']
    (moment,) = (p for p in panels.values() if p.get('foxglovePanelTitle') == 'Moment on l12')
    assert [(path['label'], path['value']) for path in moment['paths']] == [
        (label, f'/cell/bringup/model_state.data[{k}]')
        for label, k in (('mx', 183), ('my', 184), ('mz', 185))
    ]


def test_sizes_of_rviz():
    manager = yaml.safe_load(rviz.layout(ROBOT, NAMES))['Visualization Manager']
    displays = {each['Class'].rpartition('/')[2]: each for each in manager['Displays']}
    assert displays['TF']['Marker Scale'] == 0.3
    assert displays['Grid']['Cell Size'] == 0.5
    effort = displays['Effort']
    assert (effort['Topic']['Value'], effort['Robot Description']) == (
        '/cell/joint_states',
        '/cell/robot_description',
    )
    assert (effort['Scale'], effort['Width'], 'TF Prefix' in effort) == (0.3, 0.01, False)
    manager = yaml.safe_load(rviz.layout(ROBOT, LayoutNames('/cell', 'left/', 'odom')))
    shown = {each['Name']: each for each in manager['Visualization Manager']['Displays']}
    assert {shown[name]['TF Prefix'] for name in ('Robot', 'Measured efforts')} == {'left'}
    view = manager['Visualization Manager']['Views']['Current']
    assert (view['Distance'], view['Focal Point']) == (2.2, {'X': 0.25, 'Y': 0.0, 'Z': 0.5})


def test_descriptions_are_not_paths():
    assert robot_of('<robot name="r"><link name="a"/></robot>').description.name == 'r'
    with pytest.raises(DescriptionError, match='not XML but'):
        robot_of('robot.urdf')


def test_arguments_of_programs(capsys):
    for visualizer, line in (
        (rviz.RVIZ, 'rviz2 -d LAYOUT --ros-args -r __ns:=NAMESPACE'),
        (plotjuggler.PLOTJUGGLER, 'plotjuggler --nosplash --layout LAYOUT'),
        (foxglove.FOXGLOVE, 'foxglove_bridge --ros-args -p address:=127.0.0.1'),
    ):
        assert not parse(visualizer, '', []).print
        assert parse(visualizer, '', ['--print']).print
        if visualizer is not rviz.RVIZ:
            assert parse(visualizer, '', ['--model-state']).model_state
        with pytest.raises(SystemExit):
            parse(visualizer, 'text', ['--help'])
        assert f'runs: {line}\n' in capsys.readouterr().out
