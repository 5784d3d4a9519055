"""What the nodes publish."""
