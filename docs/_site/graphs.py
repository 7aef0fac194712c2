"""The directive `graph`: a picture of the lazy graph that a piece of code builds.

    ```{graph} y
    x = mx.array([1.0, 2.0])
    y = mx.exp(x) + 1
    ```

The arguments are the arrays that are drawn; all variables of the code that hold arrays are named.
The picture is SVG in the page and takes the colours of the theme.
"""

import html
import io
import itertools
import re
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives

import mlx.core as mx

ROW, GAP, HEIGHT, LETTER = 58, 26, 28, 7.4


def read(dot):
    """Nodes {id: (label, kind)} and edges of a graph in DOT, arrays without a name left out."""
    labels, kinds, edges = {}, {}, []
    for line in dot.splitlines():
        if m := re.search(r'(\d+) \[label="([^"]*)"', line):
            labels[m[1]], kinds[m[1]] = m[2], "op"
        elif m := re.search(r'"([^"]+)" \[tooltip="([^"]*)"', line):
            labels[m[1]], kinds[m[1]] = m[2], "array"
        elif m := re.match(r'"?([^" ]+)"? -> "?([^" ]+)"?', line):
            edges.append((m[1], m[2]))
    return labels, kinds, edges


def simplified(labels, kinds, edges, names):
    """Arrays between two ops become edges; arrays with a name or without a producer stay."""
    keep, made_by = {}, {b: a for a, b in edges if kinds[b] == "array"}
    for key, label in labels.items():
        if kinds[key] == "op":
            keep[key] = (label, "op", "")
        elif key in names:
            keep[key] = (key, "named", label)
        elif key not in made_by:
            keep[key] = ("constant" if label.endswith("()") else label, "leaf", label)
    source = {key: key if key in keep else made_by[key] for key in labels}
    lines = [(source[a], b) for a, b in edges if b in keep]
    return keep, [(a, b) for a, b in dict.fromkeys(lines) if a != b]


def order(row, near, edges):
    """Sort a row by the mean position of the nodes of a neighbouring row that edges come from."""
    place = {k: i / max(len(near) - 1, 1) for i, k in enumerate(near)}
    mean = {}
    for k in row:
        found = [place[a] for a, b in edges if b == k and a in place]
        mean[k] = sum(found) / len(found) if found else 0.5
    row.sort(key=mean.get)


def sort(rows, edges):
    """Order the rows so that few edges cross."""
    for _ in range(4):  # each node near those that it reads, then near those that read it
        for above, row in itertools.pairwise(rows):
            order(row, above, edges)
        for below, row in itertools.pairwise(rows[::-1]):
            order(row, below, [(b, a) for a, b in edges])


def layers(keep, edges):
    """The nodes by their longest distance from a leaf, leaves just above their first use."""
    depth = dict.fromkeys(keep, 0)
    for _ in keep:
        for a, b in edges:
            depth[b] = max(depth[b], depth[a] + 1)
    for key in keep:
        uses = [depth[b] for a, b in edges if a == key]
        if uses and not any(b == key for _, b in edges):
            depth[key] = min(uses) - 1
    rows = [[k for k in keep if depth[k] == d] for d in range(max(depth.values()) + 1)]
    return rows


def bent(keep, edges):
    """The rows with free places where edges cross them, and the places on the way of each edge."""
    rows = layers(keep, edges)
    depth = {k: d for d, row in enumerate(rows) for k in row}
    ways, links = [], []
    for a, b in edges:
        between = [(a, b, d) for d in range(depth[a] + 1, depth[b])]
        way = [a, *between, b]
        for place in between:
            rows[place[2]].append(place)
        ways.append(way)
        links += itertools.pairwise(way)
    sort(rows, links)
    return rows, ways


def drawing(keep, edges):
    """The SVG of a graph."""
    rows, ways = bent(keep, edges)
    width = {k: len(label) * LETTER + 24 for k, (label, _, _) in keep.items()}
    total = [sum(width.get(k, 0) for k in row) + GAP * (len(row) - 1) for row in rows]
    whole, at = max(total) + 4, {}
    for y, (row, wide) in enumerate(zip(rows, total, strict=True)):
        x = (whole - wide) / 2
        for k in row:
            at[k] = (x + width.get(k, 0) / 2, y * ROW + 2)
            x += width.get(k, 0) + GAP
    high = len(rows) * ROW - ROW + HEIGHT + 4
    out = [
        f'<svg class="graph" viewBox="0 0 {whole:.0f} {high}" width="{whole:.0f}" role="img" '
        'aria-label="A graph of operations">',
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>',
    ]
    for way in ways:
        x, y = at[way[0]]
        path = f"M{x:.1f} {y + HEIGHT}"
        for place in way[1:]:
            (x1, y1), (x, y) = (x, y + HEIGHT), at[place]
            bend = (y - y1) / 2
            path += f"C{x1:.1f} {y1 + bend:.1f} {x:.1f} {y - bend:.1f} {x:.1f} {y}"
            path += "" if place in keep else f"V{y + HEIGHT}"
        out.append(f'<path class="edge" d="{path}" marker-end="url(#arrow)"/>')
    for k, (label, kind, title) in keep.items():
        x, y = at[k]
        round_ = 4 if kind == "op" else HEIGHT / 2
        out.append(
            f'<g class="{kind}"><title>{html.escape(title or label)}</title>'
            f'<rect x="{x - width[k] / 2:.1f}" y="{y}" width="{width[k]:.1f}" height="{HEIGHT}" '
            f'rx="{round_}"/><text x="{x:.1f}" y="{y + 19}">{html.escape(label)}</text></g>'
        )
    return "\n".join([*out, "</svg>"])


class Graph(Directive):
    """The picture, under the code unless `:hide:` is given."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = {"hide": directives.flag, "alt": directives.unchanged}

    def run(self):
        """The code and its graph."""
        text = "\n".join(self.content)
        space = {"mx": mx}
        exec(text, space)
        arrays = {k: v for k, v in space.items() if isinstance(v, mx.array)}
        file = io.StringIO()
        mx.export_to_dot(file, [arrays[name] for name in self.arguments[0].split()], **arrays)
        labels, kinds, edges = read(file.getvalue())
        picture = drawing(*simplified(labels, kinds, edges, set(arrays)))
        raw = nodes.raw("", f'<figure class="graph">{picture}</figure>', format="html")
        if "hide" in self.options:
            return [raw]
        code = nodes.literal_block(text, text)
        code["language"] = "python"
        return [code, raw]


def setup(app):
    """Adds the directive."""
    app.add_directive("graph", Graph)
    return {"parallel_read_safe": True}
