# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Unknowns of bodies and drives: names, units, nominal values, priors, and the identified robot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Drive, Robot, UnknownNameError
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.identification import EffortModel, KnownLoad
from screw_dynamics_ros.core.identification.identification import (
    identified_bodies,
    identified_drive,
)
from screw_dynamics_ros.core.identification.unknowns import Unknowns
from support.robots import joint, links, robot

NUMBERS = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')
BODY = (
    '<inertial><origin xyz="{} 0.2 0.3"/><mass value="{}"/>'
    '<inertia ixx="0.5" ixy="0.01" ixz="0.02" iyy="0.6" iyz="0.03" izz="0.7"/></inertial>'
)
PIVOTS = {
    'counterbalance_on_parent': (0.3, 0.0, 0.4),
    'counterbalance_on_child': (0.0, 0.2, 0.0),
    'counterbalance_preload': -300.0,
    'counterbalance_stiffness': 900.0,
}
DRIVES = {
    'turn': Drive(
        armature=0.3,
        damping=0.5,
        coulomb=1.0,
        load_friction=0.1,
        spring_stiffness=6.0,
        spring_position=0.4,
        smoothing=0.01,
    ),
    'slide': Drive(
        armature=2.0,
        damping=0.2,
        coulomb=0.4,
        rotor_inertia=2e-5,
        gear_ratio=50.0,
        coupled_joints=('turn',),
        coupling_ratios=(0.5,),
        motor_damping=0.7,
        motor_coulomb=0.9,
        smoothing=0.01,
    ),
}


def with_bodies(text):
    """Return a description whose links a, b and c have bodies of 9, 2 and 3 kg."""
    for link, x, mass in (('a', 0.0, 9.0), ('b', 0.1, 2.0), ('c', -0.4, 3.0)):
        body = BODY.format(x, mass)
        text = text.replace(f'<link name="{link}"/>', f'<link name="{link}">{body}</link>')
    return text


TEXT = with_bodies(
    robot(
        links('a b c tip'),
        joint('turn', 'a', 'b', '<axis xyz="0 0 1"/>', 'continuous'),
        joint(
            'slide',
            'b',
            'c',
            '<axis xyz="1 0 0"/><limit lower="-1" upper="1" velocity="1" effort="9"/>',
            'prismatic',
        ),
        joint('mount', 'c', 'tip', kind='fixed'),
    )
)


@pytest.fixture(scope='module')
def arm():
    return Robot.from_urdf(TEXT, gravity=(0, -9.81, 0), drives=DRIVES, backend='python')


@pytest.fixture(scope='module')
def counterbalanced():
    drives = {'turn': Drive(**PIVOTS)}
    return Robot.from_urdf(TEXT, gravity=(0, -9.81, 0), drives=drives, backend='python')


def values(unknowns):
    return dict(zip(unknowns.names, unknowns.nominal.tolist()))


# --- names, units, nominal values -----------------------------------------------------------------


def test_names_and_nominal_values(arm):
    """Of moving links with mass, then of drives; offsets are zero."""
    unknowns = Unknowns(arm, EffortModel(stribeck_speed=0.1))
    found = values(unknowns)
    drives = {
        'turn/armature': 0.3, 'slide/armature': 2.0, 'turn/damping': 0.5, 'slide/damping': 0.2,
        'turn/coulomb': 1.0, 'slide/coulomb': 0.4, 'turn/stribeck': 0.0, 'slide/stribeck': 0.0,
        'turn/load_friction': 0.1, 'slide/rotor': 2e-5 * 2500.0, 'slide/motor_damping': 0.7,
        'slide/motor_coulomb': 0.9, 'turn/spring_stiffness': 6.0, 'turn/offset': 0.0,
        'slide/offset': 0.0,
    }  # fmt: skip
    assert unknowns.names[:20] == tuple(f'{link}/{name}' for link in 'bc' for name in NUMBERS)
    assert {name: found[name] for name in unknowns.names[20:]} == pytest.approx(drives)
    assert unknowns.bodies == {'b': slice(0, 10), 'c': slice(10, 20)}
    body = RigidBody(
        3.0, [-0.4, 0.2, 0.3], [[0.5, 0.01, 0.02], [0.01, 0.6, 0.03], [0.02, 0.03, 0.7]]
    )
    h, I = body.first_moment, body.inertia  # noqa: E741
    expected = (3.0, *h, I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2])
    assert unknowns.nominal[10:20] == pytest.approx(expected)
    assert not any('stribeck' in name for name in Unknowns(arm, EffortModel()).names)


