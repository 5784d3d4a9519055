# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The terms of friction, one row each: drives, identification and parameters read `FRICTION`.

A joint with the rate v has the friction

    f(v) = sum c_k s_k(v, sign v),    sign v = v / sqrt(v^2 + eps^2),

where s_k is a function of the rate, its smooth sign and further fields of the drive, of sums,
products and quotients: it can be recorded, and its derivatives follow from it (`Jet`). At rest s_k
is 0, with finite slope and curvature for both signs. The coefficients c_k are identified; s_k are
the columns.

A new term is a row of `FRICTION` and the field of its coefficient in `Friction`, with its text.

>>> Friction(damping=0.1, coulomb=0.5, smoothing=0.1).friction(np.array([-1.0, 0.0, 1.0])).round(4)
array([-0.5975,  0.    ,  0.5975])

Sources: Armstrong-Helouvry, Dupont and Canudas de Wit, Automatica 30 (1994), with the Stribeck
curve of Hess and Soom (1990); in proportion to the load as in Hamon, Gautier and Garrec, Dynamic
identification of robots with a dry friction model depending on load and velocity (IROS 2010);
Coulomb friction of each direction as in Corke, A robotics toolbox for MATLAB, IEEE Robotics and
Automation Magazine 3(1), 1996, with a smooth sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ..arguments import is_number
from ..errors import ArgumentError

#: Units of coefficients by the power of the rate, for revolute and prismatic joints.
BY_POWER = {0.0: ('N m', 'N'), 1.0: ('N m s/rad', 'N s/m'), 2.0: ('N m s^2/rad^2', 'N s^2/m^2')}


@dataclass(frozen=True)
class NumberBounds:
    """Bounds of a number of a drive.

    Attributes
    ----------
    minimum, below : float
        `below` is not included.
    positive : bool
        Whether 0 is excluded.
    at_least, within : str
        The field that it must not be less than, and the field that bounds its size.
    described : str
        The attribute of `Joint` with this number.
    """

    minimum: float = -math.inf
    below: float = math.inf
    positive: bool = False
    at_least: str = ''
    within: str = ''
    described: str = ''

    def check(self, name: str, drive: Any) -> None:
        """Raise `ArgumentError` if the number of a drive is not finite or out of bounds."""
        value, fault = getattr(drive, name), ''
        if not (is_number(value) and math.isfinite(value)):
            fault = 'give a finite number'
        elif value < self.minimum:
            fault = 'it must not be negative'
        elif self.positive and value <= 0.0:
            fault = 'it must be positive'
        elif value >= self.below:
            fault = f'give less than {self.below:g}'
        elif self.at_least and value < getattr(drive, self.at_least):
            fault = f'it must be at least {self.at_least}, {getattr(drive, self.at_least)}'
        elif self.within and abs(value) > getattr(drive, self.within):
            fault = f'its size must not exceed {self.within}, {getattr(drive, self.within)}'
        if fault:
            raise ArgumentError(f'Drive: {name} is {value!r}; {fault}')


def number(default: float | None = 0.0, **bounds: Any) -> Any:
    """Return the field of a dataclass with `NumberBounds`."""
    return field(default=default, metadata={'bounds': NumberBounds(**bounds)})


def is_free(row: FrictionTerm) -> bool:
    """Return whether a term of friction does not depend on the load."""
    return not row.by_load


def is_dry(row: FrictionTerm) -> bool:
    """Return whether a term is dry friction that does not depend on the load."""
    return not (row.power or row.by_load)


