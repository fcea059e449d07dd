"""The arena: ways to set a learning rate, on real tasks, from good and bad starts."""
