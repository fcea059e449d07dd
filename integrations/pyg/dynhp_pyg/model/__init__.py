"""The model as a dynhp trainer: state, epochs, metrics, hyperparameters."""
