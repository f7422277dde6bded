"""inventory_management: order stock against random demand."""

import numpy as np
from scipy import sparse

from omdt.environments._shared import check, check_finite, check_size, truncated_poisson
from omdt.mdp import MDP, Floats


def inventory_management(
    *,
    capacity: int = 100,
    max_order: int | None = None,
    mean_demand: float = 15.0,
    max_demand: int = 74,
    sale_price: float = 4.0,
    item_cost: float = 2.0,
    order_cost: float = 10.0,
    holding_cost: float = 1.0,
    as_published: bool = False,
    discount: float = 0.99,
) -> MDP:
    """A shop decides every day how many items to order.

    What it models:
        Inventory control with lost sales: orders arrive at once and cost a fixed fee and a price per item, stored
        items cost rent, and customers who find nothing to buy are lost.

    States:
        The number of items in storage at the start of the day, 0 to the capacity; the feature is inventory.

    Actions:
        Don't buy, Buy 1, Buy 2, and so on up to the largest order.

    Transitions:
        The order fills the storage up to its capacity, then a random number of customers buy one item each while
        there are any. Demand follows a Poisson distribution truncated at its largest value and renormalised.

    Rewards:
        The expected profit of the day: the sales, less the fixed cost if anything is ordered, the price of every
        ordered item (also of those that do not fit) and the holding cost of every item in storage at its start.

    Start:
        An empty storage.

    Parameters:
        capacity: items that fit in storage, at least 2.
        max_order: largest order, at least 1; one less than the capacity if not given.
        mean_demand: mean of the Poisson distribution before truncation; raise max_demand along with it.
        max_demand: largest demand, from 1 to a million.
        sale_price: earned for each sold item.
        item_cost: paid for each ordered item.
        order_cost: paid for any order, whatever its size.
        holding_cost: paid for each item in storage at the start of the day.
        as_published: use the rewards behind the paper's figures, in which the profit of every outcome is weighted by
            the square of its probability.
        discount: γ.

    Source:
        Vos and Verwer, "Optimal Decision Tree Policies for Markov Decision Processes" (IJCAI 2023), adapted there from
        Paul Hendricks' gym-inventory.
    """
    check("capacity", capacity, low=2)
    largest = capacity - 1 if max_order is None else max_order
    check("max_order", largest, low=1)
    check("mean_demand", mean_demand, low=0)
    check("max_demand", max_demand, 1, 1_000_000)
    prices = {"sale_price": sale_price, "item_cost": item_cost, "order_cost": order_cost, "holding_cost": holding_cost}
    check_finite(prices)
    S, A = capacity + 1, largest + 1
    outcomes = min(capacity, max_demand) + 1
    check_size(f"inventory_management with capacity {capacity} and orders up to {largest}", S * A * outcomes)

    inventory, order = np.arange(S)[:, None], np.arange(A)
    stock = np.minimum(inventory + order, capacity)
    sales = _sales(capacity, truncated_poisson(mean_demand, max_demand))
    weights = sales**2 if as_published else sales
    income = sale_price * (weights @ np.arange(sales.shape[1]))
    costs = order_cost * (order > 0) + item_cost * order + holding_cost * inventory
    return MDP(
        transitions=_next_inventory(sales)[stock.ravel()],
        rewards=income[stock] - weights.sum(axis=1)[stock] * costs,
        initial=np.arange(S) == 0,
        features=inventory.astype(np.float64),
        discount=discount,
        feature_names=("inventory",),
        action_names=("Don't buy", *(f"Buy {amount}" for amount in range(1, A))),
        name="inventory_management",
    ).reachable()


def _sales(capacity: int, demand: Floats) -> Floats:
    """[stock, sold] probability of selling that many items from that stock; no more than the stock can be sold."""
    sales = np.zeros((capacity + 1, min(capacity + 1, len(demand))))
    for stock, row in enumerate(sales):
        sold = min(stock, len(demand) - 1)
        row[:sold] = demand[:sold]
        row[sold] = demand[sold:].sum()
    return sales


def _next_inventory(sales: Floats) -> sparse.csr_array:
    """[stock, next] probability of that inventory on the next day, after sales from that stock."""
    stock, sold = np.nonzero(sales)
    entries = (sales[stock, sold], (stock, stock - sold))
    return sparse.csr_array(sparse.coo_array(entries, shape=(len(sales), len(sales))))
