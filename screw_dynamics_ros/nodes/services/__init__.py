"""Services of the nodes."""
