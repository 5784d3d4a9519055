# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Physical findings: inertias no body has, joints that move no mass, implausible units, total mass.

The criterion for inertias is D-17: the Binet matrix theta = 1/2 tr(I) 1 - I of a rigid body is
positive semidefinite, which is the triangle inequality of its principal moments.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import (
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
    RobotDescription,
    physical_findings,
    read_urdf,
)
from screw_dynamics_ros.core.description.body_inertia import TRIANGLE_TOLERANCE
from support.robots import robot_id, sampled_robots

SOLID = Inertia(1.0, [0, 0, 0], np.diag([0.01, 0.01, 0.01]))
NOTHING = Inertia(0.0, [0, 0, 0], np.zeros((3, 3)))
POINT_ON_AXIS = Inertia(1.0, [0, 0, 0.3], np.zeros((3, 3)))
POINT_AT_ORIGIN = Inertia(1.0, [0, 0, 0], np.zeros((3, 3)))
POINT_OFF_AXIS = Inertia(1.0, [0.3, 0, 0], np.zeros((3, 3)))
ROD_BESIDE_AXIS = Inertia(1.0, [0.3, 0, 0], np.diag([0.1, 0.1, 0.0]))
ROD_ALONG_AXIS = Inertia(1.0, [0, 0, 0.3], np.diag([0.1, 0.1, 0.0]))


def single(inertia):
    return RobotDescription.from_parts('r', [Link('a', inertia)], [], check_inertias=False)


def chain(*bodies, lengths=0.2, mimics=()):
    """Links l0, l1, ... with joints j1, j2, ... of the given (type, inertia), all about z."""
    parts = [Link('l0', SOLID)]
    joints = []
    mimics = dict(mimics)
    for i, (kind, inertia) in enumerate(bodies, start=1):
        origin = np.eye(4)
        origin[0, 3] = lengths
        parts.append(Link(f'l{i}', inertia))
        mimic = Mimic(mimics[f'j{i}'], -1.0) if f'j{i}' in mimics else None
        joints.append(Joint(f'j{i}', kind, f'l{i - 1}', f'l{i}', origin, [0, 0, 1], mimic=mimic))
    return RobotDescription.from_parts('r', parts, joints, check_inertias=False)


def subjects(description, severity):
    return [f.subject for f in physical_findings(description) if f.severity == severity]


def only(description, severity):
    found = [f for f in physical_findings(description) if f.severity == severity]
    assert len(found) == 1, found
    return found[0]


# --- inertias no body has (D-17) -----------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_no_cloud_of_masses_is_ever_called_unphysical(seed, count):
    """Rods (two points, where the inequality is an equality), plates and bodies, at any scale."""
    rng = np.random.default_rng(seed)
    masses, points = rng.uniform(0.1, 1, count), rng.normal(size=(count, 3))
    points *= 10.0 ** rng.uniform(-4, 0) * 0.2
    points -= masses @ points / masses.sum()
    tensor = sum(
        m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True)
    )
    assert subjects(single(Inertia(masses.sum(), [0, 0, 0], tensor)), 'error') == []


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.floats(1e-3, 1.0), min_size=2, max_size=2),
    st.floats(1e-4, 1.0),
)
def test_every_broken_triangle_is_found_in_any_axes(seed, two, excess):
    """Binet's matrix (D-17) is the independent criterion."""
    a, b = two
    turn = Rotation.random(random_state=np.random.default_rng(seed)).as_matrix()
    tensor = turn @ np.diag([a, b, (a + b) * (1 + excess)]) @ turn.T
    tensor = 0.5 * (tensor + tensor.T)
    assert np.linalg.eigvalsh(0.5 * np.trace(tensor) * np.eye(3) - tensor)[0] < 0
    assert subjects(single(Inertia(10.0, [0, 0, 0], tensor)), 'error') == ['link a']


def test_triangle_message_has_the_numbers_and_the_remedy():
    finding = only(single(Inertia(2.0, [0, 0, 0], np.diag([0.5, 0.1, 0.2]))), 'error')
    assert 'principal moments 0.1, 0.2, 0.5 kg m^2' in finding.message
    assert '0.1 + 0.2 < 0.5' in finding.message
    assert 'about the center of mass' in finding.remedy
    assert str(finding) == f'link a: {finding.message} ({finding.remedy})'


