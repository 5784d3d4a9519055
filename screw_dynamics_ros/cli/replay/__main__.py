"""Run `replay`."""

import sys

from screw_dynamics_ros.cli.replay.command import main

sys.exit(main())
