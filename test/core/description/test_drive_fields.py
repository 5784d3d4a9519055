# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fields of drives: laws beside their formulas, limits, defaults, and what joints cannot have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, DescriptionError, Drive, UnknownNameError
from screw_dynamics_ros.core.description import (
    Inertia,
    Joint,
    Link,
    RobotDescription,
)
from screw_dynamics_ros.core.description.drives import (
    DRIVE_FIELDS,
    NO_DRIVE,
    drive_of,
    drives_of,
)
from screw_dynamics_ros.core.description.motor_coupling import motor_coupling
from support.drives import two_masses
from support.models import random_description

NAN, INF = np.nan, np.inf
RATE = np.linspace(-0.7, 0.7, 57)

#: Of friction: parts alone, together, and a breakaway that is no more than the rest.
FRICTION = [
    Drive(),
    Drive(damping=0.3),
    Drive(damping=0.2, coulomb=0.5, smoothing=0.05),
    Drive(breakaway=0.4, stribeck_speed=0.2, smoothing=0.03),
    Drive(damping=0.2, coulomb=0.5, breakaway=0.9, stribeck_speed=0.3, smoothing=0.05),
    Drive(coulomb=0.5, breakaway=0.5, smoothing=0.1),
]


def law(drive: Drive, v: np.ndarray) -> np.ndarray:
    """Return d v + (F_c + (F_s - F_c) / (1 + (v / v_s)^2)) v / sqrt(v^2 + eps^2)."""
    static = drive.coulomb if drive.breakaway is None else drive.breakaway
    level = drive.coulomb + (static - drive.coulomb) / (1.0 + (v / drive.stribeck_speed) ** 2)
    return drive.damping * v + level * v / np.sqrt(v**2 + drive.smoothing**2)


@pytest.mark.parametrize('drive', FRICTION)
def test_friction(drive):
    """By its formula; derivatives are arrays also of constants."""
    np.testing.assert_allclose(drive.friction(RATE), law(drive, RATE), atol=1e-15)
    for function in (drive.friction_slope, drive.friction_curvature):
        assert np.shape(function(RATE)) == RATE.shape


def test_share_of_the_load():
    drive = Drive(load_friction=0.2, smoothing=0.05)
    share = drive.load_share(RATE)
    np.testing.assert_allclose(share, 0.2 * RATE / np.sqrt(RATE**2 + 0.05**2), atol=1e-16)
    assert drive.load_share(100.0) == pytest.approx(0.2)


def test_reflected_inertia():
    """G^2 J and the armature; a rotor that moves otherwise is not part of it."""
    drive = Drive(rotor_inertia=2e-5, gear_ratio=-150.0, armature=0.05)
    assert drive.motor_inertia == pytest.approx(0.45)
    assert drive.reflected_inertia == pytest.approx(0.5)
    assert replace(drive, rotor_axis=(0, 0, 1)).reflected_inertia == 0.05
    coupled = replace(drive, coupled_joints=('q1',), coupling_ratios=(2.0,))
    assert coupled.reflected_inertia == 0.05
    assert coupled.motor_inertia == pytest.approx(0.45)
    assert coupled.ratios == {'q1': 2.0}
    assert drive.ratios == {}


def test_springs_of_drives():
    pivots = {'counterbalance_on_parent': (1, 0, 0), 'counterbalance_on_child': [0, 2, 0]}
    beside = Drive(**pivots, counterbalance_stiffness=5.0)
    assert beside.has_spring
    assert beside.counterbalance_on_child == (0.0, 2.0, 0.0)
    assert Drive(spring_stiffness=1e-300).has_spring
    assert not Drive(spring_position=0.3, coulomb=1.0).has_spring
    assert Drive() == NO_DRIVE
    axis = Drive(rotor_axis=(0, 3, 4), carrier='link').rotor_axis
    np.testing.assert_allclose(axis, (0.0, 0.6, 0.8))
    assert all(type(x) is float for x in axis)