def test_triangle_holds_for_off_diagonal_tensors_too():
    """All diagonal entries are equal, yet no body has this matrix."""
    tensor = np.full((3, 3), 0.1) + np.diag([1e-9, 1e-9, 1e-9])
    assert 'triangle' in only(single(Inertia(1.0, [0, 0, 0], tensor)), 'error').message


def test_not_positive_semidefinite():
    tensor = np.diag([0.1, 0.1, 0.1])
    tensor[0, 1] = tensor[1, 0] = 0.2
    finding = only(single(Inertia(1.0, [0, 0, 0], tensor)), 'error')
    assert 'not positive semidefinite' in finding.message
    assert '-0.1' in finding.message


def test_inertia_without_mass():
    finding = only(single(Inertia(0.0, [0, 0, 0], np.diag([0.1, 0.1, 0.1]))), 'error')
    assert 'no mass' in finding.message
    assert 'give it its mass' in finding.remedy


@pytest.mark.parametrize('excess', [-0.5, 0.5])
def test_rounding_in_the_file_is_tolerated_up_to_the_tolerance(excess):
    c = 0.2 * (1 + TRIANGLE_TOLERANCE * (1 + excess))
    found = subjects(single(Inertia(0.1, [0, 0, 0], np.diag([0.1, 0.1, c]))), 'error')
    assert found == (['link a'] if excess > 0 else [])


def test_residue_of_an_exporter_is_a_point_mass():
    """iCub's links carry moments of -1e-20 kg m^2."""
    tensor = np.diag([-1e-20, 0, 3e-18])
    assert subjects(single(Inertia(0.5, [0, 0, 0], tensor)), 'error') == []


@pytest.mark.parametrize('inertia', [None, NOTHING, SOLID, POINT_OFF_AXIS, ROD_ALONG_AXIS])
def test_what_is_physical(inertia):
    assert subjects(single(inertia), 'error') == subjects(single(inertia), 'warning') == []


# --- motion without mass -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('kind', 'inertia', 'singular'),
    [
        (kind, inertia, kind != 'fixed')
        for kind in ('revolute', 'continuous', 'prismatic', 'floating', 'planar', 'fixed')
        for inertia in (None, NOTHING)
    ]
    + [
        ('revolute', POINT_ON_AXIS, True),
        ('revolute', POINT_AT_ORIGIN, True),
        ('planar', POINT_AT_ORIGIN, True),
        ('floating', POINT_AT_ORIGIN, True),
        ('prismatic', POINT_AT_ORIGIN, False),
        ('revolute', ROD_ALONG_AXIS, True),
        ('revolute', ROD_BESIDE_AXIS, False),
        ('planar', POINT_ON_AXIS, True),
        ('planar', POINT_OFF_AXIS, True),
        ('planar', ROD_BESIDE_AXIS, True),
        ('planar', SOLID, False),
        ('floating', POINT_OFF_AXIS, True),
        ('floating', ROD_BESIDE_AXIS, True),
        ('floating', ROD_ALONG_AXIS, True),
        ('prismatic', POINT_ON_AXIS, False),
        ('revolute', POINT_OFF_AXIS, False),
        ('floating', SOLID, False),
        ('revolute', SOLID, False),
    ],
)
def test_massless_tip(kind, inertia, singular):
    robot = chain(('revolute', SOLID), (kind, inertia))
    if not singular:
        assert subjects(robot, 'warning') == []
        return
    finding = only(robot, 'warning')
    assert finding.subject == 'joint j2'
    assert 'forward dynamics is singular' in finding.message
    assert "link 'l2'" in finding.remedy


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=3).filter(lambda v: np.linalg.norm(v) > 0.1))
def test_point_mass_on_a_skew_axis(direction):
    """Rounding leaves a residue of inertia about the axis; it is still nothing."""
    axis = np.array(direction) / np.linalg.norm(direction)
    point = Inertia(1.0, 0.3 * axis, np.zeros((3, 3)))
    tip = Joint('j', 'revolute', 'a', 'b', np.eye(4), axis)
    parts = [Link('base'), Link('a', SOLID), Link('b', point)]
    base = Joint('i', 'prismatic', 'base', 'a', np.eye(4), [0, 0, 1])
    robot = RobotDescription.from_parts('r', parts, [base, tip])
    assert subjects(robot, 'warning') == ['joint j']


