# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Constants and guards of simulation, crossed from both sides; laws in closed form."""

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.errors import ArgumentError, InertiaError
from screw_dynamics_ros.core.simulation import ContactPoint, JointServo, Plane, Spring
from screw_dynamics_ros.core.simulation.contacts import contact_force, limited
from screw_dynamics_ros.core.simulation.joint_sensor import JointSensor, SensorFaults
from screw_dynamics_ros.core.simulation.joint_servo import ReferenceProfile, ServoReference
from screw_dynamics_ros.core.simulation.posture import Posture, ReferenceMotion
from screw_dynamics_ros.core.simulation.simulated_robot import (
    check_robot,
    finite_wrenches,
    immovable,
    valid_state,
)
from screw_dynamics_ros.core.simulation.springs import spring_force
from screw_dynamics_ros.core.simulation.stops import first_passage
from support.robots import UNIT_INERTIA, joint, links, robot

BODY = f'<inertial><mass value="2"/>{UNIT_INERTIA}</inertial>'


def arm(kind='revolute', body=BODY, limits='lower="-1" upper="2"'):
    text = robot(
        links('a b'),
        joint('j', 'a', 'b', f'<axis xyz="0 0 1"/><limit {limits} velocity="3" effort="7"/>', kind),
    ).replace('<link name="b"/>', f'<link name="b">{body}</link>')
    return Robot.from_urdf(text, backend='reference')


@pytest.fixture(scope='module')
def planar():
    return Robot.from_urdf('urdf/planar_2r.urdf', gravity=(0, -9.81, 0), backend='reference')


# --- what a simulation starts from ----------------------------------------------------------------


@pytest.mark.parametrize(('value', 'expected'), [(2.0 + 0.9e-6, 2.0), (-1.0 - 0.9e-6, -1.0)])
def test_positions_beyond_limits_by_rounding_are_put_on_them(value, expected):
    assert valid_state(arm(), [value], [0.5])[0].tolist() == [expected]
    sign = np.sign(value)
    with pytest.raises(ArgumentError, match=r"joint 'j' cannot be at .*: its limits are -1 and 2"):
        valid_state(arm(), [value + sign * 0.2e-6], [0.5])
    given = np.array([value])
    valid_state(arm(), given, [0.5])
    assert given[0] == value
    for state in (([np.nan], [0.0]), ([0.0], [np.inf])):
        with pytest.raises(ArgumentError, match='a state must be finite'):
            valid_state(arm(), *state)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_quaternions_have_unit_length_within_a_millionth(sign):
    free = Robot.from_urdf(
        robot(links('a b'), joint('j', 'a', 'b', kind='floating')).replace(
            '<link name="b"/>', f'<link name="b">{BODY}</link>'
        ),
        backend='reference',
    )
    q = free.neutral()
    (place,) = np.flatnonzero(q)
    q[place] = 1.0 + sign * 0.9e-6
    assert valid_state(free, q, np.zeros(6))[0][place] == pytest.approx(1.0, abs=1e-15)
    q[place] = 1.0 + sign * 1.1e-6
    with pytest.raises(ArgumentError, match="the quaternion of 'b' has the length"):
        valid_state(free, q, np.zeros(6))


def test_joints_that_move_no_mass():
    """Nothing, a negative inertia, a point on the axis; with a floating base, that first."""
    point = '<inertial><mass value="2"/>' + UNIT_INERTIA.replace('"1"', '"0"') + '</inertial>'
    for body in ('', point, BODY.replace('izz="1"', 'izz="-1"')):
        weightless = arm(body=body)
        assert immovable(weightless, weightless.mass_matrix(np.zeros(1))) == "joint 'j'"
        with pytest.raises(InertiaError, match="joint 'j' moves no mass"):
            check_robot(weightless, np.zeros(1))
    check_robot(arm(), np.zeros(1))
    base = Robot(arm(body='').description, floating_base=True, backend='reference')
    found = immovable(base, base.mass_matrix(base.neutral()))
    assert found == f'the floating base {base.link_names[0]!r}'
    # a plane of unit masses, without resistance to one combination
    chain = Robot.from_urdf(
        robot(links('a b'), joint('j', 'a', 'b', '<axis xyz="0 0 1"/>', 'planar')).replace(
            '<link name="b"/>', f'<link name="b">{BODY}</link>'
        ),
        backend='reference',
    )
    for least, is_found in ((1e-11, False), (1e-13, True), (-1.0, True)):
        M = np.array([[1.0, 1.0 - least, 0.0], [1.0 - least, 1.0, 0.0], [0.0, 0.0, 1.0]])
        assert bool(immovable(chain, 4.0 * M)) == is_found