SPRING = {
    'counterbalance_on_parent': (1, 0, 0),
    'counterbalance_on_child': (1, 1, 0),
    'counterbalance_preload': 5.0,
}
COUPLED = {'coupled_joints': ('q2',), 'coupling_ratios': (1.0,)}


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        *(({name: -1e-9}, rf'{name} is -1e-09; it must not be negative')
          for name in ('rotor_inertia', 'armature', 'damping', 'coulomb', 'load_friction',
                       'spring_stiffness')),
        *(({**COUPLED, name: -1e-9}, rf'{name} is -1e-09; it must not be negative')
          for name in ('motor_damping', 'motor_coulomb')),
        *(({name: bad}, rf'{name} is {bad!r}; give a finite number')
          for name in ('rotor_inertia', 'gear_ratio', 'armature', 'damping', 'coulomb',
                       'stribeck_speed', 'smoothing', 'motor_damping', 'motor_coulomb',
                       'load_friction', 'spring_stiffness', 'spring_position',
                       'counterbalance_preload', 'counterbalance_stiffness')
          for bad in (NAN, INF, -INF, 'much', None)),
        *(({name: bad}, rf'{name} is {bad}; it must be positive')
          for name in ('stribeck_speed', 'smoothing') for bad in (0.0, -1.0)),
        ({'gear_ratio': 0.0}, 'gear_ratio is 0'),
        ({'load_friction': 1.0}, r'load_friction is 1\.0; give less than 1$'),
        *(({'coulomb': 1.0, 'coulomb_asymmetry': bad},
           rf'coulomb_asymmetry is {bad}; its size must not exceed coulomb, 1\.0$')
          for bad in (-1.001, 1.001)),
        ({'coulomb': 1.0, 'breakaway': 0.999}, r'breakaway is 0\.999; .* at least coulomb, 1\.0$'),
        *(({'breakaway': bad}, rf'breakaway is {bad!r}; give a finite number')
          for bad in (NAN, INF, 'much')),
        *(({'rotor_axis': bad}, r'rotor_axis is .*; give three numbers, not all zero')
          for bad in ((0, 0, 0), 'z', (0, 1), (0, NAN, 1), (0, INF, 1), 3.0)),
        ({'carrier': 'one'}, "carrier is 'one' but there is no rotor_axis"),
        ({'coupled_joints': ('q2',)}, '0 coupling_ratios for the coupled_joints q2; '),
        ({'coupling_ratios': (1.0,)}, r'1 coupling_ratios for the coupled_joints \(none\)'),
        ({'coupled_joints': ('a', 'a'), 'coupling_ratios': (1.0, 2.0)}, 'each joint once'),
        *(({'coupled_joints': ('a', 'b'), 'coupling_ratios': (1.0, bad)},
           rf"coupling_ratio of 'b' is {bad!r}") for bad in (0.0, NAN, INF, 'much')),
        ({**COUPLED, 'rotor_axis': (0, 0, 1)}, 'has no rotor_axis'),
        ({'motor_damping': 1.0}, 'those of a motor with coupled_joints'),
        ({'motor_coulomb': 1.0}, 'those of a motor with coupled_joints'),
        ({'counterbalance_preload': 5.0}, 'on_parent and .*on_child.*given are only the forces$'),
        ({'counterbalance_stiffness': 5.0}, 'given are only the forces$'),
        *(({**SPRING, name: None}, f'given are only {other}$') for name, other in (
            ('counterbalance_on_parent', 'counterbalance_on_child'),
            ('counterbalance_on_child', 'counterbalance_on_parent'))),
        ({'counterbalance_on_child': (1, 0, 0)}, 'given are only counterbalance_on_child$'),
        ({**SPRING, 'counterbalance_preload': 0.0}, 'given are only .*parent, .*child$'),
        *(({**SPRING, 'counterbalance_on_child': bad},
           r'counterbalance_on_child is .*; give three finite numbers \[m\]')
          for bad in ((1, 0, NAN), (1, 0), 'abc')),
    ],
)  # fmt: skip
def test_fields_that_are_refused(arguments, message):
    """Each message begins with the drive and names the field, its value and the remedy."""
    with pytest.raises(ArgumentError, match=f'^Drive: .*{message}'):
        Drive(**arguments)


