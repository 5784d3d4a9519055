"""Outputs of the node `wrench_estimator`, one file for each subject."""
