"""The one exception tree of the package.

Every message names the thing at fault (link, joint, argument), the value found and the remedy.
"""


class ScrewDynamicsError(Exception):
    """Base class of every error this package raises on purpose."""


class DescriptionError(ScrewDynamicsError, ValueError):
    """A robot description cannot be turned into a model."""


class InertiaError(DescriptionError):
    """A link's inertial parameters cannot belong to a physical body."""


class ArgumentError(ScrewDynamicsError, ValueError):
    """An argument has the wrong shape, type or value."""


class UnknownNameError(ScrewDynamicsError, LookupError):
    """A link, joint, representation or backend name is not known."""


class InfeasibleConstraintsError(ScrewDynamicsError, ValueError):
    """Constraints contradict each other, or a kinematic loop cannot be closed."""


class SingularClosureError(InfeasibleConstraintsError):
    """The joints that are given do not decide how the other joints of a closed loop move."""


class BackendError(ScrewDynamicsError, RuntimeError):
    """A compilation backend is missing or failed."""


class DivergenceError(ScrewDynamicsError, ArithmeticError):
    """A simulated motion cannot be followed: it is not finite or gains energy without a cause."""
