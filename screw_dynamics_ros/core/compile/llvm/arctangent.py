# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Angle of a point in the plane, arctan2(y, x), as LLVM IR."""

from __future__ import annotations

from functools import cache

from .writer import Writer, constant, vector_type

# Coefficients of fdlibm's arctangent on [-7/16, 7/16] (error below 1 ulp).
COEFFICIENTS = (
    3.33333333333329318027e-01,
    -1.99999999998764832476e-01,
    1.42857142725034663711e-01,
    -1.11111104054623557880e-01,
    9.09088713343650656196e-02,
    -7.69187620504482999495e-02,
    6.66107313738753120669e-02,
    -5.83357013379057348645e-02,
    4.97687799461593236017e-02,
    -3.65315727442169155270e-02,
    1.62858201153657823623e-02,
)
TAN_PI_8 = 0.41421356237309503
# pi/4 = upper + lower; multiples by 1, 2 and 4 of both are exact.
QUARTER = (0.7853981633974483, 3.061616997868383e-17)


@cache
def arctangent_function(lanes: int, opaque: bool) -> str:
    """Return IR of `@arctangent(y, x)`: angles in [-pi, pi], error about 1 ulp, without branches.

    The smaller of |x| and |y| is divided by the larger. If the quotient exceeds tan(pi/8), its
    angle is computed relative to pi/4. The angle of the origin is 0 or pi, depending on the sign of
    x, as in C. NaN stays NaN; the angle is NaN if both are infinite.
    """
    w = Writer(opaque)
    T, L, B = vector_type(lanes), vector_type(lanes, 'i64'), vector_type(lanes, 'i1')
    suffix = 'f64' if lanes == 1 else f'v{lanes}f64'

    def c(value: float) -> str:
        return constant(value, lanes)

    def call(name: str, *arguments: str) -> str:
        return w(f'call {T} @llvm.{name}.{suffix}({", ".join(f"{T} {a}" for a in arguments)})')

    def select(condition: str, a: str, b: str) -> str:
        return w(f'select {B} {condition}, {T} {a}, {T} {b}')

    x, y = call('fabs', '%x'), call('fabs', '%y')
    steep = w(f'fcmp ogt {T} {y}, {x}')
    large, small = select(steep, y, x), select(steep, x, y)
    middle = w(f'fcmp ogt {T} {small}, {w(f"fmul {T} {large}, {c(TAN_PI_8)}")}')
    numerator = select(middle, w(f'fsub {T} {small}, {large}'), small)
    denominator = select(middle, w(f'fadd {T} {small}, {large}'), large)
    origin = w(f'fcmp oeq {T} {denominator}, {c(0.0)}')
    r = w(f'fdiv {T} {numerator}, {select(origin, c(1.0), denominator)}')
    z = w(f'fmul {T} {r}, {r}')
    value = c(COEFFICIENTS[-1])
    for coefficient in reversed(COEFFICIENTS[:-1]):
        value = call('fma', value, z, c(coefficient))
    correction = w(f'fmul {T} {r}, {w(f"fmul {T} {z}, {value}")}')

    def reflected(condition: str, quarters: int, r: str, correction: str) -> tuple[str, str]:
        """Return `quarters` pi/4 minus the angle where the condition holds."""
        other = w(f'fsub {T} {c(quarters * QUARTER[0])}, {r}')
        rest = w(f'fsub {T} {c(quarters * QUARTER[1])}, {correction}')
        # rounding error of `other`
        lost = w(f'fsub {T} {w(f"fsub {T} {c(quarters * QUARTER[0])}, {other}")}, {r}')
        return (
            select(condition, other, r),
            select(condition, w(f'fadd {T} {rest}, {lost}'), correction),
        )

    # The angle is r + correction from here on.
    correction = w(f'fneg {T} {correction}')
    added = w(f'fadd {T} {c(QUARTER[0])}, {r}')
    lost = w(f'fsub {T} {r}, {w(f"fsub {T} {added}, {c(QUARTER[0])}")}')
    rest = w(f'fadd {T} {w(f"fadd {T} {correction}, {c(QUARTER[1])}")}, {lost}')
    r, correction = select(middle, added, r), select(middle, rest, correction)
    r, correction = reflected(steep, 2, r, correction)
    sign = w(f'bitcast {T} %x to {L}')
    zero = 'zeroinitializer' if lanes > 1 else '0'
    r, correction = reflected(w(f'icmp slt {L} {sign}, {zero}'), 4, r, correction)
    angle = call('copysign', w(f'fadd {T} {r}, {correction}'), '%y')
    number = w(f'fcmp uno {T} %x, %y')
    angle = select(number, w(f'fadd {T} %x, %y'), angle)
    w.do(f'ret {T} {angle}')
    return '\n'.join(
        [
            f'declare {T} @llvm.fma.{suffix}({T}, {T}, {T})',
            f'declare {T} @llvm.fabs.{suffix}({T})',
            f'declare {T} @llvm.copysign.{suffix}({T}, {T})',
            f'define internal {T} @arctangent({T} %y, {T} %x) noinline {{',
            *w.lines,
            '}',
        ]
    )
