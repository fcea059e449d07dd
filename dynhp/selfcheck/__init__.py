"""A run's proof of its own promise: states compared, repeats, what is in reach; imports trainer."""
