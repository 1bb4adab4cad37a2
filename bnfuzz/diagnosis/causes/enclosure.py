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
    both ends NaN                       the value is certainly NaN (a NaN went in)
    nan                                 it may be NaN: infinities of both signs added, 0·∞, 0/0, the root of what may
                                        be negative; joined through every operation, whatever becomes of the ends

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
from bnfuzz.diagnosis.causes import interval
from bnfuzz.diagnosis.causes.interval import OPERATIONS, Ends, power, square
from bnfuzz.formats import Format
from bnfuzz.numerics.roundings import POWER_ROUNDINGS, ROOT_ROUNDINGS

EXTENDED = np.longdouble
"""64 significant bits on x86-64: an eleventh of the digits of float64 to spare. Where it is float64 itself, the
enclosures of float64 subjects are wider by their own rounding, which OWN covers."""

OWN = 1.0 + 2.0**-6 + 4.0 * float(np.finfo(EXTENDED).eps) / 2.0**-53
"""Factor on u that covers the rounding of the intervals' own arithmetic."""


ANY_ORDER = Summation()
PARTS = ("v", "lo", "hi", "nan")


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
    """v, lo, hi of one shape in extended precision; nan: where an evaluation may be NaN; fmt: the format that
    operations on it round to."""

    __slots__ = ("fmt", "hi", "lo", "nan", "setting", "v")

    def __init__(self, v: Any, lo: Any, hi: Any, nan: Any, setting: Setting, fmt: Format | None = None) -> None:
        self.v, self.lo, self.hi, self.setting = v, lo, hi, setting
        self.nan = nan | np.isnan(lo) | np.isnan(hi)
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
            return Enclosure(self.v, self.lo, self.hi, self.nan, self.setting, wider)
        return narrowed(self, target)

    def _each(self, change: Callable[[Any], Any]) -> Enclosure:
        v, lo, hi, nan = (change(getattr(self, part)) for part in PARTS)
        return Enclosure(v, lo, hi, nan, self.setting, self.fmt)

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
            loss = POWER_ROUNDINGS * self.setting.underflow(fmt)
            return _settled(power(operands[0], operands[1], margin, loss), self.setting, fmt, 0.0, False)
        return _settled(OPERATIONS[ufunc](*operands), self.setting, fmt, *ROUNDINGS.get(ufunc, (1.0, True)))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.concatenate:
            parts = [lifted(part, self) for part in args[0]]
            v, lo, hi, nan = (np.concatenate([getattr(p, end) for p in parts], *args[1:], **kwargs) for end in PARTS)
            return Enclosure(v, lo, hi, nan, self.setting, parts[0].fmt)
        if function in (np.zeros_like, np.ones_like):
            return lifted(function(self.v), self)
        if function in (np.broadcast_to, np.expand_dims, np.moveaxis, np.transpose, np.reshape, np.atleast_1d):
            return self._each(lambda array: function(array, *args[1:], **kwargs))
        return NotImplemented


def constant(values: Any, setting: Setting) -> Enclosure:
    """Values without any error."""
    wide = np.asarray(values).astype(EXTENDED)
    return Enclosure(wide, wide, wide, np.isnan(wide), setting)


def given(values: Any, setting: Setting, *, roundings: float = 1.0) -> Enclosure:
    """An input: `roundings` units of backward error, 0 for a subnormal that may be flushed, and whatever the compute
    format makes of it."""
    wide = np.asarray(values).astype(EXTENDED)
    finite = np.where(np.isfinite(wide), np.abs(wide), 0.0)
    margin = roundings * OWN * setting.compute.unit_roundoff * finite
    if setting.flushes:
        margin = margin + np.where(np.abs(wide) < setting.compute.smallest_normal, np.abs(wide), 0.0)
    with np.errstate(all="ignore"):
        cast = wide.astype(np.float64).astype(setting.compute.dtype).astype(EXTENDED)
        lo, hi = np.minimum(wide - margin, cast), np.maximum(wide + margin, cast)
    return Enclosure(wide, lo, hi, np.isnan(wide), setting)


def scalar(value: float, setting: Setting) -> Enclosure:
    """A number that the compute format may have to round: exact where it holds it and does not flush it, else
    u·|z| + t, on the same side of 0; infinite where it is beyond the largest number."""
    wide = np.asarray(value, dtype=EXTENDED)
    fmt = setting.compute
    kept = not setting.flushes or value == 0 or abs(value) >= fmt.smallest_normal
    with np.errstate(over="ignore"):
        held = kept and formats.round_to(value, fmt.name) == value
    if held or not np.isfinite(value):
        return Enclosure(wide, wide, wide, np.isnan(wide), setting)
    lo, hi = _grown(wide, wide, fmt.unit_roundoff * OWN, setting.underflow(fmt), fmt.largest)
    return Enclosure(wide, lo, hi, np.isnan(wide), setting)


