"""The declared cases, one module a kind of work."""
