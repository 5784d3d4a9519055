"""The node `odometry`: where a platform on wheels is, and which twists it can make."""
