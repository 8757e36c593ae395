"""Request bodies: capped before they are parsed, and parsed strictly."""

import json
from collections.abc import Awaitable, Callable, Collection
from typing import Any, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from holdfast.api import refusals
from holdfast.api.names import TrafficBody, says_each_name_once
from holdfast.api.wire import headers_of, read_body
from holdfast.errors import InvalidInput

DEPTH_MAX = 8
VALUES_MAX = 1_500_000
# Of the traffic's bodies.
CONTAINERS_MAX = 200_000  # objects and arrays
NAMES_MAX = 200_000
# Of a batch, all decisions together. Actions that they share count for each: a short body could ask for very much.
ACTIONS_MAX = 200_000
ID_CHARACTERS_MAX = 2**23  # of those actions: they are in the log and in the answer
SPELLED_BYTES_MAX = 2**23  # of those actions as JSON, where they are not plain vectors: each is read anew
# Of a learner's description.
DESCRIPTION_CONTAINERS_MAX = 10_000
DESCRIPTION_NAMES_MAX = 1_000

NOT_JSON = "must be a JSON document in UTF-8"
TOO_DEEP = f"must not be nested deeper than {DEPTH_MAX}"

T = TypeVar("T", bound=TrafficBody)
Model = TypeVar("Model", bound=BaseModel)


def decode(decoder: "msgspec.json.Decoder[T]", body: bytes) -> T:
    """A typed body; unknown and repeated names, wrong types and non-finite numbers are refused."""
    check_counts(body, CONTAINERS_MAX, NAMES_MAX)
    try:
        decoded = decoder.decode(body)
    except msgspec.ValidationError as problem:
        raise refusals.from_msgspec(problem) from None
    except RecursionError:
        raise InvalidInput("", TOO_DEEP) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise InvalidInput("", NOT_JSON) from None
    if not says_each_name_once(body, decoded):
        check_structure(body)
    return decoded


def described(model: type[Model], fixed: Collection[refusals.Place] = ()) -> Callable[[Request], Awaitable[Model]]:
    """A dependency that reads a body of a management route: after the key was checked, under the same cap."""

    async def read(request: Request) -> Model:
        body = await read_body(headers_of(request.scope), request.receive)
        check_counts(body, DESCRIPTION_CONTAINERS_MAX, DESCRIPTION_NAMES_MAX)
        check_structure(body)
        try:
            return model.model_validate_json(body)
        except ValidationError as problem:
            errors = problem.errors(include_url=False, include_input=False)
            raise refusals.from_pydantic(errors, fixed) from None

    return read


def check_counts(body: bytes, containers_max: int, names_max: int) -> None:
    """Refuse in a glance what would take long to parse. What looks like one inside a text counts too."""
    size = len(body)  # a short body cannot hold many of anything
    if size > containers_max and body.count(b"[") + body.count(b"{") > containers_max:
        raise InvalidInput("", f"must have at most {containers_max:,} objects and arrays")
    if size > VALUES_MAX and body.count(b",") > VALUES_MAX:
        raise InvalidInput("", f"must have at most {VALUES_MAX:,} values")
    if size > names_max and body.count(b":") > names_max:
        raise InvalidInput("", f"must have at most {names_max:,} names")


def check_structure(body: bytes) -> None:
    """Refuse what is nested too deep, and an object that says a name twice: which of the two would count?"""
    try:
        text = body.decode()  # left to itself, `json` takes surrogates and UTF-16 too
        outermost = json.loads(text, object_pairs_hook=_height_of_object, parse_constant=_no_constant, parse_int=len)
        too_deep = _height([outermost]) - 1 > DEPTH_MAX
    except RecursionError:
        raise InvalidInput("", TOO_DEEP) from None
    except ValueError:
        raise InvalidInput("", NOT_JSON) from None
    if too_deep:
        raise InvalidInput("", TOO_DEEP)


class _Height(int):
    """How deep an object was, in its place: nothing of it needs to be kept."""


_NESTED = {list, _Height}


def _height_of_object(pairs: list[tuple[str, Any]]) -> _Height:
    named = dict(pairs)
    if len(named) < len(pairs):
        raise InvalidInput("", "an object names the same thing twice")
    return _Height(_height(named.values()))


def _height(values: Collection[Any]) -> int:
    if _NESTED.isdisjoint(map(type, values)):
        return 1
    heights = (_height(v) if type(v) is list else int(v) for v in values if type(v) in _NESTED)
    return 1 + max(heights)


def _no_constant(name: str) -> None:
    raise InvalidInput("", "numbers must be finite")
