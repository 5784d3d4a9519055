# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The writer of reports: one section as text, Markdown and HTML, read back."""

from __future__ import annotations

import base64
from html.parser import HTMLParser

import pytest

from screw_dynamics_ros.cli.doctor.command import main as doctor
from screw_dynamics_ros.cli.report import Section, html, markdown, text
from screw_dynamics_ros.core.description.robot_description import Finding
from support.robots import urdf_path

FINDINGS = (
    Finding('info', 'c', 'n'),
    Finding('warning', 'b', 'w', 'do'),
    Finding('error', 'a', 'e'),
)


@pytest.fixture
def sections():
    first = Section('a < b', ['one & two'], list(FINDINGS))
    first.table(('name', 'x', ''), [('a', '1.25', 'm'), ('longer', '3', 'kg')])
    return [first, Section('bare').table((), [('', 'x'), ('yy', '')])]


class Page(HTMLParser):
    """The texts and attributes of a page by element."""

    def __init__(self, page):
        super().__init__()
        self.texts, self.attributes, self._open = {}, {}, ''
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self._open = tag
        self.attributes.setdefault(tag, []).append(dict(attrs))

    def handle_data(self, data):
        if data.strip():
            self.texts.setdefault(self._open, []).append(data)


def test_text(sections):
    """Columns of minimal width, the first to the left; errors first."""
    assert text(sections).splitlines() == [
        'a < b',
        '  one & two',
        '  name       x',
        '  a       1.25   m',
        '  longer     3  kg',
        '  ERROR   a: e',
        '  WARNING b: w (do)',
        '  note    c: n',
        'bare',
        '      x',
        '  yy',
    ]


def test_markdown(sections):
    assert markdown('Title', sections, 'x.png').split('\n\n') == [
        '# Title',
        '## a < b',
        '```\none & two\nname       x\na       1.25   m\nlonger     3  kg\n```',
        '* **c: n**\n* **b: w (do)**\n* **a: e**',
        '![Title](x.png)',
        '## bare',
        '```\n    x\nyy\n```\n',
    ]
    assert '![' not in markdown('Title', sections)


def test_html(sections):
    """Escaped, with the picture inside."""
    page = Page(html('<Title>', sections, b'picture'))
    assert page.texts['h1'] == ['<Title>']
    assert page.texts['h2'] == ['a < b', 'bare']
    assert page.texts['pre'] == ['\n'.join(section.lines) for section in sections]
    assert page.texts['p'] == ['c: n', 'b: w (do)', 'a: e']
    assert [each['class'] for each in page.attributes['p']] == ['info', 'warning', 'error']
    (image,) = page.attributes['img']
    assert base64.b64decode(image['src'].removeprefix('data:image/png;base64,')) == b'picture'
    assert 'img' not in Page(html('x', sections)).attributes


def test_page_of_a_command(tmp_path, said, unusable):
    """What the command prints is on its page."""
    file = tmp_path / 'new' / 'report.html'
    out = said(doctor, urdf_path('planar_2r'), '--html', file)
    page = Page(file.read_text())
    assert page.texts['h2'][0] == out.splitlines()[0]
    for line in '\n'.join(page.texts['pre']).splitlines():
        assert f'  {line}' in out.splitlines()
    assert 'argument --html: cannot write' in unusable(
        doctor, urdf_path('planar_2r'), '--html', tmp_path
    )
