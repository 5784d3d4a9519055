"""Sine and cosine of several angles at once, in C.

As the machine code of `compile.llvm.sincos`, but for the reduction of angles: C cannot ask for a
fused multiply-add that is fast everywhere, so multiples of pi/2 are taken off in parts whose
products with whole numbers are exact.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from screw_dynamics_ros.core.compile.llvm.sincos import COS, ROUNDER, SIN

LANES = 4
#: pi/2 as a sum, of 33 bits each but for the last.
HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32)
#: Multiples of pi/2 from which products with those parts are not exact any more.
LARGEST_MULTIPLE = 2**19
SHIFT = 20  # away with whole numbers below twice that
ROUNDER_BITS = int.from_bytes(struct.pack('<d', ROUNDER), 'little')


def polynomial(coefficients: Sequence[float]) -> str:
    """Return c0 + c1 z + ... + c5 z^5, by Estrin's scheme: short chains of operations."""
    pairs = [f'({a!r} + z * {b!r})' for a, b in zip(coefficients[::2], coefficients[1::2])]
    return f'{pairs[0]} + zz * ({pairs[1]} + zz * {pairs[2]})'


#: `sines_and_cosines`, and what its callers need: VECTOR of 4 numbers, VECTORS of so many of them,
#: and one LANE.
FUNCTION = f"""\
/* Sines and cosines of some angles at once, to about one unit in the last place. GCC and Clang
 * compute several in one vector. Compilers that are allowed to take sums apart, or compute with
 * more digits than double has, call the library. */
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(_M_FP_FAST) || \\
    FLT_EVAL_METHOD != 0
#define CALL_LIBRARY 1
#else
#define CALL_LIBRARY 0
#endif

#if defined(__GNUC__)
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
#define VECTORS(count) ((count) * {LANES} / LANES)

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
    /* x = n pi/2 + r; the low digits of the sum are n. Only the last difference is rounded. */
    const reals sum = x * {2 / 3.141592653589793!r} + {ROUNDER!r};
    const reals n = sum - {ROUNDER!r};
    const reals t = x - n * {HALF_PI[0]!r};
    const reals u = n * {HALF_PI[1]!r};
    const reals v = t - u;
    const reals r = v - (n * {HALF_PI[2]!r} + n * {HALF_PI[3]!r} - (t - v - u));
    const reals z = r * r, zz = z * z, half = 0.5 * z, w = 1.0 - half;
    const reals s = r + r * z * ({polynomial(SIN)});
    const reals c = w + (1.0 - w - half + zz * ({polynomial(COS)}));
    /* Odd quadrants swap sine and cosine, and each changes its sign in two of them. */
    bits q, sine, cosine, beyond;
    memcpy(&q, &sum, sizeof q);
    memcpy(&sine, &s, sizeof sine);
    memcpy(&cosine, &c, sizeof cosine);
    const bits odd = 0 - (q & 1);
    const bits first = ((sine & ~odd) | (cosine & odd)) ^ (q >> 1 << 63);
    const bits second = ((cosine & ~odd) | (sine & odd)) ^ ((q + 1) >> 1 << 63);
    memcpy(sines + k, &first, sizeof first);
    memcpy(cosines + k, &second, sizeof second);
    /* Large angles, infinities and NaN: n is not within {LARGEST_MULTIPLE}. */
    beyond = (q - UINT64_C({ROUNDER_BITS:#x}) + {LARGEST_MULTIPLE}) >> {SHIFT};
    uint64_t lanes[LANES], any = CALL_LIBRARY;
    memcpy(lanes, &beyond, sizeof lanes);
    for (int lane = 0; lane < LANES; lane++) any |= lanes[lane];
    if (any) {{
      double a[LANES], b[LANES], d[LANES]; /* the vectors themselves may stay in registers */
      memcpy(a, &x, sizeof a);
      by_library(a, b, d);
      memcpy(sines + k, b, sizeof b);
      memcpy(cosines + k, d, sizeof d);
    }}
  }}
}}
"""
