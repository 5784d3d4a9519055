# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Defaults of options: those that their help states, or the ones listed here."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

pytest.importorskip('rosbags')

COMMANDS = (
    'annotate.command', 'bench', 'calibrate.command', 'compile', 'demo.command', 'doctor.command',
    'excite', 'export', 'identify.command', 'parity', 'replay.command',
    'view.command',
)  # fmt: skip

#: Defaults whose help does not end in a pair of parentheses with the value.
OTHERS = {
    'annotate.command': {'workers': 0, 'description_topic': '/robot_description'},
    'bench': {'backend': 'auto'},
    'calibrate.command': {'estimate': ('axes', 'base', 'target'), 'folds': 5},
    'doctor.command': {'description_topic': '/robot_description'},
    'identify.command': {
        'description_topic': '/robot_description',
        'hold': (),
        'scale': ('auto',),
        'payload': '',
    },
    'parity': {'only': ('mujoco', 'pinocchio', 'kdl'), 'require': ()},
    'replay.command': {'description_topic': '/robot_description', 'compression': 'lz4'},
    'view.command': {'topic': '/joint_states', 'host': '127.0.0.1', 'port': 8080},
}


def options_of(module, monkeypatch):
    """Return the options of a command, as its help has them."""
    made, parser = [], module.command_parser
    monkeypatch.setattr(
        module, 'command_parser', lambda *given: made.append(parser(*given)) or made[0]
    )
    with pytest.raises(SystemExit):
        module.parse(['--help'])
    (parser,) = made
    name = module.__name__.removesuffix('.command').rpartition('.')[2]
    assert (parser.prog, parser.description) == (name, module.__doc__)
    return parser._actions


def stated(text):
    """Return the default that a help states at its end: '(default: 5)', or '(5)'."""
    found = re.search(r'\((?:default: )?([^()]*)\)$', text or '')
    return found[1] if found else None


def is_same(default, text):
    """Whether a default is what its help states."""
    words = [str(each) for each in default] if isinstance(default, tuple) else [str(default)]
    given = text.split() if len(words) > 1 else [text]
    try:
        return [float(each) for each in words] == [float(each) for each in given]
    except ValueError:
        return words == given


@pytest.mark.parametrize('name', COMMANDS)
def test_defaults_are_those_of_the_help(name, monkeypatch, capsys):
    module = import_module(f'screw_dynamics_ros.cli.{name}')
    others = dict(OTHERS.get(name, {}))
    for option in options_of(module, monkeypatch):
        text, default = stated(option.help), option.default
        if option.dest in others:
            assert default == others.pop(option.dest), option.dest
        elif text is not None and default not in (None, (), [], ''):
            assert is_same(default, 'auto' if text == 'default' else text.replace('here', '.')), (
                option.dest
            )
        else:
            assert default in (None, False, '', 0, '==SUPPRESS==') or default in ((), []), (
                option.dest
            )
    assert others == {}
    capsys.readouterr()
