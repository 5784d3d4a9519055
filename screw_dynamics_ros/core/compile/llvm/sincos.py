# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sine and cosine of several angles at once, as LLVM IR."""

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
