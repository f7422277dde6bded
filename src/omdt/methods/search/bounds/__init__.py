"""Bounds on all completions of a partial tree, one file per bound and per solver."""
