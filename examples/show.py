"""Shared parts of the examples: options, a progress line, pictures."""

import argparse
import pathlib
import time

HERE = pathlib.Path(__file__).resolve().parent


def options(text: str, name: str, steps: int, given: list[str] | None) -> argparse.Namespace:
    """The options of an example; `--quick` makes a few steps only."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a few steps, to see that it runs")
    parser.add_argument("--output", type=pathlib.Path, default=HERE / "output" / name)
    found = parser.parse_args(given)
    found.output.mkdir(parents=True, exist_ok=True)
    if found.quick:
        found.steps = min(found.steps, 5)
    return found


class Progress:
    """A line that is drawn again after each step, with a bar and figures."""

    def __init__(self, steps: int) -> None:
        self.steps, self.done, self.start = steps, 0, time.perf_counter()

    def __call__(self, **figures: float) -> None:
        """One more step is done."""
        self.done += 1
        rate = self.done / (time.perf_counter() - self.start)
        full = 20 * self.done // self.steps
        shown = "  ".join(f"{name} {value:.4g}" for name, value in figures.items())
        print(
            f"\rstep {self.done:4d}/{self.steps} {'█' * full}{'░' * (20 - full)}  {shown}"
            f"  {rate:.1f} steps/s    ",
            end="\n" if self.done == self.steps else "",
            flush=True,
        )


def panels(rows: int, columns: int, width: float, height: float) -> tuple:
    """A figure and its axes, drawn without a screen."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot.subplots(rows, columns, figsize=(width, height), layout="constrained")


def save(figure, path: pathlib.Path) -> None:
    """Write a figure and say where it is."""
    from matplotlib import pyplot

    figure.savefig(path, dpi=80)
    pyplot.close(figure)
    print(f"picture: {path}")