def test_wrenches_are_finite_and_have_six_components():
    found = finite_wrenches({'hand': [1, 2, 3, 4, 5, 6], 'all': np.ones((3, 6))})
    assert found['hand'].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert found['all'].shape == (3, 6)
    with pytest.raises(ArgumentError, match=r"wrench on 'hand' must have shape \(6,\), got \(5,\)"):
        finite_wrenches({'hand': np.zeros(5)})
    with pytest.raises(ArgumentError, match="wrench on 'hand' must be finite"):
        finite_wrenches({'hand': [0, 0, 0, 0, 0, np.inf]})


# --- planes and springs ---------------------------------------------------------------------------


@pytest.mark.parametrize('length', [1e-200, 1.0, 1e200])
def test_planes_have_unit_normals(length):
    plane = Plane([1, 2, 3], length * np.array([0.0, 3.0, 4.0]), 5.0, 6.0, 7.0)
    np.testing.assert_allclose(plane.parameters, [1, 2, 3, 0.0, 0.6, 0.8, 5, 6, 7], atol=1e-15)
    default = Plane([0, 0, 0], [0, 0, 1])
    assert default.parameters[6:].tolist() == [1e4, 1.0, 0.5]
    assert ContactPoint('hand').parameters.tolist() == [0.0] * 4
    spring = Spring('hand', [1, 2, 3], [4, 5, 6], 7.0, 8.0, 9.0)
    assert spring.parameters.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert Spring('hand', [1, 2, 3], [4, 5, 6], 7.0).parameters[7:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ('make', 'match'),
    [
        (lambda: Plane([0, 0, 0], [0, 0, 0], name='floor'), "plane 'floor' has a normal of length"),
        (lambda: Plane([0, 0, np.nan], [0, 0, 1]), "point of the plane 'plane' must be finite"),
        (lambda: Plane([0, 0, 0], [0, np.inf, 1]), 'normal of the plane .* must be finite'),
        (lambda: Plane([0, 0, 0], [0, 0, 1], 0.0), 'stiffness of the plane'),
        (lambda: Plane([0, 0, 0], [0, 0, 1], damping=-1.0), 'damping of the plane'),
        (lambda: Plane([0, 0, 0], [0, 0, 1], friction=-1.0), 'friction of the plane'),
        (lambda: ContactPoint('b', [0, 0, np.inf]), "position of a contact point of link 'b'"),
        (lambda: ContactPoint('b', radius=-1.0), "radius of a contact point of link 'b'"),
        (lambda: Spring('b', [0, 0, 0], [0, np.nan, 0], 1.0), "anchor of the spring 'spring'"),
        (lambda: Spring('b', [0, 0, np.nan], [0, 0, 0], 1.0), "position of the spring 'spring'"),
        (lambda: Spring('b', [0, 0, 0], [0, 0, 0], -1.0), 'stiffness of the spring'),
        (lambda: Spring('b', [0, 0, 0], [0, 0, 0], 1.0, -1.0), 'damping of the spring'),
        (lambda: Spring('b', [0, 0, 0], [0, 0, 0], 1.0, rest_length=-1.0), 'rest length of the'),
    ],
)
def test_parts_that_are_refused(make, match):
    with pytest.raises(ArgumentError, match=match):
        make()


FLOOR = Plane([0, 0, 0], [0, 0, 1], stiffness=1e4, damping=2.0, friction=0.5).parameters


