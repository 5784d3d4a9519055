"""The node `mechanism_simulator`: mechanisms with loops, simulated in absolute coordinates."""
