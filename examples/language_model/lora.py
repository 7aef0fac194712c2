"""Adapt the language model to another kind of text with small added matrices (LoRA).

    ./dev example language_model/lora

The model has learned programs; it now learns the English of `help()`. The weights stay as they
are: each linear layer gets the product of two narrow matrices, and only these are trained. Takes
about half a minute, after `./dev example language_model`.
"""

import pathlib

import data
from model import Transformer, generate, perplexity
from train import SMALL, Trainer, arguments, plot, read

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten


class Adapted(nn.Module):
    """A linear layer that is kept, plus `a @ b`; b starts as zeros, so nothing changes at first."""

    def __init__(self, base: nn.Linear, rank: int = 8) -> None:
        super().__init__()
        outputs, inputs = base.weight.shape
        self.base = base
        self.a = mx.random.normal((inputs, rank)) * inputs**-0.5
        self.b = mx.zeros((rank, outputs))

    def __call__(self, x: mx.array) -> mx.array:
        """The layer's result plus the adapter's."""
        return self.base(x) + 2.0 * (x @ self.a) @ self.b

    def merged(self) -> nn.Linear:
        """One linear layer that computes the same."""
        self.base.weight = self.base.weight + 2.0 * (self.a @ self.b).T
        return self.base


def adapt(model: Transformer) -> None:
    """Freeze the model and give an adapter to each linear layer of its blocks."""
    model.freeze()
    for block in model.blocks:
        for name in ("qkv", "out", "up", "down"):
            setattr(block, name, Adapted(getattr(block, name)))


def merge(model: Transformer) -> None:
    """Replace each adapted layer by one that holds the sum."""
    for block in model.blocks:
        for name in ("qkv", "out", "up", "down"):
            setattr(block, name, getattr(block, name).merged())


def count(tree: dict) -> int:
    """The number of numbers in a tree of arrays."""
    return sum(array.size for _, array in tree_flatten(tree))


def main(given: list[str] | None = None) -> dict[str, float]:
    """Adapt, merge, sample; the figures at the end."""
    options = arguments(__doc__, given, steps=400)
    mx.random.seed(options.seed)
    if options.quick:
        model = Transformer(**SMALL)
    elif (options.output / "model.safetensors").exists():
        model = read(options.output)
    else:
        raise SystemExit(f"no model in {options.output}: run ./dev example language_model first")
    tokens, held_out = data.prose(20_000 if options.quick else 600_000)
    programs = data.sources(20_000 if options.quick else 2_000_000)[1]
    before = perplexity(model, held_out), perplexity(model, programs)

    adapt(model)
    small, all_of_it = count(model.trainable_parameters()), count(model.parameters())
    print(f"trains {small:,} of {all_of_it:,} numbers ({small / all_of_it:.1%})")
    trainer = Trainer(model, options.steps, rate=5e-3)
    adapters: pathlib.Path = options.output / "adapters.safetensors"
    trainer.train(tokens, options.steps, adapters)
    plot(options.output / "lora.png", trainer.losses, "adapters learn English")
    adapted = perplexity(model, held_out)
    merge(model)
    after = perplexity(model, held_out), perplexity(model, programs)
    sample = generate(model, b"The ", 10 if options.quick else 300).decode(errors="replace")
    print(f"--- sample\n{sample}\n---")
    print(f"perplexity per byte of English: {before[0]:.3f}, adapted {after[0]:.3f}")
    print(f"of programs: {before[1]:.3f}, adapted {after[1]:.3f}")
    print(f"adapters: {adapters}, {adapters.stat().st_size / 2**20:.2f} MB")
    return {"before": before[0], "adapted": adapted, "merged": after[0]}


if __name__ == "__main__":
    main()
