"""External joint torques from motion and motor torques: observers, one step at a time."""
