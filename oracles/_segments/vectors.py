"""A type for compiled functions: sixteen numbers that stay in the registers of the processor.

LLVM's loop vectoriser does not keep sixteen sums in registers from the first square to the largest
score: with plain loops, whole fits take two to three and a half times as long. So there is a vector
with the usual operators, and the kernels that use it read like other compiled functions. LLVM
splits it to whatever width the processor has. This module alone knows of LLVM.
"""
# ruff: noqa: ARG001  (numba reads the names of arguments)

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, extending, types
from numba.core.typing import templates
from numba.extending import intrinsic, models, register_model

from structsvm.errors import SettingsError
from structsvm.support import inner

LANES, BITS = 16, 4
"""The size of a vector, and its logarithm to the base 2."""
FAST = {"nnan", "nsz"}
"""Floating-point freedoms of the kernels: no NaN can occur, infinities do.

Operations are neither reordered nor joined, so that a score has the same bits in every kernel.
"""

if getattr(config, "DISABLE_JIT", 0):
    raise SettingsError(
        "NUMBA_DISABLE_JIT is set, and the search for segments has to be compiled: unset it, "
        "or run the program with env -u NUMBA_DISABLE_JIT"
    )

_typing: Any = templates
_intrinsic: Callable[[Callable[..., Any]], Any] = intrinsic
_extending: Any = extending
_function: Any = types.Function
_FREE = tuple(sorted(FAST))
_DOUBLE = ir.DoubleType()
_WORD = ir.IntType(64)
_DOUBLES = ir.VectorType(_DOUBLE, LANES)


class _Vector(types.Type):
    """Sixteen numbers, for the compiler."""


@register_model(_Vector)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        initialize: Any = super().__init__
        initialize(manager, kind, _DOUBLES)


_kind: Any = _Vector
VECTOR = _kind("Vector")


def _register(symbol: Any, build: Any, result: Any, *operands: Any) -> None:
    """Let compiled functions call ``symbol``, whose instructions ``build`` writes."""

    class Template(templates.ConcreteTemplate):
        key = symbol
        cases = (_typing.signature(result, *operands),)

    def lower(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return build(builder, *args)

    _typing.infer_global(symbol, _function(Template))
    _extending.lower_builtin(symbol, *operands)(lower)


def _instruction(result: Any, *operands: Any) -> Callable[[Any], Any]:
    """Let compiled functions call a function, without its builder, of operands of these types."""

    def register(build: Any) -> Any:
        _register(build, build, result, *operands)
        return build

    return register


def _operator(symbol: Any, instruction: str) -> None:
    """Let an operator of Python act on two vectors, entry by entry."""

    def build(builder: Any, *operands: Any) -> Any:
        return getattr(builder, instruction)(*operands, flags=_FREE)

    _register(symbol, build, VECTOR, VECTOR, VECTOR)


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")
_operator(operator.truediv, "fdiv")


def _address(context: Any, builder: Any, kind: Any, array: Any, number: Any) -> Any:
    """A pointer to the ``number``-th vector of an array."""
    data = context.make_array(kind)(context, builder, array).data
    start = builder.gep(data, [builder.mul(number, ir.Constant(_WORD, LANES))])
    return builder.bitcast(start, _DOUBLES.as_pointer())


@_instruction(VECTOR, types.float64)
def spread(builder: Any, number: Any) -> Any:
    """Sixteen times a number."""
    undefined = ir.Constant(_DOUBLES, ir.Undefined)
    single = builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(single, undefined, everywhere)


@_intrinsic
def read(_typing: Any, array: Any, number: Any) -> Any:
    """The ``number``-th vector of an array: the numbers from ``16 number`` on."""
    assert array.layout == "C" and array.dtype == types.float64  # noqa: PT018

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _address(context, builder, signature.args[0], *args)
        return builder.load(place, align=8)

    return VECTOR(array, types.intp), codegen


@_intrinsic
def write(_typing: Any, vector: Any, array: Any, number: Any) -> Any:
    """Store a vector as the ``number``-th one of an array."""
    assert array.layout == "C" and array.dtype == types.float64  # noqa: PT018

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _address(context, builder, signature.args[1], *args[1:])
        builder.store(args[0], place, align=8)
        return context.get_dummy_value()

    return types.void(VECTOR, array, types.intp), codegen


@_instruction(VECTOR, VECTOR, VECTOR, VECTOR)
def add_product(builder: Any, total: Any, x: Any, y: Any) -> Any:
    """``total + x y``, in one operation where the processor has it."""
    kind = ir.FunctionType(_DOUBLES, [_DOUBLES] * 3)
    name = f"llvm.fmuladd.v{LANES}f64"
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(function, (x, y, total))


@_instruction(VECTOR, VECTOR, VECTOR)
def larger(builder: Any, x: Any, y: Any) -> Any:
    """The larger of two entries, in each place."""
    return where_larger(builder, x, y, x, y)


@_instruction(VECTOR, VECTOR, VECTOR, VECTOR, VECTOR)
def where_larger(builder: Any, x: Any, y: Any, chosen: Any, otherwise: Any) -> Any:
    """``chosen`` in the places where ``x > y``."""
    return builder.select(builder.fcmp_ordered(">", x, y, flags=_FREE), chosen, otherwise)


@_instruction(types.float64, VECTOR)
def largest(builder: Any, vector: Any) -> Any:
    """The largest entry."""
    width = LANES
    while width > 1:
        width //= 2
        undefined = ir.Constant(vector.type, ir.Undefined)
        halves = []
        for i in (0, width):
            lanes = ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(i, i + width)))
            halves.append(builder.shuffle_vector(vector, undefined, lanes))
        vector = larger(builder, *halves)
    return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))


@_instruction(types.float64, VECTOR, types.intp)
def entry(builder: Any, vector: Any, lane: Any) -> Any:
    """One of the numbers."""
    return builder.extract_element(vector, lane)


@_instruction(types.int64, VECTOR, types.float64, types.intp)
def first_reaching(builder: Any, vector: Any, number: Any, begin: Any) -> Any:
    """The first lane, from ``begin`` on, whose entry is at least a number; 16 if there is none."""
    reached = builder.fcmp_ordered(">=", vector, spread(builder, number))
    bits = builder.zext(builder.bitcast(reached, ir.IntType(LANES)), _WORD)
    bits = builder.and_(bits, builder.shl(ir.Constant(_WORD, -1), begin))
    beyond = builder.or_(bits, ir.Constant(_WORD, 1 << LANES))
    return builder.cttz(beyond, ir.Constant(ir.IntType(1), 1))


kernel = inner(fastmath=FAST, error_model="numpy", _nrt=False)
"""Decorate a function of vectors that neither makes nor returns an array.

References are not counted, which would take longer than the sixteen scores.
"""
