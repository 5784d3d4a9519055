# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What `read_urdf` refuses, and that every refusal names the culprit, the value and the remedy."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from screw_dynamics_ros.core.description import Joint, Link, RobotDescription, read_urdf
from screw_dynamics_ros.core.errors import (
    ArgumentError,
    DescriptionError,
    InertiaError,
    ScrewDynamicsError,
)
from support.robots import UNIT_INERTIA, inertial, joint, links, one_joint, robot

TWO = links('a b')
REFUSED = {
    # not a URDF
    'empty': ('', ['empty', 'URDF text or the path']),
    'blank': (' \n\t', ['empty']),
    'truncated': ('<robot><link name="a"/>', ['not well-formed', 'line 1', 'xmllint']),
    'late declaration': (
        '<!-- c --><?xml version="1.0"?><robot name="r"/>',
        ['not at start', 'line 1', 'put <?xml ...?> before all else'],
    ),
    'html': ('<!-- 404 --><html></html>', ['<html>', '<robot>', 'convert']),
    'sdf': ('<sdf version="1.9"><model name="m"/></sdf>', ['<sdf>', '<robot>']),
    'two roots of XML': ('<robot/><robot/>', ['not well-formed']),
    'mismatched': ('<robot><link></robot>', ['not well-formed']),
    'control characters': ('<robot>\x00</robot>', ['not well-formed']),
    'lone surrogate': ('<robot name="\ud800"/>', ['cannot be decoded', 'UTF-8']),
    'wrong bytes': (b'<robot name="\xff\xfe"/>', ['not well-formed']),
    'unknown encoding': (b'<?xml version="1.0" encoding="klingon"?><robot/>', ['encoding']),
    'missing file': (
        'no/such/robot.urdf',
        ['no/such/robot.urdf', 'No such file', 'check the path'],
    ),
    'folder': (Path('.'), ['cannot read', 'directory', 'check the path']),
    'not a possible path': ('a\x00b', ['cannot read', 'null', 'URDF text itself']),
    'long text without XML': ('x' * 10000, ['cannot read', 'xxx...', 'URDF text itself']),
    # unsafe or unexpanded
    'entity bomb': (
        '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><robot name="&b;"/>',
        ['refused as unsafe', 'DOCTYPE'],
    ),
    'external entity': (
        '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="r">&x;</robot>',
        ['refused as unsafe', 'DOCTYPE'],
    ),
    'DTD': ('<!DOCTYPE robot SYSTEM "robot.dtd"><robot name="r"/>', ['refused as unsafe']),
    'xacro': (
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="a"/>'
        '<xacro:include filename="b.xacro"/></robot>',
        ['<xacro:include>', 'xacro robot.urdf.xacro', 'launch'],
    ),
    'srdf': (
        robot('<group name="arm"><link name="a"/><joint name="j"/></group>'),
        ['SRDF', '<group>', 'give the URDF'],
    ),
    'xacro inside a link': ('<robot><link name="a"><xacro:box/></link></robot>', ['<xacro:box>']),
    'xacro expression': (one_joint('<origin xyz="${l} 0 0"/>'), ['${l}', "'j'", 'expand']),
    # links and joints
    'no links': (robot(), ["'r'", 'no links', 'at least one']),
    'link without name': (robot('<link/>'), ['<link>', 'no name', 'name=']),
    'joint without name': (robot(TWO, '<joint type="fixed"/>'), ['<joint>', 'no name']),
    'duplicate link': (robot(links('a b a')), ["link 'a'", 'twice', 'rename']),
    'duplicate joint': (
        robot(links('a b c'), joint('j', 'a', 'b'), joint('j', 'b', 'c')),
        ["joint 'j'", 'twice', 'rename'],
    ),
    'joint without type': (robot(TWO, '<joint name="j"/>'), ["'j'", 'no type', 'prismatic']),
    'unknown joint type': (one_joint(kind='knot'), ["'j'", "'knot'", 'continuous']),
    'no parent': (
        robot(TWO, '<joint name="j" type="fixed"><child link="b"/></joint>'),
        ["'j'", 'no parent', '<parent link='],
    ),
    'no child': (
        robot(TWO, '<joint name="j" type="fixed"><parent link="b"/><child/></joint>'),
        ["'j'", 'no child', '<child link='],
    ),
    'unknown parent': (
        robot(TWO, joint('j', 'x', 'b')),
        ["'j'", 'parent', "'x'", 'does not exist', 'define'],
    ),
    'unknown child': (
        robot(TWO, joint('j', 'a', 'x')),
        ["'j'", 'child', "'x'", 'correct the name'],
    ),
    # not one tree
    'several roots': (
        robot(links('a b c'), joint('j', 'a', 'b')),
        ["'a', 'c'", '2 root', 'connect'],
    ),
    'many roots': (
        robot(links(' '.join(f'l{i}' for i in range(30)))),
        ['30 root', "'l7'", '22 more'],
    ),
    'no root': (
        robot(TWO, joint('j', 'a', 'b'), joint('k', 'b', 'a')),
        ['no root', "'a'", "'b'", 'cycle', 'remove one of its joints'],
    ),
    'own parent': (robot(links('a'), joint('j', 'a', 'a')), ["'a' -> 'a'", 'cycle']),
    'cycle beside the tree': (
        robot(
            links('root a b c'), joint('j', 'a', 'b'), joint('k', 'b', 'c'), joint('l', 'c', 'a')
        ),
        ["'a' -> 'b' -> 'c' -> 'a'", 'cycle'],
    ),
    'tail on a cycle': (
        robot(links('d a b'), joint('j', 'a', 'b'), joint('k', 'b', 'a'), joint('l', 'b', 'd')),
        ["'a'", "'b'", 'cycle', 'no root'],
    ),
    'closed loop': (
        robot(links('a b c'), joint('j', 'a', 'c'), joint('k', 'a', 'b'), joint('l', 'b', 'c')),
        ["link 'c'", 'two parents', "'j'", "'l'", 'cut the closed loop'],
    ),
    # numbers
    'zero axis': (one_joint('<axis xyz="0 0 0"/>'), ["'j'", 'axis is zero', 'fixed']),
    'zero axis, planar': (one_joint('<axis xyz="0 -0 0"/>', 'planar'), ["'j'", 'axis is zero']),
    'NaN axis': (one_joint('<axis xyz="nan 0 1"/>'), ["'j'", 'axis xyz', 'nan', 'finite']),
    'axis with two numbers': (one_joint('<axis xyz="0 1"/>'), ["'j'", '0 1', 'three']),
    'axis with commas': (one_joint('<axis xyz="0,0,1"/>'), ["'j'", '0,0,1', 'spaces']),
    'infinite origin': (one_joint('<origin xyz="0 inf 0"/>'), ["'j'", 'origin xyz', '0 inf 0']),
    'overflowing origin': (one_joint('<origin xyz="0 1e999 0"/>'), ["'j'", '1e999']),
    'absurd origin': (one_joint('<origin xyz="0 -1e31 0"/>'), ["'j'", '-1e31', 'at most 1e+30']),
    'four numbers in rpy': (one_joint('<origin rpy="0 0 0 1"/>'), ["'j'", 'rpy', 'three']),
    'words': (one_joint('<origin rpy="0 0 pi"/>'), ["'j'", 'pi', 'finite numbers']),
    'underscore': (one_joint('<origin xyz="0 0 1_0"/>'), ["'j'", '1_0']),
    'empty number': (one_joint('<limit lower="" upper="1"/>'), ["'j'", 'limit lower', 'finite']),
    'NaN limit': (one_joint('<limit lower="0" upper="nan"/>'), ["'j'", 'upper', 'nan']),
    'NaN velocity': (
        one_joint('<limit velocity="nan"/>', 'continuous'),
        ["'j'", 'velocity', 'nan'],
    ),
    'limits crossed': (one_joint('<limit lower="1" upper="-1"/>'), ["'j'", '1', '-1', 'above']),
    'only a negative upper limit': (one_joint('<limit upper="-1"/>'), ["'j'", 'lower limit 0']),
    'no room': (one_joint('<limit lower="inf" upper="inf"/>'), ["'j'", 'no position']),
    'negative effort': (one_joint('<limit effort="-5"/>'), ["'j'", 'effort', '-5', 'negative']),
    'bad damping': (one_joint('<dynamics damping="x"/>'), ["'j'", 'dynamics damping', 'x']),
    # mimic
    'mimic without joint': (one_joint('<mimic multiplier="2"/>'), ["'j'", '<mimic>', 'joint=']),
    'mimic of nobody': (
        one_joint('<mimic joint="ghost"/>'),
        ["'j'", "'ghost'", 'does not exist', 'correct the name'],
    ),
    'mimic of itself': (one_joint('<mimic joint="j"/>'), ['j -> j', 'mimic cycle', 'must not']),
    'mimic cycle': (
        robot(
            links('a b c d'),
            joint('j', 'a', 'b', '<mimic joint="k"/>'),
            joint('k', 'b', 'c', '<mimic joint="l"/>'),
            joint('l', 'c', 'd', '<mimic joint="k"/>'),
        ),
        ['k -> l -> k', 'mimic cycle'],
    ),
    'NaN multiplier': (
        robot(
            links('a b c'),
            joint('j', 'a', 'b'),
            joint('k', 'b', 'c', '<mimic joint="j" multiplier="nan"/>'),
        ),
        ["'k'", 'multiplier', 'nan'],
    ),
    **{
        f'mimic of a {kind} joint': (
            robot(
                links('a b c'),
                joint('j', 'a', 'b', kind=kind),
                joint('k', 'b', 'c', '<mimic joint="j"/>'),
            ),
            ["'k'", "'j'", kind, 'continuous'],
        )
        for kind in ('fixed', 'floating', 'planar')
    },
    **{
        f'{kind} joint that mimics': (
            robot(
                links('a b c'),
                joint('j', 'a', 'b'),
                joint('k', 'b', 'c', '<mimic joint="j"/>', kind),
            ),
            ["'k'", "'j'", kind, 'remove its <mimic>'],
        )
        for kind in ('floating', 'planar')
    },
}


