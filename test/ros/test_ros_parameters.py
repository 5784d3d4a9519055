# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tables of parameters: converted, checked all at once, applied when the node has stored them."""

from dataclasses import replace

import pytest

pytest.importorskip('rclpy')

import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.process.faults import FAULTS

NUMBER = Specification('number', 1.0, 'A number.', minimum=0.0, maximum=10.0)
COUNT = Specification('count', 3, 'A whole number.')
NAMES = Specification('names', ['a'], 'Names.', choices=('a', 'b'))
CHOICE = Specification('choice', 'a', 'A text.', choices=('a', 'b'))
VECTOR = Specification('vector', [0.0, 1.0], 'Two numbers.', size=2)
FLAG = Specification('flag', True, 'Yes or no.')
ALL = NUMBER, COUNT, NAMES, CHOICE, VECTOR, FLAG

WRONG = [
    (NAMES, 'a', 'list of texts'),
    (NAMES, 5, 'list of texts'),
    (NAMES, ['c'], 'one of a, b'),
    (NAMES, [1.0], 'text'),
    (NAMES, None, 'cannot be deleted'),
    (CHOICE, 'c', 'one of a, b'),
    (CHOICE, '', 'one of a, b'),
    (VECTOR, 1.5, 'list of numbers'),
    (VECTOR, 'down', 'list of numbers'),
    (VECTOR, [1.0], '2 elements'),
    (VECTOR, ['a', 'b'], 'number'),
    (VECTOR, [True, False], 'number'),
    (VECTOR, [0.0, float('nan')], 'finite'),
    (NUMBER, 'x', 'number'),
    (NUMBER, True, 'number'),
    (NUMBER, [1.0], 'number'),
    (NUMBER, 11.0, '[0, 10]'),
    (NUMBER, float('inf'), 'finite'),
    (COUNT, 1.5, 'whole number'),
    (COUNT, 'x', 'whole number'),
    (FLAG, 1, 'true or false'),
    (FLAG, 'yes', 'true or false'),
    (FLAG, None, 'cannot be deleted'),
]


@pytest.mark.parametrize(('specification', 'value', 'reason'), WRONG)
def test_one_parameter_of_a_wrong_type_is_refused_by_name(specification, value, reason):
    """A number where a list is declared, a text for a list, nothing at all."""
    with pytest.raises(ArgumentError, match=specification.name) as refusal:
        specification.convert(value)
    assert reason in str(refusal.value)


@pytest.mark.parametrize(
    ('specification', 'value', 'expected'),
    [
        (NAMES, [], []),
        (NAMES, [''], []),
        (NAMES, ('b', 'a'), ['b', 'a']),
        (replace(CHOICE, default=''), '', ''),
        (NUMBER, 2, 2.0),
        (VECTOR, [1, 2.5], [1.0, 2.5]),
    ],
)
def test_values_become_those_of_the_table(specification, value, expected):
    assert specification.convert(value) == expected


class Older(Node):
    """A node of humble: it has no callbacks before and after parameters are set."""

    add_pre_set_parameters_callback = property(lambda self: super().absent)
    add_post_set_parameters_callback = property(lambda self: super().absent)


@pytest.fixture(params=[Node, Older], ids=['post-set callback', 'humble'])
def node(request, ros_domain):
    rclpy.init(domain_id=ros_domain)
    made = request.param('parameters', enable_rosout=False)
    yield made
    made.destroy_node()
    rclpy.shutdown()


class Table:
    """Parameters that record what is checked and applied."""

    def __init__(self, node, table, refuses=lambda values: False):
        self.checked, self.applied, self.refuses = [], [], refuses
        self.node = node
        self.parameters = Parameters(node, table, self.check, self.apply)

    def check(self, values):
        self.checked.append(values)
        if self.refuses(values):
            raise ArgumentError('not this one')

    def apply(self, values):
        assert {name: self.parameters[name] for name in values} == values
        self.applied.append(values)

    def settle(self):
        """Let an older rclpy call back."""
        executor = rclpy.executors.SingleThreadedExecutor()
        executor.add_node(self.node)
        executor.spin_once(timeout_sec=0.05)
        executor.remove_node(self.node)


def set_all(node, **values):
    return node.set_parameters_atomically(
        [Parameter(name, value=value) for name, value in values.items()]
    )


def test_a_refused_atomic_change_of_parameters_changes_nothing(node):
    """Whichever of the tables refuses it, and in whatever order they were declared."""
    first, last = (
        Table(node, [NUMBER]),
        Table(node, [VECTOR], refuses=lambda values: values['vector'][0] < 0.0),
    )
    for values in (
        {'number': 2.0, 'vector': [-1.0, 0.0]},
        {'number': 2.0, 'vector': [1.0]},
        {'number': 2.0, 'vector': 5.0},
        {'number': 20.0, 'vector': [1.0, 1.0]},
    ):
        result = set_all(node, **values)
        first.settle()
        assert not result.successful
        assert result.reason
        assert first.applied == last.applied == []
        assert first.parameters['number'] == node.get_parameter('number').value == 1.0
        assert last.parameters['vector'] == [0.0, 1.0]
    assert set_all(node, number=2.0, vector=[1.0, 2.0]).successful
    first.settle()
    assert (first.applied, last.applied) == ([{'number': 2.0}], [{'vector': [1.0, 2.0]}])


