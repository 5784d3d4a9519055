"""Kinematics of serial arms by hand."""
