"""Run `parity`."""

import sys

from screw_dynamics_ros.cli.parity.command import main

sys.exit(main())
