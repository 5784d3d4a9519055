# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Run an executable: `python -m screw_dynamics_ros NAME`."""

import sys

from .entry import main

sys.exit(main())