@pytest.mark.parametrize(('source', 'fragments'), REFUSED.values(), ids=REFUSED.keys())
def test_refused(source, fragments):
    with pytest.raises(DescriptionError) as caught:
        read_urdf(source)
    message = str(caught.value)
    assert [f for f in fragments if f not in message] == [], message
    assert len(message) < 500


REFUSED_INERTIA = {
    'negative mass': (f'<mass value="-1"/>{UNIT_INERTIA}', ['-1 kg', 'negative']),
    'NaN mass': (f'<mass value="nan"/>{UNIT_INERTIA}', ['mass value', 'nan', 'finite']),
    'infinite mass': (f'<mass value="inf"/>{UNIT_INERTIA}', ['mass value', 'inf']),
    'mass without value': (f'<mass/>{UNIT_INERTIA}', ['<mass>', 'value']),
    'no mass': (UNIT_INERTIA, ['<inertial>', '<mass value', 'remove']),
    'no inertia': ('<mass value="1"/>', ['<inertial>', '<inertia ixx', 'remove']),
    'no izz': ('<mass value="1"/><inertia ixx="1" iyy="1"/>', ['<inertia>', 'izz']),
    'NaN ixy': (
        '<mass value="1"/><inertia ixx="1" ixy="nan" iyy="1" izz="1"/>',
        ['inertia ixy', 'nan'],
    ),
    'absurd mass': (f'<mass value="1e40"/>{UNIT_INERTIA}', ['mass value', '1e40', 'at most']),
    'NaN center': (f'<origin xyz="0 0 nan"/><mass value="1"/>{UNIT_INERTIA}', ['xyz', 'nan']),
}


