"""Enclosures: the steps of a catalogue kernel, run on intervals instead of numbers.

A kernel's steps are plain functions of arrays. Given enclosures in place of arrays, they return the exact value of
what that kernel means to compute (v, in extended precision) and an interval [lo, hi] that holds every evaluation of it
which rounds each operation to the compute format, with sums in any order that counts as sound. So every entry of the
catalogue, and every combination of them, has a bound of its own, by the rules that the judge's bounds follow
(numerics/tracked.py): u·|z| for an input, one rounding per operation, the stated growth for a sum, 4u for a root.

    operation in the compute format     the interval's ends grow by u·|end| + t
    operation in a narrower format      v and both ends are rounded to it: rounding is monotone, so a kernel that
                                        rounds to bfloat16 on the way is enclosed tightly
    an end beyond the largest number    becomes infinite: overflow may happen, or not
    an end NaN                          the value is certainly NaN (a NaN went in); what merely may be NaN is
                                        [-inf, inf]

In the names of the judge this is the raw tier: the hard limits of x̂ hold for sound kernels only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from bnfuzz import formats
from bnfuzz.case import Array
from bnfuzz.conventions import Summation
from bnfuzz.diagnosis.causes.interval import OPERATIONS, Ends, power, square
from bnfuzz.formats import Format
from bnfuzz.numerics.tracked import ROOT_ROUNDINGS

EXTENDED = np.longdouble
"""64 significant bits on x86-64: an eleventh of the digits of float64 to spare. Where it is float64 itself, the
enclosures of float64 subjects are wider by their own rounding, which OWN covers."""

POWER_ROUNDINGS = 4.0

OWN = 1.0 + 2.0**-6 + 4.0 * float(np.finfo(EXTENDED).eps) / 2.0**-53
"""Factor on u that covers the rounding of the intervals' own arithmetic."""


ANY_ORDER = Summation()
ENDS = ("v", "lo", "hi")


@dataclass(frozen=True)
class Setting:
    """The subject's arithmetic: compute format, flush to zero, growth of sums."""

    compute: Format
    flushes: bool = False
    summation: Summation = ANY_ORDER

    def underflow(self, fmt: Format) -> float:
        """What one underflow may lose."""
        if self.flushes:
            return fmt.smallest_normal
        return fmt.smallest_subnormal / 2 or fmt.smallest_subnormal

    def is_narrow(self, fmt: Format) -> bool:
        return fmt.precision < self.compute.precision


class Enclosure(NDArrayOperatorsMixin):
    """v, lo, hi of one shape in extended precision; fmt: the format that operations on it round to."""

    __slots__ = ("fmt", "hi", "lo", "setting", "v")

    def __init__(self, v: Any, lo: Any, hi: Any, setting: Setting, fmt: Format | None = None) -> None:
        self.v, self.lo, self.hi, self.setting = v, lo, hi, setting
        self.fmt = fmt or setting.compute

    # -- what an array has ----------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.v.shape)

    @property
    def ndim(self) -> int:
        return int(self.v.ndim)

    @property
    def size(self) -> int:
        return int(self.v.size)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.fmt.dtype

    def __len__(self) -> int:
        return len(self.v)

    def __getitem__(self, index: Any) -> Enclosure:
        return self._each(lambda array: array[index])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        """The exact values alone: for a kernel that writes them into an input."""
        return np.asarray(self.v).astype(dtype or EXTENDED)

    @property
    def T(self) -> Enclosure:  # an array's own name for it
        return self._each(np.transpose)

    def reshape(self, *shape: Any) -> Enclosure:
        return self._each(lambda array: array.reshape(*shape))

    def transpose(self, *axes: Any) -> Enclosure:
        return self._each(lambda array: array.transpose(*axes))

    def copy(self) -> Enclosure:
        return self

    def sum(self, axis: int = 0, keepdims: bool = False, dtype: Any = None) -> Enclosure:
        del dtype
        return added(self, axis, keepdims)

    def astype(self, dtype: Any) -> Enclosure:
        """Rounded where the format is narrower than that of the values; else the same values in another format."""
        target = formats.named(np.dtype(dtype).name)
        if target.precision >= self.fmt.precision:
            wider = target if self.setting.is_narrow(target) else self.setting.compute
            return Enclosure(self.v, self.lo, self.hi, self.setting, wider)
        return narrowed(self, target)

    def _each(self, change: Callable[[Any], Any]) -> Enclosure:
        return Enclosure(change(self.v), change(self.lo), change(self.hi), self.setting, self.fmt)

    # -- what NumPy asks of it --------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc is np.add and method == "accumulate":
            return running_sums(inputs[0], options.get("axis", 0))
        if method != "__call__" or ufunc not in (*OPERATIONS, np.power) or options:
            return NotImplemented
        with np.errstate(all="ignore"):
            return self._computed(ufunc, inputs)

    def _computed(self, ufunc: np.ufunc, inputs: tuple[Any, ...]) -> Enclosure:
        operands = [lifted(operand, self) for operand in inputs]
        fmt = max((one.fmt for one in operands), key=lambda fmt: fmt.precision)
        if ufunc is np.multiply and inputs[0] is inputs[1]:
            return _settled(square(operands[0]), self.setting, fmt)
        if ufunc is np.power:
            margin = POWER_ROUNDINGS * OWN * self.setting.compute.unit_roundoff
            return _settled(power(operands[0], operands[1], margin), self.setting, fmt, 0.0, False)
        return _settled(OPERATIONS[ufunc](*operands), self.setting, fmt, *ROUNDINGS.get(ufunc, (1.0, True)))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.concatenate:
            parts = [lifted(part, self) for part in args[0]]
            v, lo, hi = (np.concatenate([getattr(p, end) for p in parts], *args[1:], **kwargs) for end in ENDS)
            return Enclosure(v, lo, hi, self.setting, parts[0].fmt)
        if function in (np.zeros_like, np.ones_like):
            return lifted(function(self.v), self)
        if function in (np.broadcast_to, np.expand_dims, np.moveaxis, np.transpose, np.reshape, np.atleast_1d):
            return self._each(lambda array: function(array, *args[1:], **kwargs))
        return NotImplemented


