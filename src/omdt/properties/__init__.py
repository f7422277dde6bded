"""PRISM's property syntax: state conditions and the properties that speak of them."""

from omdt.properties.conditions import Condition, Label, Name, Not, mentioned
from omdt.properties.expressions import condition, parsed
from omdt.properties.labels import labelled, parsed_labels
from omdt.properties.parsing import parsed_property
from omdt.properties.property import Kind, Property

__all__ = [
    "Condition",
    "Kind",
    "Label",
    "Name",
    "Not",
    "Property",
    "condition",
    "labelled",
    "mentioned",
    "parsed",
    "parsed_labels",
    "parsed_property",
]
