# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers with intervals as text: both with the digits that the interval needs."""

from __future__ import annotations

import math
from decimal import Decimal

MAX_DECIMALS = 9


def with_interval(value: float, half_width: float, digits: int = 4) -> tuple[str, str]:
    """Return a number, and the half width of its interval with two significant digits.

    The number has `digits` significant digits, and more if the interval has more decimals.

    Examples
    --------
    >>> with_interval(12.28, 0.0014), with_interval(-2e-4, 0.05), with_interval(1234.5, 99.96)
    (('12.2800', '0.0014'), ('-0.0002', '0.050'), ('1234', '100'))
    >>> with_interval(1.5, 0.0), with_interval(2e-13, 1e-14), with_interval(1.0, float('inf'))
    (('1.5', '0'), ('2e-13', '1e-14'), ('1', 'inf'))
    """
    number, half = f'{value:.{digits}g}', f'{half_width:.2g}'
    if half_width > 0.0 and math.isfinite(half_width) and math.isfinite(value):
        decimals = max(0, 1 - int(f'{half_width:.1e}'.partition('e')[2]))
        if decimals <= MAX_DECIMALS:
            half = f'{half_width:.{decimals}f}'
            shown = Decimal(number).as_tuple().exponent
            if isinstance(shown, int) and -shown < decimals:
                number = f'{value:.{decimals}f}'
    return number, half


def between(value: float, half_width: float) -> str:
    """Return 'value +- half width'.

    >>> between(12.28, 0.0014)
    '12.2800 +- 0.0014'
    """
    return ' +- '.join(with_interval(value, half_width))
