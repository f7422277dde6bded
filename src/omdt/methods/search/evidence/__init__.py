"""Evidence: what the search writes into a certificate, so that its bound can be checked without it.

The coarse search is recorded while it runs (`ranges`): its decisions, and a vector per closed node, with as few digits
as the bound allows (`vectors`, `raising`).

When the fine search has ended, its nodes are explored once more, now that the best tree and the bound are known, and
for each node it is written down how it is branched or what closes it (`recorder`). Everything is measured as the
checker will measure it (`measures`), so a node whose evidence would not convince the checker is branched further.

The losses of a node rest on claims: what any subtree of a certain size loses at least in a region. The tables know
these numbers but not their reasons, which are found again here (`grounds`): a claim is proven by cases of its own, each
closed by losses of leaves and by other claims. Only what is used in the end is written (`records`).
"""
