"""What the nodes answer."""
