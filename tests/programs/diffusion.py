"""A network with skip connections learns to remove noise from images, then makes one from noise."""

import numpy as np
from program_support import STEPS, initialize

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
from mlx.utils import tree_map

TIMES, BATCH, WIDTH = 50, 6, 8


class Block(nn.Module):
    """Two convolutions, told the time between them."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(4, inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.norm2 = nn.GroupNorm(4, outputs, pytorch_compatible=True)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.time = nn.Linear(4 * WIDTH, outputs)
        self.shortcut = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def __call__(self, x, time):
        y = self.conv1(nn.silu(self.norm1(x)))
        y = y + self.time(nn.silu(time))[:, None, None]
        return self.shortcut(x) + self.conv2(nn.silu(self.norm2(y)))


class UNet(nn.Module):
    """Down to half the size and up again, with what was there on the way down."""

    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(
            nn.SinusoidalPositionalEncoding(WIDTH, max_freq=1.0, min_freq=0.01),
            nn.Linear(WIDTH, 4 * WIDTH),
            nn.SiLU(),
            nn.Linear(4 * WIDTH, 4 * WIDTH),
        )
        self.start = nn.Conv2d(1, WIDTH, 3, padding=1)
        self.down = [Block(WIDTH, WIDTH), Block(WIDTH, 2 * WIDTH)]
        self.shrink = nn.Conv2d(WIDTH, WIDTH, 3, stride=2, padding=1)
        self.attention = nn.MultiHeadAttention(2 * WIDTH, 2, bias=True)
        self.grow = nn.Upsample(2, mode="nearest")
        self.up = Block(3 * WIDTH, WIDTH)
        self.finish = nn.Conv2d(WIDTH, 1, 3, padding=1)

    def __call__(self, x, times):
        time = self.time(times)
        wide = self.down[0](self.start(x), time)
        deep = self.down[1](self.shrink(wide), time)
        flat = deep.flatten(1, 2)
        deep = deep + self.attention(flat, flat, flat).reshape(deep.shape)
        both = mx.concatenate([self.grow(deep), wide], axis=-1)
        return self.finish(nn.silu(self.up(both, time)))


def circles(rng: np.random.Generator) -> mx.array:
    """Discs of random size at random places."""
    grid = np.arange(8)
    centre, radius = rng.uniform(2, 5, (2, BATCH, 1, 1)), rng.uniform(1, 3, (BATCH, 1, 1))
    distance = np.hypot(grid[:, None] - centre[0], grid - centre[1])
    return mx.array(np.tanh(radius - distance).astype(np.float32)[..., None])


def sample(model, kept, steps, key):
    """An image made from noise, without adding new noise."""
    x = mx.random.normal((1, 8, 8, 1), key=key)
    for now, then in zip(steps, [*steps[1:], 0], strict=True):
        noise = model(x, mx.array([now]))
        clean = mx.clip((x - mx.sqrt(1 - kept[now]) * noise) / mx.sqrt(kept[now]), -1, 1)
        x = mx.sqrt(kept[then]) * clean + mx.sqrt(1 - kept[then]) * noise
    return x


def run() -> dict[str, list[float]]:
    """Losses; pixels of an image made with the moving average of the weights."""
    model, average = initialize(UNet(), 81), UNet()
    average.update(model.parameters())
    optimizer = optim.Adamax(learning_rate=5e-3)
    kept = mx.cumprod(1 - mx.linspace(1e-3, 0.15, TIMES))
    mx.random.seed(82)

    def loss_fn(images):
        times = mx.random.randint(0, TIMES, (images.shape[0],))
        noise = mx.random.normal(images.shape)
        part = kept[times][:, None, None, None]
        mixed = mx.sqrt(part) * images + mx.sqrt(1 - part) * noise
        return nn.losses.mse_loss(model(mixed, times), noise)

    step, losses, rng = nn.value_and_grad(model, loss_fn), [], np.random.default_rng(83)
    for _ in range(STEPS):
        loss, gradients = step(circles(rng))
        optimizer.update(model, gradients)
        average.update(
            tree_map(lambda a, b: 0.8 * a + 0.2 * b, average.parameters(), model.parameters())
        )
        mx.eval(model.parameters(), average.parameters(), optimizer.state)
        losses.append(loss.item())
    made = sample(average, kept, [40, 30, 20, 10], mx.random.key(84))
    return {"losses": losses, "after": made[0, ::2, ::2, 0].flatten().tolist()}