@dataclass(frozen=True, kw_only=True)
class Friction:
    """The friction of a drive; units of revolute, prismatic joints.

    Attributes
    ----------
    damping : float
        Viscous friction [N m s/rad, N s/m].
    coulomb : float
        Coulomb friction, without the viscous part [N m, N].
    coulomb_asymmetry, damping_asymmetry : float
        Difference of the friction of positive rates from the mean of both directions, which is
        `coulomb` or `damping`, and no less [N m, N or N m s/rad, N s/m].
    breakaway : float, optional
        Friction near zero velocity [N m, N], at least `coulomb`, which is the default.
    stribeck_speed : float
        Speed at which the Stribeck effect, `breakaway` - `coulomb`, is halved [rad/s, m/s].
    smoothing : float
        Speed below which dry friction decreases smoothly to zero; 71 % at this speed [rad/s, m/s].
        A joint under load creeps. Smaller values require smaller integration steps.
    motor_damping : float
        Viscous friction of a coupled motor, at its rate in units of its joint [N m s/rad, N s/m];
        other friction is that of the joint.
    motor_coulomb : float
        Coulomb friction of a coupled motor, at its rate in units of its joint [N m, N].
    load_friction : float
        Dry friction per torque that the drive transmits, as of gears [1]: mu |L| joins the Coulomb
        friction. L is the torque of the joint without friction, rotor and springs included.
    load_friction_asymmetry : float
        Difference of the `load_friction` of a motor that drives the load from the mean of both
        directions of power, and no less, [1]: mu + delta if the motor drives the load, mu - delta
        if the load drives the motor (`load_friction_of`).
    bristle_stiffness : float
        Stiffness of the joint held by dry friction, sigma_0 of the LuGre model [N m/rad, N/m].
        Simulated robots then stick where others creep (`simulation.bristles`); all other functions
        have the friction of steady motion.
    bristle_damping : float
        Damping of the joint held by dry friction, sigma_1 of the LuGre model [N m s/rad, N s/m].

    Raises
    ------
    ArgumentError
        A number that is not finite or out of range; names the field.
    """

    damping: float = number(minimum=0.0, described='damping')
    coulomb: float = number(minimum=0.0, described='friction')
    coulomb_asymmetry: float = number(within='coulomb')
    damping_asymmetry: float = number(within='damping')
    breakaway: float | None = number(None, minimum=0.0, at_least='coulomb')
    stribeck_speed: float = number(0.1, positive=True)
    smoothing: float = number(0.01, positive=True)
    motor_damping: float = number(minimum=0.0)
    motor_coulomb: float = number(minimum=0.0)
    load_friction: float = number(minimum=0.0, below=1.0)
    load_friction_asymmetry: float = number(within='load_friction')
    bristle_stiffness: float = number(minimum=0.0)
    bristle_damping: float = number(minimum=0.0)

    def __post_init__(self) -> None:
        for each in fields(self):
            is_optional = each.default is None
            if each.metadata and not (is_optional and getattr(self, each.name) is None):
                each.metadata['bounds'].check(each.name, self)
        if self.load_friction - self.load_friction_asymmetry >= 1.0:
            raise ArgumentError(
                f'Drive: load_friction is {self.load_friction} and load_friction_asymmetry '
                f'{self.load_friction_asymmetry}: no load moves the joint; their difference must '
                'be less than 1'
            )
        if self.bristle_stiffness and self.coulomb <= abs(self.coulomb_asymmetry):
            raise ArgumentError(
                f'Drive: bristle_stiffness needs dry friction in both directions; coulomb is '
                f'{self.coulomb}, give more than the size of coulomb_asymmetry, '
                f'{abs(self.coulomb_asymmetry)}'
            )
        if self.bristle_damping and not self.bristle_stiffness:
            raise ArgumentError(
                f'Drive: bristle_damping is {self.bristle_damping} without bristle_stiffness; give '
                'both'
            )

    @property
    def stribeck(self) -> float:
        """Breakaway friction in excess of Coulomb friction [N m] ([N])."""
        return 0.0 if self.breakaway is None else self.breakaway - self.coulomb

    @property
    def stiction(self) -> float:
        """Bound of the friction at rest, without that of a load [N m] ([N])."""
        return max(abs(self._sum(0.0, sign)) for sign in (-1.0, 1.0))

    def sign(self, rate: Any) -> Any:
        """Return the smooth sign of a rate."""
        return rate / np.sqrt(rate * rate + self.smoothing**2)

    def friction(self, rate: Any) -> Any:
        """Return the friction torque [N m] ([N]) at a joint rate [rad/s] ([m/s]), with its sign.

        It is smooth, zero at rest and dissipative. `rate` may be an array or a recorded scalar.
        """
        return self._sum(rate, self.sign(rate))

    def load_share(self, rate: Any) -> Any:
        """Return mu with the smooth sign of a joint rate: friction per transmitted torque |L|."""
        return self._sum(rate, self.sign(rate), lambda row: row.by_load and not row.by_power)

    def power_share(self, rate: Any) -> Any:
        """Return delta with the squared sign of a rate: friction per transmitted torque L."""
        return self._sum(rate, self.sign(rate), lambda row: row.by_power)

    @property
    def efficiency(self) -> float:
        """L / tau of the torque of a motor that drives a load fast, without other friction."""
        return 1.0 / (1.0 + self.load_friction + self.load_friction_asymmetry)

    @property
    def backdriving_efficiency(self) -> float:
        """The torque tau / L of a motor that brakes a load that drives it."""
        return 1.0 - self.load_friction + self.load_friction_asymmetry

    def friction_slope(self, rate: Any) -> Any:
        """Return the derivative of `friction` with respect to the rate [N m s/rad] ([N s/m])."""
        return 0.0 * rate + self._jet(rate).first

    def friction_curvature(self, rate: Any) -> Any:
        """Return the second derivative of `friction` [N m s^2/rad^2] ([N s^2/m^2])."""
        return 0.0 * rate + self._jet(rate).second

    def growing(self, rate: Any, power: float) -> Any:
        """Return the friction that grows with a power of the speed, without smoothing and load."""
        return self._sum(rate, np.sign(rate), lambda row: row.growth == power and not row.by_load)

    def level(self, rate: Any) -> Any:
        """Return the dry friction of steady motion, not smoothed, without load [N m] ([N])."""
        ahead = self._sum(rate, 1.0, is_dry)
        if not self.coulomb_asymmetry:
            return ahead
        return np.where(rate < 0.0, -self._sum(rate, -1.0, is_dry), ahead)

    @property
    def depends_on_load(self) -> bool:
        """Whether friction depends on the transmitted torque."""
        return any(row.by_load and getattr(self, row.name) for row in FRICTION.values())

    @property
    def of_motor(self) -> Friction:
        """The friction of a coupled motor, at its own rate."""
        given = {row.name: getattr(self, row.motor) for row in FRICTION.values() if row.motor}
        return Friction(**given, smoothing=self.smoothing)

    def _jet(self, rate: Any) -> Jet:
        inverse = 1.0 / (rate * rate + self.smoothing**2)
        slope = self.smoothing**2 * inverse * np.sqrt(inverse)
        sign = Jet(rate * np.sqrt(inverse), slope, -3.0 * slope * (rate * inverse))
        return self._sum(Jet(rate, 1.0, 0.0), sign)

    def _sum(self, rate: Any, sign: Any, belongs: Callable[[FrictionTerm], bool] = is_free) -> Any:
        """Return the sum of the terms that belong to it; by default of those without load."""
        total = 0.0 * rate
        for row in FRICTION.values():
            coefficient = getattr(self, row.name)
            if coefficient and belongs(row):
                try:
                    total = total + coefficient * row.shape(rate, sign, self)
                except TypeError as error:
                    raise ArgumentError(
                        f'friction term {row.name!r}: {error}; its shape may contain sums, '
                        'products and quotients of v, sign and fields'
                    ) from error
        return total


