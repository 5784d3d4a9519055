# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Run the study: python studies/integration."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run by path, it is not installed

from screw_dynamics_ros.entry import end_tool_at_once

if __name__ == '__main__':
    end_tool_at_once('integration_study')  # before what takes long to import
    from studies.integration.command import main

    sys.exit(main())
