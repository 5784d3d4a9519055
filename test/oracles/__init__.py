"""Independent implementations to compare with."""
