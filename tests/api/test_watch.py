"""A log that stays small when everything fails."""

from holdfast.api.watch import LINES_PER_SECOND_MAX, Sparing


def test_a_second_has_a_few_lines_and_the_next_one_says_how_many_were_left_out() -> None:
    said: list[tuple[str, dict[str, object]]] = []
    now = 0.0
    warn = Sparing(lambda event, **facts: said.append((event, facts)), lambda: now)
    for number in range(100):
        warn("away", number=number)
    assert [facts["number"] for _, facts in said] == list(range(LINES_PER_SECOND_MAX))
    now = 1.5
    warn("away", number=100)
    assert said[LINES_PER_SECOND_MAX:] == [
        ("lines left out", {"count": 100 - LINES_PER_SECOND_MAX}),
        ("away", {"number": 100}),
    ]
