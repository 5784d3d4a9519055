"""Measurement: identified parameters, estimated wrenches, annotated recordings."""