@pytest.mark.parametrize(
    ('name', 'unit'),
    [
        ('b/m', 'kg'), ('b/mx', 'kg m'), ('c/mz', 'kg m'), ('b/Ixx', 'kg m^2'),
        ('c/Iyz', 'kg m^2'), ('turn/armature', 'kg m^2'), ('slide/armature', 'kg'),
        ('turn/damping', 'N m s/rad'), ('slide/damping', 'N s/m'), ('turn/coulomb', 'N m'),
        ('slide/coulomb', 'N'), ('turn/stribeck', 'N m'), ('slide/stribeck', 'N'),
        ('turn/load_friction', '1'), ('slide/load_friction', '1'), ('turn/rotor', 'kg m^2'),
        ('slide/rotor', 'kg'), ('turn/motor_damping', 'N m s/rad'),
        ('slide/motor_damping', 'N s/m'), ('turn/motor_coulomb', 'N m'),
        ('slide/motor_coulomb', 'N'), ('turn/spring_stiffness', 'N m/rad'),
        ('slide/spring_stiffness', 'N/m'), ('turn/counterbalance_preload', 'N'),
        ('turn/counterbalance_stiffness', 'N/m'), ('turn/offset', 'N m'), ('slide/offset', 'N'),
    ],
)  # fmt: skip
def test_units(arm, name, unit):
    assert Unknowns(arm, EffortModel()).unit(name) == unit


@pytest.mark.parametrize(
    ('group', 'kinds'),
    [
        ('inertia', set(NUMBERS)),
        ('armature', {'armature', 'rotor'}),
        ('friction', {'damping', 'coulomb', 'load_friction', 'motor_damping', 'motor_coulomb'}),
        ('spring', {'spring_stiffness'}),
        ('offset', {'offset'}),
    ],
)
def test_groups(arm, group, kinds):
    found = Unknowns(arm, EffortModel(estimate=(group,))).names
    assert {name.rpartition('/')[2] for name in found} == kinds


def test_payloads_and_loads_are_bodies_of_assumed_size(arm):
    """1 kg within 0.1 m; the load has its mass, and its center of mass if that is known."""
    payload = values(Unknowns(arm, EffortModel(payload_link='tip')))
    body = [payload[f'payload/{name}'] for name in NUMBERS]
    assert body == pytest.approx([1.0, 0, 0, 0, 0.02, 0, 0.02, 0, 0, 0.02])
    assert not any(name.startswith(('b/', 'c/')) for name in payload)
    load = values(Unknowns(arm, EffortModel(), KnownLoad('tip', 2.0)))
    body = [load[f'load/{name}'] for name in NUMBERS]
    assert body == pytest.approx([2.0, 0, 0, 0, 0.04, 0, 0.04, 0, 0, 0.04])
    load = values(Unknowns(arm, EffortModel(), KnownLoad('tip', 2.0, (0.3, 0.2, -0.1))))
    own = RigidBody(2.0, [0.3, 0.2, -0.1], 0.04 * np.eye(3))
    I = own.inertia  # noqa: E741
    expected = [2.0, 0.6, 0.4, -0.2, I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]]
    assert [load[f'load/{name}'] for name in NUMBERS] == pytest.approx(expected)


