"""Pictures as SVG, drawn here: a page with them needs no other file, no script and no plotting package."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from holdfast_client.simulator.problems import Array

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 28, 40, 48
COLOURS = (
    *("#c2410c", "#1d4ed8", "#15803d", "#7e22ce"),  # told apart by the colour-blind, too
    *("#0891b2", "#a16207", "#db2777", "#475569", "#65a30d", "#000000", "#f59e0b", "#6b7280"),
)
POINTS_MAX = 300
BINS = 40
LEGEND = 90  # for each name


@dataclass(frozen=True)
class Line:
    """A curve, and the band that several seeds make around it."""

    name: str
    x: Array
    y: Array
    low: Array | None = None
    high: Array | None = None


@dataclass(frozen=True)
class _Frame:
    x_max: float
    y_max: float

    def at(self, x: float, y: float) -> str:
        right = LEFT + (WIDTH - LEFT - RIGHT) * x / self.x_max
        down = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y / self.y_max
        return f"{right:.1f},{down:.1f}"

    def path(self, x: Array, y: Array) -> str:
        return " ".join(self.at(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True))


def curves(title: str, lines: Sequence[Line], across: str, up: str, has_legend: bool = True) -> str:
    """Lines with their bands and a legend, unless the page has one of its own."""
    thin = [_thinned(line) for line in lines]
    tops = [line.y if line.high is None else line.high for line in thin]
    frame = _framed(max(float(line.x.max()) for line in thin), max(float(top.max()) for top in tops))
    drawn = [_band(frame, line, colour) for line, colour in zip(thin, COLOURS, strict=False)]
    drawn += [
        f'<polyline points="{frame.path(line.x, line.y)}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for line, colour in zip(thin, COLOURS, strict=False)
    ]
    for place, (line, colour) in enumerate(zip(thin, COLOURS, strict=False) if has_legend else ()):
        right = WIDTH - RIGHT - LEGEND * (len(thin) - 1 - place)
        drawn.append(_text(right, 22, line.name, colour, 'text-anchor="end" font-weight="bold"'))
    return _picture(title, frame, drawn, across, up)


def histogram(title: str, values: Array, across: str) -> str:
    """How often; the last bar has everything beyond the 99.5 % quantile."""
    top = float(np.quantile(values, 0.995)) or 1.0
    counts, edges = np.histogram(np.minimum(values, top), bins=BINS, range=(0.0, top))
    frame = _framed(top, float(counts.max()))
    drawn = []
    for count, left, right in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        corners = [frame.at(left, 0), frame.at(left, count), frame.at(right, count), frame.at(right, 0)]
        drawn.append(f'<polygon points="{" ".join(corners)}" fill="{COLOURS[1]}" stroke="#fff"/>')
    return _picture(title, frame, drawn, across, "calls")


def _thinned(line: Line) -> Line:
    places = np.unique(np.linspace(0, len(line.x) - 1, POINTS_MAX).astype(int))
    low, high = (None if edge is None else edge[places] for edge in (line.low, line.high))
    return Line(line.name, line.x[places], line.y[places], low, high)


def _band(frame: _Frame, line: Line, colour: str) -> str:
    if line.low is None or line.high is None:
        return ""
    around = f"{frame.path(line.x, line.high)} {frame.path(line.x[::-1], line.low[::-1])}"
    return f'<polygon points="{around}" fill="{colour}" opacity="0.15"/>'


def _framed(x_max: float, y_max: float) -> _Frame:
    return _Frame(x_max or 1.0, (y_max or 1.0) * 1.05)


def _picture(title: str, frame: _Frame, drawn: Sequence[str], across: str, up: str) -> str:
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{escape(title)}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        _text(LEFT, 22, title, "#111", "font-size='15'"),
        *_grid(frame),
        *drawn,
        _text(WIDTH / 2, HEIGHT - 8, across, "#444"),
        f'<g transform="translate(14 {HEIGHT / 2}) rotate(-90)">{_text(0, 0, up, "#444")}</g>',
        "</svg>",
    ]
    return "\n".join(parts)


def _grid(frame: _Frame) -> list[str]:
    """Lines across with their numbers, and numbers below the axis."""
    drawn = []
    for value in _steps(frame.y_max):
        x1, y1 = frame.at(0.0, value).split(",")
        drawn.append(f'<line x1="{x1}" x2="{WIDTH - RIGHT}" y1="{y1}" y2="{y1}" stroke="#ddd"/>')
        drawn.append(_text(LEFT - 6, float(y1) + 4, f"{value:,g}", "#444", 'text-anchor="end"'))
    for value in _steps(frame.x_max):
        x = float(frame.at(value, 0.0).split(",")[0])
        drawn.append(_text(x, HEIGHT - 30, f"{value:,g}", "#444", 'text-anchor="middle"'))
    return drawn


def _steps(most: float) -> list[float]:
    """Round numbers from 0, at most six.

    >>> _steps(8_000.0), _steps(1.05)
    ([0.0, 2000.0, 4000.0, 6000.0, 8000.0], [0.0, 0.25, 0.5, 0.75, 1.0])
    """
    power = 10.0 ** np.floor(np.log10(most / 5.0))
    step = next(float(power * m) for m in (1.0, 2.0, 2.5, 5.0, 10.0) if most / (power * m) <= 5.0)
    return [step * i for i in range(int(most / step + 1e-9) + 1)]


def _text(x: float, y: float, words: str, colour: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" {more}>{escape(words)}</text>'
