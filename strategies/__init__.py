"""Hypothesis strategies for Specs, their data, and whole cases, for anyone's own `@given`."""

from bnfuzz.strategies.buffers import mean_names, variance_names
from bnfuzz.strategies.cases import cases
from bnfuzz.strategies.cotangents import CotangentFamily, cotangent_families
from bnfuzz.strategies.drawn import drawn_inputs
from bnfuzz.strategies.formats import format_names, format_triples
from bnfuzz.strategies.parameters import beta_names, eps_values, gamma_names, momenta, presences
from bnfuzz.strategies.plan import Plan, label
from bnfuzz.strategies.plans import plans
from bnfuzz.strategies.shapes import channel_axes, shapes, shapes_and_channel_axes
from bnfuzz.strategies.specs import specs
from bnfuzz.strategies.value_recipes import ValueFamily
from bnfuzz.strategies.values import value_families

__all__ = [
    "CotangentFamily",
    "Plan",
    "ValueFamily",
    "beta_names",
    "cases",
    "channel_axes",
    "cotangent_families",
    "drawn_inputs",
    "eps_values",
    "format_names",
    "format_triples",
    "gamma_names",
    "label",
    "mean_names",
    "momenta",
    "plans",
    "presences",
    "shapes",
    "shapes_and_channel_axes",
    "specs",
    "value_families",
    "variance_names",
]
