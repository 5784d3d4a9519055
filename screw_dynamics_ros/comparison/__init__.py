"""The model of a robot beside those of Pinocchio, MuJoCo and KDL; differences explained."""
