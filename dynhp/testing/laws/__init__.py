"""One file per law, each with a function ``check(subject)`` that gives what it could not judge."""
