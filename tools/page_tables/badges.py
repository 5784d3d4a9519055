# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The badges of README.md, from package.xml, setup.py and the table of installation.md."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
CHARACTER = 6.6  # units of a picture, in the mean

BADGE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img"
aria-label="{name}: {value}">
<rect width="{width}" height="20" rx="3" fill="#555"/>
<path d="M{left} 0h{most}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H{left}z" fill="#2a6f97"/>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{first}" y="14">{name}</text>
<text x="{second}" y="14">{value}</text>
</g>
</svg>
"""


def license_name() -> str:
    """Return the license of package.xml."""
    return ElementTree.parse(ROOT / 'package.xml').getroot().findtext('license', '')


def pythons() -> str:
    """Return the versions of Python in the classifiers of setup.py."""
    text = (ROOT / 'setup.py').read_text(encoding='utf-8')
    (found,) = re.findall(r"Python :: 3\.\{minor\}' for minor in range\((\d+), (\d+)\)", text)
    first, end = map(int, found)
    return f'3.{first} to 3.{end - 1}'


def distributions() -> str:
    """Return the distributions of ROS 2 on which all tests run."""
    text = (ROOT / 'doc/start/installation.md').read_text(encoding='utf-8')
    found = re.findall(r'^\| (\w+) \| [^|]* \| [^|]*\ball tests \|$', text, re.MULTILINE)
    return ', '.join(name.capitalize() for name in dict.fromkeys(found))


def badge(name: str, value: Callable[[], str]) -> str:
    """Return a picture (SVG) of a name and a value."""
    text = value()
    left, right = (round(CHARACTER * len(each)) + 12 for each in (name, text))
    return BADGE.format(
        width=left + right,
        left=left,
        most=right - 3,
        first=left / 2,
        second=left + right / 2,
        name=name,
        value=text,
    )


FILES: dict[str, Callable[[], str]] = {
    'doc/pictures/badge_license.svg': partial(badge, 'license', license_name),
    'doc/pictures/badge_python.svg': partial(badge, 'Python', pythons),
    'doc/pictures/badge_ros.svg': partial(badge, 'ROS 2', distributions),
}
