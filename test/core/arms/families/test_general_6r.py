# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""All solutions of general arms with six revolute joints, by elimination.

Spec IDs: C-100, C-103.
"""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.arms.families import elimination as equations
from screw_dynamics_ros.core.arms.families import general_6r, trigonometric_polynomial
from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.arms.families.elimination import (
    PLACES,
    Elimination,
    reflected,
    right_side,
)
from screw_dynamics_ros.core.arms.families.general_6r import GeneralSixRevolute
from screw_dynamics_ros.core.arms.families.line_coordinates import (
    displacement_matrix,
    line_coordinates,
    rotation_terms,
)
from screw_dynamics_ros.core.arms.families.serial_solver import SerialSolver
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import se3
from support.compilation import needs_llvmlite

NAMES = ('a', 'b', 'c', 'd', 'e', 'f')


def random_chain(rng: np.random.Generator, joints: int = 6) -> SerialChain:
    """An arm with axes anywhere."""
    e = rng.normal(size=(joints, 3))
    e /= np.linalg.norm(e, axis=1)[:, None]
    p = 0.5 * rng.normal(size=(joints, 3))
    home = se3.exp(rng.normal(size=6))
    return SerialChain(NAMES[:joints], np.hstack([e, np.cross(p, e)]), home)


def apart(q, other) -> np.ndarray:
    return np.abs(np.angle(np.exp(1j * (np.asarray(q) - other)))).max(axis=-1)


def test_line_coordinates_are_a_representation():
    """D(A B) = D(A) D(B), and D moves the coordinates of the line as A moves the line."""
    rng = np.random.default_rng(0)
    A, B = se3.exp(rng.normal(size=(2, 6)))
    np.testing.assert_allclose(
        displacement_matrix(A @ B), displacement_matrix(A) @ displacement_matrix(B), atol=1e-12
    )
    p, d = rng.normal(size=(2, 3))
    moved = line_coordinates(A[:3, :3] @ p + A[:3, 3], A[:3, :3] @ d)
    np.testing.assert_allclose(displacement_matrix(A) @ line_coordinates(p, d), moved, atol=1e-12)
    X = random_chain(rng).screws[0]
    for theta in (0.0, 0.4, -2.0):
        terms = np.array([1.0, np.cos(theta), np.sin(theta)])
        for sign in (1.0, -1.0):
            np.testing.assert_allclose(
                np.tensordot(terms, rotation_terms(X, sign), axes=1),
                displacement_matrix(se3.exp_unit_screw(X, sign * theta)),
                atol=1e-12,
            )


@pytest.mark.parametrize('place', PLACES, ids=lambda place: f'{place.first}{place.behind}')
def test_both_sides_of_the_closure_agree(place):
    """Equation (1), and M has a null vector at a solution, elsewhere not."""
    rng = np.random.default_rng(1)
    chain = random_chain(rng)
    q = rng.uniform(-3, 3, 6)
    C = chain.pose(q) @ se3.inverse(chain.home)
    elimination = Elimination(chain.screws, place)

    def waves(*joints):
        product = np.ones(1)
        for k in joints:
            product = np.kron(product, [1.0, np.cos(q[k]), np.sin(q[k])])
        return product

    i, j, k = place.triple
    left = elimination.left @ waves(i) @ waves(j, k)
    products, rest, orientation = right_side(place, C.reshape(16), *elimination.constants[:4])
    one, *others = waves(*place.pair[0], *place.pair[1])
    right = rest * one + products.reshape(14, 8) @ others
    np.testing.assert_array_equal(orientation.reshape(3, 3), C[:3, :3])
    np.testing.assert_allclose(left, right, atol=1e-11)
    forms = elimination.equations(C).forms.reshape(6, 9, 3)
    singular = np.linalg.svd(equations.matrix(forms, waves(i)), compute_uv=False)
    assert singular[-1] < 1e-13 * singular[0] < singular[-2]
    turned = np.array([1.0, np.cos(q[i] + 0.7), np.sin(q[i] + 0.7)])
    singular = np.linalg.svd(equations.matrix(forms, turned), compute_uv=False)
    assert singular[-1] > 1e-7 * singular[0]


def test_the_determinant_is_of_degree_eight():
    rng = np.random.default_rng(2)
    chain = random_chain(rng)
    C = chain.pose(rng.uniform(-3, 3, 6)) @ se3.inverse(chain.home)
    for place in PLACES:
        forms = Elimination(chain.screws, place).equations(C).forms.reshape(6, 9, 3)
        angles = 2 * np.pi / 32 * np.arange(32)
        waves = np.stack([np.ones(32), np.cos(angles), np.sin(angles)], axis=1)
        values = [equations.determinant(wave, forms.reshape(-1))[0][0] for wave in waves]
        np.testing.assert_allclose(values, np.linalg.det(equations.matrix(forms, waves)))
        c = np.abs(np.fft.fft(values))[:17]
        assert c[8] > 1e-5 * c.max() > 1e6 * c[9:].max()


@pytest.mark.parametrize('backend', ['reference', pytest.param('native', marks=needs_llvmlite)])
def test_candidates_of_every_place(backend):
    """C-103: the angles that the pose was made from are among the candidates of all places."""
    rng = np.random.default_rng(3)
    chain = random_chain(rng)
    solver = GeneralSixRevolute(chain, backend, PLACES)
    for _ in range(1 if backend == 'reference' else 8):
        q = rng.uniform(-3, 3, 6)
        for number in range(len(PLACES)):
            for refined in (False, True):
                found, count = solver.candidates(chain.pose(q), number, refined)
                assert apart(found, q).min() < (1e-6 if refined else 1e-3)  # steps follow
                assert 0 < count <= 16


def test_chains_that_cannot_be_eliminated_are_refused():
    rng = np.random.default_rng(4)
    with pytest.raises(ArgumentError, match='six revolute joints'):
        GeneralSixRevolute(random_chain(rng, 5), 'reference')
    parallel = SerialChain(
        NAMES, [[0, 0, 1, 0, -float(k), 0] for k in range(6)], se3.exp(rng.normal(size=6))
    )
    with pytest.raises(ArgumentError, match='every elimination vanishes for the joints a, b'):
        GeneralSixRevolute(parallel, 'reference')


def test_an_elimination_is_compiled_when_it_is_taken():
    """A regular pose needs one of the six."""
    chain = random_chain(np.random.default_rng(12))
    solver = SerialSolver(chain, (), 'python')
    q = np.random.default_rng(13).uniform(-3, 3, 6)
    found = solver.direct(chain.pose(q), np.empty(0), np.empty(0))
    assert apart(found.q, q).min() < 1e-9
    method = solver._method(())
    assert list(method._taken) == [0]


def test_samples_that_are_zero_or_not_finite_tell_nothing(monkeypatch):
    """There are no candidates then, and their number is open, not zero."""
    chain = random_chain(np.random.default_rng(8))
    solver = GeneralSixRevolute(chain, 'reference', PLACES[:1])
    compiled, arm, _ = solver._prepared(PLACES[0])
    left, _ = compiled.sampled(chain.home, arm)
    solver.candidates(chain.home, 0, False)
    for value in (0.0, np.nan, np.inf):
        sampled = left, np.full(24, value)
        monkeypatch.setattr(compiled, 'sampled', lambda C, arm, sampled=sampled: sampled)
        for refined in (False, True):
            q, expected = solver.candidates(chain.home, 0, refined)
            assert len(q) == 0
            assert expected == -1


def polynomial(zeros):
    """A trigonometric polynomial with these real zeros."""
    return lambda theta: np.prod([np.sin((theta - z) / 2) for z in zeros], axis=0)


def test_reflections_make_a_triangle():
    rng = np.random.default_rng(7)
    A = rng.normal(size=(14, 8))
    A[0, 0] = 0.0
    R, Qt = reflected(A)
    np.testing.assert_allclose(Qt @ Qt.T, np.eye(14), atol=1e-13)
    np.testing.assert_allclose(Qt @ A, np.vstack([np.triu(R), np.zeros((6, 8))]), atol=1e-13)


STEPS = {n: trigonometric_polynomial.aberth_steps(n, 'reference') for n in (2, 4, 16)}


def complex_zeros(found):
    """Return zeros as complex numbers, from real and imaginary parts and slopes."""
    return found[0].view(complex)[:, 0]


@pytest.mark.parametrize('degree', [1, 2, 8])
def test_zeros_of_trigonometric_polynomials(degree):
    """By both methods: simultaneous iteration and eigenvalues."""
    rng = np.random.default_rng(5)
    zeros = rng.uniform(-np.pi, np.pi, 2 * degree)
    values = polynomial(zeros)(trigonometric_polynomial.sample_angles(24))
    c = np.fft.rfft(values)[: degree + 1]
    p = trigonometric_polynomial.transform(degree, 24) @ values
    for z in (
        complex_zeros(trigonometric_polynomial.zeros(values, STEPS[2 * degree], degree)),
        complex_zeros(trigonometric_polynomial.simultaneous(p, STEPS[2 * degree])),
        trigonometric_polynomial.by_companion(c),
    ):
        np.testing.assert_allclose(np.abs(z), 1.0, atol=1e-7)
        assert apart(np.sort(np.angle(z))[:, None], np.sort(zeros)[:, None]).max() < 1e-7


@pytest.mark.parametrize('size', [1.0, 1e-12, 1e12])
def test_lower_degrees_have_fewer_zeros(size):
    """cos(theta) as one of degree 8: two zeros, others at the origin and far away."""
    angles = trigonometric_polynomial.sample_angles(24)
    for values, real in ((np.cos(angles), [-np.pi / 2, np.pi / 2]), (np.ones(24), [])):
        z = complex_zeros(trigonometric_polynomial.zeros(size * values, STEPS[16], 8))
        around = (np.abs(z) > 0.1) & (np.abs(z) < 10.0)
        np.testing.assert_allclose(np.sort(np.angle(z[around])), real, atol=1e-12)
        assert np.isin(np.abs(z[~around]), [0.0, trigonometric_polynomial.INFINITY]).all()


@pytest.mark.parametrize('least', [0.7, 1e-12])
def test_products_of_angles_are_solved_for(least):
    """A left inverse; where products are dependent, a pivot p gives p / (p^2 + offset)."""
    rng = np.random.default_rng(1)
    Q = np.linalg.qr(rng.normal(size=(14, 14)))[0]
    R = np.triu(rng.normal(size=(8, 8)), 1) + np.diag([1.0, 2.0, 1.0, 0.5, 1.0, 3.0, 1.0, least])
    A, forms = Q[:, :8] @ R, rng.normal(size=(14, 9, 3))
    combined, solution = equations.eliminate(A.reshape(-1), np.zeros(14), forms.reshape(-1))
    S, N = solution.reshape(8, 14), combined.reshape(6, 9, 3)
    share = least**2 / (least**2 + equations.SQUARED_PIVOT_OFFSET)
    np.testing.assert_allclose(np.linalg.norm(S[7]), share / least, rtol=1e-3)
    np.testing.assert_allclose(S[7] @ A[:, 7], share, rtol=1e-3)
    if least > 0.1:
        np.testing.assert_allclose(S @ A, np.eye(8), atol=1e-12)
        across = Q[:, 8:] @ Q[:, 8:].T  # the forms on what no product of angles reaches
        size = np.einsum('iab,ij,jab->ab', forms, across, forms)
        np.testing.assert_allclose((N**2).sum(axis=0), size, rtol=1e-10)


@pytest.mark.parametrize('largest', [1.0, 1e6])
def test_zeros_that_may_be_real(largest):
    """Those at the circle, and those that rounding may have taken away from it, but not far."""
    rounding = general_6r.ERROR_AMPLIFICATION * np.finfo(float).eps * largest
    near, sure = general_6r.NEARLY_REAL, general_6r.CERTAINLY_REAL
    middle = np.sqrt(near * sure)
    cases = [
        (0.9 * sure, 1e300, 1),
        (1.1 * sure, 1e300, 0),
        (middle, 0.9 * rounding / middle, 1),
        (middle, 1.1 * rounding / middle, 0),
        (0.9 * near, 0.9 * rounding / near, 1),
        (1.1 * near, 0.0, 0),
    ]
    for away, slope, count in cases:
        found = general_6r.possibly_real(np.array([away]), np.array([slope]), largest)
        assert found == count, (away, slope)
    away, slopes, counts = (np.array(each) for each in zip(*cases))
    assert general_6r.possibly_real(away, slopes, largest) == counts.sum()


def test_slopes_are_derivatives():
    rng = np.random.default_rng(11)
    f = polynomial(rng.uniform(-np.pi, np.pi, 16))
    values = f(trigonometric_polynomial.sample_angles(24))
    zeros, slopes = trigonometric_polynomial.zeros(values, STEPS[16], 8)
    angles = np.angle(complex_zeros((zeros,)))
    numeric = (f(angles + 1e-6) - f(angles - 1e-6)) / 2e-6
    np.testing.assert_allclose(slopes, np.abs(numeric), atol=1e-6 * np.abs(values).max())


def test_zeros_beside_others_at_infinity():
    """A highest coefficient of 1e-13 does not take the digits of three zeros within 2e-3.

    Four would lose them to the last bits of the values.
    """
    rng = np.random.default_rng(9)
    real = np.concatenate([1.0 + 1e-3 * np.arange(3), rng.uniform(2.5, 4.0, 9)])
    t = trigonometric_polynomial.sample_angles(24)
    values = polynomial(real)(t) * (1.0 + 1e-11 * np.cos(t))
    z = complex_zeros(trigonometric_polynomial.zeros(values, STEPS[16], 8))
    away = np.abs(np.exp(1j * real)[:, None] - z).min(axis=1)
    assert away.max() < 1e-6
    eigenvalues = trigonometric_polynomial.by_companion(np.fft.rfft(values)[:8])
    assert np.abs(np.exp(1j * real)[:, None] - eigenvalues).min(axis=1).max() > 1e-5


def test_crowded_zeros_are_refined():
    """Six zeros within 0.1 rad beside values 1e10 times as large: samples have lost them."""
    rng = np.random.default_rng(6)
    zeros = np.concatenate([1.0 + 0.1 * rng.uniform(size=6), rng.uniform(2.5, 4.0, 10)])
    values = polynomial(zeros)(trigonometric_polynomial.sample_angles(24))
    z = complex_zeros(trigonometric_polynomial.zeros(values, STEPS[16], 8))
    before = np.abs(np.exp(1j * zeros)[:, None] - z).min(axis=1).max()

    def logarithmic_derivative(z):
        u = np.exp(1j * zeros)
        return (1.0 / (z[:, None] - u)).sum(axis=1) - 8.0 / z

    z, _ = trigonometric_polynomial.refined(z, logarithmic_derivative, 20)
    after = np.abs(np.exp(1j * zeros)[:, None] - z).min(axis=1).max()
    assert after < 1e-9 < before