def test_limits_that_are_accepted():
    Drive(coulomb=1.0, breakaway=1.0)
    Drive(breakaway=0.0)
    Drive(load_friction=0.999, gear_ratio=-1e-9, stribeck_speed=1e-9, smoothing=1e-9)
    Drive(**COUPLED, motor_damping=1.0, motor_coulomb=1.0)
    Drive(**SPRING)
    Drive(spring_position=-1.0, counterbalance_preload=0.0)
    assert Drive(coupled_joints=['q2'], coupling_ratios=[1.0]) == Drive(**COUPLED)


# --- values by name, as in parameters and files ---------------------------------------------------


def test_zero_and_empty_values_have_a_meaning():
    """Friction as in the description, breakaway as coulomb, no axis, no pivots, no joints."""
    described = Drive(damping=0.3, coulomb=0.4)
    zero: dict[str, object] = dict.fromkeys(DRIVE_FIELDS, 0.0) | {
        'gear_ratio': 1.0, 'stribeck_speed': 0.1, 'smoothing': 0.01, 'carrier': '',
        'rotor_axis': [0.0, 0.0, 0.0], 'coupled_joints': [''], 'coupling_ratios': (),
        'counterbalance_on_parent': [0.0, 0.0, 0.0], 'counterbalance_on_child': [0.0, 0.0, 0.0],
    }  # fmt: skip
    assert drive_of('j', zero, described) == described
    assert drive_of('j', {}, described) == described
    assert drive_of('j', {'damping': 1.0}, described) == Drive(damping=1.0, coulomb=0.4)
    assert drive_of('j', {'coulomb': 2.0, 'breakaway': 3.0}, described) == Drive(
        damping=0.3, coulomb=2.0, breakaway=3.0
    )


def test_values_are_those_of_the_fields():
    values = {
        'rotor_inertia': 1e-4, 'gear_ratio': 50.0, 'rotor_axis': [0.0, 0.0, 2.0], 'carrier': 'arm',
        'counterbalance_on_parent': np.array([0.0, 0.0, 0.0]),
        'counterbalance_on_child': [0.1, 0.2, 0.3], 'counterbalance_stiffness': 7.0,
    }  # fmt: skip
    drive = drive_of('j', values, NO_DRIVE)
    assert drive == Drive(
        1e-4, 50.0, rotor_axis=(0, 0, 1), carrier='arm', counterbalance_on_parent=(0, 0, 0),
        counterbalance_on_child=(0.1, 0.2, 0.3), counterbalance_stiffness=7.0,
    )  # fmt: skip
    preloaded = drive_of(
        'j', {**values, 'counterbalance_stiffness': 0.0, 'counterbalance_preload': 2.0}, NO_DRIVE
    )
    assert preloaded.counterbalance_on_parent == (0.0, 0.0, 0.0)
    coupled = drive_of('j', {'coupled_joints': ['a', ''], 'coupling_ratios': [2.0]}, NO_DRIVE)
    assert coupled.ratios == {'a': 2.0}


@pytest.mark.parametrize(
    ('values', 'message'),
    [
        ({'dampening': 1.0}, r"^drives\.j: a drive has no 'dampening', but rotor_inertia, gear_"),
        ({'rotor_axis': [1.0]}, r'^drives\.j: rotor_axis is \[1\.0\]; give three numbers$'),
        ({'counterbalance_on_child': [[1.0] * 3]}, r'^drives\.j: counterbalance_on_child is'),
        ({'armature': -1.0}, r'^drives\.j: armature is -1\.0; it must'),
    ],
)
def test_values_that_are_refused(values, message):
    with pytest.raises(ArgumentError, match=message):
        drive_of('j', values, NO_DRIVE)