@dataclass(frozen=True)
class FrictionTerm:
    """A term of friction: a coefficient times a function of the rate.

    Attributes
    ----------
    name : str
        The coefficient: a field or property of `Friction`, and the name of the unknown.
    shape : callable
        Returns s_k of the rate, its sign and the `Friction`.
    power : float
        Of the rate in the unit of s_k: one of `BY_POWER`.
    fades : bool
        Whether it vanishes at high speeds; otherwise s_k grows with this power of the rate.
    by_load : bool
        Whether it is multiplied by the transmitted torque: its size, or
    by_power : bool
        the torque itself, so that it changes its sign with that of the power.
    motor : str
        The field of the coefficient of a coupled motor, '' without one.
    is_common : bool
        Whether it is identified for all drives, or only for those that have it.
    """

    name: str
    shape: Callable[[Any, Any, Friction], Any]
    power: float = 0
    fades: bool = False
    by_load: bool = False
    by_power: bool = False
    motor: str = ''
    is_common: bool = False

    def __post_init__(self) -> None:
        if self.power not in BY_POWER:
            raise ArgumentError(
                f'friction term {self.name!r}: a power other than 0, 1, 2 needs its units in '
                f'BY_POWER; got {self.power!r}'
            )

    @property
    def growth(self) -> float | None:
        """The power of the speed that it grows with."""
        return None if self.fades else self.power

    @property
    def is_signed(self) -> bool:
        """Whether the coefficient may be negative."""
        own = Friction.__dataclass_fields__.get(self.name)
        return own is not None and own.metadata['bounds'].minimum < 0.0

    @property
    def units(self) -> tuple[str, str]:
        """Units of the coefficient, for revolute and prismatic joints."""
        return ('1', '1') if self.by_load else BY_POWER[self.power]


