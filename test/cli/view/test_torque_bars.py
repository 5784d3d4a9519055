# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bars of torques as SVG: lengths, places, numbers and marks, read by another program."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from screw_dynamics_ros.cli.view.state import localized_contacts
from screw_dynamics_ros.cli.view.torque_bars import COLORS, bars, short


def drawn(names, limits, **torques):
    """Return the elements of an SVG."""
    arrays = {name: np.atleast_1d(np.array(x, dtype=float)) for name, x in torques.items()}
    return ElementTree.fromstring(bars(names, arrays, np.atleast_1d(np.array(limits, dtype=float))))


def rectangles(root):
    """Return {term: (left end, right end)} of the bars below the legend."""
    terms = {color: name for name, color in COLORS.items()}
    return {
        terms[each.get('fill')]: (
            float(each.get('x')),
            float(each.get('x')) + float(each.get('width')),
        )
        for each in root.iter('rect')
        if each.get('fill') in terms and float(each.get('y')) > 5.0
    }


def scale_of(root):
    """Return left and right end of the scale of the first row."""
    frame = next(each for each in root.iter('rect') if each.get('opacity'))
    return float(frame.get('x')), float(frame.get('x')) + float(frame.get('width'))


def opacity(root):
    """Return that of the frame of the first row."""
    return next(float(each.get('opacity')) for each in root.iter('rect') if each.get('opacity'))


def place(path):
    """Return where a vertical line is."""
    return float(re.match(r'M([\d.]+) ', path.get('d')).group(1))


def test_terms_are_stacked_on_both_sides_of_zero():
    """In the order of the terms, to scale: the limits are the ends."""
    root = drawn(['j'], 20.0, friction=-2.0, payload=4.0, gravity=8.0, inertia=-5.0,
                 external=-10.0, measured=6.0)  # fmt: skip
    left, right = scale_of(root)
    middle, unit = (left + right) / 2, (right - left) / 40.0
    found = rectangles(root)
    expected = {'gravity': (0, 8), 'payload': (8, 12), 'inertia': (-5, 0), 'friction': (-7, -5),
                'external': (-10, 0)}  # fmt: skip
    assert found.keys() == expected.keys()
    for name, ends in expected.items():
        assert found[name] == pytest.approx([middle + unit * x for x in ends], abs=0.11), name
    *_, measured, zero = (place(path) for path in root.iter('path'))
    assert (zero, measured) == pytest.approx((middle, middle + 6.0 * unit), abs=0.06)
    texts = [(each.text, each.get('font-weight')) for each in root.iter('text')]
    assert texts[-2:] == [('5.0', None), ('j', None)]  # the sum of the terms
    legend = ['gravity', 'inertia', 'friction', 'payload', 'external', 'measured']
    assert [text for text, _ in texts[:-2]] == legend
    heights = {each.get('fill'): float(each.get('height')) for each in list(root.iter('rect'))[5:]}
    assert heights[COLORS['external']] < heights[COLORS['gravity']]


@pytest.mark.parametrize(
    ('torque', 'bold'), [(20.0, None), (20.5, 'bold'), (-20.0, None), (-20.5, 'bold')]
)
def test_a_torque_beyond_the_limit(torque, bold):
    """Is marked; its bar and its line end at the scale."""
    root = drawn(['j'], 20.0, gravity=torque, measured=3.0 * torque)
    number = list(root.iter('text'))[-2]
    assert (float(number.text), number.get('font-weight')) == (torque, bold)
    left, right = scale_of(root)
    end = right if torque > 0.0 else left
    assert end == pytest.approx(rectangles(root)['gravity'][torque > 0.0], abs=0.11)
    *_, measured, _ = (place(path) for path in root.iter('path'))
    assert measured == pytest.approx(end, abs=0.06)


@pytest.mark.parametrize('limit', [0.0, np.inf])
@pytest.mark.parametrize(('largest', 'end'), [(-8.0, 10.0), (0.5, 1.0)])
def test_without_a_limit_the_scale_ends_beyond_the_largest_torque(limit, largest, end):
    """By a quarter, and not below one."""
    root = drawn(['j'], limit, gravity=largest, inertia=0.25, external=np.nan)
    left, right = scale_of(root)
    found = rectangles(root)
    a, b = found['gravity']
    assert (b - a) == pytest.approx(abs(largest) / end * (right - left) / 2, abs=0.11)
    assert 'external' not in found
    assert opacity(root) < opacity(drawn(['j'], 5.0, gravity=1.0))


def test_rows_of_joints():
    """Below each other; at most forty, of long names the end."""
    names = [f'joint_{k}' for k in range(50)]
    ones = np.arange(50.0)
    root = drawn(names, np.full(50, 100.0), gravity=ones)
    texts = [each.text for each in root.iter('text')][1:]
    assert texts[1::2] == names[:40]
    assert [float(x) for x in texts[::2]] == list(range(40))
    tops = [float(x.get('y')) for x in root.iter('rect') if x.get('opacity')]
    assert np.ptp(np.diff(tops)) == 0.0
    assert np.diff(tops)[0] > 13.0  # a bar, a thin bar and space
    height = float(root.get('viewBox').split()[3])
    assert tops[-1] + 13.0 < height < tops[-1] + 30.0
    assert short('x' * 15) == 'x' * 15
    assert short('left_arm_shoulder_pan') == '…m_shoulder_pan'
    assert [each.text for each in drawn(['j'], 1.0, gravity=-0.04).iter('text')][1] == '0.0'


def test_contacts_in_the_frame_of_a_link():
    """The longest name at the end of a frame with a prefix, if point and wrench have the frame."""
    links, point = ['hand', 'left_hand', 'arm'], np.array([1.0, 2.0, 3.0])
    wrench = np.arange(6.0)
    (found,) = localized_contacts(links, ('r1/left_hand', point), ('r1/left_hand', wrench))
    assert (found.link, found.force.tolist()) == ('left_hand', [3.0, 4.0, 5.0])
    assert found.point is point
    assert localized_contacts(links, ('hand', point), ('arm', wrench)) == ()
    assert localized_contacts(links, ('foot', point), ('foot', wrench)) == ()