# --- drives of a robot ----------------------------------------------------------------------------


def with_friction(**friction: float) -> RobotDescription:
    arm = two_masses()
    return replace(arm, joints=(replace(arm.joints[0], **friction), arm.joints[1]))


def test_every_scalar_joint_has_a_drive():
    """The given one, or the friction of the description; planar and floating joints have none."""
    description = with_friction(damping=0.5, friction=2.0)
    assert drives_of(description) == {'q1': Drive(damping=0.5, coulomb=2.0), 'q2': Drive()}
    given = {'q1': Drive(armature=1.0)}
    assert drives_of(description, given) == {**given, 'q2': Drive()}
    kinds = ('revolute', 'planar', 'floating', 'prismatic')
    mixed = random_description(29, 4, kinds)
    scalar = [joint.name for joint in mixed.joints if joint.type in ('revolute', 'prismatic')]
    assert list(drives_of(mixed)) == scalar


@pytest.mark.parametrize('field', ['damping', 'friction'])
@pytest.mark.parametrize('value', [-1e-9, NAN, INF, 'much'])
def test_friction_of_a_description_that_is_refused(field, value):
    with pytest.raises(
        DescriptionError, match=rf"joint 'q1': {field} is {value!r}; friction takes"
    ):
        drives_of(with_friction(**{field: value}))


def coupled(**ratios: float) -> Drive:
    return Drive(coupled_joints=tuple(ratios), coupling_ratios=tuple(ratios.values()))


@pytest.mark.parametrize(
    ('drives', 'error', 'message'),
    [
        ([Drive()], ArgumentError, r'^drives must be a dict \{joint: Drive\}, got \['),
        ({'q9': Drive()}, UnknownNameError, "no joint named 'q9'; the joints are q1, q2$"),
        ({'q1': 0.3}, ArgumentError, r"'q1' must be given a Drive, got 0\.3"),
        ({'q1': Drive(rotor_axis=(0, 0, 1), carrier='arm')}, UnknownNameError,
         "no link named 'arm' to carry the rotor of 'q1'; the links are base, one, two$"),
        ({'q1': coupled(q9=1.0)}, UnknownNameError,
         "no joint named 'q9' to be coupled with the motor of 'q1'; the joints are q1, q2$"),
        ({'q1': coupled(q1=1.0)}, ArgumentError,
         "'q1' cannot be coupled with 'q1': give another joint of one degree of freedom$"),
        ({'q1': coupled(q2=2.0), 'q2': coupled(q1=0.5)}, ArgumentError,
         r'motors of q1, q2 do not determine the joints: the matrix '
         r'\[\[1\.0, 2\.0\], \[0\.5, 1\.0\]\] from joints to motors is singular'),
    ],
)  # fmt: skip
def test_drives_that_do_not_fit_the_robot(drives, error, message):
    with pytest.raises(error, match=message):
        drives_of(two_masses(), drives)


def test_joints_that_cannot_be_driven_or_coupled():
    description = random_description(29, 4, ('revolute', 'planar', 'floating', 'prismatic'))
    names = {joint.type: joint.name for joint in description.joints}
    with pytest.raises(ArgumentError, match='is planar; only revolute, continuous, prismatic and'):
        drives_of(description, {names['planar']: Drive()})
    with pytest.raises(ArgumentError, match='give another joint of one degree of freedom'):
        drives_of(description, {names['revolute']: coupled(**{names['planar']: 1.0})})
    mimic = random_description(4, 4, ('revolute',), mimic=1)
    follower = next(joint for joint in mimic.joints if joint.mimic is not None)
    master, third = (
        follower.mimic.joint,
        next(
            joint.name
            for joint in mimic.joints
            if joint.name not in (follower.name, follower.mimic.joint)
        ),
    )
    for pair in ((third, follower.name), (follower.name, third)):
        with pytest.raises(ArgumentError, match=f'{follower.name!r} mimics another joint$'):
            drives_of(mimic, {pair[0]: coupled(**{pair[1]: 1.0})})
    for name in (master, follower.name):
        with pytest.raises(ArgumentError, match=f"'{name}' mimics a joint or is mimicked"):
            drives_of(mimic, {name: Drive(load_friction=0.1)})
    drives_of(mimic, {third: Drive(load_friction=0.1), master: Drive(coulomb=1.0)})


