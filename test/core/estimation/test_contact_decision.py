# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What is reported of contacts on links with arbitrary Jacobians: evidence, thresholds, points."""

import re

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from screw_dynamics_ros.core.description.shapes import Shape
from screw_dynamics_ros.core.estimation.contact_localization import (
    ContactLocator,
    LocalizationOptions,
    LocatedContact,
    chi2_quantile,
)
from screw_dynamics_ros.core.estimation.link_segments import Segment

NAMES = tuple('abcdefgh')
OPEN = {'link_radius': 0.0, 'largest_deviation': np.inf, 'least_probability': 0.0}


def levers(J, point):
    """Return the matrix (n, 3) of the torques of a force at a point: velocities of the point."""
    return np.array([v + np.cross(omega, point) for omega, v in zip(J[:3].T, J[3:].T)])


def segment(link, rng, joints=NAMES, length=None, shape=None):
    start, end = rng.normal(size=(2, 3))
    if length is not None:
        end = start + length * (end - start) / np.linalg.norm(end - start)
    return Segment(link, start, end, 'rod', frozenset(joints), shape)


def locator(segments, n, **options):
    return ContactLocator(segments, NAMES[:n], 'reference', LocalizationOptions(**options))


def log_evidence(J, each, torques, S, force):
    """Return the log of the evidence: exact for the force, by quadrature along the segment."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    along = each.end - each.start
    A = np.array([levers(J, each.start + 0.5 * (s + 1.0) * along) for s in nodes])
    C = S + force**2 * A @ A.transpose(0, 2, 1)
    squares = np.einsum('i,kij,j->k', torques, np.linalg.inv(C), torques)
    logs = -0.5 * (squares + np.linalg.slogdet(C)[1])
    return np.log(0.5 * weights @ np.exp(logs - logs.max())) + logs.max()


def test_probabilities_are_ratios_of_evidence():
    """Of three links, one with two segments, against integrals over all forces and places."""
    rng, n, force, errors = np.random.default_rng(0), 5, 7.0, []
    segments = [segment(link, rng) for link in ('one', 'two', 'two', 'three')]
    J, places = rng.normal(size=(3, 6, n)), (0, 1, 1, 2)
    options = dict(OPEN, detection=1e-3, force=force, confidence=1.0 - 1e-9)
    compared = locator(segments, n, **options)
    for _ in range(25):
        root = rng.normal(size=(n, n))
        S = 0.3 * (root @ root.T + 0.1 * np.eye(n))
        touched = rng.integers(4)
        A = levers(J[places[touched]], 0.5 * (segments[touched].start + segments[touched].end))
        torques = A @ (force * rng.normal(size=3)) + np.linalg.cholesky(S) @ rng.normal(size=n)
        contact = compared.locate(J, torques, S).contact
        if contact is None:
            continue
        logs = [log_evidence(J[k], x, torques, S, force) for k, x in zip(places, segments)]
        shares = np.exp(np.array(logs) - max(logs))
        same = np.array([each.link == contact.segment.link for each in segments])
        expected = shares[same].sum() / shares.sum()
        if 0.02 < expected < 0.98:
            p = contact.probability
            errors.append(np.log(p / (1.0 - p)) - np.log(expected / (1.0 - expected)))
    assert len(errors) > 6
    assert np.median(np.abs(errors)) < 0.25  # Laplace's approximation


# --- a contact on one link, in full ---------------------------------------------------------------

SIGMA, FORCE = 0.2, np.array([30.0, -12.0, 21.0])


class Touched:
    """One segment of a link, touched at its middle, with n joints that have errors of SIGMA."""

    def __init__(self, n, length=0.8, shape=None, seed=4, **options):
        rng = np.random.default_rng(seed)
        self.n, self.options = n, {'detection': 1e-6, 'force': 1e4, **OPEN, **options}
        self.segment = segment('arm', rng, length=length, shape=shape)
        self.J = rng.normal(size=(1, 6, n))
        self.along = self.segment.end - self.segment.start
        self.middle = self.segment.start + 0.5 * self.along
        self.A = levers(self.J[0], self.middle)
        self.torques = self.A @ FORCE
        # columns of (force, place), which errors of torques are normal to
        self.B = np.column_stack(
            [self.A, (levers(self.J[0], self.along) - self.J[0, 3:].T) @ FORCE]
        )

    def misfit(self, square):
        """Return torques that no force explains, with this chi^2."""
        left = np.linalg.svd(self.B)[0][:, -1]
        return SIGMA * np.sqrt(square) * left

    def located(self, torques=None, **options):
        found = locator([self.segment], self.n, **{**self.options, **options})
        given = self.torques if torques is None else torques
        return found.locate(self.J, given, SIGMA**2 * np.eye(self.n))

    def covariance(self):
        return SIGMA**2 * np.linalg.inv(self.B.T @ self.B)


def test_force_place_and_their_covariance():
    touched = Touched(6)
    contact, P = touched.located().contact, touched.covariance()
    assert contact.segment is touched.segment
    np.testing.assert_allclose(contact.force, FORCE, rtol=1e-5)
    np.testing.assert_allclose(contact.point, touched.middle, atol=1e-6)
    np.testing.assert_allclose(contact.force_covariance, P[:3, :3], rtol=1e-4)
    d = touched.along
    np.testing.assert_allclose(contact.covariance, P[3, 3] * np.outer(d, d), rtol=1e-4)
    assert contact.along == pytest.approx(0.4, abs=1e-6)
    assert contact.deviation == pytest.approx(0.8 * np.sqrt(P[3, 3]), rel=1e-4)
    assert contact.probability == 1.0
    np.testing.assert_allclose(
        contact.wrench[3:] @ touched.J[0, 3:] + contact.wrench[:3] @ touched.J[0, :3],
        touched.torques,
        atol=1e-3,
    )


@pytest.mark.parametrize('shape', [None, 'cylinder'])
def test_lines_of_action_may_miss_the_axis_by_half_of_the_radius(shape):
    """Of the options, or of the shape; the point is where the force enters the shape."""
    radius, z = 0.1, np.array([0.0, 0.0, 1.0])
    touched = Touched(6)
    if shape:
        pose = np.eye(4)
        pose[:3, :3] = Rotation.align_vectors(touched.along[None], 0.8 * z[None])[0].as_matrix()
        pose[:3, 3] = touched.middle
        given = Shape('cylinder', np.array([2.0 * radius, 2.0 * radius, 0.8]), pose)
        touched = Touched(6, shape=given)
    contact = touched.located(link_radius=0.03 if shape else radius).contact
    d = touched.along / 0.8
    across = np.eye(3) - np.outer(d, d)
    C = np.cross(touched.J[0, :3].T, FORCE) @ across
    S = SIGMA**2 * np.eye(6) + (0.5 * radius) ** 2 * C @ C.T
    P = np.linalg.inv(touched.B.T @ np.linalg.inv(S) @ touched.B)
    expected = P[3, 3] * np.outer(touched.along, touched.along) + (0.5 * radius) ** 2 * across
    np.testing.assert_allclose(contact.covariance, expected, rtol=1e-4)
    np.testing.assert_allclose(contact.force_covariance, P[:3, :3], rtol=1e-4)
    if shape:  # on the surface, from where the force comes
        out = contact.point - touched.middle
        assert np.linalg.norm(across @ out) == pytest.approx(radius)
        np.testing.assert_allclose(np.cross(out, FORCE), 0.0, atol=1e-4)
        assert out @ FORCE < 0.0
    else:
        np.testing.assert_allclose(contact.point, touched.middle, atol=1e-6)


@pytest.mark.parametrize('factor', [1.0 - 1e-6, 1.0 + 1e-6])
def test_a_torque_is_detected_from_five_deviations_on(factor):
    touched = Touched(6)
    n, torques = 6, np.zeros(6)
    torques[4] = -5.0 * SIGMA * factor
    options = {**touched.options, 'detection': LocalizationOptions().detection}
    far = segment('arm', np.random.default_rng(0), joints='abcd')  # not moved by e
    found = locator([far], n, **options).locate(touched.J, torques, SIGMA**2 * np.eye(n))
    assert found.contact is None
    if factor < 1.0:
        assert found.reason == 'no external torque is beyond its noise'
    else:
        assert found.reason.endswith('moved by all joints with external torques: e')


@pytest.mark.parametrize('factor', [1.0 - 1e-3, 1.0 + 1e-3])
def test_a_place_is_reported_up_to_its_largest_deviation(factor):
    """Of 5 cm by default; the link is known nevertheless."""
    touched = Touched(6)
    deviation = touched.located().contact.deviation
    found = touched.located(largest_deviation=deviation * factor)
    assert (found.contact is not None) == (factor > 1.0)
    assert found.link == 'arm'
    stretched = Touched(6, length=0.8 * (0.05 / deviation) / factor)  # the torques, too
    default = LocalizationOptions().largest_deviation
    found = stretched.located(largest_deviation=default)
    ratio = 0.05 / (stretched.segment.length * np.sqrt(stretched.covariance()[3, 3]))
    assert (found.contact is not None) == (ratio > 1.0)


@pytest.mark.parametrize(('n', 'hint'), [(2, True), (3, True), (4, False)])
def test_too_few_joints_for_the_place(n, hint):
    """Four are needed; the same reason without this hint if they are badly placed."""
    touched = Touched(n)
    touched.segment = segment('arm', np.random.default_rng(4), joints=NAMES[:n], length=0.8)
    found = touched.located(largest_deviation=1e-9)
    assert (found.contact, found.link) == (None, 'arm')
    assert f'torques of the {n} joints' in found.reason
    assert ('four are needed' in found.reason) == hint


@pytest.mark.parametrize('factor', [0.94, 1.06])
@pytest.mark.parametrize('n', [5, 7])
def test_a_misfit_is_refused_beyond_the_quantile_of_999_in_1000(n, factor):
    """Four of n torques are explained."""
    touched = Touched(n)
    square = factor * chi2.ppf(0.999, n - 4)
    found = touched.located(touched.torques + touched.misfit(square))
    assert (found.contact is not None) == (factor < 1.0)
    if factor > 1.0:
        assert found.link == ''
        assert f'misfit {square:.3g} with {n - 4} degrees of freedom at arm' in found.reason


@pytest.mark.parametrize(('share', 'is_reported'), [(0.97, True), (1.03, True), (1.8, False)])
def test_four_torques_have_a_misfit_beyond_the_end_only(share, is_reported):
    """Within the noise, it is reported at the end."""
    touched = Touched(4)
    point = touched.segment.start + share * touched.along
    noise = 10.0 * SIGMA
    found = locator([touched.segment], 4, **touched.options).locate(
        touched.J, levers(touched.J[0], point) @ FORCE, noise**2 * np.eye(4)
    )
    assert (found.contact is not None) == is_reported
    if is_reported:
        assert found.contact.along == pytest.approx(0.8 * min(share, 1.0), rel=1e-3)
    else:
        assert 'with 1 degrees of freedom' in found.reason


def test_a_point_has_one_unknown_less():
    """Four torques, three components of a force: one degree of freedom."""
    touched = Touched(4, length=0.0)
    left = np.linalg.svd(touched.A)[0][:, -1]
    for square, is_reported in ((10.0, True), (11.5, False)):
        found = touched.located(touched.torques + SIGMA * np.sqrt(square) * left)
        assert (found.contact is not None) == is_reported
        if is_reported:
            assert found.contact.along == found.contact.deviation == 0.0
            np.testing.assert_allclose(found.contact.point, touched.middle)
            np.testing.assert_allclose(found.contact.covariance, 0.0)
        else:
            assert '1 degrees of freedom' in found.reason


@pytest.mark.parametrize('degrees', [1, 2, 4, 8])
@pytest.mark.parametrize('share', [0.99, 0.999])
def test_quantiles_of_chi_squared(share, degrees):
    assert chi2_quantile(share, degrees) == pytest.approx(chi2.ppf(share, degrees), rel=0.031)


@pytest.mark.parametrize('count', [2, 5, 12])
def test_equal_links_share_the_probability(count):
    """Eight of them at most, which are refined; the reason names the best and another one."""
    touched = Touched(6)
    each = touched.segment
    segments = [Segment(f'link{k}', each.start, each.end, 'rod', each.joints) for k in range(count)]
    J, S = np.repeat(touched.J, count, axis=0), SIGMA**2 * np.eye(6)
    p = 1.0 / min(count, 8)
    for least, is_reported in ((p - 1e-6, True), (p + 1e-6, False)):
        options = {**touched.options, 'least_probability': least}
        found = locator(segments, 6, **options).locate(J, touched.torques, S)
        assert (found.contact is not None) == is_reported
        if is_reported:
            assert found.contact.probability == pytest.approx(p, rel=1e-6)
        else:
            named = re.fullmatch(
                rf'two links explain the torques: (link\d+), with probability {p:.2f}, '
                r'or (link\d+)',
                found.reason,
            )
            assert named[1] != named[2]


def test_a_uniform_place_has_the_variance_of_one_twelfth():
    """A point against a line through it, which explain the torques equally well, by (1)."""
    touched = Touched(6)
    each, B = touched.segment, touched.B
    point = Segment('point', touched.middle, touched.middle, 'rod', each.joints)
    unknown = np.linalg.inv(np.linalg.inv(B.T @ B)[3:, 3:])[0, 0]  # by torques of variance 1
    sigma = np.sqrt(unknown / 6.0)
    J, S = np.repeat(touched.J, 2, axis=0), sigma**2 * np.eye(6)
    both = locator([each, point], 6, **touched.options)
    contact = both.locate(J, touched.torques, S).contact
    assert contact.segment is point
    odds = np.sqrt((6.0 + 12.0) / 12.0)
    assert contact.probability == pytest.approx(odds / (1.0 + odds), rel=1e-5)


def test_the_best_of_many_links_is_found():
    """Wherever it is among more than those that are refined."""
    rng, n = np.random.default_rng(2), 7
    segments = [segment(f'link{k}', rng) for k in range(20)]
    J, S = rng.normal(size=(20, 6, n)), 1e-4 * np.eye(n)
    every = locator(segments, n, **OPEN)
    for k in (0, 9, 19):
        torques = (
            levers(J[k], segments[k].start + 0.3 * (segments[k].end - segments[k].start)) @ FORCE
        )
        contact = every.locate(J, torques, S).contact
        assert contact.segment is segments[k]
        assert contact.along == pytest.approx(0.3 * segments[k].length, rel=1e-3)


def test_segments_before_a_loaded_joint_are_excluded():
    """The same line is part of two links; the torque of a joint between them decides."""
    touched = Touched(6)
    each = touched.segment
    near = Segment('near', each.start, each.end, 'rod', frozenset('abcde'))
    J, S = np.repeat(touched.J, 2, axis=0), SIGMA**2 * np.eye(6)
    both = locator([near, each], 6, **touched.options)
    assert both.locate(J, touched.torques, S).contact.probability == 1.0
    J[:, :, 5] = 0.0  # without any torque there
    torques = touched.torques * [1, 1, 1, 1, 1, 0]
    assert both.locate(J, torques, S).contact.probability == pytest.approx(0.5)


def test_without_segments_there_is_no_contact():
    found = ContactLocator((), NAMES[:3]).locate(np.zeros((0, 6, 3)), np.ones(3), 1e-4 * np.eye(3))
    assert found.contact is None
    assert found.reason.endswith('a, b, c')


def test_defaults():
    """Documented at the parameters of the node."""
    assert LocalizationOptions() == LocalizationOptions(5.0, 0.05, 50.0, 0.05, 0.9, 0.999)


# --- frames ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    'force', [[3.0, -4.0, 12.0], [0.0, 0.0, -5.0], [0.0, 2.0, 0.0], [7.0, 0, 0]]
)
def test_the_frame_has_x_along_the_force_and_the_covariance_of_its_direction(force):
    force, point = np.array(force), np.array([0.1, -0.2, 0.3])
    root = np.random.default_rng(1).normal(size=(3, 3))
    spread, place = 1e-3 * root @ root.T, np.diag([1.0, 2.0, 3.0])
    contact = LocatedContact(None, point, place, 0.1, 0.01, force, spread, 1.0)
    C = contact.frame
    np.testing.assert_allclose(C[:3, :3].T @ C[:3, :3], np.eye(3), atol=1e-12)
    assert np.linalg.det(C) == pytest.approx(1.0)
    np.testing.assert_allclose(C[:3, 0], force / np.linalg.norm(force))
    assert C[:, 3].tolist() == [*point, 1.0]
    # the smallest rotations to changed forces
    step, turns = 1e-6, []
    for change in step * np.eye(3):
        axis = np.cross(force, force + change)
        angle = np.arctan2(np.linalg.norm(axis), force @ (force + change))
        turns.append(angle * axis / max(np.linalg.norm(axis), 1e-300) / step)
    D = np.array(turns).T
    found = contact.frame_covariance
    np.testing.assert_allclose(found[:3, :3], D @ spread @ D.T, rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(found[:3, :3] @ force, 0.0, atol=1e-12)
    assert found[3:, 3:].tolist() == place.tolist()
    assert not found[:3, 3:].any()
    assert not found[3:, :3].any()
    np.testing.assert_allclose(contact.wrench, [*np.cross(point, force), *force])
