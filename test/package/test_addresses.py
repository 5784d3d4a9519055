# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Addresses are stored by records alone, which keep what is there."""

import ast
from pathlib import Path

import pytest

import screw_dynamics_ros

PACKAGE = Path(screw_dynamics_ros.__file__).parent

#: Functions of other files that take an address: for a call, in code that keeps the array, or of an
#: array of the same object.
EXCEPTIONS = {
    'core/compile/cpython/builtin.py': {'_record', 'builtin_function'},
    'core/compile/cpython/layout.py': {'layout_fault'},
    'core/compile/kernels.py': {'single'},
    'core/compile/llvm/linking.py': {'__init__', '_relocate'},
    'core/compile/stack_runs.py': {'__call__', '__init__'},
    'core/compile/typed/external.py': {'__call__', 'address_of'},
    'core/compile/typed/library.py': {'from_param'},
    'core/compile/typed/primitives.py': {''},  # its name
    'core/compile/typed/records.py': {'__init__', '_allocate', '_target', 'address'},
    'core/robot/autograd/xla_handler.py': {'data_addresses'},
    'core/robot/function_evaluator.py': {'_install_fast'},
    'ros/data_path/rcl.py': {'__init__', 'close'},
    'ros/messages/serialized.py': {'_place'},
    'ros/process/state_lock.py': {'__init__'},
}


def functions_with_addresses(text: str) -> set[str]:
    """Return the functions that take addresses, except typed ones, which are compiled."""
    found = set()

    def visit(node: ast.AST, function: str) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = {each.id for each in node.decorator_list if isinstance(each, ast.Name)}
            if decorators & {'typed', 'compiled_step'}:
                return
            function = node.name
        name = (
            node.attr
            if isinstance(node, ast.Attribute)
            else node.id
            if isinstance(node, ast.Name)
            else ''
        )
        if name in {'address_of', 'addressof', '__array_interface__'} or (
            name == 'data'
            and isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Attribute)
            and node.value.attr == 'ctypes'
        ):
            found.add(function)
        for child in ast.iter_child_nodes(node):
            visit(child, function)

    visit(ast.parse(text), '')
    return found


def test_addresses_are_stored_by_records_alone():
    found = {
        file.relative_to(PACKAGE).as_posix(): names
        for file in sorted(PACKAGE.rglob('*.py'))
        if (names := functions_with_addresses(file.read_text(encoding='utf-8')))
    }
    assert found == EXCEPTIONS


def test_handles_of_ros_are_used_by_one_class():
    """Which keeps them from being destroyed."""
    found = {
        file.relative_to(PACKAGE).as_posix(): file.read_text(encoding='utf-8').count('.pointer')
        for folder in ('ros', 'nodes')
        for file in (PACKAGE / folder).rglob('*.py')
    }
    assert {name: count for name, count in found.items() if count} == {
        'ros/topics/taken_message.py': 1
    }


@pytest.mark.parametrize(
    'line',
    ['words[3] = x.ctypes.data', 'words[3] = address_of(x)', 'words[3] = ctypes.addressof(x)'],
)
def test_the_check_finds_addresses(line):
    assert functions_with_addresses(f'def store(words, x):\n    {line}\n') == {'store'}
    assert not functions_with_addresses(f'@typed\ndef store(words, x):\n    {line}\n')