def test_couplings_that_determine_the_joints():
    """Theta = C q, and friction of two motors that share a joint."""
    drives = {'a': coupled(b=2.0), 'c': coupled(a=-1.0, elsewhere=3.0), 'elsewhere': Drive()}
    np.testing.assert_array_equal(
        motor_coupling(['a', 'b', 'c'], drives), [[1, 2, 0], [0, 1, 0], [-1, 0, 1]]
    )
    assert drives_of(two_masses(), {'q1': coupled(q2=2.0), 'q2': coupled(q1=0.4)})


def link_with(kind: str, axis: tuple[float, ...], pitch: float = 0.0) -> RobotDescription:
    """Return one link on a joint whose frame is turned and shifted against its parent's."""
    origin = np.array([[0.0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]])
    joint = Joint('q', kind, 'base', 'arm', origin, np.array(axis), pitch=pitch)
    return RobotDescription.from_parts(
        'one', [Link('base'), Link('arm', Inertia(1.0, np.zeros(3), np.eye(3)))], [joint]
    )


def balanced(parent: tuple[float, ...], child: tuple[float, ...]) -> dict[str, Drive]:
    """Return a counterbalance between points in the frame of the joint and of the child."""
    x, y, z = parent
    return {
        'q': Drive(
            counterbalance_on_parent=(1 - y, 2 + x, 3 + z), counterbalance_on_child=child,
            counterbalance_stiffness=5.0,
        )
    }  # fmt: skip


Z = (0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ('description', 'parent', 'child', 'message'),
    [
        (link_with('revolute', Z), (0.9e-6, 0, 5), (1, 0, 0), 'is on the axis'),
        (link_with('revolute', Z), (1, 0, 0), (0, 0.9e-6, 5), 'is on the axis'),
        (link_with('revolute', Z), (1.1e-6, 0, 5), (1, 0, 0), ''),
        (link_with('revolute', Z), (0, 1, 0.5), (1 + 0.9e-6, 0, 0.5 - 0.9e-6), 'meet in some'),
        (link_with('revolute', Z), (0, 1, 0.5), (1 + 1.1e-6, 0, 0.5), ''),
        (link_with('revolute', Z), (0, 1, 0.5), (1, 0, 0.5 + 1.1e-6), ''),
        (link_with('helical', Z, 0.1), (0, 1, 0.5), (1, 0, 0.7), 'meet in some'),
        (link_with('helical', Z, 0.1), (0, 1, 0.5), (1.1, 0, 0.5), ''),
        (link_with('prismatic', Z), (0, 1, 0.5), (0.9e-6, 1, 7), 'meet in some'),
        (link_with('prismatic', Z), (0, 1, 0.5), (1.1e-6, 1, 7), ''),
        (link_with('prismatic', (0.0, 1.0, 0.0)), (0, 1, 0.5), (0, 7, 0.5), 'meet in some'),
        (link_with('prismatic', (0.0, 1.0, 0.0)), (0, 1, 0.5), (0, 1, 0.6), ''),
    ],
)
def test_pivots_need_a_lever_of_a_micrometer(description, parent, child, message):
    """From the axis, and from each other in every position of the joint."""
    drives = balanced(parent, child)
    if not message:
        assert drives_of(description, drives) == drives
        return
    with pytest.raises(ArgumentError, match=f"counterbalance of 'q' .*{message}|{message}.*give"):
        drives_of(description, drives)
