"""What tests share: robots, models, harnesses."""
