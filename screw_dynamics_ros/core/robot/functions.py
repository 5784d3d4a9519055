# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The functions of a robot: `compiled` makes one out of a recursion, and `FUNCTIONS` lists them.

In class `RobotFunctions`, ::

    @compiled(jacobians.jacobian, 'q')
    def jacobian(self, q: ArrayLike, link: str, representation: str = 'hybrid') -> Array:
        \"\"\"Return ...\"\"\"

defines a function: the recursion `jacobian(tree, q, link, representation)`, the vectors it reads,
and by the signature of the method what callers pass. The first parameters are the inputs, the
others are options, strings that select a variant, and `external_wrenches`. `compiled` adds
the keywords: `gravity` where that is an input, the robot's own if it is not given, and `out` for
the results.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, update_wrapper
from typing import Any, TypeVar, cast

from ..description.rigid_body import PARAMETERS
from ..dynamics import forward_dynamics
from ..errors import UnknownNameError
from ..kinematics import jacobians
from ..tree.multibody_tree import Tree
from ..types import Array

#: The vectors a function may read, in the order in which it takes them.
INPUTS = (
    'q',
    'displacement',
    'v',
    'a',
    'jerk',
    'snap',
    'momenta',
    'tau',
    'payload',
    'gravity',
)

WRENCHES = 'external_wrenches'

#: What selects one output: the name of a function, or (name, option, ...).
Output = str | tuple[str, ...]

#: What docstrings say about keywords; `out` by its type.
KEYWORDS = {
    'gravity': '`gravity`, (3,) or (N, 3) [m/s^2], replaces the gravity of the robot',
    'Array | None': '`out` is an array for the result',
    'tuple[Array, ...] | None': '`out` is a tuple of arrays for the results',
}

Method = TypeVar('Method', bound=Callable[..., Any])


@dataclass(frozen=True)
class Function:
    """One function: `evaluate(tree, *inputs, *options)` returns an array, or a tuple of arrays.

    Attributes
    ----------
    evaluate : callable
        The recursion.
    inputs : tuple of str
        Some of `INPUTS`.
    method : callable
        The method of `Robot`.
    branching : frozenset of str
        Options with which the recursion branches on numbers and cannot be recorded.
    too_long : callable, optional
        Whether the program of a tree would take too long to compile.
    divides : bool
        Whether it divides by the inertias about joints, which may be none.
    """

    evaluate: Callable[..., Array | tuple[Array, ...]]
    inputs: tuple[str, ...]
    method: Any
    branching: frozenset[str] = frozenset()
    too_long: Callable[[Tree], bool] | None = None
    divides: bool = False

    def not_recorded(self, tree: Tree, options: tuple[str, ...]) -> str:
        """Return why the recursion runs on numbers each time it is called; '' if it is recorded."""
        if self.branching.intersection(options):
            return 'it branches'
        if self.too_long is not None and self.too_long(tree):
            return f'its program is too long for {tree.nv} degrees of freedom'
        return ''

    @cached_property
    def name(self) -> str:
        """The name of the method."""
        return self.method.__name__

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature that callers see, without `self`."""
        signature = inspect.signature(self.method)
        parameters = list(signature.parameters.values())[1:]
        own = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
        added = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for name, kind in self.keywords.items()
        ]
        return signature.replace(parameters=[*own, *added])

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters of the method, without `self`."""
        code = self.method.__code__
        return code.co_varnames[1 : code.co_argcount]

    @cached_property
    def keywords(self) -> dict[str, str]:
        """The parameters that are passed by keyword only, and their types."""
        array = 'Array'
        if str(self.method.__annotations__.get('return', '')).startswith('tuple['):
            array = 'tuple[Array, ...]'
        gravity = {'gravity': 'ArrayLike | None'} if 'gravity' in self.inputs else {}
        return {**gravity, 'out': f'{array} | None'}

    @cached_property
    def keywords_text(self) -> str:
        """The text about keywords for the docstring."""
        gravity, out = KEYWORDS['gravity'], KEYWORDS[self.keywords['out']]
        return f'{gravity}; {out}.' if 'gravity' in self.keywords else f'{out}.'

    @cached_property
    def given(self) -> tuple[str, ...]:
        """The inputs that callers pass."""
        return tuple(name for name in self.inputs if name != 'gravity')

    @cached_property
    def options(self) -> tuple[str, ...]:
        """What else selects the output: names of parameters."""
        rest = self.parameters[len(self.given) :]
        return tuple(name for name in rest if name != WRENCHES)

    @cached_property
    def option_defaults(self) -> dict[str, str | None]:
        """Default of each option; None if it must be given."""
        defaults = self.method.__defaults__ or ()
        known = dict(zip(self.parameters[len(self.parameters) - len(defaults) :], defaults))
        return {name: known.get(name) for name in self.options}


