"""Mechanisms compiled by `numba` to C functions that need no lock of the interpreter.

The functions receive pointers to structs of the engine, whose fields `_phit.layout` describes. Their numba types,
attributes and methods are declared here. The engine checks every number that it receives from a function. For a port or
channel that does not exist, the engine returns -1, which is an error here.
"""

import ast
import json
import re
import types as python
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, models, overload_attribute, overload_method, register_model

import phit._phit as _phit
from phit.base.errors import InputError
from phit.mechanisms import Mechanism
from phit.mechanisms.sources import Source

_LAYOUT: dict[str, Any] = json.loads(_phit.layout())

_OUTPUTS = frozenset({"occupancy", "port_occupancy", "credits", "free", "takes"})
"""Methods of a view that read the state of outputs."""


class _Pointer(types.Type):
    """A pointer to a struct of the engine."""

    def __init__(self) -> None:
        super().__init__(name=f"phit.{type(self).__name__}")


class TriggerView(_Pointer):
    """The part of a router that a trigger sees."""


class RuleView(_Pointer):
    """The part of a router that a rule sees."""


class SourceView(_Pointer):
    """The part of the network that a traffic pattern sees."""


class PortView(_Pointer):
    """The part of a port that a probe sees."""


class PacketView(_Pointer):
    """A packet."""


for _type in (TriggerView, RuleView, SourceView, PortView, PacketView):
    register_model(_type)(models.OpaqueModel)

_INT = ir.IntType(64)
_WIDTHS = {"u8": 8, "u16": 16, "u32": 32, "u64": 64}


def _at(builder: Any, pointer: Any, offset: Any, kind: Any) -> Any:
    """The value `offset` bytes behind a pointer."""
    place = builder.gep(pointer, [offset], source_etype=ir.IntType(8))
    return builder.load(builder.bitcast(place, kind.as_pointer()), typ=kind)


def _field(offset: int, kind: str) -> Any:
    """Reads a field that is a whole number."""

    @intrinsic
    def read(typing: Any, view: Any) -> Any:  # noqa: ARG001
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
            value = _at(builder, arguments[0], _INT(offset), ir.IntType(_WIDTHS[kind]))
            return builder.zext(value, _INT)

        return types.int64(view), code

    return read


