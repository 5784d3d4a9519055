"""The node `simulator`: a robot driver without a robot."""
