"""Run `rviz`."""

import sys

from screw_dynamics_ros.cli.rviz.command import main

sys.exit(main())
