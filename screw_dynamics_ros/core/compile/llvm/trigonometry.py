# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sines and cosines of several angles at once, and arctan2(y, x), as LLVM IR."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from .writer import Writer, constant, vector_type

# Coefficients of fdlibm's kernels on [-pi/4, pi/4] (error below 1 ulp).
SIN = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
COS = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)
# pi/2 as a sum of three doubles, each the rounding error of the sum of those before it.
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
# Adding and subtracting this rounds to the nearest integer; the low bits of the sum are the
# integer.
ROUNDER = 6755399441055744.0
# Above this angle [rad] this is no longer accurate enough, and libm is used.
LARGEST_ANGLE = 2.0**30
# Coefficients of fdlibm's arctangent on [-7/16, 7/16] (error below 1 ulp).
ARCTANGENT = (
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
def sincos_function(lanes: int, opaque: bool) -> str:
    """Return IR of `@sincos`: sine and cosine of `lanes` angles, with an error of about 1 ulp.

    `%n` vectors of angles are read from `%s` and replaced by their sines; cosines go to `%c`. The
    argument is reduced by multiples of pi/2 with fused multiply-adds (Cody and Waite), so that the
    quotient may be large. The C library computes angles beyond `LARGEST_ANGLE`, infinities and NaN,
    lane by lane.
    """
    w = Writer(opaque)
    T, L, B = vector_type(lanes), vector_type(lanes, 'i64'), vector_type(lanes, 'i1')

    def c(value: float) -> str:
        return constant(value, lanes)

    def integer(value: int) -> str:
        return '<' + ', '.join([f'i64 {value}'] * lanes) + '>'

    def fma(a: str, b: str, d: str) -> str:
        return w(f'call {T} @llvm.fma.v{lanes}f64({T} {a}, {T} {b}, {T} {d})')

    def polynomial(z: str, coefficients: Sequence[float]) -> str:
        value = c(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            value = fma(value, z, c(coefficient))
        return value

    w.lines += ['entry:', '  br label %loop', 'loop:']
    w.do('%k = phi i64 [0, %entry], [%next, %joined]')
    start = w(f'mul i64 %k, {lanes}')
    x = w.load('%s', start, lanes)
    size = w(f'call {T} @llvm.fabs.v{lanes}f64({T} {x})')
    ordinary = w(f'fcmp ole {T} {size}, {c(LARGEST_ANGLE)}')
    bits = w(f'bitcast {B} {ordinary} to i{lanes}')
    all_ordinary = w(f'icmp eq i{lanes} {bits}, -1')
    w.do(f'br i1 {all_ordinary}, label %fast, label %slow')
    w.lines.append('fast:')
    shifted = fma(x, c(2 / 3.141592653589793), c(ROUNDER))
    k = w(f'fsub {T} {shifted}, {c(ROUNDER)}')
    minus_k = w(f'fneg {T} {k}')
    r = x
    for part in HALF_PI:
        r = fma(minus_k, c(part), r)
    z = w(f'fmul {T} {r}, {r}')
    rz = w(f'fmul {T} {r}, {z}')
    sine = fma(rz, polynomial(z, SIN), r)
    zz = w(f'fmul {T} {z}, {z}')
    cosine = fma(zz, polynomial(z, COS), fma(z, c(-0.5), c(1.0)))
    quadrant = w(f'bitcast {T} {shifted} to {L}')
    odd = w(f'trunc {L} {quadrant} to {B}')
    first = w(f'select {B} {odd}, {T} {cosine}, {T} {sine}')
    second = w(f'select {B} {odd}, {T} {sine}, {T} {cosine}')

    def with_sign(value: str, two_bits: str) -> str:
        """Flip the sign where bit 1 of `two_bits` is set."""
        sign = w(f'shl {L} {w(f"lshr {L} {two_bits}, {integer(1)}")}, {integer(63)}')
        flipped = w(f'xor {L} {w(f"bitcast {T} {value} to {L}")}, {sign}')
        return w(f'bitcast {L} {flipped} to {T}')

    sine = with_sign(first, quadrant)
    cosine = with_sign(second, w(f'add {L} {quadrant}, {integer(1)}'))
    w.store(sine, '%s', start, lanes)
    w.store(cosine, '%c', start, lanes)
    w.do('br label %joined')
    w.lines.append('slow:')
    for lane in range(lanes):
        angle = w(f'extractelement {T} {x}, i32 {lane}')
        place = w(f'add i64 {start}, {lane}')
        for name, target in (('sin', '%s'), ('cos', '%c')):
            w.store(w(f'call double @{name}(double {angle})'), target, place)
    w.do('br label %joined')
    w.lines.append('joined:')
    w.do('%next = add i64 %k, 1')
    w.do('%more = icmp slt i64 %next, %n')
    w.do('br i1 %more, label %loop, label %done')
    w.lines += ['done:', '  ret void']
    P = w.pointer('double')
    return '\n'.join(
        [
            'declare double @sin(double)',
            'declare double @cos(double)',
            f'declare {T} @llvm.fma.v{lanes}f64({T}, {T}, {T})',
            f'declare {T} @llvm.fabs.v{lanes}f64({T})',
            f'define internal void @sincos({P} noalias %s, {P} noalias %c, i64 %n) noinline {{',
            *w.lines,
            '}',
        ]
    )


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
    value = c(ARCTANGENT[-1])
    for coefficient in reversed(ARCTANGENT[:-1]):
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
