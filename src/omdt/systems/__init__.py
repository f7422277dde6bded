"""Systems: x = b + M x, where M ≥ 0 shrinks every vector, solved in whatever way is estimated to be cheapest.

Approximations of the inverse of I − M are tried one after another, cheap ones first, as preconditioners of GMRES. One
is given up when its progress predicts more steps than the next one costs (`omdt.systems.choice`):

1. dense factors, where there are few states;
2. the approximation of a similar system, where one is at hand;
3. Gauss–Seidel sweeps, where factors cost many of them, or planning them does: fast where the chain forgets its past
   within some steps;
4. factors of every strongly connected component whose fill is small, and multigrid for the other components;
5. factors in spite of their fill, as long as they fit into memory;
6. plain sweeps, which always contract.

Nothing here is certified: whoever asks computes the residual of what comes back.
"""

from omdt.systems.approximation import Approximation
from omdt.systems.choice import Use, step_seconds
from omdt.systems.equation import TARGET
from omdt.systems.products import product, product_transposed
from omdt.systems.system import System, rough_solution

__all__ = [
    "TARGET",
    "Approximation",
    "System",
    "Use",
    "product",
    "product_transposed",
    "rough_solution",
    "step_seconds",
]
