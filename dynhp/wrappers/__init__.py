"""Wrappers around a trainer or an adapter: the best state kept, an unadapted line beside."""
