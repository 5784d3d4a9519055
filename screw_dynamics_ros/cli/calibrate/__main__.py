"""Run `calibrate`."""

import sys

from screw_dynamics_ros.cli.calibrate.command import main

sys.exit(main())
