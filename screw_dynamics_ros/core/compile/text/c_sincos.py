# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sine and cosine of several angles at once, in C.

Same method as the machine code of `compile.llvm.trigonometry`, except for the reduction of angles:
fused multiply-add is not fast on all targets of C, so multiples of pi/2 are subtracted in parts
whose products with integers are exact.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from ..llvm.trigonometry import COS, ROUNDER, SIN

LANES = 4
#: pi/2 as a sum: two parts of 39 bits, and the rest.
HALF_PI = (1.5707963267923333, 2.5633441515905732e-12, 3.9455541665632055e-24)
#: Multiples of pi/2 from which products with the first two parts are no longer exact.
LARGEST_MULTIPLE = 2**14
SHIFT = 15  # shift that removes integers below twice that
ROUNDER_BITS = int.from_bytes(struct.pack('<d', ROUNDER), 'little')


def terms(coefficients: Sequence[float]) -> list[str]:
    """Return c0 + c1 z, c2 + c3 z and c4 + c5 z."""
    return [f'({a!r} + z * {b!r})' for a, b in zip(coefficients[::2], coefficients[1::2])]


S, C = terms(SIN), terms(COS)
#: `sines_and_cosines`, and macros for its callers: VECTOR of 4 numbers, number of VECTORS, LANE of
#: a vector.
FUNCTION = f"""\
/* Sines and cosines of some angles at once, to two units in the last place. GCC and Clang
 * compute several in one vector. Compilers that are allowed to take sums apart, or compute with
 * more digits than double has, call the library. (Methods 16, 32 and 64 are about narrower types:
 * 16 is that of processors that have half precision.) */
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(_M_FP_FAST) || \\
    FLT_EVAL_METHOD < 0 || FLT_EVAL_METHOD == 2 || FLT_EVAL_METHOD > 64
#define CALL_LIBRARY 1
#else
#define CALL_LIBRARY 0
#endif

#if defined(__GNUC__)
#ifdef __AVX__
#include <immintrin.h>
#define ANY_BIT(v) (!_mm256_testz_si256((__m256i)(v), (__m256i)(v)))
#endif
#define LANES {LANES}
#define VECTOR(a, b, c, d) {{a, b, c, d}}
#define LANE(vectors, k) vectors[(k) / LANES][(k) % LANES]
#define SELDOM __attribute__((noinline, cold))
typedef double reals __attribute__((vector_size(8 * LANES)));
typedef uint64_t bits __attribute__((vector_size(8 * LANES)));
#else
#define LANES 1
#define VECTOR(a, b, c, d) a, b, c, d
#define LANE(vectors, k) vectors[k]
#define SELDOM
typedef double reals;
typedef uint64_t bits;
#endif
#define SIGN (UINT64_C(1) << 63)
#define VECTORS(count) ((count) * {LANES} / LANES)

#ifndef ANY_BIT
#define ANY_BIT(v) any_bit(&(v))
static inline int any_bit(const bits *value) {{
  uint64_t lanes[LANES], any = 0;
  memcpy(lanes, value, sizeof lanes);
  for (int lane = 0; lane < LANES; lane++) any |= lanes[lane];
  return any != 0;
}}
#endif

static SELDOM void by_library(const double *angles, double *sines, double *cosines) {{
  for (int k = 0; k < LANES; k++) {{
    sines[k] = sin(angles[k]);
    cosines[k] = cos(angles[k]);
  }}
}}

static inline void sines_and_cosines(const reals *angles, reals *sines, reals *cosines,
                                     int vectors) {{
  for (int k = 0; k < vectors; k++) {{
    const reals x = angles[k];
    /* x = n pi/2 + r; the low digits of the sum are n. */
    const reals sum = x * {2 / 3.141592653589793!r} + {ROUNDER!r};
    const reals n = sum - {ROUNDER!r};
    const reals v = x - n * {HALF_PI[0]!r} - n * {HALF_PI[1]!r};
    const reals r = v - n * {HALF_PI[2]!r};
    /* The last part of n pi/2 is far below the last digit of the square. */
    const reals z = v * v, zz = z * z, rz = r * z;
    const reals s = r + rz * ({S[0]} + zz * ({S[1]} + zz * {S[2]}));
    const reals c = 1.0 - 0.5 * v * v + zz * {C[0]} + zz * zz * ({C[1]} + zz * {C[2]});
    /* Odd quadrants swap sine and cosine, and each changes its sign in two of them. */
    bits q, sine, cosine;
    memcpy(&q, &sum, sizeof q);
    memcpy(&sine, &s, sizeof sine);
    memcpy(&cosine, &c, sizeof cosine);
    const bits swap = (sine ^ cosine) & (0 - (q & 1));
    const bits first = sine ^ swap ^ (q << 62 & SIGN);
    const bits second = cosine ^ swap ^ ((q << 62 ^ q << 63) & SIGN);
    memcpy(sines + k, &first, sizeof first);
    memcpy(cosines + k, &second, sizeof second);
    /* Large angles, infinities and NaN: n is not within {LARGEST_MULTIPLE}. */
    const bits beyond = (q - UINT64_C({ROUNDER_BITS:#x}) + {LARGEST_MULTIPLE}) >> {SHIFT};
    if (CALL_LIBRARY || ANY_BIT(beyond)) {{
      double a[LANES], b[LANES], d[LANES]; /* the vectors themselves may stay in registers */
      memcpy(a, &x, sizeof a);
      by_library(a, b, d);
      memcpy(sines + k, b, sizeof b);
      memcpy(cosines + k, d, sizeof d);
    }}
  }}
}}
"""
