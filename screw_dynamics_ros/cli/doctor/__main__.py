"""Run `doctor`."""

import sys

from screw_dynamics_ros.cli.doctor.command import main

sys.exit(main())
