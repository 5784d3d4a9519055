"""Run `excite`."""

import sys

from screw_dynamics_ros.cli.excite.command import main

sys.exit(main())
