"""The process of a node: executor, scheduling, helper processes, faults, start."""
