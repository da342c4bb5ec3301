"""Small charts, one under the other, as one SVG; they read on light and on dark pages alike."""

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT, LEFT, TOP = 720, 110, 60, 26
LINE, FRAME, TEXT = "#2f7ed8", "#8a8a8a", "#8a8a8a"


def charts(times_min: Sequence[float], figures: Mapping[str, Sequence[float]], warm_min: float) -> str:
    """Return an SVG with one panel for each figure over *times_min*; what is before *warm_min* is shaded."""
    rows = [
        _panel(number, title, times_min, values, warm_min) for number, (title, values) in enumerate(figures.items())
    ]
    height = len(rows) * (HEIGHT + TOP) + 30
    bottom = len(rows) * (HEIGHT + TOP) + 18
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="sans-serif" font-size="11" fill="{TEXT}">\n'
        + "\n".join(rows)
        + f'\n<text x="{LEFT}" y="{bottom}">0</text>'
        f'<text x="{WIDTH - 10}" y="{bottom}" text-anchor="end">{times_min[-1]:.0f} minutes</text>\n</svg>\n'
    )


def _panel(number: int, title: str, times: Sequence[float], values: Sequence[float], warm: float) -> str:
    top = number * (HEIGHT + TOP) + TOP
    highest = max(*values, 1e-9) * 1.1
    across = (WIDTH - LEFT - 10) / times[-1]
    points = " ".join(
        f"{LEFT + time * across:.1f},{top + HEIGHT - value / highest * HEIGHT:.1f}"
        for time, value in zip(times, values, strict=True)
    )
    return (
        f'<text x="{LEFT}" y="{top - 6}" font-weight="bold">{escape(title)}</text>\n'
        f'<rect x="{LEFT}" y="{top}" width="{warm * across:.1f}" height="{HEIGHT}" fill="{FRAME}" opacity="0.12"/>'
        f'<rect x="{LEFT}" y="{top}" width="{WIDTH - LEFT - 10}" height="{HEIGHT}" fill="none" stroke="{FRAME}" '
        'stroke-width="0.5"/>\n'
        f'<text x="{LEFT - 6}" y="{top + 10}" text-anchor="end">{highest:.4g}</text>'
        f'<text x="{LEFT - 6}" y="{top + HEIGHT}" text-anchor="end">0</text>\n'
        f'<polyline points="{points}" fill="none" stroke="{LINE}" stroke-width="1.3"/>'
    )
