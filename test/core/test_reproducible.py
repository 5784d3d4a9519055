# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arithmetic that does not depend on the processor, against extended precision and fractions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from screw_dynamics_ros.core.reproducible import (
    arctangent,
    norm,
    product,
    reproducible,
    sine_cosine,
    total,
    unit,
)

#: Angles, and sines and cosines to 40 digits, from tables.
KNOWN = {
    1.0: (
        '0.8414709848078965066525023216302989996226',
        '0.5403023058681397174009366074429766037323',
    ),
    0.5: (
        '0.4794255386042030002732879352155713880818',
        '0.8775825618903727161162815826038296519916',
    ),
    2.0: (
        '0.9092974268256816953960198659117448427023',
        '-0.4161468365471423869975682295007621897660',
    ),
    100.0: (
        '-0.5063656411097587936565576104597854320650',
        '0.8623188722876839341019385139508425355100',
    ),
}


@pytest.mark.parametrize('angle', KNOWN)
@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_sines_from_tables(angle, sign):
    sine, cosine = (float(Fraction(text)) for text in KNOWN[angle])
    assert sine_cosine(sign * angle) == (sign * sine, cosine)


def test_sines_of_doubles_next_to_multiples_of_a_right_angle():
    """What pi/2 and pi as doubles lack of the real ones; the double nearest of all to one."""
    assert sine_cosine(math.pi / 2) == (1.0, 6.123233995736766e-17)
    assert sine_cosine(math.pi) == (1.2246467991473532e-16, -1.0)
    nearest = math.ldexp(6381956970095103.0, 797)  # Muller, Elementary functions
    assert sine_cosine(nearest) == (1.0, -4.6871659242546276e-19)


@pytest.mark.parametrize('scale', [1e-3, 1.0, 10.0, 1e6, 1e300])
def test_sines_are_within_half_a_unit_in_the_last_place(scale):
    """Of extended precision, by angle addition from a half: no series, no reduction."""
    rng = np.random.default_rng(0)
    for angle in rng.uniform(-scale, scale, 50):
        sine, cosine = map(Fraction, sine_cosine(float(angle)))
        half_sine, half_cosine = map(Fraction, sine_cosine(float(angle) / 2))
        assert abs(sine - 2 * half_sine * half_cosine) < Fraction(3, 2**53) * abs(sine) + Fraction(
            1, 2**60
        )
        assert abs(sine**2 + cosine**2 - 1) < Fraction(1, 2**52)


@pytest.mark.parametrize('angle', [0.0, 1e-310, 5e-324, 1e-20, -1e-20])
def test_sines_of_tiny_angles(angle):
    assert sine_cosine(angle) == (angle, 1.0)


@pytest.mark.parametrize('exponent', [-12, -20, -26, -27, -40, -59])
def test_sines_of_small_angles_are_those_of_the_series(exponent):
    for x in np.random.default_rng(3).uniform(-2.0, 2.0, 20):
        angle = math.ldexp(x, exponent)
        X = Fraction(angle)
        sine = X - X**3 / 6 + X**5 / 120 - X**7 / 5040
        cosine = 1 - X**2 / 2 + X**4 / 24 - X**6 / 720 + X**8 / 40320
        assert sine_cosine(angle) == (float(sine), float(cosine))


@pytest.mark.parametrize('x', [2.0, 0.0, -0.0, -2.0, math.inf, -math.inf])
@pytest.mark.parametrize('y', [0.0, -0.0, 3.0, -3.0, math.inf])
def test_arctangents_on_the_axes_are_those_of_the_standard(x, y):
    """The signs of zeros count, as in Annex F of the standard of C."""
    found, expected = arctangent(y, x), math.atan2(y, x)
    assert found == pytest.approx(expected, rel=1e-15)
    assert math.copysign(1.0, found) == math.copysign(1.0, expected)


def test_arctangents_undo_sines():
    """Newton steps from any start give the same: sine and cosine of the result are those given."""
    for angle in np.random.default_rng(1).uniform(-math.pi, math.pi, 100):
        sine, cosine = sine_cosine(float(angle))
        assert abs(arctangent(sine, cosine) - angle) <= np.spacing(abs(angle)) + 1e-16
    assert arctangent(1.0, 1.0) == math.pi / 4
    assert arctangent(-1.0, 0.0) == -math.pi / 2
    assert arctangent(0.0, -2.0) == math.pi


def test_arctangents_do_not_depend_on_the_c_library(monkeypatch):
    expected = [arctangent(y, x) for y, x in ((0.3, 0.7), (-2.0, 0.1), (1e-9, -3.0))]
    exact = math.atan2
    monkeypatch.setattr(math, 'atan2', lambda y, x: exact(y, x) * (1.0 + 3e-16))
    assert [arctangent(y, x) for y, x in ((0.3, 0.7), (-2.0, 0.1), (1e-9, -3.0))] == expected


def test_products_are_sums_from_left_to_right():
    rng = np.random.default_rng(2)
    A, B, C = rng.normal(size=(3, 4)), rng.normal(size=(4, 5)), rng.normal(size=(5, 2))

    def times(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        result = np.zeros((len(A), B.shape[1]))
        for i, row in enumerate(A.tolist()):
            for j, column in enumerate(B.T.tolist()):
                value = row[0] * column[0]
                for x, y in zip(row[1:], column[1:]):
                    value = value + x * y
                result[i, j] = value
        return result

    np.testing.assert_array_equal(product(A, B, C), times(times(A, B), C))
    objects = reproducible(A) @ reproducible(B)
    np.testing.assert_array_equal(objects.astype(float), times(A, B))


def test_sums_do_not_carry_rounding_errors_along():
    """As the `sum` of Python 3.12 does: 1 + 1e-16 three times is 1."""
    assert total([1.0, 1e-16, 1e-16, 1e-16]) == 1.0
    assert norm(np.array([3.0, 4.0])) == 5.0
    np.testing.assert_array_equal(unit(np.array([0.0, 3.0, 4.0])), [0.0, 0.6, 0.8])


class Pair(NamedTuple):
    name: str
    numbers: np.ndarray


@dataclass(frozen=True)
class Model:
    pair: Pair
    parts: dict[str, list[np.ndarray]]
    size: np.float64
    count: int


def test_models_are_copied_with_python_floats():
    model = Model(Pair('a', np.arange(3.0)), {'b': [np.eye(2)]}, np.float64(0.5), 3)
    copy = reproducible((model, np.arange(3)))[0]
    assert type(copy.pair) is Pair
    assert copy.pair.numbers.dtype == copy.parts['b'][0].dtype == object
    assert {type(x) for x in (*copy.pair.numbers, *copy.parts['b'][0].flat, copy.size)} == {float}
    assert copy.count == 3
    assert copy.pair.name == 'a'
    assert model.pair.numbers.dtype == float
    np.testing.assert_array_equal(copy.pair.numbers, model.pair.numbers)


def test_factors_that_do_not_match():
    for rows in (2, 4):
        with pytest.raises(ValueError, match='zip'):
            product(np.eye(3), np.ones((rows, 2)))