@pytest.mark.parametrize(
    ('model', 'load', 'error', 'match'),
    [
        (EffortModel(('inertia', 'mass')), None, UnknownNameError,
         "no 'mass'; choose from inertia, armature, friction, spring, offset"),
        (EffortModel(payload_link='hand'), None, UnknownNameError, "no link 'hand'; there are a"),
        (EffortModel(payload_link='a'), None, ArgumentError, "'a' does not move"),
        (EffortModel(), KnownLoad('hand', 1.0), UnknownNameError, "no link 'hand' to carry a load"),
        (EffortModel(()), None, ArgumentError, 'nothing to estimate; choose from inertia'),
    ],
)  # fmt: skip
def test_refused(arm, model, load, error, match):
    with pytest.raises(error, match=match):
        Unknowns(arm, model, load)
    assert Unknowns(arm, EffortModel((), payload_link='tip')).names == tuple(
        f'payload/{name}' for name in NUMBERS
    )


def test_payloads_on_links_that_do_not_exist(arm):
    unknowns = Unknowns(arm, EffortModel())
    motion = unknowns.motion(*np.zeros((3, 1, 2)), {})
    payload = {'hand': RigidBody(1.0, np.zeros(3), np.eye(3))}
    with pytest.raises(UnknownNameError, match="no link 'hand' to carry a payload: a, b, c, tip"):
        unknowns.known_torques(motion, payload)


# --- torques --------------------------------------------------------------------------------------


def motor_efforts(robot, q, v, a, payloads=None):
    """Return efforts of motors by inverse dynamics and virtual power: tau = C^T tau_m."""
    tau = robot.inverse_dynamics(q, v, a)
    if payloads:
        tau = tau + robot.payload_torques(q, v, a, payloads)
    return np.linalg.solve(np.array([[1.0, 0.0], [0.5, 1.0]]).T, tau.T).T


@pytest.fixture(scope='module')
def states():
    return np.random.default_rng(0).normal(size=(3, 30, 2))


@pytest.mark.parametrize('estimate', [('inertia',), ('friction', 'offset'), ('armature', 'spring'),
                                      ('inertia', 'armature', 'friction', 'spring')])  # fmt: skip
def test_estimated_and_held_terms_are_those_of_the_robot(arm, states, estimate):
    """W nominal + known are the efforts of inverse dynamics, whatever is estimated."""
    unknowns = Unknowns(arm, EffortModel(estimate))
    motion = unknowns.motion(*states)
    torque = unknowns.columns(motion) @ unknowns.nominal + unknowns.known_torques(motion, {})
    expected = motor_efforts(arm, *states)
    np.testing.assert_allclose(torque, expected, atol=1e-9 * np.abs(expected).max())
    rigid = unknowns.rigid_torques(motion, {})
    nominal = unknowns.nominal_torques(rigid, motion)
    np.testing.assert_allclose(nominal, expected, atol=1e-9 * np.abs(expected).max())


def test_springs_with_two_pivots(counterbalanced, states):
    unknowns = Unknowns(counterbalanced, EffortModel(('spring', 'inertia')))
    motion = unknowns.motion(*states)
    expected = counterbalanced.inverse_dynamics(*states)
    torque = unknowns.columns(motion) @ unknowns.nominal + unknowns.known_torques(motion, {})
    np.testing.assert_allclose(torque, expected, atol=1e-9 * np.abs(expected).max())
    rigid = unknowns.rigid_torques(motion, {})
    np.testing.assert_allclose(rigid, expected, atol=1e-9 * np.abs(expected).max())
    held = Unknowns(counterbalanced, EffortModel(('inertia',)))
    motion = held.motion(*states)
    torque = held.columns(motion) @ held.nominal + held.known_torques(motion, {})
    np.testing.assert_allclose(torque, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize('com', [None, (0.3, 0.2, -0.1)])
def test_payloads_and_loads_in_the_torques(arm, states, com):
    """Known payloads and the known part of a load are held, the rest are columns."""
    payload = {'c': RigidBody(0.7, [0.1, 0.0, 0.2], 0.01 * np.eye(3))}
    own = RigidBody(2.0, com or [0.05, -0.1, 0.2], np.diag([0.03, 0.04, 0.05]))
    unknowns = Unknowns(arm, EffortModel(), KnownLoad('tip', 2.0, com))
    h, I = own.first_moment, own.inertia  # noqa: E741
    numbers = (2.0, *h, I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2])
    theta = unknowns.nominal.copy()
    theta[unknowns.bodies['load']] = numbers
    unknowns.estimate = theta
    for loaded in (True, False):
        motion = unknowns.motion(*states, payload, loaded)
        torque = unknowns.columns(motion, loaded) @ theta
        torque = torque + unknowns.known_torques(motion, payload, loaded)
        # friction by load of the joint 'turn' is a function of all bodies
        carried = payload | ({'tip': own} if loaded else {})
        heavier = Robot(loaded_description(arm.description, carried), gravity=arm.gravity,
                        drives=DRIVES, backend='python')  # fmt: skip
        expected = motor_efforts(heavier, *states)
        np.testing.assert_allclose(torque, expected, atol=1e-9 * np.abs(expected).max())


