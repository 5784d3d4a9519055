"""Examine a robot before trusting its model: description, joint states, efforts."""