@pytest.mark.parametrize('inertia_check', ['error', 'warn', 'ignore'])
@pytest.mark.parametrize(
    ('inner', 'fragments'), REFUSED_INERTIA.values(), ids=REFUSED_INERTIA.keys()
)
def test_unreadable_inertia_is_refused_whatever_the_check(inner, fragments, inertia_check):
    with pytest.raises(InertiaError) as caught:
        read_urdf(inertial(inner), inertia_check=inertia_check)
    message = str(caught.value)
    assert [f for f in ["link 'a'", *fragments] if f not in message] == [], message


def test_unphysical_inertia_is_selectable():
    tensor = 'ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.3"'
    flat = inertial(f'<mass value="1"/><inertia {tensor}/>')
    with pytest.raises(
        InertiaError, match=r'link a: .*triangle inequality: 0.1 \+ 0.1 < 0.3.*<inertia>'
    ):
        read_urdf(flat, inertia_check='error')
    warnings = [f for f in read_urdf(flat, inertia_check='warn').findings if f.subject == 'link a']
    assert [f.severity for f in warnings] == ['warning']
    assert read_urdf(flat).findings == read_urdf(flat, inertia_check='warn').findings
    ignored = read_urdf(flat, inertia_check='ignore')
    assert not [f for f in ignored.findings if f.subject == 'link a']
    np.testing.assert_array_equal(ignored.links[0].inertia.matrix, np.diag([0.1, 0.1, 0.3]))


