"""Run `annotate`."""

import sys

from screw_dynamics_ros.cli.annotate.command import main

sys.exit(main())
