# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The table of doc/reference/doctor.md: each fault is found, and without one nothing is."""

import math
import re

from support.paths import ROOT
from support.tools import load_tool

TOOL = load_tool('page_tables.detection')
PAGE = (ROOT / 'doc' / 'reference' / 'doctor.md').read_text(encoding='utf-8')
ROW = re.compile(r'^\| ([^|]+) \| [\d.]+ \| ([\d.]+|inf) \| \w', re.MULTILINE)


def test_each_fault_is_found_in_all_trials():
    """`test_generated_pages` compares the numbers."""
    table = PAGE.partition('<!-- table: detection -->')[2].partition('<!-- end')[0]
    found = {fault: float(largest) for fault, largest in ROW.findall(table)}
    assert len(found) == 26
    assert all(map(math.isfinite, found.values()))
    for joint in range(1, 8):
        assert f'reversed efforts of joint {joint}, by `identify`' in found


def test_without_a_fault_nothing_is_found():
    assert set(TOOL.paths_until_velocities(1.0)) == {TOOL.NEVER}
    for kind in 'swerve', 'mecanum':
        assert set(TOOL.paths_until_wheels(kind, range(4), (1, 1, 1, 1))) == {TOOL.NEVER}


def test_a_mirror_image_of_a_mecanum_platform_is_not_found():
    """As the page states: its motion is possible."""
    assert set(TOOL.paths_until_wheels('mecanum', (1, 0, 3, 2), (1, 1, 1, 1))) == {TOOL.NEVER}
