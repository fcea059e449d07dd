"""The parts of a torch loop's state: how each kind of object is copied out and written back."""
