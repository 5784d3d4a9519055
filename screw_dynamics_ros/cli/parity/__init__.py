"""Compare a robot in this package, Pinocchio, MuJoCo and KDL, and explain the differences."""