def loaded_description(description, payloads):
    """Return a description whose links include the payloads."""

    def total(link):
        if link.name not in payloads:
            return link
        body, own = payloads[link.name], link.inertia
        return replace(
            link, inertia=body if own is None else RigidBody(own.mass, own.com, own.matrix) + body
        )

    parts = description.name, [total(each) for each in description.links], description.joints
    return type(description).from_parts(*parts)


def test_payload_of_which_friction_depends(arm, states):
    """The estimated payload adds to the link that carries it, in friction by load too."""
    unknowns = Unknowns(arm, EffortModel(payload_link='c'))
    body = RigidBody(0.7, [0.1, 0.0, 0.2], 0.01 * np.eye(3))
    h, I = body.first_moment, body.inertia  # noqa: E741
    theta = unknowns.nominal.copy()
    theta[:10] = (0.7, *h, I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2])
    unknowns.estimate = theta
    motion = unknowns.motion(*states)
    torque = unknowns.columns(motion) @ theta + unknowns.known_torques(motion, {})
    heavier = Robot(loaded_description(arm.description, {'c': body}), gravity=arm.gravity,
                    drives=DRIVES, backend='python')  # fmt: skip
    expected = motor_efforts(heavier, *states)
    np.testing.assert_allclose(torque, expected, atol=1e-9 * np.abs(expected).max())


# --- priors ---------------------------------------------------------------------------------------


def test_prior_deviations_of_drives(arm, counterbalanced):
    """Each could cause the whole torque; slow joints have at least 1e-3."""
    torque, v, a = np.array([8.0, 5.0]), np.array([2.0, 1e-5]), np.array([4.0, 1e-5])
    unknowns = Unknowns(arm, EffortModel(stribeck_speed=0.1))
    L = unknowns.deviations(torque, v, a)
    found = dict(zip(unknowns.names, np.diag(L).tolist()))
    expected = {
        'turn/armature': 2.0, 'slide/armature': 5000.0, 'turn/damping': 4.0,
        'slide/damping': 5000.0, 'turn/coulomb': 8.0, 'slide/coulomb': 5.0, 'turn/stribeck': 8.0,
        'slide/stribeck': 5.0, 'turn/load_friction': 1.0, 'slide/rotor': 5000.0,
        'slide/motor_damping': 5000.0, 'slide/motor_coulomb': 5.0, 'turn/spring_stiffness': 8.0,
        'turn/offset': 8.0, 'slide/offset': 5.0,
    }  # fmt: skip
    assert {name: found[name] for name in unknowns.names[20:]} == pytest.approx(expected)
    unknowns = Unknowns(counterbalanced, EffortModel())
    found = dict(zip(unknowns.names, np.diag(unknowns.deviations(torque, v, a)).tolist()))
    assert found['turn/counterbalance_preload'] == pytest.approx(8.0 / 0.2)
    assert found['turn/counterbalance_stiffness'] == pytest.approx(8.0 / (0.2 * (0.5 + 0.2)))