def lifted(operand: Any, like: Enclosure) -> Enclosure:
    """An operand as an Enclosure; a plain number or array is exact, and in the other operand's format."""
    if isinstance(operand, Enclosure):
        return operand
    wide = np.asarray(operand).astype(EXTENDED)
    return Enclosure(wide, wide, wide, np.isnan(wide), like.setting, like.fmt)


def hull(first: Enclosure, *others: Enclosure) -> Enclosure:
    """The first one's value, in an interval that holds all of them: several forms of one quantity."""
    lo, hi, nan = first.lo, first.hi, first.nan
    for other in others:
        # A form that overflows or divides by zero on the way does not make the value certainly NaN.
        lo, hi, nan = np.fmin(lo, other.lo), np.fmax(hi, other.hi), nan | other.nan
    return Enclosure(first.v, lo, hi, nan, first.setting, first.fmt)


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
    return Enclosure(to(a.v), lo, hi, a.nan, a.setting, fmt)


def spread(a: Enclosure, relative: float, absolute: Any, fmt: Format) -> Enclosure:
    """Both ends further out, by a share of themselves and by a number, as roundings to `fmt` may push them."""
    with np.errstate(all="ignore"):
        lo, hi = _grown(a.lo, a.hi, relative * OWN, absolute, fmt.largest)
    return Enclosure(a.v, lo, hi, a.nan, a.setting, a.fmt)


def _settled(ends: Ends, setting: Setting, fmt: Format, roundings: float = 1.0, underflows: bool = True) -> Enclosure:
    """The result of an operation, rounded to `fmt`: by the rule of the compute format, or tightly in a narrower one."""
    v, lo, hi, nan = ends
    if setting.is_narrow(fmt):
        return narrowed(Enclosure(v, lo, hi, nan, setting), fmt)
    u = roundings * OWN * fmt.unit_roundoff
    t = roundings * setting.underflow(fmt) if underflows or setting.flushes else 0.0
    return Enclosure(v, *_grown(lo, hi, u, t, fmt.largest), nan, setting, fmt)


def _grown(lo: Any, hi: Any, u: float, t: Any, largest: float) -> tuple[Any, Any]:
    if u or np.any(t):
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
        accumulator = formats.named(summation.accumulator)
        v, lo, hi, nan = _sum(terms, 0, True, growth(summation, len(terms)), accumulator)
        lo, hi = _grown(lo, hi, 0.0, _flushed(terms.setting, terms.fmt, len(terms)), terms.fmt.largest)
        return _settled((v, lo, hi, nan), terms.setting, terms.fmt)
    return added(terms, 0, True)


def added(terms: Enclosure, axis: int, keepdims: bool) -> Enclosure:
    """A sum along an axis, in the format of the terms."""
    count = terms.shape[axis]
    summation = terms.setting.summation
    grown = growth(summation if summation.kind != "wide" else Summation(), count)
    return _in_format(_sum(terms, axis, keepdims, grown, terms.fmt), terms, count)


def running_sums(terms: Enclosure, axis: int) -> Enclosure:
    """All partial sums from left to right, in the format of the terms: growth n."""
    count = terms.shape[axis]
    with np.errstate(all="ignore"):
        grown = count * terms.fmt.unit_roundoff * OWN
        return _in_format(interval.running_sums(terms, axis, grown, terms.fmt.largest), terms, count)


def _sum(terms: Enclosure, axis: int, keepdims: bool, grown: float, accumulator: Format) -> Ends:
    with np.errstate(all="ignore"):
        return interval.total(terms, axis, keepdims, grown * accumulator.unit_roundoff * OWN, accumulator.largest)


def _flushed(setting: Setting, fmt: Format, count: int) -> float:
    """What a sum of so many terms may lose where each may be flushed; else a sum underflows exactly."""
    return count * setting.underflow(fmt) if setting.flushes else 0.0


def _in_format(ends: Ends, terms: Enclosure, count: int) -> Enclosure:
    v, lo, hi, nan = ends
    setting, fmt = terms.setting, terms.fmt
    lo, hi = _grown(lo, hi, 0.0, _flushed(setting, fmt, count), fmt.largest)
    if setting.is_narrow(fmt):
        # A sum kept in a format of the kernel's own choice overflows for certain where its least value does.
        above, below = lo > fmt.largest, hi < -fmt.largest
        v = np.where(above, np.inf, np.where(below, -np.inf, v))
        lo, hi = np.where(above, np.inf, lo), np.where(below, -np.inf, hi)
    return Enclosure(v, lo, hi, nan, setting, fmt)
