# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Control laws: NumPy functions that are recorded into one program with the robot.

See `core.motion.laws.law`; those of textbooks are in `core.motion.laws.library`.
"""

from .compile.program.recorded_arrays import solve_positive_definite
from .motion.laws.law import Law, control_law
from .motion.laws.law_fields import JOINTS, Parameter
from .motion.laws.library import LAWS
from .motion.laws.robot_law import RobotLaw

__all__ = [
    'JOINTS',
    'LAWS',
    'Law',
    'Parameter',
    'RobotLaw',
    'control_law',
    'solve_positive_definite',
]