def constant(values: Any, setting: Setting) -> Enclosure:
    """Values without any error."""
    wide = np.asarray(values).astype(EXTENDED)
    return Enclosure(wide, wide, wide, setting)


def given(values: Any, setting: Setting, *, roundings: float = 1.0) -> Enclosure:
    """An input: `roundings` units of backward error, and 0 for a subnormal that may be flushed."""
    wide = np.asarray(values).astype(EXTENDED)
    finite = np.where(np.isfinite(wide), np.abs(wide), 0.0)
    margin = roundings * OWN * setting.compute.unit_roundoff * finite
    if setting.flushes:
        margin = margin + np.where(np.abs(wide) < setting.compute.smallest_normal, np.abs(wide), 0.0)
    return Enclosure(wide, wide - margin, wide + margin, setting)


def scalar(value: float, setting: Setting) -> Enclosure:
    """A number that the compute format may have to round: exact where it holds it, else u·|z| + t."""
    wide = np.asarray(value, dtype=EXTENDED)
    fmt = setting.compute
    if not np.isfinite(value) or formats.round_to(value, fmt.name) == value:
        return Enclosure(wide, wide, wide, setting)
    margin = fmt.unit_roundoff * OWN * np.abs(wide) + setting.underflow(fmt)
    return Enclosure(wide, wide - margin, wide + margin, setting)


def lifted(operand: Any, like: Enclosure) -> Enclosure:
    """An operand as an Enclosure; a plain number or array is exact, and in the other operand's format."""
    if isinstance(operand, Enclosure):
        return operand
    wide = np.asarray(operand).astype(EXTENDED)
    return Enclosure(wide, wide, wide, like.setting, like.fmt)


def hull(first: Enclosure, *others: Enclosure) -> Enclosure:
    """The first one's value, in an interval that holds all of them: several forms of one quantity."""
    lo, hi = first.lo, first.hi
    for other in others:
        # A form that overflows or divides by zero on the way does not make the value certainly NaN.
        lo, hi = np.fmin(lo, other.lo), np.fmax(hi, other.hi)
    return Enclosure(first.v, lo, hi, first.setting, first.fmt)


def narrowed(a: Enclosure, target: Format) -> Enclosure:
    """Rounded to a format: v and both ends, since rounding is monotone."""

    def to(values: Any) -> Any:
        with np.errstate(all="ignore"):
            return values.astype(np.float64).astype(target.dtype).astype(EXTENDED)

    fmt = target if a.setting.is_narrow(target) else a.setting.compute
    lo, hi = to(a.lo), to(a.hi)
    if a.setting.flushes:
        lo = np.where((lo > 0) & (lo < target.smallest_normal), 0.0, lo)
        hi = np.where((hi < 0) & (-hi < target.smallest_normal), 0.0, hi)
    return Enclosure(to(a.v), lo, hi, a.setting, fmt)


def _settled(ends: Ends, setting: Setting, fmt: Format, roundings: float = 1.0, underflows: bool = True) -> Enclosure:
    """The result of an operation, rounded to `fmt`: by the rule of the compute format, or tightly in a narrower one."""
    v, lo, hi = ends
    if setting.is_narrow(fmt):
        return narrowed(Enclosure(v, lo, hi, setting), fmt)
    u = roundings * OWN * fmt.unit_roundoff
    t = roundings * setting.underflow(fmt) if underflows or setting.flushes else 0.0
    return Enclosure(v, *_grown(lo, hi, u, t, fmt.largest), setting, fmt)