@pytest.mark.parametrize(
    ('model', 'load', 'name', 'wide', 'free'),
    [
        (EffortModel(), None, 'b', 0.5, 10),
        (EffortModel(payload_link='tip'), None, 'payload', 10.0, 10),
        (EffortModel(), KnownLoad('tip', 2.0), 'load', 3.0, 9),
        (EffortModel(), KnownLoad('tip', 2.0, (0.1, 0.0, 0.0)), 'load', 3.0, 6),
    ],
)
def test_prior_deviations_of_bodies(arm, model, load, name, wide, free):
    """Heavier by `wide` is two deviations of R^4 where nothing is known; known numbers are so."""
    unknowns = Unknowns(arm, model, load)
    L = unknowns.deviations(*np.ones((3, 2)))
    place = unknowns.bodies[name]
    own = L[place, place]
    assert np.abs(L[place]).sum() == pytest.approx(np.abs(own).sum())  # no other body
    phi = unknowns.nominal[place]
    if free == 10:
        z = np.linalg.solve(own, wide * phi)
        assert np.linalg.norm(z) == pytest.approx(2.0, rel=1e-6)
        return
    known = 10 - free
    np.testing.assert_allclose(own[:known, :known], 1e-6 * phi[0] * np.eye(known))
    assert np.abs(own[known:, :known]).max() == np.abs(own[:known, known:]).max() == 0.0
    assert np.linalg.eigvalsh(own[known:, known:] @ own[known:, known:].T)[0] > 0.0


# --- base parameters ------------------------------------------------------------------------------


@pytest.mark.parametrize('moves', [(True, True), (True, False)])
@pytest.mark.parametrize('reports', [(True, True), (False, True)])
def test_base_parameters_are_independent_and_complete(arm, moves, reports):
    """For other motions of the joints that move, W = W[:, columns] grouping, of full rank."""
    unknowns = Unknowns(arm, EffortModel(('inertia', 'armature', 'offset')))
    moves, reports = np.array(moves), np.array(reports)
    columns, grouping = unknowns.base(moves, reports)
    q, v, a = np.random.default_rng(5).normal(size=(3, 60, 2)) * moves
    q[:, ~moves] = 0.3  # where joints at rest are
    W = unknowns.columns(unknowns.motion(q, v, a))[:, reports].reshape(-1, len(unknowns.names))
    np.testing.assert_allclose(W[:, columns] @ grouping, W, atol=1e-8)
    s = np.linalg.svd(W / np.maximum(np.linalg.norm(W, axis=0), 1e-9), compute_uv=False)
    assert len(columns) == np.sum(s > 1e-9 * s[0])
    assert (np.diff(columns) > 0).all()


def test_base_parameters_with_and_without_a_load(arm):
    """One model for both: a load adds columns, and alone cannot be separated from its link."""
    unknowns = Unknowns(arm, EffortModel(('inertia',)), KnownLoad('tip', 2.0))
    every = np.ones(2, dtype=bool)
    counts = [
        len(unknowns.base(every, every, each)[0]) for each in ((False,), (True,), (False, True))
    ]
    assert counts[0] == counts[1]
    assert counts[2] == counts[0] + 3  # two first moments across the axis, a moment of inertia


# --- the identified robot -------------------------------------------------------------------------


