"""What msgspec and pydantic complain about, as places and rules. Their own words quote the input; these never do."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from holdfast.errors import InvalidInput

ERRORS_MAX = 10

UNKNOWN_FIELD = "has a field that is not known"
FIXED_FIELD = "cannot change without breaking the guarantee; create another learner"

Place = tuple[str | int, ...]
_UNION_STEPS = {"dense", "json", "float", "int", "str"}  # pydantic names the branch of a union as if it were a place


class Refused(InvalidInput):
    """Several broken rules at once, the first of them foremost."""

    def __init__(self, refusals: list[InvalidInput]) -> None:
        super().__init__(refusals[0].pointer, refusals[0].rule)
        self.every = refusals[:ERRORS_MAX]


def from_msgspec(problem: msgspec.ValidationError) -> InvalidInput:
    """msgspec ends its message with ``- at `$.actions[3].id` ``; keys of the input's own are `[...]` there."""
    message, _, path = str(problem).partition(" - at `$")
    steps = path.rstrip("`").replace("[...]", "").replace("[", "/").replace("]", "").replace(".", "/")
    if message.startswith("Object contains unknown field"):
        message = UNKNOWN_FIELD
    elif message.startswith("Invalid enum value"):
        message = "is none of the words this field takes"
    elif "matching regex" in message:
        message = "must not contain the character NUL"
    return InvalidInput(steps, message)


def from_pydantic(problems: Iterable[Mapping[str, Any]], fixed: Collection[Place] = ()) -> Refused:
    """At most ten; what both branches of a union say about one place is one refusal. `fixed` are places that are known,
    but not here: their names are ours, and may be told.
    """
    rules: dict[str, list[str]] = {}
    for problem in problems:
        if problem["type"] == "extra_forbidden" and problem["loc"] in fixed:
            problem = {**problem, "type": "fixed", "msg": FIXED_FIELD}
        pointer = "".join(f"/{step}" for step in _steps(problem))
        if pointer not in rules and len(rules) == ERRORS_MAX:
            break
        rule = _rule(problem)
        said = rules.setdefault(pointer, [])
        if rule not in said:
            said.append(rule)
    return Refused([InvalidInput(pointer, ", or: ".join(said)) for pointer, said in rules.items()])


def _steps(problem: Mapping[str, Any]) -> list[str]:
    steps = [str(step) for step in problem["loc"] if step != "body"]
    if problem["type"] == "extra_forbidden":
        steps = steps[:-1]  # the name is the input's; its parent is ours
    return [step for step in steps if step not in _UNION_STEPS and not step.startswith("literal[")]


def _rule(problem: Mapping[str, Any]) -> str:
    kind, context = problem["type"], problem.get("ctx", {})
    if kind == "extra_forbidden":
        return UNKNOWN_FIELD
    if kind == "union_tag_invalid":
        return f"{context['discriminator']} must be one of {context['expected_tags']}"
    if kind == "json_invalid":
        return "must be a JSON document in UTF-8"
    return str(problem["msg"])
