"""Constraints: contact wrenches, projections."""
