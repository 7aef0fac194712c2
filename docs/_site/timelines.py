"""The directive `timeline`: a program, and a picture of the trace that it writes to steps.json.

The program runs in an empty directory when the site is built. The picture is the content of the
trace as a viewer shows it: time to the right, a bar for each step.
"""

import html
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from docutils import nodes
from docutils.parsers.rst import Directive

WIDTH, HEIGHT, LETTER = 720, 26, 6.6


def drawing(events):
    """The SVG of the complete events of a trace, a row for each thread."""
    start = min(e["ts"] for e in events)
    whole = max(e["ts"] + e["dur"] for e in events) - start
    threads = sorted({e["tid"] for e in events})
    names = sorted({e["name"] for e in events})
    scale = WIDTH / whole
    high = len(threads) * (HEIGHT + 8) + 24
    out = [
        f'<svg class="timeline" viewBox="0 0 {WIDTH} {high}" width="{WIDTH}" role="img" '
        'aria-label="Steps over time">'
    ]
    for e in events:
        x, wide = (e["ts"] - start) * scale, max(e["dur"] * scale, 0.5)
        y = threads.index(e["tid"]) * (HEIGHT + 8)
        about = f"{e['name']}: {e['dur']:.1f} µs, {e['args']['shape']} {e['args']['dtype']}"
        hue = 360 * names.index(e["name"]) // len(names)
        out.append(
            f'<g><title>{html.escape(about)}</title><rect x="{x:.1f}" y="{y}" width="{wide:.1f}" '
            f'height="{HEIGHT}" style="--hue: {hue}"/>'
        )
        fits = int((wide - 8) / LETTER)
        if fits >= 4:
            shown = e["name"] if len(e["name"]) <= fits else e["name"][: fits - 1] + "…"
            out.append(f'<text x="{x + 4:.1f}" y="{y + 17}">{html.escape(shown)}</text>')
        out.append("</g>")
    for part in range(5):
        at = WIDTH * part / 4
        anchor = "start" if part == 0 else "end" if part == 4 else "middle"
        out.append(
            f'<text class="scale" x="{at}" y="{high - 4}" text-anchor="{anchor}">'
            f"{whole * part / 4 / 1000:.2f} ms</text>"
        )
    return "\n".join([*out, "</svg>"])


class Timeline(Directive):
    """The program and the picture."""

    has_content = True

    def run(self):
        """A literal block and a figure."""
        text = "\n".join(self.content)
        path = os.environ.get("PYTHONPATH", "")
        environment = {**os.environ, "PYTHONPATH": os.path.abspath(path) if path else ""}
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", text]
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True
            )
            if done.returncode:
                raise self.error(f"the program fails:\n{text}\n{done.stderr}")
            trace = json.loads((pathlib.Path(folder) / "steps.json").read_text())
        code = nodes.literal_block(text, text, language="python")
        picture = drawing([e for e in trace["traceEvents"] if "dur" in e])
        return [code, nodes.raw("", f'<figure class="graph">{picture}</figure>', format="html")]


def setup(app):
    """Add the directive."""
    app.add_directive("timeline", Timeline)
    return {"parallel_read_safe": True}
