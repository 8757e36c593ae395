"""Recorded traffic from files: CSV, JSON lines, the DSJSON of VW and Personalizer, and Parquet where pyarrow is.

CSV and Parquet have a column `action`, a column `reward`, and may have `probability` and `actions` (ids with | between
them; otherwise all actions of the file are candidates); every other column is a feature of the context. A JSON line has
`context`, `actions`, `action_id`, `value` and may have `probability`, as the service's own warm start.
"""

import csv
import importlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROWS_MAX = 200_000
NAMESPACE_SEPARATOR = "."
UTF_8 = "utf-8-sig"  # spreadsheets put a mark in front


class Row(NamedTuple):
    """One decision of the past, and what came of it."""

    context: Any
    actions: list[dict[str, Any]]
    chosen: str
    value: float
    probability: float | None = None


class Unreadable(ValueError):
    """Not a file of recorded traffic; it says where."""


def read(path: Path) -> list[Row]:
    """Every row, by what the name of the file ends with."""
    readers: dict[str, Callable[[Path], Iterator[Row]]] = {
        ".csv": _from_csv,
        ".jsonl": _from_lines,
        ".dsjson": _from_lines,
        ".json": _from_lines,
        ".parquet": _from_parquet,
    }
    if path.suffix.lower() not in readers:
        raise Unreadable(f"a file of recorded traffic ends with {', '.join(readers)}")
    rows = []
    try:
        for row in readers[path.suffix.lower()](path):
            rows.append(row)
            if len(rows) > ROWS_MAX:
                raise Unreadable(f"more than {ROWS_MAX:,} rows; split the file")
    except (UnicodeDecodeError, csv.Error) as problem:
        raise Unreadable(f"{path} is not text in UTF-8, or not a table: {problem}") from problem
    if not rows:
        raise Unreadable("there is no row in this file that has an action and a reward")
    return rows


def _from_csv(path: Path) -> Iterator[Row]:
    with path.open(newline="", encoding=UTF_8) as file:
        return _from_columns(list(csv.DictReader(file)))


def _from_parquet(path: Path) -> Iterator[Row]:
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ModuleNotFoundError:
        raise Unreadable("Parquet needs pyarrow, which no extra brings: pip install pyarrow, or write CSV") from None
    return _from_columns(parquet.read_table(path).to_pylist())


def _from_columns(records: list[dict[str, Any]]) -> Iterator[Row]:
    """Rows of a table; an action without features of its own is described by its name."""
    if records and not {"action", "reward"} <= records[0].keys():
        raise Unreadable("the columns `action` and `reward` are needed")
    everything = sorted({str(record["action"]) for record in records if _is_there(record["action"])})
    for number, record in enumerate(records, start=1):
        names = str(record["actions"]).split("|") if record.get("actions") else everything
        context = {name: _number(value) for name, value in record.items() if name not in _ROLES and _is_there(value)}
        with _at_row(number):
            chance = float(record["probability"]) if _is_there(record.get("probability")) else None
            value = float(record["reward"]) if _is_there(record["reward"]) else math.nan
            row = _checked(Row(context, _described(names), str(record["action"]), value, chance))
        yield row


_ROLES = ("action", "actions", "reward", "probability", None)


def _is_there(value: Any) -> bool:
    """Neither empty nor the NaN that tables have for nothing, which alone is not itself."""
    return value is not None and value != "" and value == value


def _number(value: Any) -> Any:
    """A finite number, or the text it is."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return number if math.isfinite(number) else str(value)


def _described(names: Iterable[str]) -> list[dict[str, Any]]:
    return [{"id": name, "features": {"name": name}} for name in names]


def _from_lines(path: Path) -> Iterator[Row]:
    """One object per line, in our words or in VW's; lines that carry no decision are passed over."""
    with path.open(encoding=UTF_8) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            with _at_row(number):
                told = json.loads(line)
                row = _from_dsjson(told) if "c" in told else _from_ours(told) if "actions" in told else None
                checked = None if row is None else _checked(row)
            if checked is not None:
                yield checked


def _from_ours(told: Mapping[str, Any]) -> Row:
    actions = told["actions"]
    if isinstance(actions, Mapping):
        actions = [{"id": name, "features": features} for name, features in actions.items()]
    elif actions and isinstance(actions[0], str):
        actions = _described(actions)
    return Row(told.get("context"), actions, told["action_id"], float(told["value"]), _chance(told.get("probability")))


def _from_dsjson(told: Mapping[str, Any]) -> Row | None:
    """A cost is a reward turned round; `a` has the chosen action first, counted from 1."""
    if "_label_cost" not in told or not told.get("a"):
        return None
    shared, several = told["c"], told["c"]["_multi"]
    names = [_name(action, place) for place, action in enumerate(several)]
    actions = [{"id": name, "features": named(action)} for name, action in zip(names, several, strict=True)]
    chance = told.get("_label_probability", (told.get("p") or [None])[0])
    first = int(told["a"][0])
    chosen = names[first - 1] if 1 <= first <= len(names) else f"number {first}"
    return Row(named(shared), actions, chosen, -float(told["_label_cost"]), _chance(chance))


def _name(action: Mapping[str, Any], place: int) -> str:
    inner = action.get("i")
    known = action.get("_tag") or (inner.get("id") if isinstance(inner, Mapping) else None)
    return str(known) if known else f"action-{place}"


def _checked(row: Row) -> Row:
    """A row that can be judged: what was shown was a candidate, its reward a number, its chance a probability."""
    if row.chosen not in [action.get("id") for action in row.actions]:
        raise ValueError(f"the action that was shown, {row.chosen!r}, is not among the candidates")
    if not math.isfinite(row.value):
        raise ValueError("the reward must be a finite number")
    if row.probability is not None and not 0.0 < row.probability <= 1.0:
        raise ValueError("the probability of what was shown must be above 0 and at most 1")
    return row


def _chance(value: Any) -> float | None:
    return None if value is None else float(value)


def named(told: Mapping[str, Any]) -> dict[str, Any]:
    """Features as the service takes them: namespaces one level deep, lists of objects merged, names with _ left out.

    >>> named({"User": [{"age": 3}, {"from": {"city": "Rome"}}], "_tag": "x", "hot": True})
    {'User': {'age': 3, 'from.city': 'Rome'}, 'hot': True}
    """
    flat: dict[str, Any] = {}
    for name, value in told.items():
        if name.startswith("_") or value is None:
            continue
        flat[name] = _level(value) if _is_structure(value) else value
    return flat


def _is_structure(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and any(isinstance(part, Mapping) for part in value))


def _level(value: Any) -> dict[str, Any]:
    """Everything below a namespace, with dotted names."""
    if isinstance(value, list):
        return {name: inner for part in value if isinstance(part, Mapping) for name, inner in _level(part).items()}
    flat: dict[str, Any] = {}
    for name, inner in value.items():
        if name.startswith("_") or inner is None:
            continue
        if _is_structure(inner):
            flat |= {f"{name}{NAMESPACE_SEPARATOR}{deeper}": part for deeper, part in _level(inner).items()}
        else:
            flat[name] = inner
    return flat


@contextmanager
def _at_row(number: int) -> Iterator[None]:
    """Says which row or line it was."""
    try:
        yield
    except KeyError as problem:
        raise Unreadable(f"row {number}: there is no {problem}") from problem
    except (TypeError, ValueError, IndexError, AttributeError, RecursionError) as problem:
        raise Unreadable(f"row {number}: {problem}") from problem
