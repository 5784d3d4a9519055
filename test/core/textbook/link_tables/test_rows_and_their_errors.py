# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rows of link tables: screws of errors by differences, doubts from both sides, refusals."""

from dataclasses import fields, replace

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import DescriptionError
from screw_dynamics_ros.core.kinematics.link_table import LinkTable
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.textbook.link_tables.denavit_hartenberg import (
    NEARLY_PARALLEL,
    ModifiedRow,
    StandardRow,
    modified,
    standard,
)
from screw_dynamics_ros.core.textbook.link_tables.hayati_roberts import (
    ContinuousRow,
    HayatiRobertsRow,
    automatic,
)

ROWS = [
    StandardRow('revolute', 0.3, -0.2, 0.5, 1.1),
    ModifiedRow('revolute', 0.3, -0.2, 0.5, 1.1),
    HayatiRobertsRow('revolute', 0.4, 0.6, -0.3, 0.5, 0.7),
    ContinuousRow('revolute', 0.3, -0.5, 0.6, 0.2, 0.4),
    ContinuousRow('revolute', 0.3, -0.5, 0.6, 0.2, 0.4, down=True),
]


def parameters(row):
    return [each.name for each in fields(row) if each.name not in ('joint', 'down')]


@pytest.mark.parametrize('row', ROWS, ids=lambda row: type(row).__name__)
def test_screws_of_errors_are_derivatives(row):
    """Of both parts, each seen from the frame after it; each parameter is in one of them."""
    h, found = 1e-6, []
    for part, screws in zip(('before', 'after'), row.error_screws):
        home = se3.inverse(getattr(row, part))
        for name, screw in screws.items():
            value = getattr(row, name)
            ends = [
                se3.log(home @ getattr(replace(row, **{name: value + step}), part))
                for step in (-h, h)
            ]
            np.testing.assert_allclose(screw, (ends[1] - ends[0]) / (2 * h), atol=1e-9)
            found.append(name)
    assert sorted(found) == sorted(parameters(row))


@pytest.mark.parametrize('row', ROWS, ids=lambda row: type(row).__name__)
def test_rows_before_and_after_their_joint(row):
    """Rz(q) of a revolute joint, Tz(q) of a prismatic one, commute with what is before."""
    for joint, screw in (('revolute', np.eye(6)[2]), ('prismatic', np.eye(6)[5])):
        own = replace(row, joint=joint)
        expected = own.before @ se3.exp(0.7 * screw) @ own.after
        np.testing.assert_allclose(own.transform(0.7), expected, atol=1e-12)


@pytest.mark.parametrize('kind', [StandardRow, ModifiedRow])
def test_nearly_parallel_axes_are_in_doubt(kind):
    """Not exactly parallel ones, nor those beyond the angle; antiparallel ones, too."""
    row = kind('revolute', d=0.2, a=-0.5)
    for alpha in (0.0, 1e-16, 1.01 * NEARLY_PARALLEL, np.pi / 2):
        assert replace(row, alpha=alpha).doubt == ''
    for alpha in (2e-15, 0.99 * NEARLY_PARALLEL, np.pi - 1e-3, -1e-3):
        assert 'the common normal, here at d = 0.2 m' in replace(row, alpha=alpha).doubt
    assert replace(row, alpha=1e-3).doubt == (
        'its axis and the next one are parallel up to 0.001 rad; the common normal, here at '
        'd = 0.2 m, moves 500 m if one rotates as much'
    )


def test_nearly_perpendicular_axes_are_in_doubt():
    for share, is_doubted in ((0.99, True), (1.01, False)):
        angle = np.arccos(share * NEARLY_PARALLEL)
        half = np.arccos(np.sqrt(share * NEARLY_PARALLEL))
        for row in (
            HayatiRobertsRow('revolute', gamma=angle),
            HayatiRobertsRow('revolute', beta=np.pi - angle),
            HayatiRobertsRow('revolute', gamma=half, beta=half),
            ContinuousRow('revolute', bx=np.sin(angle)),
            ContinuousRow('revolute', by=-np.sin(angle), down=True),
        ):
            assert bool(row.doubt) is is_doubted
    text = HayatiRobertsRow('revolute', gamma=np.arccos(1e-3)).doubt
    assert text.startswith('the next axis is perpendicular to it up to 0.001 rad and intersects')


def test_the_convention_that_fits():
    """Hayati and Roberts' for nearly parallel axes, Denavit and Hartenberg's for all others."""
    p = np.array([0.3, 0.2, 0.1])
    for share, kind in ((0.99, HayatiRobertsRow), (1.01, StandardRow)):
        for direction in (1.0, -1.0):
            tilt = share * NEARLY_PARALLEL
            e = np.array([0.6 * tilt, 0.8 * tilt, direction * np.sqrt(1.0 - tilt**2)])
            assert type(automatic('revolute', e, p)) is kind


@pytest.mark.parametrize('fit', [HayatiRobertsRow.fit, ContinuousRow.fit])
def test_axes_that_never_meet_the_plane(fit):
    with pytest.raises(DescriptionError, match=r'never meets its X-Y plane; use StandardRow'):
        fit('revolute', np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]))


@pytest.mark.parametrize('fit', [StandardRow.fit, HayatiRobertsRow.fit, ContinuousRow.fit])
def test_axes_without_a_point_pass_the_origin(fit):
    """Of a prismatic joint, whose place does not matter."""
    e = np.array([0.1, -0.2, np.sqrt(0.95)])
    row = fit('prismatic', e, None)
    C = row.transform(0.0)
    np.testing.assert_allclose(C[:3, 2], e, atol=1e-12)
    np.testing.assert_allclose(C[:3, 3], 0.0, atol=1e-12)


def test_continuous_rows_without_derivatives():
    """The screw of an axis in the X-Y plane, or along -Z, is not defined."""
    for row in (ContinuousRow('revolute', bx=1.0), ContinuousRow('revolute', down=True)):
        with pytest.raises(DescriptionError, match='has no derivative by bx and by; use'):
            _ = row.error_screws
    np.testing.assert_array_equal(
        ContinuousRow('revolute', lx=1.0, ly=2.0, down=True).after,
        se3.pose(np.diag([1.0, -1.0, -1.0]), [1.0, 2.0, 0.0]),
    )
    with pytest.raises(DescriptionError, match=r'\(0.8, 0.7\) is longer than 1; they are two'):
        ContinuousRow('revolute', 0.8, 0.7)
    ContinuousRow('revolute', 0.6, 0.8)


def test_tables_of_another_convention():
    table = LinkTable([ROWS[0], ROWS[2]])
    for change, kind in ((standard, 'ModifiedRow'), (modified, 'StandardRow')):
        with pytest.raises(DescriptionError, match=f'all must be {kind}'):
            change(table)
    table = LinkTable([ROWS[0], replace(ROWS[0], joint='prismatic', theta=-0.7)])
    q = np.array([0.4, 0.3])

    def pose(x):
        C = x.base
        for row, angle in zip(x.rows, q):
            C = C @ row.transform(angle)
        return C @ x.tool

    np.testing.assert_allclose(pose(modified(table)), pose(table), atol=1e-12)
    np.testing.assert_allclose(pose(standard(modified(table))), pose(table), atol=1e-12)
