"""Outputs of the nodes, added to recordings; `annotate --help`."""
