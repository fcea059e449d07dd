"""dynhp for Keras 3."""
