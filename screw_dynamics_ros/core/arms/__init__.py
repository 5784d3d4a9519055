"""Arms: inverse kinematics on a Jacobian, and all solutions in closed form."""
