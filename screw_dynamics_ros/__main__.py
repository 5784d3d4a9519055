"""Run an executable: `python -m screw_dynamics_ros NAME`."""

import sys

from screw_dynamics_ros.entry import main

sys.exit(main())
