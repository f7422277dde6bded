"""Local search under rules beyond those about leaves: good trees that keep all of them."""