def test_forces_of_a_contact_in_closed_form():
    """N = k delta (1 + d delta'), T = -k (s + d delta v_t) within the cone of friction."""
    depth, sink = 1e-3, 0.1
    velocity, stretch = np.array([0.01, -0.02, -sink]), np.array([1e-4, 5e-5, 7.0])
    found, after = contact_force(depth, velocity, stretch, FLOOR)
    N = 1e4 * depth * (1.0 + 2.0 * sink)
    s = np.array([1e-4, 5e-5, 0.0])
    T = -1e4 * (s + 2.0 * depth * np.array([0.01, -0.02, 0.0]))
    assert np.linalg.norm(T) < 0.5 * N
    np.testing.assert_allclose(found.force, [T[0], T[1], N], rtol=1e-12)
    np.testing.assert_allclose(after, s, atol=1e-18)
    np.testing.assert_allclose(found.elastic, [-1.0, -0.5, 10.0], rtol=1e-12)
    energy = 0.5 * 1e4 * (depth**2 + s @ s)
    assert found.energy == pytest.approx(energy)
    # rising fast: no attraction, and then no friction
    found, after = contact_force(depth, np.array([0.1, 0.0, 0.6]), stretch, FLOOR)
    np.testing.assert_array_equal(found.force, np.zeros(3))
    np.testing.assert_array_equal(after, np.zeros(3))
    found, after = contact_force(-1e-3, velocity, stretch, FLOOR)
    np.testing.assert_array_equal([*found.force, *found.elastic, found.energy], np.zeros(7))
    # the damper reaches the cone before the spring does
    found, after = contact_force(depth, np.array([9.0, 0.0, 0.0]), np.array([1e-4, 0, 0]), FLOOR)
    np.testing.assert_allclose(found.force, [-5.0, 0.0, 10.0])
    np.testing.assert_allclose(after, [1e-4, 0.0, 0.0])


def test_limited_forces():
    force = np.array([3.0, 0.0, -4.0])
    np.testing.assert_allclose(limited(force, 6.0), force)
    np.testing.assert_allclose(limited(force, 2.5), 0.5 * force)
    np.testing.assert_array_equal(limited(np.zeros(3), 2.5), np.zeros(3))
    np.testing.assert_array_equal(limited(force, 0.0), np.zeros(3))


def test_forces_of_a_spring_in_closed_form():
    spring = Spring('b', [0, 0, 0], [0, 3, 4], stiffness=10.0, damping=2.0, rest_length=2.0)
    velocity, u = np.array([5.0, 1.0, -2.0]), np.array([0.0, 0.6, 0.8])
    found = spring_force(np.zeros(3), velocity, spring.parameters)
    np.testing.assert_allclose(found.elastic, 10.0 * (5.0 - 2.0) * u)
    np.testing.assert_allclose(found.force, (30.0 - 2.0 * (u @ velocity)) * u)
    assert found.energy == pytest.approx(0.5 * 10.0 * 3.0**2)
    pushed = spring_force(0.8 * np.array([0, 3, 4]), np.zeros(3), spring.parameters)
    np.testing.assert_allclose(pushed.force, -10.0 * u)
    ends = spring_force(np.array([0.0, 3.0, 4.0]), velocity, spring.parameters)
    np.testing.assert_array_equal(ends.force, np.zeros(3))


# --- references and postures ----------------------------------------------------------------------


def test_slow_motions_lead_away_from_the_nearer_limit():
    """At most half way to the other one; periods differ by a tenth, of five in turn."""
    lower = np.array([-1.0, -1.0, -np.inf, -1.0, 2.0, -1.0])
    upper = np.array([3.0, 0.2, 1.0, 1.0, 9.0, 3.0])
    motion = ReferenceMotion(np.zeros(6), lower, upper, amplitude=0.6, period=2.0)
    periods = 2.0 * np.array([1.0, 1.1, 1.2, 1.3, 1.4, 1.0])
    for k, expected in enumerate([0.6, -0.5, -0.6, 0.5, 0.6, 0.6]):
        q, v = motion.at(0.5 * periods[k])
        assert q[k] == pytest.approx(expected)
        assert v[k] == pytest.approx(0.0, abs=1e-12)
        quarter, fastest = motion.at(0.25 * periods[k])
        assert quarter[k] == pytest.approx(0.5 * expected)
        assert fastest[k] == pytest.approx(np.pi * expected / periods[k])


