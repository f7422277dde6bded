"""The paper's experiments, made again: the grid of runs, the store of their results, tables, figures and the report."""