def _grown(lo: Any, hi: Any, u: float, t: float, largest: float) -> tuple[Any, Any]:
    if u or t:
        # As products, so that an infinite end stays what it is; and no rounding changes a sign.
        more, less = 1 + EXTENDED(u), 1 - EXTENDED(u)
        lo = np.where(lo >= 0, np.maximum(lo * less - t, 0.0), lo * more - t)
        hi = np.where(hi <= 0, np.minimum(hi * less + t, 0.0), hi * more + t)
    below, above = lo < -largest, hi > largest
    lo = np.where(below, -np.inf, lo) if below.any() else lo
    return lo, np.where(above, np.inf, hi) if above.any() else hi


ROUNDINGS: dict[Any, tuple[float, bool]] = {
    np.add: (1.0, False),
    np.subtract: (1.0, False),
    np.sqrt: (ROOT_ROUNDINGS, True),
    np.maximum: (0.0, False),
    np.absolute: (0.0, False),
    np.negative: (0.0, False),
}
"""Roundings in units of u, and whether one may underflow; one that may, where nothing else is said."""


def growth(summation: Summation, n: int) -> float:
    """G(n), in units of the accumulator's u."""
    if summation.kind == "pairwise":
        return float(np.ceil(np.log2(max(n, 1)))) + 2
    if summation.kind == "lanes":
        return n / summation.lanes + summation.lanes
    return float(n)


def total(terms: Enclosure) -> Enclosure:
    """(n, C) -> (1, C): a sum in any order that counts as sound for the setting."""
    summation = terms.setting.summation
    if summation.kind == "wide" and not terms.setting.is_narrow(terms.fmt):
        u = formats.named(summation.accumulator).unit_roundoff
        return _settled(_sum(terms, 0, True, growth(summation, len(terms)) * u), terms.setting, terms.fmt)
    return added(terms, 0, True)


def added(terms: Enclosure, axis: int, keepdims: bool) -> Enclosure:
    """A sum along an axis, in the format of the terms."""
    count = terms.shape[axis]
    summation = terms.setting.summation
    grown = growth(summation if summation.kind != "wide" else Summation(), count) * terms.fmt.unit_roundoff
    return _in_format(*_sum(terms, axis, keepdims, grown), terms.setting, terms.fmt, count)


def running_sums(terms: Enclosure, axis: int) -> Enclosure:
    """All partial sums from left to right, in the format of the terms: growth n."""
    count = terms.shape[axis]
    magnitudes = np.cumsum(np.maximum(np.abs(terms.lo), np.abs(terms.hi)), axis=axis)
    margin = count * terms.fmt.unit_roundoff * OWN * magnitudes
    v, lo, hi = (np.cumsum(array, axis=axis) for array in (terms.v, terms.lo, terms.hi))
    return _in_format(v, lo - margin, hi + margin, terms.setting, terms.fmt, count)


def _sum(terms: Enclosure, axis: int, keepdims: bool, grown: float) -> Ends:
    def along(array: Any) -> Any:
        return np.sum(array, axis=axis, keepdims=keepdims)

    margin = grown * OWN * along(np.maximum(np.abs(terms.lo), np.abs(terms.hi)))
    least, most = along(terms.lo), along(terms.hi)
    # A sum of numbers of one sign keeps it, in any order.
    lo = np.where(np.all(terms.lo >= 0, axis=axis, keepdims=keepdims), np.maximum(least - margin, 0.0), least - margin)
    hi = np.where(np.all(terms.hi <= 0, axis=axis, keepdims=keepdims), np.minimum(most + margin, 0.0), most + margin)
    doubtful = np.isnan(lo) | np.isnan(hi)
    if np.any(doubtful):
        certain = np.any(np.isnan(terms.lo), axis=axis, keepdims=keepdims)
        lo = np.where(doubtful, np.where(certain, np.nan, -np.inf), lo)
        hi = np.where(doubtful, np.where(certain, np.nan, np.inf), hi)
    return along(terms.v), lo, hi


def _in_format(v: Any, lo: Any, hi: Any, setting: Setting, fmt: Format, count: int) -> Enclosure:
    loss = count * setting.underflow(fmt) if setting.flushes else 0.0
    lo, hi = _grown(lo, hi, 0.0, loss, fmt.largest)
    if setting.is_narrow(fmt):
        # A sum kept in a format of the kernel's own choice overflows for certain where its least value does.
        above, below = lo > fmt.largest, hi < -fmt.largest
        v = np.where(above, np.inf, np.where(below, -np.inf, v))
        lo, hi = np.where(above, np.inf, lo), np.where(below, -np.inf, hi)
    return Enclosure(v, lo, hi, setting, fmt)
