# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Exceptions of the package.

Each message names the cause (link, joint, argument), the value and the remedy. Each class has a
number for programs that handle errors.
"""

from enum import IntEnum
from typing import ClassVar


class ErrorCode(IntEnum):
    """Classes of faults, numbered and described in screw_dynamics_msgs/msg/ErrorCode."""

    SUCCESS = 0
    FAILURE = 1
    INTERNAL = 2
    UNKNOWN_NAME = 10
    INVALID_ARGUMENT = 11
    NOT_FINITE = 12
    NOT_SUPPORTED = 13
    INVALID_DESCRIPTION = 14
    INVALID_INERTIA = 15
    NO_ROBOT_DESCRIPTION = 20
    NO_JOINT_STATE = 21
    NOT_AVAILABLE = 22
    PROCESS_DIED = 23
    NOT_AT_REST = 24
    NOT_ENOUGH_DATA = 25
    NO_SOLUTION = 30
    TIMEOUT = 31
    SINGULAR = 32
    DIVERGED = 33


class ScrewDynamicsError(Exception):
    """Base class of every error this package raises on purpose."""

    code: ClassVar[ErrorCode] = ErrorCode.FAILURE


class DescriptionError(ScrewDynamicsError, ValueError):
    """A robot description does not define a valid model."""

    code = ErrorCode.INVALID_DESCRIPTION


class InertiaError(DescriptionError):
    """A link's inertial parameters cannot belong to a physical body."""

    code = ErrorCode.INVALID_INERTIA


class ArgumentError(ScrewDynamicsError, ValueError):
    """An argument has the wrong shape, type or value."""

    code = ErrorCode.INVALID_ARGUMENT


class NotFiniteError(ArgumentError):
    """A number is NaN or infinite, or so large that results are."""

    code = ErrorCode.NOT_FINITE


class UnsupportedRobotError(ArgumentError):
    """The robot has joints or loops that a function does not support."""

    code = ErrorCode.NOT_SUPPORTED


class MissingDescriptionError(ScrewDynamicsError):
    """There is no robot description yet."""

    code = ErrorCode.NO_ROBOT_DESCRIPTION


class MissingStateError(ArgumentError):
    """A measured joint state is required, but missing or outdated."""

    code = ErrorCode.NO_JOINT_STATE


class NotAtRestError(ArgumentError):
    """The robot moves, or is recorded in motion, but must be at rest."""

    code = ErrorCode.NOT_AT_REST


class NotEnoughDataError(ArgumentError):
    """Measurements do not determine the result: too few, or too similar."""

    code = ErrorCode.NOT_ENOUGH_DATA


class UnknownNameError(ScrewDynamicsError, LookupError):
    """A link, joint, representation or backend name is unknown."""

    code = ErrorCode.UNKNOWN_NAME


class InfeasibleConstraintsError(ScrewDynamicsError, ValueError):
    """Constraints contradict each other, or a kinematic loop cannot be closed."""

    code = ErrorCode.NO_SOLUTION


class SingularClosureError(InfeasibleConstraintsError):
    """The given joints do not determine the motion of the other joints of a loop."""

    code = ErrorCode.SINGULAR


class BackendError(ScrewDynamicsError, RuntimeError):
    """A compilation backend is missing or failed."""

    code = ErrorCode.NOT_AVAILABLE


class NotRecordableError(ArgumentError):
    """A function that cannot be recorded as a program; names the line at fault."""


class DivergenceError(ScrewDynamicsError, ArithmeticError):
    """A simulated motion diverges: it is not finite, or gains energy without a cause."""

    code = ErrorCode.DIVERGED


def error_code(error: Exception) -> ErrorCode:
    """Return the number of an error; errors of other classes are internal faults.

    >>> error_code(UnknownNameError('no such link')).name, error_code(KeyError('x')).name
    ('UNKNOWN_NAME', 'INTERNAL')
    """
    return error.code if isinstance(error, ScrewDynamicsError) else ErrorCode.INTERNAL