def test_all_unphysical_links_are_named_at_once():
    bad = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="3"/></inertial>'
    text = robot(
        *(f'<link name="{name}">{bad}</link>' for name in 'ab'), joint('j', 'a', 'b', kind='fixed')
    )
    with pytest.raises(InertiaError, match=r'link a: .*; link b: '):
        read_urdf(text, inertia_check='error')


def test_wrong_arguments():
    with pytest.raises(ArgumentError, match=r"'maybe'.*'error', 'warn' or 'ignore'"):
        read_urdf(robot(TWO), inertia_check='maybe')
    with pytest.raises(ArgumentError, match=r'int.*URDF text or a path'):
        read_urdf(42)
    with pytest.raises(ArgumentError, match='NoneType'):
        read_urdf(None)


def test_descriptions_from_other_sources_are_checked_too():
    """`from_parts` is the gate for every reader and for hand-written models."""
    same = Joint('j', 'revolute', 'a', 'b', np.eye(4), [0, 0, 1])
    read = RobotDescription.from_parts('r', [Link('b'), Link('a')], [same])
    assert (read.root, read.links[1].name) == ('a', 'b')
    with pytest.raises(DescriptionError, match="joint 'j' has child link 'b'"):
        RobotDescription.from_parts('r', [Link('a')], [same])
    with pytest.raises(DescriptionError, match='no links'):
        RobotDescription.from_parts('r', [], [])


# --- fuzzing -------------------------------------------------------------------------------------

FUZZ = settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)


def read_or_refuse(source):
    with contextlib.suppress(ScrewDynamicsError):
        read_urdf(source)


@FUZZ
@given(st.one_of(st.text(), st.binary(), st.text().map(lambda t: f'<robot>{t}</robot>')))
def test_garbage_is_refused_by_our_errors_only(source):
    read_or_refuse(source)


VALUES = st.one_of(
    st.sampled_from(
        ['0', '1', '-1', 'nan', 'inf', '-inf', '1e999', '', 'x', '0 0 1', '0 0 0', '1 2']
    ),
    st.floats().map(repr),
    st.lists(st.floats(), min_size=3, max_size=3).map(lambda xs: ' '.join(map(repr, xs))),
)


@FUZZ
@given(st.data())
def test_mutated_robots_are_read_or_refused(data):
    """Any attribute of a valid robot replaced by any value."""
    text = (
        '<robot name="r"><link name="a"><inertial><origin xyz="0 0 1" rpy="0 1 0"/>'
        '<mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        '<link name="b"/><link name="c"/><joint name="j" type="revolute"><parent link="a"/>'
        '<child link="b"/><origin xyz="1 0 0" rpy="0 0 1"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" velocity="2" effort="3"/><dynamics damping="1" friction="1"/>'
        '</joint><joint name="k" type="prismatic"><parent link="b"/><child link="c"/>'
        '<mimic joint="j" multiplier="2" offset="1"/></joint></robot>'
    )
    pieces = text.split('"')  # odd pieces are the attribute values
    for _ in range(data.draw(st.integers(1, 3))):
        index = data.draw(st.sampled_from(range(1, len(pieces), 2)))
        words = st.sampled_from([*'abcjk', 'fixed', 'floating', 'planar', 'continuous'])
        pieces[index] = data.draw(st.one_of(VALUES, words))
    read_or_refuse('"'.join(pieces))


@pytest.mark.parametrize(
    'name',
    ['two&#10;lines', 'a&#9;tab', 'x' * 256, 'to\u202eleft', 'no\u200bwidth'],
)
@pytest.mark.parametrize('what', ['link', 'joint'])
def test_names_that_are_no_text_of_one_line_are_refused(what, name):
    """They would become lines of files and of logs."""
    links = f'<link name="{name if what == "link" else "b"}"/><link name="a"/>'
    text = (
        f'<robot name="r">{links}<joint name="{name if what == "joint" else "j"}" type="fixed">'
        f'<parent link="a"/><child link="{name if what == "link" else "b"}"/></joint></robot>'
    )
    with pytest.raises(DescriptionError, match=f'name of a <{what}> has control') as refusal:
        read_urdf(text)
    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 300


def test_names_that_are_unusual_are_names():
    for name in (
        'x' * 255,
        'Ellbogen links',
        'épaule',
        '肘',
        '$(id)',
        'a/b',
        '"quoted"'.replace('"', "'"),
    ):
        assert read_urdf(f'<robot name="r"><link name="{name}"/></robot>').root == name
