"""The inner loops of the segment kernels, sixteen numbers at a time.

Three run down a tile of ``n`` rows of sixteen numbers and keep one vector of sixteen:

    signed_squares:  out[i] = sum_{j < n_plus} (x[j] - tile[j, i])^2 - sum_{j >= n_plus} (same)
    max_plus:        out[i] = max(out[i], max_j (x[j] + tile[j, i]))
    max_of_sums:     out[i] = max_j (tile[j, i] + other[j, i])

The others look at one row. They are written as LLVM vectors because the loop vectoriser does not
keep the sixteen sums in registers; LLVM splits the vectors to whatever width the processor has. Two
vectors take turns, so that one addition does not wait for the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

__all__ = [
    "FAST",
    "LANES",
    "lane_of",
    "largest",
    "max_of_sums",
    "max_plus",
    "plain_scores",
    "signed_squares",
]

Floats = NDArray[np.float64]
_cgutils: Any = cgutils

LANES = 16
"""Numbers handled together."""
FAST = {"reassoc", "contract", "nsz", "arcp", "nnan"}
"""Floating-point freedoms of the kernels: no NaN can occur, infinities do."""

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_FIRST_LANE = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
_NOWHERE = ir.Constant(ir.IntType(64), 0)
_FREE = tuple(sorted(FAST))


def _squared(builder: Any, x: Any, row: Any) -> Any:
    difference = builder.fsub(x, row, flags=_FREE)
    return builder.fmul(difference, difference, flags=_FREE)


def _plus_square(builder: Any, total: Any, x: Any, row: Any) -> Any:
    return builder.fadd(total, _squared(builder, x, row), flags=_FREE)


def _minus_square(builder: Any, total: Any, x: Any, row: Any) -> Any:
    return builder.fsub(total, _squared(builder, x, row), flags=_FREE)


def _larger(builder: Any, left: Any, right: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", left, right, flags=_FREE), left, right)


def _raise_to_sum(builder: Any, best: Any, x: Any, row: Any) -> Any:
    return _larger(builder, best, builder.fadd(x, row, flags=_FREE))


def _fold(
    builder: Any,
    kept: list[Any],
    step: Callable[[Any, Any, Any, Any], Any],
    rows: Any,
    x: Any,
    begin: Any,
    end: Any,
) -> None:
    """Emit ``kept = step(kept, x[j], rows[j])`` for ``begin <= j < end``, two ``kept`` in turn.

    ``x`` holds numbers, or rows as ``rows`` does.
    """

    def operand(index: Any) -> Any:
        pointer = builder.gep(x, [index])
        if x.type == rows.type:
            return builder.load(pointer, align=8)
        return _spread(builder, builder.load(pointer))

    def advance(index: Any, vector: Any) -> None:
        left = operand(index)
        row = builder.load(builder.gep(rows, [index]), align=8)
        builder.store(step(builder, builder.load(vector), left, row), vector)

    one = ir.Constant(begin.type, 1)
    length = builder.sub(end, begin)
    with _cgutils.for_range(builder, builder.ashr(length, one)) as loop:
        index = builder.add(begin, builder.shl(loop.index, one))
        advance(index, kept[0])
        advance(builder.add(index, one), kept[1])
    with builder.if_then(builder.trunc(builder.and_(length, one), ir.IntType(1))):
        advance(builder.sub(end, one), kept[0])


def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return context.make_array(kind)(context, builder, array).data


def _two(builder: Any, initial: Any) -> list[Any]:
    kept = [_cgutils.alloca_once(builder, _VECTOR) for _ in range(2)]
    for vector in kept:
        builder.store(initial, vector)
    return kept


def _row(context: Any, builder: Any, kind: Any, array: Any, number: Any) -> Any:
    """The ``number``-th sixteen of an array."""
    data = _data(context, builder, kind, array)
    start = builder.gep(data, [builder.mul(number, number.type(LANES))])
    return builder.load(builder.bitcast(start, _VECTOR.as_pointer()), align=8)


def _shuffled(builder: Any, vector: Any, lanes: list[int]) -> Any:
    undefined = ir.Constant(vector.type, ir.Undefined)
    chosen = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
    return builder.shuffle_vector(vector, undefined, chosen)


def _spread(builder: Any, number: Any) -> Any:
    """Sixteen times a number."""
    first = ir.Constant(ir.IntType(32), 0)
    single = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, first)
    return builder.shuffle_vector(single, ir.Constant(_VECTOR, ir.Undefined), _FIRST_LANE)


def _require_contiguous(*arrays: tuple[Any, int]) -> None:
    """The loops read raw memory."""
    for array, ndim in arrays:
        if not (array.layout == "C" and array.ndim == ndim and array.dtype == types.float64):
            raise TypeError(f"the segment kernels need contiguous float64 arrays, got {array}")


def _signed_squares(_typing: Any, tiles: Any, _group: Any, x: Any, _n_plus: Any, out: Any) -> Any:
    """``out[i] = sum_j +-(x[j] - tiles[group, j, i])^2``; tiles (n_groups, n, 16), x (n,)."""
    _require_contiguous((tiles, 3), (x, 1), (out, 1))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = signature.args
        x_data, result = (_data(context, builder, kinds[i], args[i]) for i in (2, 4))
        length = builder.extract_value(
            context.make_array(kinds[2])(context, builder, args[2]).shape, 0
        )
        first = _data(context, builder, kinds[0], args[0])
        first = builder.gep(first, [builder.mul(builder.mul(args[1], length), length.type(LANES))])
        rows = builder.bitcast(first, _VECTOR.as_pointer())
        kept = _two(builder, ir.Constant(_VECTOR, [0.0] * LANES))
        _fold(builder, kept, _plus_square, rows, x_data, length.type(0), args[3])
        _fold(builder, kept, _minus_square, rows, x_data, args[3], length)
        total = builder.fadd(builder.load(kept[0]), builder.load(kept[1]), flags=_FREE)
        builder.store(total, builder.bitcast(result, _VECTOR.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(tiles, types.intp, x, types.intp, out), codegen


signed_squares: Any = intrinsic(_signed_squares)


def _max_plus(_typing: Any, tile: Any, x: Any, _n: Any, out: Any) -> Any:
    """``out[i] = max(out[i], x[j] + tile[j, i])`` over ``j < n``; tile (n, 16), x (n,)."""
    _require_contiguous((tile, 2), (x, 1), (out, 1))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = signature.args
        first, x_data, result = (_data(context, builder, kinds[i], args[i]) for i in (0, 1, 3))
        rows, result = (builder.bitcast(p, _VECTOR.as_pointer()) for p in (first, result))
        kept = _two(builder, builder.load(result, align=8))
        _fold(builder, kept, _raise_to_sum, rows, x_data, args[2].type(0), args[2])
        best = _larger(builder, builder.load(kept[0]), builder.load(kept[1]))
        builder.store(best, result, align=8)
        return context.get_dummy_value()

    return types.void(tile, x, types.intp, out), codegen


max_plus: Any = intrinsic(_max_plus)


def _max_of_sums(_typing: Any, tiles: Any, _which: Any, other: Any, _n: Any, out: Any) -> Any:
    """``out[i] = max_j (tiles[which, j, i] + other[j, i])`` over ``j < n``; other (m, 16)."""
    _require_contiguous((tiles, 3), (other, 2), (out, 1))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = signature.args
        first, others, result = (_data(context, builder, kinds[i], args[i]) for i in (0, 2, 4))
        height = builder.extract_value(
            context.make_array(kinds[0])(context, builder, args[0]).shape, 1
        )
        skipped = builder.mul(builder.mul(args[1], height), height.type(LANES))
        rows = builder.bitcast(builder.gep(first, [skipped]), _VECTOR.as_pointer())
        others, result = (builder.bitcast(p, _VECTOR.as_pointer()) for p in (others, result))
        kept = _two(builder, ir.Constant(_VECTOR, [float("-inf")] * LANES))
        _fold(builder, kept, _raise_to_sum, rows, others, args[3].type(0), args[3])
        best = _larger(builder, builder.load(kept[0]), builder.load(kept[1]))
        builder.store(best, result, align=8)
        return context.get_dummy_value()

    return types.void(tiles, types.intp, other, types.intp, out), codegen


max_of_sums: Any = intrinsic(_max_of_sums)


def _plain_scores(
    _typing: Any, value: Any, _group: Any, lanes: Any, _position: Any, out: Any
) -> Any:
    """``out[i] = value[group, i] + out[i] / max(position - lanes[group, 0, i], 1)``."""
    _require_contiguous((value, 2), (lanes, 3), (out, 1))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds, group = signature.args, args[1]
        height = builder.extract_value(
            context.make_array(kinds[2])(context, builder, args[2]).shape, 1
        )
        values = _row(context, builder, kinds[0], args[0], group)
        anchors = _row(context, builder, kinds[2], args[2], builder.mul(group, height))
        result = builder.bitcast(_data(context, builder, kinds[4], args[4]), _VECTOR.as_pointer())
        distance = builder.fsub(_spread(builder, args[3]), anchors, flags=_FREE)
        length = _larger(builder, distance, ir.Constant(_VECTOR, [1.0] * LANES))
        share = builder.fdiv(builder.load(result, align=8), length, flags=_FREE)
        builder.store(builder.fadd(values, share, flags=_FREE), result, align=8)
        return context.get_dummy_value()

    return types.void(value, types.intp, lanes, types.float64, out), codegen


plain_scores: Any = intrinsic(_plain_scores)


def _largest(_typing: Any, out: Any) -> Any:
    """The largest of sixteen numbers."""
    _require_contiguous((out, 1))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kept, width = _row(context, builder, signature.args[0], args[0], _NOWHERE), LANES
        while width > 1:
            width //= 2
            halves = [range(width), range(width, 2 * width)]
            left, right = (_shuffled(builder, kept, list(half)) for half in halves)
            kept = _larger(builder, left, right)
        return builder.extract_element(kept, ir.Constant(ir.IntType(32), 0))

    return types.float64(out), codegen


largest: Any = intrinsic(_largest)


def _lane_of(_typing: Any, out: Any, _number: Any) -> Any:
    """The first lane that holds a number, which one does."""
    _require_contiguous((out, 1))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = _row(context, builder, signature.args[0], args[0], _NOWHERE)
        equal = builder.fcmp_ordered("==", row, _spread(builder, args[1]))
        bits = builder.zext(builder.bitcast(equal, ir.IntType(LANES)), ir.IntType(64))
        found = builder.or_(bits, bits.type(1 << LANES))  # never without a bit
        return builder.cttz(found, ir.Constant(ir.IntType(1), 1))

    return types.int64(out, types.float64), codegen


lane_of: Any = intrinsic(_lane_of)
