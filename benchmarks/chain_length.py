# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Cost against the length of a random chain: operations, and time per joint."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pinocchio as pin
from figures import Figure, compared
from timing import loop, measure

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.compile.program.tracing import Recorder, program
from screw_dynamics_ros.core.dynamics.forward_dynamics import forward_dynamics
from screw_dynamics_ros.core.dynamics.inverse_dynamics import inverse_dynamics
from screw_dynamics_ros.core.tree.multibody_tree import build_tree
from support.models import random_description, to_urdf

LENGTHS = (10, 20, 50, 100, 200)
FUNCTIONS = {
    'RNEA': (inverse_dynamics, 'robot.inverse_dynamics(q, v, a)', 'pin.rnea(model, data, q, v, a)'),
    'ABA': (forward_dynamics, 'robot.forward_dynamics(q, v, a)', 'pin.aba(model, data, q, v, a)'),
}
LINEAR = 1.1  # cost of a joint in the longest chain over that in the shortest


def figures(quick: bool) -> Iterator[Figure]:
    """Measure chains of revolute joints with arbitrary axes and inertias."""
    lengths = LENGTHS[:3] if quick else LENGTHS
    for name, (function, ours, theirs) in FUNCTIONS.items():
        counts = {n: operations(function, n) for n in (*lengths, lengths[0] // 2, 2 * lengths[-1])}
        first = (counts[lengths[0]] - counts[lengths[0] // 2]) / (lengths[0] - lengths[0] // 2)
        last = (counts[2 * lengths[-1]] - counts[lengths[-1]]) / lengths[-1]
        yield Figure(
            'Operations of one more joint',
            f'{lengths[0]} to {2 * lengths[-1]} joints',
            name,
            last,
            peer='ours, shortest chain',
            theirs=first,
            unit='ops',
            ratio=last / first,
            required=LINEAR,
            meaning='ratio at most',
        )
        for n in lengths:
            description = random_description(5, n, ('revolute',), chain=True)
            robot, model = Robot(description), pin.buildModelFromXML(to_urdf(description))
            q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, n))
            times = measure(
                {
                    'ours': loop(ours, robot=robot, q=q, v=v, a=a),
                    'Pinocchio from Python': loop(
                        theirs, pin=pin, model=model, data=model.createData(), q=q, v=v, a=a
                    ),
                },
                repeats=30 if quick else 100,
            )
            yield from compared(
                'Chains, single calls',
                f'{n} joints',
                name,
                times,
                note=f'{1e9 * times["ours"].median / n:.0f} ns per joint',
            )


def operations(function, joints: int) -> int:
    """Return the number of operations in the recorded program."""
    tree = build_tree(random_description(5, joints, ('revolute',), chain=True))
    recorder = Recorder()
    inputs = [recorder.inputs(name, joints) for name in 'qva']
    output = function(tree, *inputs, np.array([0.0, 0.0, -9.81]))
    return program(recorder, [(name, joints) for name in 'qva'], [output]).operation_count
