"""Run `identify`."""

import sys

from screw_dynamics_ros.cli.identify.command import main

sys.exit(main())
