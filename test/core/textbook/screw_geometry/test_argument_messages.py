# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Each function of screw geometry names itself and the argument that is wrong."""

import inspect
import re

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.textbook.screw_geometry import accelerations, impedances, lines
from screw_dynamics_ros.core.textbook.screw_geometry.lines import Line

LINE = Line(np.array([0.0, 0.0, 1.0]), np.array([1.0, 2.0, 0.0]))
VALID = {
    'V': np.ones(6), 'A': np.eye(6), 'K': np.eye(6), 'X': np.ones(6), 'L': [0, 0, 1, 1, -1, 0],
    'weight': np.eye(6), 'material': np.ones(6), 'C': np.eye(4), 'p': np.ones(3), 'q': np.zeros(3),
    'point': np.ones(3), 'direction': np.ones(3), 'line': LINE, 'line1': LINE, 'line2': LINE,
    'tolerance': 1e-9, 'current': None, 'normal1': [0, 0, 1], 'normal2': [1, 0, 0],
    **dict.fromkeys(('point1', 'point2', 'r', 'r_dot', 'omega', 'alpha', 'a_origin'), np.ones(3)),
}  # fmt: skip
#: Functions that leave the check to another one.
DELEGATES = {
    'lines.distance': ('lines.common_normal',),
    'lines.intersect': ('lines.common_normal',),
    'lines.point_distance': ('lines.nearest_point',),
    'lines.through': ('points.unit', 'lines.through'),
    'accelerations.material_acceleration': ('accelerations.point_acceleration',),
}
NOT_ARRAYS = ('tolerance', 'current')


def cases():
    for module in (accelerations, impedances, lines):
        name = module.__name__.rpartition('.')[2]
        for function, call in vars(module).items():
            if not inspect.isfunction(call) or call.__module__ != module.__name__:
                continue
            names = list(inspect.signature(call).parameters)
            if function.startswith('_'):
                continue
            for each in names:
                if each not in NOT_ARRAYS:
                    yield pytest.param(
                        call, f'{name}.{function}', names, each, id=f'{function}-{each}'
                    )


@pytest.mark.parametrize(('call', 'function', 'names', 'wrong'), list(cases()))
def test_the_wrong_argument_is_named(call, function, names, wrong):
    valid = {name: VALID.get(name, 0.3) for name in names}  # others are numbers
    if function.startswith('accelerations') and 'A' in valid:
        valid['A'] = np.ones(6)
    call(**valid)
    with pytest.raises(ArgumentError) as error:
        call(**{**valid, wrong: 'text'})
    text = str(error.value)
    assert wrong in re.split('[ :,]', text.split(' must ')[0])
    owners = (function, *DELEGATES.get(function, ()))
    assert text.startswith('se3.') if is_of_se3(function, wrong) else text.split(':')[0] in owners


def is_of_se3(function, name):
    return name == 'C' and function.startswith('impedances')
