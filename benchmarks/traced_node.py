# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A node that notes when it does what with each joint state: `traced_node.py FILE MODULE ...`.

The notes go to FILE, an array of NumPy: for each state its stamp, and when it came to Python, was
read, computed, and when the last message about it was handed to the middleware [ns], one row each;
zeros where there was no state.
"""

from __future__ import annotations

import runpy
import sys
import time
from typing import Any

from numpy.lib.format import open_memmap

from screw_dynamics_ros.nodes.hosting.state_pipeline import StatePipeline
from screw_dynamics_ros.nodes.model.running_model import RunningModel

MOST = 200_000  # states
COLUMNS = ('stamp', 'received', 'read', 'computed', 'published')


def main(file: str, module: str, *arguments: str) -> None:
    """Run the node."""
    notes = open_memmap(file, 'w+', 'int64', (MOST, len(COLUMNS)))
    rows, now = iter(notes), time.time_ns
    moments = dict.fromkeys(COLUMNS, 0)
    receive, answer, evaluate, publish = (
        StatePipeline.receive,
        StatePipeline._answer,
        RunningModel.evaluate,
        StatePipeline.publish,
    )

    def noted_receive(self: StatePipeline, data: bytes, info: dict[str, Any]) -> None:
        moments['received'] = now()
        receive(self, data, info)

    def noted_answer(self: StatePipeline, sent: float) -> None:
        moments['read'] = now()
        answer(self, sent)

    def noted_evaluate(self: RunningModel) -> bool:
        finite = evaluate(self)
        moments['computed'] = now()
        return finite

    def noted_publish(self: StatePipeline) -> None:
        publish(self)
        moments['published'] = now()
        moments['stamp'] = self.mapper.stamp if self.mapper else 0
        row = next(rows, None)
        if row is not None:
            row[:] = list(moments.values())

    StatePipeline.receive = noted_receive
    StatePipeline._answer = noted_answer
    RunningModel.evaluate = noted_evaluate
    StatePipeline.publish = noted_publish
    sys.argv[1:] = arguments
    runpy.run_module(module, run_name='__main__')


if __name__ == '__main__':
    main(*sys.argv[1:])
