"""Train a small transformer on the standard library's source, byte by byte, and let it write.

    ./dev example language_model

Writes checkpoints; started again, it goes on from the last one (`--fresh` starts anew). At the end
it plots the loss, writes a sample, and quantizes the weights to 4 bits. Takes about two minutes.
"""

import argparse
import json
import pathlib
import time

import data
from model import Transformer, generate, loss, perplexity

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
from mlx.utils import tree_flatten, tree_unflatten

HERE = pathlib.Path(__file__).resolve().parent
SMALL = {"width": 64, "heads": 2, "layers": 1, "context": 32}


class Trainer:
    """A model, its optimizer and the losses so far; all of it goes into a checkpoint."""

    def __init__(self, model: nn.Module, steps: int, rate: float = 3e-3, rows: int = 16) -> None:
        self.model, self.steps, self.rows, self.losses = model, steps, rows, []
        warm = max(steps // 20, 1)
        schedule = optim.join_schedules(
            [optim.linear_schedule(0.0, rate, warm), optim.cosine_decay(rate, steps - warm)], [warm]
        )
        self.optimizer = optim.AdamW(schedule, weight_decay=0.05, bias_correction=True)
        self.optimizer.init(model.trainable_parameters())
        state = [model.state, self.optimizer.state, mx.random.state]
        self.compiled = mx.compile(self.step, inputs=state, outputs=state)

    def step(self, tokens: mx.array) -> mx.array:
        """Learn from random windows of the text; the loss."""
        pieces = data.windows(tokens, self.rows, self.model.context)
        value, gradients = nn.value_and_grad(self.model, lambda *p: loss(self.model, *p))(*pieces)
        gradients, _ = optim.clip_grad_norm(gradients, max_norm=1.0)
        self.optimizer.update(self.model, gradients)
        return value

    def train(self, tokens: mx.array, until: int, path: pathlib.Path, every: int = 50) -> None:
        """Make steps, with a checkpoint after each `every` and at the end."""
        start, first = time.perf_counter(), len(self.losses)
        while len(self.losses) < until:
            value = self.compiled(tokens)
            mx.eval(value, self.model.state, self.optimizer.state, mx.random.state)
            self.losses.append(value.item())
            done = len(self.losses)
            rate = (done - first) * self.rows * self.model.context / (time.perf_counter() - start)
            progress(done, self.steps, self.losses, rate)
            if done % every == 0 or done == until:
                self.save(path)
        print()

    def save(self, path: pathlib.Path) -> None:
        """Write the checkpoint; the file is replaced whole, so a kill leaves the last one."""
        arrays = {f"model.{k}": v for k, v in tree_flatten(self.model.trainable_parameters())}
        arrays |= {f"optimizer.{k}": v for k, v in tree_flatten(self.optimizer.state)}
        arrays |= {"random": mx.random.state[0], "losses": mx.array(self.losses)}
        mx.save_safetensors(str(path), arrays)

    def load(self, path: pathlib.Path) -> None:
        """Go on from a checkpoint."""
        arrays = mx.load(str(path))

        def part(prefix: str) -> dict:
            named = {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)}
            return tree_unflatten(list(named.items()))

        self.model.update(part("model."))
        self.optimizer.state.update(part("optimizer."))
        mx.random.state[0] = arrays["random"]
        self.losses = arrays["losses"].tolist()
        mx.eval(self.model.state, self.optimizer.state, mx.random.state)


def progress(done: int, steps: int, losses: list[float], rate: float) -> None:
    """Draw the line over the last one; the loss is the mean of the last ten."""
    bar = "█" * (20 * done // steps) + "░" * (20 - 20 * done // steps)
    recent = losses[-10:]
    print(
        f"\rstep {done:4d}/{steps} {bar} loss {sum(recent) / len(recent):.3f}"
        f"  {rate:7,.0f} tokens/s  {mx.get_peak_memory() / 2**20:4.0f} MB",
        end="",
        flush=True,
    )


def plot(path: pathlib.Path, losses: list[float], title: str) -> None:
    """Draw the loss of each step."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3), layout="constrained")
    axes.plot(losses, linewidth=0.8)
    axes.set(title=title, xlabel="step", ylabel="nats per byte")
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)


def read(output: pathlib.Path) -> Transformer:
    """The trained model of an output folder."""
    model = Transformer(**json.loads((output / "model.json").read_text()))
    model.load_weights(str(output / "model.safetensors"))
    return model.eval()


def arguments(text: str, given: list[str] | None, **own: int) -> argparse.Namespace:
    """Options that the programs of this folder share, and `own` ones, which are numbers."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    for name, default in own.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fresh", action="store_true", help="ignore a checkpoint")
    parser.add_argument("--quick", action="store_true", help="a tiny model, a few steps")
    parser.add_argument("--output", type=pathlib.Path, default=HERE / "output")
    options = parser.parse_args(given)
    options.output.mkdir(parents=True, exist_ok=True)
    if options.quick and "steps" in own:
        options.steps = 20
    return options


def main(given: list[str] | None = None) -> dict[str, float]:
    """Train, sample, quantize; the figures at the end."""
    options = arguments(__doc__, given, steps=2000)
    sizes = SMALL if options.quick else {}
    mx.random.seed(options.seed)
    model = Transformer(**sizes)
    trainer = Trainer(model, options.steps)
    tokens, held_out = data.sources(20_000 if options.quick else 2_000_000)
    checkpoint = options.output / "checkpoint.safetensors"
    if checkpoint.exists() and not options.fresh:
        trainer.load(checkpoint)
        print(f"goes on from step {len(trainer.losses)} of {checkpoint}")
    trainer.train(tokens, options.steps, checkpoint)
    model.eval().save_weights(str(options.output / "model.safetensors"))
    (options.output / "model.json").write_text(json.dumps(sizes))
    plot(options.output / "loss.png", trainer.losses, "transformer on the standard library")

    before = perplexity(model, held_out)
    sample = generate(model, b"def ", 10 if options.quick else 500).decode(errors="replace")
    print(f"--- sample\n{sample}\n---")
    nn.quantize(model, group_size=32, bits=4)
    after = perplexity(model, held_out)
    size = sum(v.nbytes for _, v in tree_flatten(model.parameters()))
    print(f"perplexity per byte of held-out text: {before:.3f}, with 4 bits {after:.3f}")
    print(f"quantized weights: {size / 2**20:.2f} MB; output: {options.output}")
    return {
        "first loss": trainer.losses[0],
        "last loss": trainer.losses[-1],
        "perplexity": before,
        "with 4 bits": after,
    }


if __name__ == "__main__":
    main()
