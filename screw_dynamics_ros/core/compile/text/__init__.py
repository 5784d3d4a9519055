"""Programs as text: portable C, plain Python."""
