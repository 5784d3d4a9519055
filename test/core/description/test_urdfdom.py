# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What urdfdom reads otherwise, with urdfdom itself (in Pinocchio) as the judge."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.description.urdfdom import is_read
from support.robots import joint, robot

LIMIT = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
SHAPE = '<geometry><sphere radius="0.1"/></geometry>'
TENSOR = 'ixx="{}" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.4"'

#: Texts that this package reads as a number.
NUMBERS = [
    '1',
    '+1',
    '1.',
    '.5',
    '1e0',
    '1E-0',
    '0.25e+1',
    '1 ',
    ' 1',
    '\n1',
    '1\n',
    '1\t',
    '1&#10;',
]
#: Texts that this package reads as a vector.
VECTORS = [
    '0 0 1',
    ' 0  0 1 ',
    '\n0 0 1',
    '0 0 1\n',
    '0\n0 1',
    '0\n 0 1',
    '0 \n0 1',
    '0\t0 1',
    '0 0 \t1',
    '0&#10;0 1',
]


def arm(mass: str = '2', ixx: str = '0.35', xyz: str = '0 0 0', rpy: str = '0 0 0') -> str:
    """Return a URDF of a link on a joint, with numbers of its inertial as given."""
    return robot(
        '<link name="base"/>',
        f'<link name="arm"><inertial><origin xyz="{xyz}" rpy="{rpy}"/><mass value="{mass}"/>'
        f'<inertia {TENSOR.format(ixx)}/></inertial><collision>{SHAPE}</collision></link>',
        joint('j', 'base', 'arm', LIMIT),
    )


def found(text: str) -> list[str]:
    """Return the findings that name urdfdom."""
    return [str(each) for each in read_urdf(text).findings if 'urdfdom' in each.message]


CASES = [
    *(('mass', text) for text in NUMBERS),
    *(('ixx', text) for text in NUMBERS),
    *(('xyz', text) for text in VECTORS),
    *(('rpy', text) for text in VECTORS),
]


@pytest.mark.parametrize(('field', 'text'), CASES)
def test_what_it_drops_is_found_and_measured(field, text):
    pin = pytest.importorskip('pinocchio')
    urdf = arm(**{field: text})
    ours = read_urdf(urdf).links[1].inertia
    model = pin.buildModelFromXML(urdf)
    theirs = model.inertias[1]
    lost = not theirs.inertia.any()
    assert len(found(urdf)) == lost
    if not lost:
        assert theirs.mass == ours.mass
        np.testing.assert_allclose(theirs.inertia, ours.matrix, rtol=0, atol=1e-15)
        return
    (message,) = found(urdf)
    assert f'mass of {ours.mass:g} kg' in message
    assert ('loses its mass' in message) == (theirs.mass == 0.0)
    assert ('keeps its mass' in message) == (theirs.mass == ours.mass)
    assert f'up to {np.linalg.eigvalsh(ours.matrix)[-1]:g} kg m^2' in message


def test_both_happen():
    """Neither all of the texts above are refused, nor none."""
    assert {len(found(arm(**{field: text}))) for field, text in CASES} == {0, 1}


def test_link_attribute_value_and_size_are_named():
    (message,) = found(arm(mass='2\n'))
    assert message == (
        r'link arm: urdfdom (robot_state_publisher, MoveIt, Gazebo) refuses <mass value="2\n">: '
        'there the link loses its mass of 2 kg and moments of inertia of up to 0.4 kg m^2, and '
        'each <collision> (write plain numbers, with single spaces between them and nothing after '
        'them)'
    )


def test_shapes_go_with_the_inertial():
    """The rest of a link is not read after an error in its inertial."""
    pin = pytest.importorskip('pinocchio')
    counts = []
    for mass in ('2', '2\n'):
        text = arm(mass=mass)
        model = pin.buildModelFromXML(text)
        counts.append(pin.buildGeomFromUrdfString(model, text, pin.COLLISION).ngeoms)
    assert counts == [1, 0]


@pytest.mark.parametrize('missing', ['ixy', 'ixz', 'iyz'])
def test_a_missing_product_of_inertia(missing):
    """It is zero here."""
    urdf = arm().replace(f'{missing}="0"', '')
    (message,) = found(urdf)
    assert f'refuses <inertia> without {missing}: there the link keeps its mass' in message
    assert f'(add {missing}="0")' in message
    pin = pytest.importorskip('pinocchio')
    assert not pin.buildModelFromXML(urdf).inertias[1].inertia.any()


@pytest.mark.parametrize(
    'text', ['inf', 'nan', '0x1', '1e999', '1_0', '１', '', '1 2', '--1', '1e']
)
def test_no_number_there(text):
    assert not is_read(text)


@pytest.mark.parametrize(
    'around',
    [
        '<!-- <mass value="2\n"/> -->{}',
        "<!-- it's -->{}<note\nx=''/><!-- isn't -->",
        '<note><![CDATA[ <" ]]></note>{}<note\nx=""/><note><![CDATA[ <" ]]></note>',
        '<?instruction "\n"?>{}',
        '<link-of-others\n  text=\'a "quote" >\n\'\n/>{}',
    ],
)
def test_line_breaks_elsewhere_do_no_harm(around):
    sound = around.format('<link name="base"/>')
    assert found(robot(sound)) == []
    broken = arm(mass='2\n').replace('<link name="base"/>', sound)
    assert len(found(broken)) == 1


def test_other_encodings():
    text = '<?xml version="1.0" encoding="{}"?>' + arm(mass='2\n').replace('"arm"', '"ärm"')
    for encoding in ('utf-8', 'latin-1'):
        (message,) = found(text.format(encoding).encode(encoding))
        assert message.startswith('link ärm: ')
    (message,) = found(text.format('utf-16').encode('utf-16'))
    assert '<mass value="2 ">' in message


@pytest.mark.parametrize(
    ('attribute', 'severity', 'words', 'is_refused'),
    [
        ('', 'warning', "<robot> has no name; it is called 'robot' here, while urdfdom", True),
        ('name=""', 'info', 'the name of <robot> is empty', False),
    ],
)
def test_a_robot_without_a_name(attribute, severity, words, is_refused):
    urdf = f'<robot {attribute}><link name="base"/></robot>'
    description = read_urdf(urdf)
    assert description.name == 'robot'
    (finding,) = (each for each in description.findings if 'name' in each.message)
    assert finding.severity == severity
    assert words in finding.message
    assert finding.remedy
    pin = pytest.importorskip('pinocchio')
    if is_refused:
        with pytest.raises(ValueError, match='valid URDF'):
            pin.buildModelFromXML(urdf)
    else:
        assert pin.buildModelFromXML(urdf).name == ''