def test_massless_links_between_massive_ones_are_harmless():
    """A three-axis wrist or a planar base modeled by massless links."""
    robot = chain(('prismatic', None), ('prismatic', None), ('revolute', SOLID))
    assert subjects(robot, 'warning') == []
    info = next(f for f in physical_findings(robot) if 'moving links' in f.message)
    assert 'l1, l2' in info.message
    assert info.severity == 'info'


def test_fixed_links_lend_their_mass():
    assert subjects(chain(('revolute', None), ('fixed', POINT_OFF_AXIS)), 'warning') == []
    # at the frame of the fixed link, 0.2 m off the joint axis
    on_frame = Inertia(1.0, [0, 0, 0], np.zeros((3, 3)))
    assert subjects(chain(('revolute', None), ('fixed', on_frame)), 'warning') == []
    assert subjects(chain(('revolute', None), ('fixed', None)), 'warning') == ['robot r']


def test_everything_beyond_the_last_mass_is_reported():
    robot = chain(('revolute', SOLID), ('revolute', None), ('prismatic', None))
    assert subjects(robot, 'warning') == ['joint j2', 'joint j3']


def test_mimic_joints_count_with_the_joint_they_follow():
    """M_r = G^T M G: a massless leader with a massive follower is not singular, nor the reverse."""
    follow = [('j3', 'j2')]
    heavy_follower = chain(
        ('revolute', SOLID), ('revolute', None), ('revolute', SOLID), mimics=follow
    )
    assert subjects(heavy_follower, 'warning') == []
    light_follower = chain(
        ('revolute', SOLID), ('revolute', SOLID), ('revolute', None), mimics=follow
    )
    assert subjects(light_follower, 'warning') == []
    both_light = chain(('revolute', SOLID), ('revolute', None), ('revolute', None), mimics=follow)
    assert subjects(both_light, 'warning') == ['joint j2']


def test_robot_without_any_moving_mass_is_one_finding():
    finding = only(chain(('revolute', None), ('revolute', NOTHING)), 'warning')
    assert finding.subject == 'robot r'
    assert 'singular' in finding.message
    assert 'kinematics is not affected' in finding.remedy


def test_one_rigid_object_has_nothing_to_move():
    assert subjects(chain(('fixed', None)), 'warning') == []


# --- units ---------------------------------------------------------------------------------------


def test_center_of_mass_in_millimetres():
    robot = chain(('revolute', Inertia(1.0, [12.0, 0, 35.0], SOLID.matrix)))
    finding = only(robot, 'warning')
    assert finding.subject == 'link l1'
    assert '37 m' in finding.message
    assert '0.2 m' in finding.message
    assert 'units' in finding.remedy


def test_inertia_in_gram_square_millimetres():
    robot = chain(('revolute', Inertia(1.0, [0.1, 0, 0], SOLID.matrix * 1e9)))
    finding = only(robot, 'warning')
    assert '3162 m' in finding.message
    assert 'kg m^2' in finding.remedy


@pytest.mark.parametrize(('length', 'bound'), [(0.2, 1.0), (0.999, 1.0), (1.5, 1.5)])
def test_masses_are_far_beyond_the_length_of_the_robot(length, bound):
    """Or beyond 1 m; the numbers of the message are distance, moment, mass and length."""
    for factor, expected in ((0.999, []), (1.001, ['link l1'])):
        com = Inertia(2.0, [0.6 * factor * bound, 0, 0.8 * factor * bound], SOLID.matrix)
        wide = Inertia(2.0, [0, 0, 0], 2.0 * (factor * bound) ** 2 * np.eye(3))
        for inertia, what in ((com, 'center of mass is'), (wide, 'radius of gyration is')):
            robot = chain(('revolute', inertia), lengths=length)
            assert subjects(robot, 'warning') == expected
            if expected:
                message = only(robot, 'warning').message
                assert f'{what} {1.001 * bound:.4g} m' in message
                assert f'at most {length:.4g} m long' in message
        moment = 2.0 * (1.001 * bound) ** 2
    assert f'({moment:.4g} kg m^2 for 2 kg)' in message
    light = Inertia(0.0, [50.0, 0, 0], np.zeros((3, 3)))
    assert 'l1' not in str(subjects(chain(('fixed', light)), 'warning'))


