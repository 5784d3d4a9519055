"""Platforms on legs: dynamics, joints of legs, passive sensors."""