def test_torques_of_a_posture(planar):
    """Gravity, and M times the acceleration of critically damped springs."""
    posture = Posture(planar, np.array([0.3, -0.4]), frequency=7.0, amplitude=0.5, period=4.0)
    q, v, t = np.array([0.2, 0.1]), np.array([-0.3, 0.6]), 0.7
    wanted, rate = posture.reference(t)
    a = 49.0 * (wanted - q) + 14.0 * (rate - v)
    g = planar.inverse_dynamics(q, np.zeros(2), np.zeros(2))
    tau = posture.torques(t, q, v)
    np.testing.assert_allclose(tau, g + planar.mass_matrix(q) @ a, atol=1e-12)
    still = Posture(planar, np.array([0.3, -0.4]))
    assert still.reference(3.0)[0].tolist() == [0.3, -0.4]
    np.testing.assert_allclose(
        still.torques(3.0, np.array([0.2, -0.4]), np.zeros(2))
        - planar.gravity_torques(np.array([0.2, -0.4])),
        planar.mass_matrix(np.array([0.2, -0.4])) @ [400.0 * 0.1, 0.0],
    )
    for wrong in (
        Robot(planar.description, floating_base=True, backend='reference'),
        arm('planar', limits=''),
    ):
        with pytest.raises(ArgumentError, match='cannot be held in a posture'):
            Posture(wrong, np.zeros(2))


def test_accelerations_left_by_gravity(planar):
    """(limit - |g|) / M_ii, with a tenth of the limit at least."""
    reference = ServoReference(JointServo(planar, 20.0), planar.joint_names)
    q = np.array([0.0, 0.3])
    g, M = planar.gravity_torques(q), np.diag(planar.mass_matrix(q))
    limit = planar.limits.effort
    left = np.maximum(limit - np.abs(g), 0.1 * limit)
    np.testing.assert_allclose(reference.accelerations(q), left / M)
    heavy = Robot(planar.description, gravity=(0, -90.0, 0), backend='reference')
    reference = ServoReference(JointServo(heavy, 20.0), heavy.joint_names)
    g = heavy.gravity_torques(q)
    assert abs(g[0]) > limit[0]
    expected = [0.1 * limit[0] / M[0], max(limit[1] - abs(g[1]), 0.1 * limit[1]) / M[1]]
    np.testing.assert_allclose(reference.accelerations(q), expected)


@pytest.mark.parametrize('zeta', [1.0, 0.5, 0.0])
def test_references_stay_near_joints_that_are_pushed_away(planar, zeta):
    """By 0.8 of the possible acceleration over w^2, and over 2 zeta w; 0.3 of it for steps."""
    w, dt = 20.0, 1e-3
    reference = ServoReference(JointServo(planar, w, zeta), planar.joint_names)
    q, v = np.array([0.4, 0.5]), np.array([50.0, -50.0])
    possible = reference.accelerations(q)
    reference.start(np.array([-9.0, 9.0]), np.array([-1e3, 1e3]))
    both = np.array([True, True])
    goal = np.array([-9.0, 9.0])
    reference.advance(q, v, dt, goal, np.zeros(2), to_position=both, is_free=~both)
    near = q + np.array([-1.0, 1.0]) * 0.8 * possible / w**2
    if zeta:
        rates = v + np.array([-1.0, 1.0]) * 0.8 * possible / (2.0 * zeta * w)
    else:
        rates = np.array([-1e3, 1e3])
    change = reference.v - rates
    assert (np.abs(change) <= 0.3 * possible * dt * (1.0 + 1e-9)).all()
    np.testing.assert_allclose(reference.q, near + reference.v * dt, atol=1e-12)


def test_free_and_turning_joints_of_a_reference(planar):
    """Without a servo the reference is where the joint is; a velocity has no goal."""
    reference = ServoReference(JointServo(planar, 20.0), planar.joint_names)
    reference.start(np.array([3.0, 3.0]), np.array([0.5, 0.0]))
    q, v, first = np.array([0.4, 0.5]), np.array([0.6, -0.7]), np.array([True, False])
    reference.advance(q, v, 1e-3, np.full(2, np.nan), np.array([0.5, 0.0]),
                      to_position=np.zeros(2, dtype=bool), is_free=~first)  # fmt: skip
    assert reference.q[0] == pytest.approx(0.4 + 0.5e-3)
    assert reference.v[0] == pytest.approx(0.5)
    possible = reference.accelerations(q)[1]
    assert reference.v[1] == pytest.approx(-0.7 + 0.3 * possible * 1e-3)


