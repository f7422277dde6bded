"""Rules: what a tree must respect beyond its size."""

from omdt.rules.ceilings import Ceiling
from omdt.rules.kept import Kept, KeptLeaf, KeptNode, KeptSplit, Open
from omdt.rules.leaf_rules import (
    FALLBACK,
    FORBID,
    UNAVAILABLE,
    AvailableOnly,
    Forbidden,
    Required,
    Rule,
    allowed_by,
    names_only,
)
from omdt.rules.outline import OPEN, Outline, outline_of
from omdt.rules.prices import Prices
from omdt.rules.shape_rules import FeatureCount, LeavesPerAction, Monotone, Root, ShapeRule
from omdt.rules.shares import LeastShare
from omdt.rules.statement import AnyRule, Rules, rules_of

__all__ = [
    "FALLBACK",
    "FORBID",
    "OPEN",
    "UNAVAILABLE",
    "AnyRule",
    "AvailableOnly",
    "Ceiling",
    "FeatureCount",
    "Forbidden",
    "Kept",
    "KeptLeaf",
    "KeptNode",
    "KeptSplit",
    "LeastShare",
    "LeavesPerAction",
    "Monotone",
    "Open",
    "Outline",
    "Prices",
    "Required",
    "Root",
    "Rule",
    "Rules",
    "ShapeRule",
    "allowed_by",
    "names_only",
    "outline_of",
    "rules_of",
]
