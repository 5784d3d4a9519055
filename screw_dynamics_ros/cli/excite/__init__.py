"""Design of motions that tell the dynamics of a robot."""