def test_a_profile_brakes_with_a_share_of_its_acceleration():
    """sqrt(2 0.8 a d) at the distance d, not faster than the goal can be reached in a step."""
    profile = ReferenceProfile(np.array([100.0, 100.0, 1.5]))
    profile.start(np.zeros(3), np.array([1.0, 1e-3, 1.0]))
    goal = np.array([0.25, 1e-6, 9.0])
    profile.approach(goal, np.array([0.0, 0.0, 0.2]), np.array([4.0, 4.0, 1e4]), 1e-3)
    assert profile.v[0] == pytest.approx(1.004)  # at most a dt faster
    assert profile.v[1] == pytest.approx(1e-3)
    assert profile.v[2] == pytest.approx(1.7)
    profile.start(np.zeros(1), np.array([2.0]))
    profile.approach(np.array([0.25]), np.zeros(1), np.array([400.0]), 1e-2)
    assert profile.v[0] == pytest.approx(6.0)
    profile.start(np.zeros(1), np.array([12.0]))
    profile.approach(np.array([0.25]), np.zeros(1), np.array([400.0]), 1e-2)
    assert profile.v[0] == pytest.approx(np.sqrt(2.0 * 0.8 * 400.0 * 0.25))
    profile.stay_near(np.array([1.0]), np.array([0.0]), np.array([0.2]), np.array([3.0]))
    assert (profile.q[0], profile.v[0]) == (pytest.approx(0.8), 3.0)


@pytest.mark.parametrize('a', [-10.0, 10.0, 1e-13])
@pytest.mark.parametrize('v', [-4.0, 0.0, 3.0])
def test_first_passages_are_roots_of_a_parabola(a, v):
    """d + v t + a t^2 / 2 = 0, by NumPy; of several joints the first."""
    d = 0.5
    dt = 1.2
    later = d + v * dt + 0.5 * a * dt**2
    if not later < 0.0:
        return
    roots = np.roots([0.5 * a, v, d])
    expected = min(root.real for root in roots if root.real > 0.0 and abs(root.imag) < 1e-12)
    found = first_passage(np.array([d]), np.array([v]), np.array([later]), dt)
    assert found == pytest.approx(expected, rel=1e-9)
    both = first_passage(np.array([d, 0.1 * d]), np.array([v, v]), np.array([later, -9.0]), dt)
    assert both <= found


# --- sensors --------------------------------------------------------------------------------------


def test_resolutions_bias_and_units_of_each_quantity():
    """Currents are rounded, with bias, after the division by the torque constant."""
    sensor = JointSensor(('a', 'b'))
    sensor.faults = SensorFaults(
        velocity_bias=(0.1,), velocity_resolution=(0.25,), effort_bias=(0.3, 0.0),
        effort_resolution=(0.5, 0.0), torque_constants=(2.0,),
    )  # fmt: skip
    sensor.measure(0, np.array([1.0, 2.0]), np.array([0.4, -0.4]), np.array([3.0, 5.0]))
    (found,) = sensor.arrived(0)
    np.testing.assert_allclose(found.values, [[1.0, 2.0], [0.5, -0.25], [2.0, 2.5]], atol=1e-12)


def test_delays_in_nanoseconds():
    sensor = JointSensor(('a',))
    sensor.faults = SensorFaults(delay=1e-3)
    sensor.measure(5, *np.zeros((3, 1)))
    assert sensor.arrived(1_000_004) == []
    (found,) = sensor.arrived(1_000_005)
    assert found.stamp == 5
    assert sensor.arrived(2_000_000) == []


def test_active_faults_with_quantities():
    names = ('position', 'velocity', 'effort')
    all_of_a = SensorFaults(nan_joints=('a',), nan_quantities=names, dropout=0.1)
    assert all_of_a.active == {'nan_joints': ('a',), 'dropout': 0.1}
    assert SensorFaults(position_noise=(0.0, 0.1)).active == {'position_noise': (0.0, 0.1)}
    assert SensorFaults().active == {}
