"""What all nodes share: one description, one subscription, one kernel for all outputs."""
