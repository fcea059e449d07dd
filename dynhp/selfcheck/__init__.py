"""A run's proof of its own promise: states compared, and what training code can reach."""
