"""The directives `results`, `headline` and `names`.

`results` shows every file of benchmarks/results that `mlx-bench --json` has written: machine, date,
versions, means and medians by group, a picture, and the table. `headline` shows the medians of the
first file beside three frameworks. `names` shows a table of mlx/_names.py: names of another
framework and their names here.

    ```{names} TORCH mx.
    ```
"""

import json
import pathlib
import statistics

from docutils import nodes
from docutils.parsers.rst import Directive

from mlx import _names
from mlx.bench import plot, report

FOLDER = pathlib.Path(__file__).parents[2] / "benchmarks" / "results"


def table(head, rows):
    """A table of literal texts."""
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=1) for _ in head]

    def line(cells):
        made = nodes.row()
        for cell in cells:
            entry = nodes.entry()
            entry += cell if isinstance(cell, nodes.Node) else nodes.paragraph(text=cell)
            made += entry
        return made

    group += nodes.thead("", line(head))
    group += nodes.tbody("", *map(line, rows))
    return nodes.table("", group)


def groups(content):
    """(group, rows) of the rows that have a peer, by the part of the name before the slash."""
    found = {}
    for row in content["rows"]:
        if row["ratios"]:
            found.setdefault(row["case"].split("/")[0], []).append(row)
    return found.items()


def summary(content):
    """A line for each group: number of rows, geometric mean and median of the ratios."""
    peers = [label for label in content["versions"] if label != report.OURS]
    for name, rows in [*groups(content), ("all", content["rows"])]:
        cells = []
        for peer in peers:
            ratios = [r["ratios"][peer] for r in rows if peer in r["ratios"]]
            mean = report.mean(ratios)
            cells.append(
                f"{report.times(mean)}, {report.times(statistics.median(ratios))}"
                if ratios
                else "–"
            )
        yield [name, str(len(rows)), *cells]


def cells(content):
    """A line for each case: our time, and the ratio to each peer."""
    peers = [label for label in content["versions"] if label != report.OURS]
    for row in content["rows"]:
        own = row["timings"][report.OURS]["seconds"]
        ratios = [row["ratios"].get(peer) for peer in peers]
        yield [
            row["case"],
            f"{report.milliseconds(own)} ms" if own else "–",
            *(report.times(r) if r else "–" for r in ratios),
        ]


def shown(content):
    """The nodes of one file."""
    machine, peers = content["machine"], [v for v in content["versions"] if v != report.OURS]
    about = (
        f"{machine['processor']}, {machine['processors']} processors, "
        f"{machine['threads'] or 'all'} threads; {machine['system']}; "
        f"{content.get('date', 'no date')}. Versions: "
        + ", ".join(f"{k}: {v}" for k, v in content["versions"].items())
        + "."
    )
    out = [nodes.paragraph(text=about)]
    if peers:
        out.append(
            table(["cases", "rows", *(f"{p}: mean, median" for p in peers)], summary(content))
        )
        out.append(nodes.raw("", plot.draw(content), format="html"))
        out.append(nodes.paragraph(text=f"Measured on {content.get('date', 'an unknown day')}."))
    out.append(table(["case", "this", *peers], cells(content)))
    return out


class Results(Directive):
    """All files, or what to do where there are none."""

    def run(self):
        """The nodes."""
        files = sorted(FOLDER.glob("*.json"))
        out = [node for file in files for node in shown(json.loads(file.read_text()))]
        return out or [nodes.paragraph(text="No results are stored in benchmarks/results.")]


FRAMEWORKS = {"torch": "PyTorch", "jax": "JAX", "numpy": "NumPy"}


class Headline(Directive):
    """The medians of all rows beside PyTorch, JAX and NumPy, and where they come from."""

    def run(self):
        """The nodes."""
        files = sorted(FOLDER.glob("*.json"))
        if not files:
            return []
        content = json.loads(files[0].read_text())
        numbers = nodes.container(classes=["numbers"])
        for label, name in FRAMEWORKS.items():
            ratios = [r["ratios"][label] for r in content["rows"] if label in r["ratios"]]
            if ratios:
                text = f"the time of {name}, {len(ratios)} rows"
                shown = nodes.strong(text=report.times(statistics.median(ratios)))
                numbers += nodes.paragraph("", "", shown, nodes.Text(text))
        machine = content["machine"]
        about = (
            f"Medians on the processor ({machine['processor']}, {machine['threads']} "
            f"threads, {content['date']}): time of the other framework divided by the time here."
        )
        return [numbers, nodes.paragraph(text=about)]


class Names(Directive):
    """A table of names."""

    required_arguments = 2

    def run(self):
        """The table."""
        key, prefix = self.arguments
        rows = [
            [nodes.literal(text=prefix.replace("-", "") + name), nodes.literal(text=here)]
            for name, here in sorted(vars(_names)[key].items())
        ]
        wrapped = [[nodes.paragraph("", "", cell) for cell in row] for row in rows]
        return [table(["there", "here"], wrapped)]


def setup(app):
    """Add the directives."""
    app.add_directive("results", Results)
    app.add_directive("headline", Headline)
    app.add_directive("names", Names)
    return {"parallel_read_safe": True}
