"""Tables as Markdown, so that what is printed can be pasted."""

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Aligned columns: text to the left, the rest to the right.

    >>> print(table(["name", "x"], [["a", 1], ["bcd", 22]]))
    | name |  x |
    |------|---:|
    | a    |  1 |
    | bcd  | 22 |
    """
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(line[i]) for line in [list(header), *cells]) for i in range(len(header))]
    right = [all(not isinstance(row[i], str) or _is_number(row[i]) for row in rows) for i in range(len(header))]

    def line(values: Sequence[str]) -> str:
        padded = (v.rjust(w) if r else v.ljust(w) for v, w, r in zip(values, widths, right, strict=True))
        return "| " + " | ".join(padded) + " |"

    rule = "|" + "|".join("-" * (w + 1) + (":" if r else "-") for w, r in zip(widths, right, strict=True)) + "|"
    return "\n".join([line(list(header)), rule, *map(line, cells)])


def verdict(limit: str, holds: bool) -> str:
    """What a line must show, and whether it did.

    >>> verdict("≤ 1.5", 1.2 <= 1.5)
    '(≤ 1.5: yes)'
    """
    return f"({limit}: {'yes' if holds else 'NO'})"


def _is_number(cell: object) -> bool:
    return isinstance(cell, str) and cell[:1] in "×0123456789-." and bool(cell)
