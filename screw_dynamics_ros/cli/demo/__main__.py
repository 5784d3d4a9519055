"""Run `demo`."""

import sys

from screw_dynamics_ros.cli.demo.command import main

sys.exit(main())
