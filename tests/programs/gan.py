"""A generator and a discriminator of small images, trained in turns by compiled steps."""

from functools import partial

import numpy as np
from program_support import STEPS, initialize, numbers

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

LATENT, BATCH = 8, 12


class Generator(nn.Module):
    """Latent vectors become images of 8 by 8 pixels."""

    def __init__(self):
        super().__init__()
        self.start = nn.Linear(LATENT, 4 * 16)
        self.norm = nn.GroupNorm(4, 16)
        self.grow = nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1)
        self.finish = nn.Conv2d(8, 1, 5, padding=1)

    def __call__(self, z):
        x = nn.relu(self.norm(self.start(z).reshape(-1, 2, 2, 16)))
        x = nn.relu(self.grow(x))
        x = nn.Upsample(2.5, mode="nearest")(x)
        return mx.tanh(self.finish(x))


class Discriminator(nn.Module):
    """One number for each image: how real it looks."""

    def __init__(self):
        super().__init__()
        self.convolutions = [
            nn.Conv2d(1, 8, 3, stride=2, padding=1),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
        ]
        self.output = nn.Linear(16, 1)

    def __call__(self, images):
        for convolution in self.convolutions:
            images = nn.leaky_relu(convolution(images), 0.2)
        return self.output(images.mean(axis=(1, 2)))[:, 0]


entropy = partial(nn.losses.binary_cross_entropy, with_logits=True, reduction="mean")


def real_images(rng: np.random.Generator) -> mx.array:
    """Bright squares at random places."""
    images = -np.ones((BATCH, 8, 8, 1), np.float32)
    for image, (row, column) in zip(images, rng.integers(0, 5, (BATCH, 2)), strict=True):
        image[row : row + 3, column : column + 3] = 1
    return mx.array(images)


def run() -> dict[str, list[float]]:
    """Losses of both networks."""
    generator, judge = initialize(Generator(), 31), initialize(Discriminator(), 32)
    optimizers = [optim.Adam(5e-3, betas=[0.5, 0.999]), optim.RMSprop(2e-3)]
    state = [generator.state, judge.state, optimizers[0].state, optimizers[1].state]

    def judge_loss(real, z):
        fake = mx.stop_gradient(generator(z))
        return entropy(judge(real), mx.full((BATCH,), 0.9)) + entropy(judge(fake), mx.zeros(BATCH))

    def generator_loss(z):
        return entropy(judge(generator(z)), mx.ones((BATCH,)))

    def take_turns(real, z):
        first, gradients = nn.value_and_grad(judge, judge_loss)(real, z[0])
        optimizers[1].update(judge, gradients)
        second, gradients = nn.value_and_grad(generator, generator_loss)(z[1])
        optimizers[0].update(generator, gradients)
        return first, second

    for optimizer, model in zip(optimizers, (generator, judge), strict=True):
        optimizer.init(model.trainable_parameters())
    compiled = mx.compile(take_turns, inputs=state, outputs=state)
    rng, losses = np.random.default_rng(33), []
    for _ in range(STEPS):
        pair = compiled(real_images(rng), numbers(rng, 2, BATCH, LATENT))
        mx.eval(pair, state)
        losses.append([value.item() for value in pair])
    return {"losses": [a for a, _ in losses], "generator": [b for _, b in losses]}
