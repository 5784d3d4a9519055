"""Run `integration_study`."""

import sys

from screw_dynamics_ros.cli.integration_study.command import main

sys.exit(main())
