"""Inverse problems, solved with numbers: positions, rates, accelerations and forces of joints."""
