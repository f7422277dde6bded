"""The ways of finding a tree. Each module has one function that turns an MDP and limits into a `Claim`."""
