# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tables of the addresses of compiled kernels, which entry points read at each call."""

from __future__ import annotations

import ctypes

from .layout import c_api
from .writer import EntryWriter


class Addresses:
    """Addresses of the kernels of a function, by the values of its string options.

    `only` is for calls without options, `by_first[a]` for one option, `by_second[b][a]` for two.
    The last option can be omitted. Addresses can be added while entry points use the tables.

    Parameters
    ----------
    options : int
        Number of string options: 0, 1 or 2.
    default : str, optional
        Default of the last option.
    """

    def __init__(self, options: int = 0, default: str | None = None) -> None:
        self.options, self.default = options, default
        self.only = ctypes.c_int64(0)
        self.by_first: dict[str, int] = {}
        self.by_second: dict[str, dict[str, int]] = {}

    def add(self, options: tuple[str, ...], address: int) -> None:
        """Register the kernel for the values of the options."""
        for given in (options, options[:-1]) if options[-1:] == (self.default,) else (options,):
            if len(given) == 2:
                self.by_second.setdefault(given[1], {})[given[0]] = address
            elif len(given) == 1:
                self.by_first[given[0]] = address
            else:
                self.only.value = address

    def write_look_up(self, w: EntryWriter, first: int, otherwise: str, name: str) -> str:
        """Write the look-up of the address for the arguments, and return its name.

        `first` is the index of the first option, `name` the prefix of the basic blocks. The code
        branches to block `otherwise` without an address.
        """
        fewest = first + self.options - (self.default is not None)
        w.unless(w.compare('sge', '%nargs', fewest), otherwise, f'{name}_enough')
        w.unless(w.compare('sle', '%nargs', first + self.options), otherwise, f'{name}_few')
        found: list[str] = []
        for given in range(fewest - first, self.options + 1):
            here, after = f'{name}_{given}', f'{name}_not_{given}'
            w.unless(w.compare('eq', '%nargs', first + given), after, here)
            if given == 0:
                address = w.read('i64', str(ctypes.addressof(self.only)))
            else:
                table = str(id(self.by_first if given == 1 else self.by_second))
                for k in reversed(range(given)):
                    key = w.read('i64', '%args', 8 * (first + k))
                    table = w.call('i64', c_api()['PyDict_GetItem'], ('i64', table), ('i64', key))
                    w.unless(w.compare('ne', table, 0), otherwise, f'{here}_{k}')
                address = w.call('i64', c_api()['PyLong_AsVoidPtr'], ('i64', table))
            found.append(f'[{address}, %{w.block}]')
            w.go_to(f'{name}_found')
            w.label(after)
        w.go_to(otherwise)
        w.label(f'{name}_found')
        address = w(f'phi i64 {", ".join(found)}')
        w.unless(w.compare('ne', address, 0), otherwise, f'{name}_known')
        return address