def _element(offset: int, kind: str) -> Any:
    """Reads an element of an array, whose pointer is in a field. The index is not checked."""
    width = 64 if kind == "f64" else _WIDTHS[kind]
    wanted = ir.DoubleType() if kind == "f64" else ir.IntType(width)

    @intrinsic
    def read(typing: Any, view: Any, index: Any) -> Any:  # noqa: ARG001
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
            array = _at(builder, arguments[0], _INT(offset), ir.IntType(8).as_pointer())
            value = _at(builder, array, builder.mul(arguments[1], _INT(width // 8)), wanted)
            return value if kind == "f64" else builder.zext(value, _INT)

        return (types.float64 if kind == "f64" else types.int64)(view, types.int64), code

    return read


def _call(struct: str, name: str, given: tuple[Any, ...] = (), result: Any = types.int64) -> Any:
    """Calls a function of the engine, whose pointer is in a table, whose pointer is in a field."""
    table, offset = _LAYOUT[struct]["table"], _LAYOUT[struct]["calls"][name]

    @intrinsic
    def call(typing: Any, view: Any, arguments: Any) -> Any:  # noqa: ARG001
        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            given_types = [context.get_value_type(kind) for kind in signature.args[1]]
            kind = ir.FunctionType(context.get_value_type(result), [values[0].type, *given_types])
            calls = _at(builder, values[0], _INT(table), ir.IntType(8).as_pointer())
            function = _at(builder, calls, _INT(offset), kind.as_pointer())
            parts = [builder.extract_value(values[1], i) for i in range(len(given))]
            return builder.call(function, [values[0], *parts])

        return (result(view, arguments), code) if tuple(arguments) == given else None

    return call


_packet = PacketView()
_views: dict[str, _Pointer] = {
    "python_trigger": TriggerView(),
    "python_rule": RuleView(),
    "python_pattern": SourceView(),
    "python_probe": PortView(),
}
_structs: dict[type[_Pointer], str] = {
    PacketView: "packet",
    TriggerView: "router",
    RuleView: "router",
    SourceView: "source",
    PortView: "port",
}


def _declare_fields(of: type[_Pointer]) -> None:
    """Declares the attributes of a view that are fields of its struct."""
    for name, (offset, kind) in _LAYOUT[_structs[of]]["fields"].items():
        _declare_field(of, name, _field(offset, kind))


def _declare_field(of: type[_Pointer], name: str, read: Any) -> None:
    @overload_attribute(of, name)
    def attribute(view: Any) -> Any:  # noqa: ARG001
        def found(view: Any) -> Any:
            return read(view)

        return found


def _declare_of_port(of: type[_Pointer], name: str, ask: Any) -> None:
    """Declares a number of a port. The engine returns a negative number if there is no such port."""
    wrong = f"{name}: the router has no such port"

    @overload_method(of, name)
    def of_port(view: Any, port: Any) -> Any:  # noqa: ARG001
        def found(view: Any, port: Any) -> Any:
            number = ask(view, (numba.int64(port),))
            if number < 0:
                raise IndexError(wrong)
            return number

        return found


def _declare_router(of: type[_Pointer]) -> None:
    """Declares the methods that triggers and rules share."""
    count = _element(_LAYOUT["router"]["heads"], "u16")
    one, two = (types.int64,), (types.int64, types.int64)
    neighbour_of, distance_of = _call("router", "neighbour", one), _call("router", "distance", two)
    occupancy_of, capacity_of = _call("router", "occupancy", two), _call("router", "capacity", one)
    idle_now, group_of = _call("router", "idle", one), _call("router", "group", one)
    takes_now = _call("router", "takes", (*two, types.int64))
    draw_of = _call("router", "draw", (_packet, types.int64), types.float64)
    for name in ("link_class", "vcs", "capacity", "port_occupancy"):
        _declare_of_port(of, name, _call("router", name, one))

    @overload_method(of, "heads", inline="always")
    def heads(view: Any, port: Any) -> Any:  # noqa: ARG001
        def found(view: Any, port: Any) -> Any:
            if port < 0 or port >= view.ports:
                raise IndexError("heads: the router has no such port")
            return count(view, numba.int64(port))

        return found

    @overload_method(of, "occupancy")
    def occupancy(view: Any, port: Any, vc: Any) -> Any:  # noqa: ARG001
        def found(view: Any, port: Any, vc: Any) -> Any:
            number = occupancy_of(view, (numba.int64(port), numba.int64(vc)))
            if number < 0:
                raise IndexError("occupancy: the router has no such port or virtual channel")
            return number

        return found

    @overload_method(of, "credits")
    def credits(view: Any, port: Any, vc: Any) -> Any:  # noqa: A001, ARG001
        def found(view: Any, port: Any, vc: Any) -> Any:
            number = occupancy_of(view, (numba.int64(port), numba.int64(vc)))
            if number < 0:
                raise IndexError("credits: the router has no such port or virtual channel")
            return capacity_of(view, (numba.int64(port),)) - number

        return found

    @overload_method(of, "free")
    def free(view: Any, port: Any) -> Any:  # noqa: ARG001
        def found(view: Any, port: Any) -> Any:
            number = idle_now(view, (numba.int64(port),))
            if number < 0:
                raise IndexError("free: the router has no such port")
            return number == 1

        return found

    @overload_method(of, "takes")
    def takes(view: Any, port: Any, vc: Any, phits: Any) -> Any:  # noqa: ARG001
        def found(view: Any, port: Any, vc: Any, phits: Any) -> Any:
            number = takes_now(view, (numba.int64(port), numba.int64(vc), numba.int64(phits)))
            if number < 0:
                raise IndexError("takes: the router has no such port or virtual channel")
            return number == 1

        return found

    @overload_method(of, "neighbour")
    def neighbour(view: Any, port: Any) -> Any:  # noqa: ARG001
        def found(view: Any, port: Any) -> Any:
            return neighbour_of(view, (numba.int64(port),))

        return found

    @overload_method(of, "distance")
    def distance(view: Any, a: Any, b: Any) -> Any:  # noqa: ARG001
        def found(view: Any, a: Any, b: Any) -> Any:
            number = distance_of(view, (numba.int64(a), numba.int64(b)))
            if number < 0:
                raise IndexError("distance: there is no such router")
            return number

        return found

    @overload_method(of, "group")
    def group(view: Any, router: Any) -> Any:  # noqa: ARG001
        def found(view: Any, router: Any) -> Any:
            number = group_of(view, (numba.int64(router),))
            if number < 0:
                raise IndexError("group: there is no such router")
            return number

        return found

    @overload_method(of, "draw")
    def draw(view: Any, packet: Any, stream: Any = 0) -> Any:  # noqa: ARG001
        def found(view: Any, packet: Any, stream: Any = 0) -> Any:
            return draw_of(view, (packet, numba.int64(stream)))

        return found


def _declare_streams(of: type[_Pointer]) -> None:
    """Declares the methods that draw from a random stream."""
    next_number = _call(_structs[of], "random", (), types.float64)
    next_below = _call(_structs[of], "below", (types.int64,))

    @overload_method(of, "random")
    def random(view: Any) -> Any:  # noqa: ARG001
        def found(view: Any) -> Any:
            return next_number(view, ())

        return found

    @overload_method(of, "below")
    def below(view: Any, number: Any) -> Any:  # noqa: ARG001
        def found(view: Any, number: Any) -> Any:
            if number < 1 or number >= 1 << 32:
                raise ValueError("below: expected a number from 1 to 4294967295")
            return next_below(view, (numba.int64(number),))

        return found


def _declare_packet() -> None:
    """Declares attributes of a packet that are not fields of its struct."""
    words = _field(_LAYOUT["packet"]["hops"], "u64")
    detours = _field(*_LAYOUT["packet"]["fields"]["misrouted"])

    @overload_attribute(PacketView, "hops")
    def hops(packet: Any) -> Any:  # noqa: ARG001
        def found(packet: Any) -> Any:
            counts, total = words(packet), 0
            for _ in range(8):
                total += counts & 0xFF
                counts = (counts >> 8) & 0xFFFFFFFFFFFFFF
            return total

        return found

    @overload_attribute(PacketView, "misrouted")
    def misrouted(packet: Any) -> Any:  # noqa: ARG001
        def found(packet: Any) -> Any:
            return detours(packet) & 7 != 0

        return found


def _declare_rule() -> None:
    allowed = _call("router", "permits", (_packet, types.int64))

    @overload_method(RuleView, "permits")
    def permits(view: Any, packet: Any, port: Any) -> Any:  # noqa: ARG001
        def found(view: Any, packet: Any, port: Any) -> Any:
            return allowed(view, (packet, numba.int64(port))) == 1

        return found


def _declare_source() -> None:
    attached = _element(_LAYOUT["source"]["attachments"], "u32")

    @overload_method(SourceView, "router")
    def router(view: Any, endpoint: Any) -> Any:  # noqa: ARG001
        def found(view: Any, endpoint: Any) -> Any:
            if endpoint < 0 or endpoint >= view.endpoints:
                raise IndexError("router: there is no such endpoint")
            return attached(view, numba.int64(endpoint))

        return found


def _declare_port() -> None:
    for name in ("input_phits", "output_phits", "arrivals"):
        _declare_queue(name, _call("port", name, (types.int64,)))


def _declare_queue(name: str, ask: Any) -> None:
    wrong = f"{name}: the port has no such queue"

    @overload_method(PortView, name)
    def of_queue(view: Any, queue: Any) -> Any:  # noqa: ARG001
        def found(view: Any, queue: Any) -> Any:
            if queue < 0 or queue >= view.queues:
                raise IndexError(wrong)
            return ask(view, (numba.int64(queue),))

        return found


_LAYOUT["packet"]["fields"].pop("birth", None)
_of_detours = _LAYOUT["packet"]["fields"]["misrouted"]
for _view in _structs:
    _declare_fields(_view)
for _view in (TriggerView, RuleView):
    _declare_router(_view)
for _view in (RuleView, SourceView):
    _declare_streams(_view)
_declare_packet()
_declare_rule()
_declare_source()
_declare_port()

_parameters = {struct: _element(_LAYOUT[struct]["parameters"], "f64") for struct in ("router", "source", "port")}

_BODIES = {
    "fires": ("view, packet", "1 if {call} else 0"),
    "admits": ("view, packet, port", "1 if {call} else 0"),
    "minds": ("view, port, heads", "1 if {call} else 0"),
    "decides": ("view, packet", "allowed(view, packet, {call})"),
    "chooses": ("view", "endpoint(view, {call})"),
    "looks": ("view", "whole({call})"),
}
"""Arguments of each C function, and its result as an expression of the user's function's result."""

_FIRST = {"python_trigger": "fires", "python_rule": "decides", "python_pattern": "chooses", "python_probe": "looks"}


def _allowed(view: Any, packet: Any, port: Any) -> Any:
    if port >= 0 and not view.permits(packet, port):
        raise ValueError("the rule has returned a port that view.permits does not permit")
    return port


def _endpoint(view: Any, number: Any) -> Any:
    if number < -1 or number >= view.endpoints:
        raise ValueError("the pattern has returned a number that is neither an endpoint nor -1")
    return number


def _whole(number: Any) -> Any:
    if number >= 1 << 32:
        raise ValueError("the probe has returned 2**32 or more")
    return number


_CHECKS = {"allowed": numba.njit(_allowed), "endpoint": numba.njit(_endpoint), "whole": numba.njit(_whole)}

_COLOURS = re.compile(r"\x1b\[\d*m")
"""Colour codes in numba's messages."""

_NOISE = (
    *("Failed in", "No implementation", "There are", "- Of which", "Overload", "With argument", "Rejected", ">>>"),
    *("Operator Overload", "TypingError: No impl", "No match", "- Resolution", "File ", "<source missing", "During: "),
)
"""Beginnings of lines in numba's messages that do not concern the user's function."""

_AT = re.compile(r"(?:at|[Rr]aised from|defined at) (\S.*?) \((\d+)\)")
_FILE_LINE = re.compile(r'File "(.*?)", line (\d+):')
"""Form of file names and line numbers in numba's messages."""

_kept: dict[tuple[str, str, tuple[str, ...]], list[Any]] = {}
"""Everything that was compiled, as long as this process lives: the engine has its addresses."""


def ensure(source: Source, key: str) -> None:
    """Compiles the functions of a source and registers them with the engine, once in a process.

    Args:
        source: the source to compile, which is executed.
        key: path of the table that names it, for errors.

    Raises:
        InputError: the source cannot be compiled. The message names the line in the file, or in the key `source`.
    """
    name = (source.kind, source.function, source.lines)
    if name in _kept:
        return
    compiled = _compiled(source, key)
    _kept[name] = list(compiled.values())
    reads = [what for what, names in (("heads", {"heads"}), ("outputs", _OUTPUTS)) if source.attributes & names]
    addresses = {what: function.address for what, function in compiled.items()}
    _phit.register(source.kind, source.function, list(source.lines), addresses, reads)


def _compiled(source: Source, key: str) -> dict[str, Any]:
    """C functions by the question that each answers."""
    scope: dict[str, Any] = {"__name__": f"phit_mechanism_{source.function}"}
    try:
        for file, statement in source.statements:
            exec(compile(ast.Module([statement], []), file, "exec"), scope)
    except Exception as error:
        raise _refused(source, key, error) from None
    mechanism = scope.get(source.function)
    if not isinstance(mechanism, Mechanism) or mechanism.kind != source.kind:
        raise InputError(f"{key}.function: {source.function} is no mechanism of the kind {source.kind}", key)
    for name, value in list(scope.items()):
        if isinstance(value, python.FunctionType) and value not in mechanism.others.values():
            scope[name] = numba.njit(value, boundscheck=True)
    functions = {_FIRST[source.kind]: ("", mechanism.function)}
    functions |= {what: (what, function) for what, function in mechanism.others.items()}
    found = {}
    for what, (signature, function) in functions.items():
        try:
            found[what] = _c_function(source, what, signature, function)
        except Exception as error:
            # Some of numba's refusals are exceptions of other classes.
            raise _refused(source, key, error) from None
    return found


def _c_function(source: Source, what: str, signature: str, function: Callable[..., Any]) -> Any:
    arguments, result = _BODIES[what]
    names = list(source.defaults)
    view = _views[source.kind]
    read = _parameters[_structs[type(view)]]
    # Whole numbers stay whole.
    kinds = {name: "whole_number" if isinstance(source.defaults[name], int) else "" for name in names}
    handed = [f"{kinds[name]}(parameter(view, {names.index(name)}))" for name in source.signatures[signature]]
    call = f"function({', '.join([arguments, *handed])})"
    text = f"def c_function({arguments}):\n    return {result.format(call=call)}\n"
    scope = {"function": numba.njit(function, boundscheck=True), "parameter": read, "whole_number": int, **_CHECKS}
    exec(text, scope)
    given = {"view": view, "packet": _packet, "port": types.int64, "heads": types.int64}
    answer = types.uint8 if what in ("fires", "admits", "minds") else types.int64
    types_ = [given[name] for name in arguments.split(", ")]
    return numba.cfunc(answer(*types_), nopython=True, boundscheck=True)(scope["c_function"])


def _refused(source: Source, key: str, error: Exception) -> InputError:
    """The error of a failed compilation, with the line of the user's file if it is known."""
    text = _COLOURS.sub("", str(getattr(error, "msg", None) or error))
    words = [part.strip() for part in text.splitlines() if part.strip()]
    # A message without another reason is about an impossible call.
    call = next((f"{word[3:].strip()} is not possible" for word in words if word.startswith(">>>")), "")
    reason = next((word for word in words if not word.startswith(_NOISE)), call or (words[0] if words else ""))
    reason = re.sub(r"\.*\s*Raised from .*$", "", reason)
    where = _place(source, error)
    return InputError(f"{key}.function: {where}: {source.function} cannot be compiled: {reason}", f"{key}.function")


def _place(source: Source, error: Exception) -> str:
    """The place in the user's file that an error is about, with the line if it is known."""
    files = {file for file, _ in source.statements}
    loc = getattr(error, "loc", None)
    if loc is not None and loc.filename in files:
        return f"{loc.filename}:{loc.line}"
    # An error raised in a function of this package is reported at the line that calls it.
    text = _COLOURS.sub("", str(error))
    for file, line in (*_AT.findall(text), *_FILE_LINE.findall(text)):
        if file in files:
            return f"{file}:{line}"
    trace, place = error.__traceback__, source.place
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in files:
            place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
