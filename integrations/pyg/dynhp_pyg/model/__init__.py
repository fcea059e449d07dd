"""The model as a dynhp trainer: state, epochs, metrics; imports graphs and splits."""
