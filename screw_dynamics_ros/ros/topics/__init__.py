"""Topics: quality of service, publishers, subscriptions, who else publishes."""