#: All functions by name; `robot.Robot` fills it.
FUNCTIONS: dict[str, Function] = {}


def compiled(
    recursion: Callable[..., Any],
    *inputs: str,
    branching: frozenset[str] = frozenset(),
    too_long: Callable[[Tree], bool] | None = None,
    divides: bool = False,
) -> Callable[[Method], Method]:
    """Return a decorator that makes a function of a robot out of a recursion.

    The keywords `gravity` and `out` are added to signature and docstring.

    Parameters
    ----------
    recursion : callable
        Takes the tree, the inputs and the options, and the external wrenches as a dict if there are
        any.
    *inputs : str
        Some of `INPUTS`, in their order.
    branching, too_long, divides
        As in `Function`.
    """

    def decorate(method: Method) -> Method:
        function = registered(Function(recursion, inputs, method, branching, too_long, divides))
        evaluate = evaluator(function)
        evaluate.__defaults__ = method.__defaults__
        evaluate.__kwdefaults__ = dict.fromkeys(function.keywords)
        evaluate.__annotations__ = types = {**method.__annotations__, **function.keywords}
        evaluate.__signature__ = inspect.signature(evaluate)
        update_wrapper(evaluate, method)  # `__wrapped__` leads to the source
        evaluate.__annotations__ = types
        evaluate.__doc__ = f'{inspect.getdoc(method)}\n\n{function.keywords_text}'
        return cast(Method, evaluate)

    return decorate


def evaluator(function: Function) -> Any:
    """Return a method with the parameters of a function, which evaluates it.

    Its text is made, as that of methods of data classes is: sorting any arguments into inputs,
    options and wrenches would take longer than the call.
    """
    names = list(function.parameters)
    numbers, options = len(function.given), len(function.given) + len(function.options)
    groups = names[:numbers], names[numbers:options]
    passed = [f'({"".join(f"{name}, " for name in group)})' for group in groups] + names[options:]
    names += ['*', *function.keywords]
    passed += [f'{name}={name}' for name in function.keywords]
    text = (
        f'def {function.name}(self, {", ".join(names)}):\n'
        f'    return self._evaluate(function, {", ".join(passed)})\n'
    )
    names_of_text: dict[str, Any] = {'function': function}
    exec(text, names_of_text)
    return names_of_text[function.name]


def prepared(recursion: Callable[..., Any], *inputs: str) -> Callable[[Method], Method]:
    """Return a decorator for a method that wraps a compiled function.

    The method handles its own arguments or results, and calls `self._evaluate` in between.
    """

    def decorate(method: Method) -> Method:
        registered(Function(recursion, inputs, method))
        return method

    return decorate


def registered(function: Function) -> Function:
    """Add a function to `FUNCTIONS`; raises `ValueError` if its parameters are not its inputs."""
    parameters = function.parameters
    if function.name in FUNCTIONS or parameters[: len(function.given)] != function.given:
        raise ValueError(f'{function.name}{parameters} cannot be a function of {function.inputs}')
    FUNCTIONS[function.name] = function
    return function


def as_tuple(outputs: Array | tuple[Array, ...]) -> tuple[Array, ...]:
    """Return what `evaluate` returned as a tuple."""
    return outputs if isinstance(outputs, tuple) else (outputs,)


def input_size(tree: Tree, name: str) -> int:
    """Return the number of elements of one of `INPUTS`."""
    sizes = {'q': tree.nq, 'payload': len(PARAMETERS) * len(tree.bodies), 'gravity': 3}
    return sizes.get(name, tree.nv)


def find(tree: Tree, output: Output) -> tuple[Function, tuple[str, ...]]:
    """Return the function and the options of `output`; raises `UnknownNameError`."""
    name, *options = (output,) if isinstance(output, str) else tuple(output)
    function = FUNCTIONS.get(name)
    if function is None:
        raise UnknownNameError(f'no function named {name!r}; choose one of {", ".join(FUNCTIONS)}')
    if len(options) != len(function.options):
        wanted = ', '.join((repr(name), *function.options))
        raise UnknownNameError(f'{output!r} does not name an output; write ({wanted})')
    for kind, option in zip(function.options, options):
        if kind == 'link':
            tree.frame(option)
        elif kind == 'orientation':
            jacobians.check_orientation(option)
        elif kind == 'prescribed':
            forward_dynamics.check_marks(tree, option)
        else:
            jacobians.check_representation(option)
    return function, tuple(options)
