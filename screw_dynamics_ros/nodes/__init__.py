"""The nodes: parameters, publishers and callbacks around the core."""
