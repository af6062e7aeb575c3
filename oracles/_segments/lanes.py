"""The inner loops of the segment kernels, sixteen numbers at a time.

Five run down a tile of ``n`` rows of sixteen numbers and keep one vector of sixteen:

    lane_scores:  from sum_{j < n_plus} (x[j] - tile[j, i])^2 - sum_{j >= n_plus} (same)
    end_scores:   the same with one start and sixteen ends, all signs positive
    best_at_ends: max_j (x[j] + tile[j, i]) and where, then on through the sixteen one by one
    max_plus:     out[i] = max(out[i], max_j (x[j] + tile[j, i]))
    max_of_sums:  max_ij (tile[j, i] + other[j, i])

The others look at one row. They are written as LLVM vectors because the loop vectoriser does not
keep the sixteen sums in registers, from the first square to the largest score; LLVM splits the
vectors to whatever width the processor has. Two vectors take turns, so that one addition does not
wait for the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from structsvm.errors import SettingsError

_cgutils: Any = cgutils

LANES, BITS = 16, 4
"""Numbers handled together, and the power of two that they are."""
ANCHOR, ORIGIN, LEFT = 0, 1, 2
"""Rows of ``SegmentTable.lanes``."""
FAST = {"nnan", "nsz"}
"""Floating-point freedoms of the kernels: no NaN can occur, infinities do.