FRICTION = {
    row.name: row
    for row in (
        FrictionTerm(
            'damping', lambda v, sign, _: v, power=1, motor='motor_damping', is_common=True
        ),
        FrictionTerm('coulomb', lambda v, sign, _: sign, motor='motor_coulomb', is_common=True),
        FrictionTerm('coulomb_asymmetry', lambda v, sign, _: sign * sign),
        FrictionTerm('damping_asymmetry', lambda v, sign, _: v * sign, power=1),
        FrictionTerm(
            'stribeck',
            lambda v, sign, drive: sign / (1.0 + v * v / drive.stribeck_speed**2),
            fades=True,
            is_common=True,
        ),
        FrictionTerm('load_friction', lambda v, sign, _: sign, by_load=True),
        FrictionTerm(
            'load_friction_asymmetry', lambda v, sign, _: sign * sign, by_load=True, by_power=True
        ),
    )
}


def load_friction_of(efficiency: float, backdriving_efficiency: float) -> dict[str, float]:
    """Return `load_friction` and `load_friction_asymmetry` of a gear by its efficiencies.

    Parameters
    ----------
    efficiency, backdriving_efficiency : float
        Power at the joint per power of the motor that drives it, and of the motor per power of the
        joint that drives it; more than 0, at most 1.

    Raises
    ------
    ArgumentError
        An efficiency out of range.

    Examples
    --------
    >>> gear = Friction(**load_friction_of(0.8, 0.7))
    >>> round(gear.load_friction, 3), round(gear.load_friction_asymmetry, 3)
    (0.275, -0.025)
    >>> round(gear.efficiency, 6), round(gear.backdriving_efficiency, 6)
    (0.8, 0.7)
    """
    for given in (efficiency, backdriving_efficiency):
        if not (is_number(given) and 0.0 < given <= 1.0):
            raise ArgumentError(f'an efficiency is {given!r}; give more than 0 and at most 1')
    ahead, back = 1.0 / efficiency - 1.0, 1.0 - backdriving_efficiency
    return {'load_friction': (ahead + back) / 2.0, 'load_friction_asymmetry': (ahead - back) / 2.0}


@dataclass(frozen=True)
class Jet:
    """A function of one number, with its first and second derivative."""

    value: Any
    first: Any
    second: Any

    __array_ufunc__ = None  # NumPy leaves operators to this class

    def __add__(self, other: Any) -> Jet:
        x = _jet(other)
        return Jet(self.value + x.value, self.first + x.first, self.second + x.second)

    def __sub__(self, other: Any) -> Jet:
        return self + -1.0 * _jet(other)

    def __mul__(self, other: Any) -> Jet:
        x = _jet(other)
        return Jet(
            self.value * x.value,
            self.first * x.value + self.value * x.first,
            self.second * x.value + 2.0 * (self.first * x.first) + self.value * x.second,
        )

    def __truediv__(self, other: Any) -> Jet:
        x = _jet(other)
        inverse = 1.0 / x.value
        slope = -1.0 * x.first * (inverse * inverse)
        bend = -1.0 * (x.second * inverse + 2.0 * (x.first * slope)) * inverse
        return self * Jet(inverse, slope, bend)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: Any) -> Jet:
        return _jet(other) - self

    def __rtruediv__(self, other: Any) -> Jet:
        return _jet(other) / self


def _jet(x: Any) -> Jet:
    return x if isinstance(x, Jet) else Jet(x, 0.0, 0.0)
