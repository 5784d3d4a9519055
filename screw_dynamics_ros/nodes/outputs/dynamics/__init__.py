"""Outputs of the node `dynamics`, one file for each subject."""