def test_a_change_that_somebody_else_refuses_is_not_applied(node):
    """Callbacks of others may come after ours: only what the node has stored counts."""
    table = Table(node, [NUMBER])

    def refuse(parameters):
        return rclpy.node.SetParametersResult(successful=False, reason='no')

    node.add_on_set_parameters_callback(refuse)
    node._on_set_parameters_callbacks.reverse()  # ours first
    assert not set_all(node, number=2.0).successful
    table.settle()
    assert table.applied == []
    assert table.parameters['number'] == 1.0


def test_what_stays_the_same_is_not_applied(node):
    table = Table(node, [NUMBER, VECTOR])
    assert set_all(node, number=1.0, vector=[0.0, 3.0]).successful
    table.settle()
    assert table.applied == [{'vector': [0.0, 3.0]}]


def test_an_error_in_a_check_refuses_the_change(node):
    def fail(values):
        raise KeyError('nobody thought of this')

    table = Table(node, [NUMBER], refuses=fail)
    result = set_all(node, number=2.0)
    table.settle()
    assert 'KeyError' in result.reason
    assert table.parameters['number'] == 1.0


def test_an_error_in_applying_is_told_and_the_other_tables_follow(node):
    def fail(values):
        raise RuntimeError('cannot')

    Parameters(node, [NUMBER], apply=fail)
    other = Table(node, [VECTOR])
    assert set_all(node, number=2.0, vector=[5.0, 5.0]).successful
    other.settle()
    assert other.applied == [{'vector': [5.0, 5.0]}]
    assert any('cannot' in text for text in FAULTS.status().values.values())


def test_every_wrong_value_at_run_time(node):
    table = Table(node, ALL)
    before = table.parameters.values
    for specification, value, _ in WRONG:
        assert not set_all(node, **{specification.name: value}).successful, (specification, value)
    table.settle()
    assert table.parameters.values == before
    assert table.applied == []


def test_wrong_value_at_start(ros_domain):
    rclpy.init(domain_id=ros_domain)
    try:
        for name, value in (('vector', 1.5), ('names', 'ab'), ('count', 1.5)):
            made = Node(
                'start', parameter_overrides=[Parameter(name, value=value)], enable_rosout=False
            )
            with pytest.raises(ArgumentError, match=name):
                Parameters(made, ALL)
            made.destroy_node()
    finally:
        rclpy.shutdown()


EMPTY = Specification('empty', [], 'Numbers.', minimum=0.0, rule='one for each')
FIXED = Specification('fixed', [], 'Numbers.', read_only=True)


def test_types_are_declared_and_never_change(node):
    Parameters(node, [*ALL, EMPTY, FIXED])
    for specification in (*ALL, EMPTY, FIXED):
        descriptor = node.describe_parameter(specification.name)
        parameter = node.get_parameter(specification.name)
        assert not descriptor.dynamic_typing
        assert descriptor.type == parameter.type_.value == specification.kind.value
        assert descriptor.read_only == specification.read_only
        assert specification.convert(parameter.value) == specification.default


def test_whole_numbers_and_empty_lists_get_the_type_that_is_declared(node):
    """At run time, too, where rclpy asks before it looks at types (not in humble)."""
    table = Table(node, [NUMBER, VECTOR, EMPTY])
    asks = hasattr(node, 'add_pre_set_parameters_callback')
    assert set_all(node, number=2, vector=[3, 4], empty=[1]).successful == asks
    assert set_all(node, empty=[]).successful == asks
    table.settle()
    for name, value in (('number', 2.0), ('vector', [3.0, 4.0])) if asks else ():
        assert table.parameters[name] == value
        assert node.get_parameter(name).type_ in (
            Parameter.Type.DOUBLE,
            Parameter.Type.DOUBLE_ARRAY,
        )
    assert table.parameters['empty'] == []


@pytest.mark.parametrize(
    ('name', 'value', 'expected'),
    [
        ('number', 2, 2.0),
        ('vector', [3, 4], [3.0, 4.0]),
        ('empty', None, []),
        ('empty', [5], [5.0]),
        ('fixed', [5], [5.0]),
    ],
)
def test_whole_numbers_at_start(ros_domain, name, value, expected):
    rclpy.init(domain_id=ros_domain)
    try:
        made = Node(
            'start', parameter_overrides=[Parameter(name, value=value)], enable_rosout=False
        )
        parameters = Parameters(made, [NUMBER, VECTOR, EMPTY, FIXED])
        assert parameters[name] == expected
        stored = made.get_parameter(name).value
        assert (stored if isinstance(stored, float) else list(stored)) == expected
        made.destroy_node()
    finally:
        rclpy.shutdown()


@pytest.mark.parametrize(
    ('specification', 'words', 'constraints'),
    [
        (NUMBER, 'in [0, 10]', ''),
        (COUNT, 'finite', 'finite'),
        (NAMES, 'any of: a, b', 'any of: a, b'),
        (VECTOR, 'each finite; 2 elements', 'each finite; 2 elements'),
        (FLAG, '', ''),
        (EMPTY, 'each >= 0; one for each', 'each >= 0; one for each'),
    ],
)
def test_ranges_are_said_once(specification, words, constraints):
    """By the range of the descriptor where ROS has one, in words otherwise."""
    assert specification.range == words
    assert specification.descriptor.additional_constraints == constraints
