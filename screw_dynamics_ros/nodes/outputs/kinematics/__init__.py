"""Outputs of the node `kinematics`, one file for each subject."""