def test_a_screw_is_resisted_by_what_it_advances():
    """A point on the axis resists a helical joint as h^2 m, a revolute one not at all."""
    for pitch, expected in ((0.1, []), (1e-7, ['joint j'])):
        joint = Joint('j', 'helical', 'a', 'b', np.eye(4), [0, 0, 1], pitch=pitch)
        base = Joint('i', 'prismatic', 'base', 'a', np.eye(4), [0, 0, 1])
        links = [Link('base'), Link('a', SOLID), Link('b', POINT_ON_AXIS)]
        robot = RobotDescription.from_parts('r', links, [base, joint])
        assert subjects(robot, 'warning') == expected


def test_long_robots_may_have_far_masses():
    """A crane: the bound grows with the robot."""
    far = Inertia(1.0, [9.0, 0, 0], SOLID.matrix)
    assert subjects(chain(('revolute', far), lengths=10.0), 'warning') == []
    assert subjects(chain(('revolute', far), lengths=2.0), 'warning') == ['link l1']


# --- overview ------------------------------------------------------------------------------------


def test_overview_says_total_mass_and_links_without_inertia():
    robot = chain(('revolute', SOLID), ('fixed', None), ('fixed', NOTHING))
    messages = [f.message for f in physical_findings(robot)]
    assert messages == ['total mass 2 kg, in 2 of 4 links', 'links with no inertia: l2, l3']


def test_mass_of_the_root_link_counts():
    """Other readers drop it with a warning; here it is part of the model, without any remark."""
    assert [f.message for f in physical_findings(single(SOLID))] == [
        'total mass 1 kg, in 1 of 1 links'
    ]


@pytest.mark.parametrize(
    ('kind', 'lower', 'upper', 'remedy'),
    [
        ('revolute', 0.0, 0.0, 'type="continuous"'),
        ('revolute', -0.0, 0.0, 'make it fixed'),
        ('prismatic', 0.3, 0.3, 'give it its range'),
        ('revolute', 0.0, 1e-9, None),
        ('continuous', -np.inf, np.inf, None),
    ],
)
def test_a_joint_with_one_position(kind, lower, upper, remedy):
    joint = Joint('j', kind, 'a', 'b', np.eye(4), [0, 0, 1], Limits(lower, upper))
    robot = RobotDescription.from_parts('r', [Link('a'), Link('b', SOLID)], [joint])
    found = [f for f in physical_findings(robot) if 'cannot move' in f.message]
    assert [f.subject for f in found] == ([] if remedy is None else ['joint j'])
    for finding in found:
        assert finding.severity == 'warning'
        assert remedy in finding.remedy
        assert 'stays a joint of the model' in finding.message
        assert Robot(robot).joint_names == ('j',)


def test_errors_come_first():
    flat = Inertia(1.0, [0, 0, 0], np.diag([0.1, 0.1, 0.5]))
    robot = chain(('revolute', flat), ('revolute', None))
    order = [f.severity for f in physical_findings(robot)]
    assert order == ['error', 'warning', *['info'] * (len(order) - 2)]


@pytest.mark.parametrize('path', sampled_robots(), ids=robot_id)
def test_forward_dynamics_is_singular_exactly_where_a_warning_says_so(path):
    """Pinocchio's mass matrix at a random configuration as the judge (mimic joints independent)."""
    pin = pytest.importorskip('pinocchio')
    description = read_urdf(path)
    free = RobotDescription.from_parts(
        description.name,
        description.links,
        [
            Joint(j.name, j.type, j.parent, j.child, j.origin, j.axis, j.limits)
            for j in description.joints
        ],
        check_inertias=False,
    )
    found = [f for f in physical_findings(free) if 'singular' in f.message]
    model = pin.buildModelFromUrdf(str(path), mimic=False)
    q = pin.integrate(model, pin.neutral(model), np.random.default_rng(7).uniform(-1, 1, model.nv))
    mass = pin.crba(model, model.createData(), q)
    empty = {
        model.names[i]
        for i in range(1, model.njoints)
        if mass[model.joints[i].idx_v, model.joints[i].idx_v] < 1e-15
    }
    assert {f.subject for f in found} == {f'joint {name}' for name in empty}
