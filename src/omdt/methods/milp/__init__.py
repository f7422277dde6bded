"""The paper's formulation as arrays, in two forms, and one small adapter for each solver."""