def test_identified_drives(arm):
    """Only of what was found; a rotor by its own inertia, friction as its law needs."""
    unknowns = Unknowns(arm, EffortModel(smoothing=0.05))
    nominal = arm.drives['slide']
    assert identified_drive(unknowns, 'slide', {}) == nominal
    found = identified_drive(unknowns, 'slide', {
        'slide/armature': 1.0, 'slide/rotor': 0.1, 'slide/damping': 2.0, 'slide/coulomb': 3.0,
        'slide/motor_damping': 4.0, 'slide/motor_coulomb': 5.0, 'turn/armature': 9.0,
    })  # fmt: skip
    assert found == replace(
        nominal, armature=1.0, rotor_inertia=0.1 / 2500.0, damping=2.0, coulomb=3.0, breakaway=None,
        motor_damping=4.0, motor_coulomb=5.0, smoothing=0.05,
    )  # fmt: skip
    turn = identified_drive(unknowns, 'turn', {'turn/load_friction': 0.2,
                                               'turn/spring_stiffness': 7.0})  # fmt: skip
    assert turn == replace(arm.drives['turn'], load_friction=0.2, spring_stiffness=7.0)
    viscous = identified_drive(unknowns, 'turn', {'turn/damping': 3.0})
    assert viscous == replace(arm.drives['turn'], damping=3.0)
    lopsided = identified_drive(
        unknowns, 'turn', {'turn/damping': 3.0, 'turn/damping_asymmetry': -4.0}
    )
    assert lopsided.damping_asymmetry == -3.0  # it takes energy away in both directions


def test_identified_stribeck_curve(arm):
    unknowns = Unknowns(arm, EffortModel(stribeck_speed=0.3, smoothing=0.05))
    found = identified_drive(unknowns, 'turn', {'turn/coulomb': 3.0, 'turn/stribeck': 0.5})
    assert (found.breakaway, found.stribeck_speed, found.damping) == (3.5, 0.3, 0.5)
    found = identified_drive(unknowns, 'turn', {'turn/coulomb': 3.0})
    assert (found.breakaway, found.coulomb) == (3.0, 3.0)


def test_an_armature_includes_the_rotor():
    """The nominal rotor, with its axis, would count twice."""
    drive = Drive(rotor_inertia=1e-4, gear_ratio=100.0, rotor_axis=(0.0, 0.0, 1.0), carrier='a')
    other = Robot.from_urdf(TEXT, drives={'turn': drive}, backend='python')
    unknowns = Unknowns(other, EffortModel())
    found = identified_drive(unknowns, 'turn', {'turn/armature': 1.5})
    assert (found.armature, found.rotor_inertia, found.gear_ratio) == (1.5, 0.0, 100.0)
    assert (found.rotor_axis, found.carrier) == (None, None)
    assert found.reflected_inertia == 1.5


def test_identified_bodies_and_friction(arm):
    """Bodies of theta, payload and load apart; friction of drives is written to joints."""
    unknowns = Unknowns(arm, EffortModel(), KnownLoad('tip', 2.0))
    theta = unknowns.nominal * 1.5
    drives = {name: replace(each, damping=7.0, coulomb=8.0) for name, each in arm.drives.items()}
    payload, load, found = identified_bodies(unknowns, theta, drives)
    assert payload is None
    assert load.mass == pytest.approx(3.0)
    np.testing.assert_allclose(load.matrix, 0.06 * np.eye(3), atol=1e-12)
    masses = {link.name: link.inertia and link.inertia.mass for link in found.links}
    assert masses == pytest.approx({'a': 9.0, 'b': 3.0, 'c': 4.5, 'tip': None})
    own = next(link.inertia for link in found.links if link.name == 'c')
    np.testing.assert_allclose(own.com, [-0.4, 0.2, 0.3])
    np.testing.assert_allclose(
        own.matrix, 1.5 * np.array([[0.5, 0.01, 0.02], [0.01, 0.6, 0.03], [0.02, 0.03, 0.7]])
    )
    assert {j.name: (j.damping, j.friction) for j in found.joints if j.name != 'mount'} == {
        'turn': (7.0, 8.0), 'slide': (7.0, 8.0)}  # fmt: skip
    carried = Unknowns(arm, EffortModel(payload_link='tip'))
    payload, load, found = identified_bodies(carried, carried.nominal * 2.0, arm.drives)
    assert (payload.mass, load) == (pytest.approx(2.0), None)
    assert [link.inertia and link.inertia.mass for link in found.links] == [9.0, 2.0, 3.0, None]
