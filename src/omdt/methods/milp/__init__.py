"""The paper's formulation as arrays, in two forms, and one small adapter for each solver."""

from omdt.methods.milp.method import BACKENDS, solve_milp

__all__ = ["BACKENDS", "solve_milp"]
