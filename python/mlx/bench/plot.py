"""A picture of a comparison, as SVG: the ratio of each row to each peer, on a logarithmic scale."""

from __future__ import annotations

import html
import math
from typing import Any

ROW, LEFT, WIDTH, HEAD, LETTER = 18, 400, 420, 64, 6.4
NAME = 60  # letters of a row's name
#: Colours that the colour-blind tell apart (Okabe and Ito, "Color universal design", 2008).
COLORS = ("#d55e00", "#0072b2", "#009e73", "#e69f00", "#cc79a7", "#7f7f7f")
#: Ratios beyond this, and below its inverse, are drawn at the border, as rings.
BOUND = 128.0


def scale(ratios: list[float]) -> tuple[float, float]:
    """Powers of two that contain all ratios and 1, as exponents."""
    logs = [math.log2(bounded(r)) for r in ratios] + [0.0]
    low, high = math.floor(min(logs)), math.ceil(max(logs))
    return min(low, -1), max(high, 1)


def bounded(ratio: float) -> float:
    """The ratio, or the bound beyond which it is."""
    return min(max(ratio, 1 / BOUND), BOUND)


def name_of(exponent: int) -> str:
    """The label of a power of two: ×4, or ×1/4 below 1."""
    return f"×{2**exponent}" if exponent >= 0 else f"×1/{2**-exponent}"


def draw(content: dict[str, Any]) -> str:
    """The SVG of the content of a JSON file of mlx-bench."""
    rows = [r for r in content["rows"] if r["ratios"]]
    peers = [label for label in content["versions"] if label != "this"]
    low, high = scale([v for r in rows for v in r["ratios"].values()])
    wide, deep = LEFT + WIDTH + 20, HEAD + ROW * len(rows) + 12

    def x(ratio: float) -> float:
        return LEFT + WIDTH * (math.log2(bounded(ratio)) - low) / (high - low)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {deep}" width="{wide}" '
        f'role="img" aria-label="Time of other frameworks by our time" font-size="12" '
        'font-family="system-ui, sans-serif" fill="currentColor">',
        "<title>Time of each framework divided by ours: to the right of ×1 we are faster</title>",
    ]
    at = 0.0
    for label, color in zip(peers, COLORS * (1 + len(peers) // len(COLORS)), strict=False):
        text = html.escape(f"{label} ({content['versions'][label]})")
        out.append(f'<circle cx="{at + 6:.0f}" cy="14" r="4.5" fill="{color}"/>')
        out.append(f'<text x="{at + 16:.0f}" y="18">{text}</text>')
        at += 34 + LETTER * len(text)
    step = max(1, math.ceil((high - low) * len("×1048576") * LETTER / WIDTH))
    for exponent in range(int(low), int(high) + 1):
        if exponent % step and exponent:
            continue
        place, bold = x(2.0**exponent), "1.6" if exponent == 0 else "0.4"
        out.append(
            f'<path d="M{place:.1f} {HEAD - 14}V{deep - 8}" stroke="currentColor" '
            f'stroke-width="{bold}" opacity="0.5"/>'
            f'<text x="{place:.1f}" y="{HEAD - 20}" text-anchor="middle">{name_of(exponent)}</text>'
        )
    for i, row in enumerate(rows):
        y = HEAD + ROW * i
        name = row["case"] if len(row["case"]) <= NAME else row["case"][: NAME - 1] + "…"
        out.append(
            f'<text x="{LEFT - 10}" y="{y + 4}" text-anchor="end">{html.escape(name)}</text>'
        )
        for label, color in zip(peers, COLORS * (1 + len(peers) // len(COLORS)), strict=False):
            if label in row["ratios"]:
                ratio = row["ratios"][label]
                about = html.escape(f"{row['case']}, {label}: ×{ratio:.2f}")
                opacity = 0.85 if bounded(ratio) == ratio else 0.15
                out.append(
                    f'<circle cx="{x(ratio):.1f}" cy="{y}" r="4.5" fill="{color}" '
                    f'fill-opacity="{opacity}" stroke="{color}"><title>{about}</title></circle>'
                )
    return "\n".join([*out, "</svg>"]) + "\n"