Operations are neither reordered nor joined. So a score has the same bits in every kernel, and all
find the same one of equal segmentations.
"""

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_WHOLE = ir.VectorType(ir.IntType(64), LANES)
_FIRST_LANE = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
_NOWHERE = ir.Constant(ir.IntType(64), 0)
_FREE = tuple(sorted(FAST))


def _compiled_alone(function: Callable[..., Any]) -> Any:
    """An intrinsic of numba, which Python cannot call in its place."""
    if not getattr(config, "DISABLE_JIT", 0):
        return intrinsic(function)

    def refuse(*_: Any) -> None:
        raise SettingsError(
            "NUMBA_DISABLE_JIT is set, and the search for segments has to be compiled: unset it, "
            "or run the program with env -u NUMBA_DISABLE_JIT"
        )

    return refuse


def _plus_square(builder: Any, total: Any, x: Any, row: Any) -> Any:
    difference = builder.fsub(x, row, flags=_FREE)
    return _multiplied_and_added(builder, difference, difference, total)


def _minus_square(builder: Any, total: Any, x: Any, row: Any) -> Any:
    forth, back = builder.fsub(x, row, flags=_FREE), builder.fsub(row, x, flags=_FREE)
    return _multiplied_and_added(builder, forth, back, total)


def _multiplied_and_added(builder: Any, x: Any, y: Any, total: Any) -> Any:
    """``x y + total``, in one operation where the processor has it."""
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    name = f"llvm.fmuladd.v{LANES}f64"
    function = _cgutils.get_or_insert_function(builder.module, kind, name)
    return builder.call(function, (x, y, total))


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
    stride: int = 1,
) -> None:
    """Emit ``kept = step(kept, x[j], rows[j])`` for ``begin <= j < end``, two ``kept`` in turn."""

    def operand(index: Any) -> Any:
        pointer = builder.gep(x, [builder.mul(index, index.type(stride))])
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


def _shape(context: Any, builder: Any, kind: Any, array: Any, axis: int) -> Any:
    return builder.extract_value(context.make_array(kind)(context, builder, array).shape, axis)


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
    first, undefined = ir.Constant(ir.IntType(32), 0), ir.VectorType(number.type, LANES)
    undefined = ir.Constant(undefined, ir.Undefined)
    single = builder.insert_element(undefined, number, first)
    return builder.shuffle_vector(single, undefined, _FIRST_LANE)


def _require_contiguous(*arrays: tuple[Any, int]) -> None:
    """The loops read raw memory."""
    for array, ndim in arrays:
        if not (array.layout == "C" and array.ndim == ndim and array.dtype == types.float64):
            raise TypeError(f"the segment kernels need contiguous float64 arrays, got {array}")


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


max_plus: Any = _compiled_alone(_max_plus)


def _max_of_sums(_typing: Any, tiles: Any, _which: Any, other: Any, _begin: Any, _end: Any) -> Any:
    """``max_ij (tiles[which, j, i] + other[j, i])`` over ``begin <= j < end``; other (m, 16)."""
    _require_contiguous((tiles, 3), (other, 2))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = signature.args
        first, others = (_data(context, builder, kinds[i], args[i]) for i in (0, 2))
        height = _shape(context, builder, kinds[0], args[0], 1)
        skipped = builder.mul(builder.mul(args[1], height), height.type(LANES))
        rows = builder.bitcast(builder.gep(first, [skipped]), _VECTOR.as_pointer())
        others = builder.bitcast(others, _VECTOR.as_pointer())
        kept = _two(builder, ir.Constant(_VECTOR, [float("-inf")] * LANES))
        _fold(builder, kept, _raise_to_sum, rows, others, args[3], args[4])
        best = _larger(builder, builder.load(kept[0]), builder.load(kept[1]))
        return _largest_of(builder, best)

    whole = types.intp
    return types.float64(tiles, whole, other, whole, whole), codegen


max_of_sums: Any = _compiled_alone(_max_of_sums)


def _squares(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """``sum_j +-(row[j] - sums[group, j, i])^2`` of the arguments of :data:`lane_scores`."""
    row = _data(context, builder, kinds[5], args[5])
    length = _shape(context, builder, kinds[5], args[5], 0)
    first = _data(context, builder, kinds[0], args[0])
    first = builder.gep(first, [builder.mul(builder.mul(args[4], length), length.type(LANES))])
    rows = builder.bitcast(first, _VECTOR.as_pointer())
    kept = _two(builder, ir.Constant(_VECTOR, [0.0] * LANES))
    _fold(builder, kept, _plus_square, rows, row, length.type(0), args[2])
    _fold(builder, kept, _minus_square, rows, row, args[2], length)
    return builder.fadd(builder.load(kept[0]), builder.load(kept[1]), flags=_FREE)


def _distance(builder: Any, position: Any, starts: Any) -> Any:
    """``max(position - starts, 1)``."""
    distance = builder.fsub(position, starts, flags=_FREE)
    return _larger(builder, distance, ir.Constant(_VECTOR, [1.0] * LANES))


def _overlap(builder: Any, length: Any, lanes: Sequence[Any], end: Sequence[Any]) -> Any:
    anchors, origins, left = lanes
    position, right, rate, low = end
    inside = builder.fcmp_ordered(">=", origins, low)
    longest = builder.select(inside, length, _distance(builder, position, origins))
    square = builder.fmul(builder.fmul(rate, length, flags=_FREE), length, flags=_FREE)
    both = builder.fadd(left, right, flags=_FREE)
    overlap = builder.select(builder.fcmp_ordered(">=", anchors, low), square, both)
    return builder.fdiv(overlap, longest, flags=_FREE)


def _end_scores(
    _typing: Any,
    sums: Any,
    lanes: Any,
    marks: Any,
    starts: Any,
    _n: Any,
    _group: Any,
    out: Any,
) -> Any:
    """``out[k, i] = score(starts[k], 16 group + i) - d`` for ``k < n``."""
    _require_contiguous((sums, 3), (lanes, 3), (marks, 3), (out, 2))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds, group, sixteen = signature.args, args[5], args[5].type(LANES)
        sums_data, lanes_data, starts_data = (
            _data(context, builder, kinds[i], args[i]) for i in (0, 1, 3)
        )
        r, height, width = (_shape(context, builder, kinds[i], args[i], 1) for i in (0, 1, 2))
        result = builder.bitcast(_data(context, builder, kinds[6], args[6]), _VECTOR.as_pointer())
        tile = builder.gep(sums_data, [builder.mul(builder.mul(group, r), sixteen)])
        tile = builder.bitcast(tile, _VECTOR.as_pointer())
        first = builder.mul(group, width)

        def of_ends(row: int) -> Any:
            return _row(context, builder, kinds[2], args[2], builder.add(first, first.type(row)))

        with _cgutils.for_range(builder, args[4]) as loop:
            k, start = loop.index, builder.load(builder.gep(starts_data, [loop.index]))
            home = builder.ashr(start, start.type(BITS))
            lane = builder.and_(start, start.type(LANES - 1))

            def of_start(data: Any, rows: Any, row: int, home: Any = home, lane: Any = lane) -> Any:
                place = builder.mul(builder.add(builder.mul(home, rows), rows.type(row)), sixteen)
                return builder.gep(data, [builder.add(place, lane)])

            kept = _two(builder, ir.Constant(_VECTOR, [0.0] * LANES))
            column = of_start(sums_data, r, 0)
            _fold(builder, kept, _plus_square, tile, column, r.type(0), r, stride=LANES)
            squares = builder.fadd(builder.load(kept[0]), builder.load(kept[1]), flags=_FREE)
            anchor = _spread(builder, builder.load(of_start(lanes_data, height, ANCHOR)))
            length = _distance(builder, of_ends(0), anchor)
            place = builder.gep(result, [k])
            builder.store(builder.fdiv(squares, length, flags=_FREE), place, align=8)
            with builder.if_then(builder.icmp_signed(">", width, width.type(1))):
                left = _spread(builder, builder.load(of_start(lanes_data, height, LEFT)))
                cost = _overlap(builder, length, (anchor, anchor, left), [*map(of_ends, range(4))])
                share = builder.load(place, align=8)
                builder.store(builder.fsub(share, cost, flags=_FREE), place, align=8)
        return context.get_dummy_value()

    whole = types.intp
    return types.void(sums, lanes, marks, starts, whole, whole, out), codegen


end_scores: Any = _compiled_alone(_end_scores)


def _best_at_ends(
    _typing: Any, scores: Any, starts: Any, _n: Any, _shift: Any, F: Any, previous: Any
) -> Any:
    """Best values at sixteen knots, one after the other, since each is a start for the next.

    Row ``k < n`` of ``scores``, as of :data:`end_scores`, is of the start ``starts[k]``; the knots
    are the last sixteen starts. For each of them but ``t = 0``, whose value is 0,
    """
    _require_contiguous((scores, 2), (F, 1))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds, n, shift = signature.args, args[2], args[3]
        starts_data, values, found = (_data(context, builder, kinds[i], args[i]) for i in (1, 4, 5))
        rows = builder.bitcast(_data(context, builder, kinds[0], args[0]), _VECTOR.as_pointer())
        best = _cgutils.alloca_once(builder, _VECTOR)
        which = _cgutils.alloca_once(builder, _WHOLE)
        builder.store(ir.Constant(_VECTOR, [float("-inf")] * LANES), best)
        builder.store(ir.Constant(_WHOLE, [0] * LANES), which)

        def offer(k: Any, start: Any, value: Any) -> None:
            row = builder.load(builder.gep(rows, [k]), align=8)
            total = builder.fadd(_spread(builder, value), row, flags=_FREE)
            so_far = builder.load(best)
            better = builder.fcmp_ordered(">", total, so_far, flags=_FREE)
            builder.store(builder.select(better, total, so_far), best)
            mine = _spread(builder, start)
            builder.store(builder.select(better, mine, builder.load(which)), which)

        older = builder.sub(n, n.type(LANES))
        with _cgutils.for_range(builder, older) as loop:
            start = builder.load(builder.gep(starts_data, [loop.index]))
            offer(loop.index, start, builder.load(builder.gep(values, [start])))
        first = builder.load(builder.gep(starts_data, [older]))
        for i in range(LANES):
            here, lane = builder.add(first, first.type(i)), ir.Constant(ir.IntType(32), i)
            value = builder.extract_element(builder.load(best), lane)
            value = builder.fadd(value, shift, flags=_FREE)
            if i == 0:
                at_0 = builder.icmp_signed("==", here, here.type(0))
                value = builder.select(at_0, value.type(0.0), value)
            builder.store(value, builder.gep(values, [here]))
            origin = builder.extract_element(builder.load(which), lane)
            builder.store(origin, builder.gep(found, [here]))
            offer(builder.add(older, n.type(i)), here, value)
        return context.get_dummy_value()

    return types.void(scores, starts, types.intp, types.float64, F, previous), codegen


best_at_ends: Any = _compiled_alone(_best_at_ends)


def _lane_scores(
    _typing: Any,
    sums: Any,
    lanes: Any,
    _n_plus: Any,
    value: Any,
    _group: Any,
    row: Any,
    ends: Any,
    _t: Any,
    out: Any,
) -> Any:
    """``out[i] = value[group, i] + score(s, t) - d`` for the 16 starts of a group; the largest.

    In a group of inner nodes the result bounds every start ``s`` of the run from above, given that
    ``value`` is at least ``F(s) + |C_e - C_s|^2 / (e - s)``, with ``e`` the anchor and all signs
    positive. Lanes at or after ``t`` must hold the value minus infinity.
    """
    _require_contiguous((sums, 3), (lanes, 3), (value, 2), (row, 1), (ends, 2), (out, 1))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds, group, t = signature.args, args[4], args[7]
        height = _shape(context, builder, kinds[1], args[1], 1)
        width = _shape(context, builder, kinds[6], args[6], 1)
        first_lane, first_end = builder.mul(group, height), builder.mul(t, width)
        ends_data = _data(context, builder, kinds[6], args[6])

        def of_lanes(k: int) -> Any:
            return _row(context, builder, kinds[1], args[1], builder.add(first_lane, t.type(k)))

        def of_end(k: int) -> Any:
            place = builder.gep(ends_data, [builder.add(first_end, t.type(k))])
            return _spread(builder, builder.load(place))

        length = _distance(builder, of_end(0), of_lanes(0))
        share = builder.fdiv(_squares(context, builder, kinds, args), length, flags=_FREE)
        values = _row(context, builder, kinds[3], args[3], group)
        kept = _cgutils.alloca_once(builder, _VECTOR)
        builder.store(share, kept)
        with builder.if_then(builder.icmp_signed(">", width, width.type(1))):
            there, here = [of_lanes(k) for k in range(3)], [of_end(k) for k in range(4)]
            cost = _overlap(builder, length, there, here)
            builder.store(builder.fsub(share, cost, flags=_FREE), kept)
        scores = builder.fadd(values, builder.load(kept), flags=_FREE)
        result = builder.bitcast(_data(context, builder, kinds[8], args[8]), _VECTOR.as_pointer())
        builder.store(scores, result, align=8)
        return _largest_of(builder, scores)

    whole = types.intp
    return types.float64(sums, lanes, whole, value, whole, row, ends, whole, out), codegen


lane_scores: Any = _compiled_alone(_lane_scores)


def _largest_of(builder: Any, vector: Any) -> Any:
    width = LANES
    while width > 1:
        width //= 2
        halves = [range(width), range(width, 2 * width)]
        left, right = (_shuffled(builder, vector, list(half)) for half in halves)
        vector = _larger(builder, left, right)
    return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))


def _largest(_typing: Any, out: Any) -> Any:
    """The largest of sixteen numbers."""
    _require_contiguous((out, 1))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _largest_of(builder, _row(context, builder, signature.args[0], args[0], _NOWHERE))

    return types.float64(out), codegen


largest: Any = _compiled_alone(_largest)


def _first_lane(builder: Any, chosen: Any, begin: Any) -> Any:
    """The first lane from ``begin`` on that is chosen; 16 if none is."""
    bits = builder.zext(builder.bitcast(chosen, ir.IntType(LANES)), ir.IntType(64))
    bits = builder.and_(bits, builder.shl(bits.type(-1), begin))
    found = builder.or_(bits, bits.type(1 << LANES))
    return builder.cttz(found, ir.Constant(ir.IntType(1), 1))


def _lane_of(_typing: Any, out: Any, _number: Any) -> Any:
    """The first lane that holds a number, which one does."""
    _require_contiguous((out, 1))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = _row(context, builder, signature.args[0], args[0], _NOWHERE)
        equal = builder.fcmp_ordered("==", row, _spread(builder, args[1]))
        return _first_lane(builder, equal, _NOWHERE)

    return types.int64(out, types.float64), codegen


lane_of: Any = _compiled_alone(_lane_of)


def _next_above(_typing: Any, out: Any, _number: Any, _begin: Any) -> Any:
    """The first lane, from ``begin`` on, whose number is larger than another; 16 if none is."""
    _require_contiguous((out, 1))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = _row(context, builder, signature.args[0], args[0], _NOWHERE)
        above = builder.fcmp_ordered(">", row, _spread(builder, args[1]))
        return _first_lane(builder, above, args[2])

    return types.int64(out, types.float64, types.intp), codegen


next_above: Any = _compiled_alone(_next_above)


def _lane_reaching(
    _typing: Any, tiles: Any, _which: Any, other: Any, _row_number: Any, _number: Any
) -> Any:
    """The first lane with ``tiles[which, j, i] + other[j, i] >= number``; 16 if there is none."""
    _require_contiguous((tiles, 3), (other, 2))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds, j = signature.args, args[3]
        height = _shape(context, builder, kinds[0], args[0], 1)
        place = builder.add(builder.mul(args[1], height), j)
        left = _row(context, builder, kinds[0], args[0], place)
        right = _row(context, builder, kinds[2], args[2], j)
        total = builder.fadd(left, right, flags=_FREE)
        reaching = builder.fcmp_ordered(">=", total, _spread(builder, args[4]))
        return _first_lane(builder, reaching, _NOWHERE)

    return types.int64(tiles, types.intp, other, types.intp, types.float64), codegen


lane_reaching: Any = _compiled_alone(_lane_reaching)
