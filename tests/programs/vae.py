"""A variational autoencoder with convolutions; its noise comes from split keys."""

import numpy as np
from program_support import STEPS, initialize, train

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

LATENT, BATCH = 4, 10


class Encoder(nn.Module):
    """Images become means and logarithms of variances."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1),
            nn.SiLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.PReLU(),
        )
        self.mean = nn.Linear(64, LATENT)
        self.log_variance = nn.Linear(64, LATENT)

    def __call__(self, images):
        x = self.layers(images).flatten(1)
        return self.mean(x), self.log_variance(x)


class Decoder(nn.Module):
    """Latent vectors become the logits of images."""

    def __init__(self):
        super().__init__()
        self.start = nn.Linear(LATENT, 64)
        self.convolutions = [nn.Conv2d(16, 8, 3, padding=1), nn.Conv2d(8, 1, 3, padding=1)]
        self.grow = nn.Upsample(2, mode="linear", align_corners=False)

    def __call__(self, z):
        x = mx.unflatten(nn.elu(self.start(z)), -1, (2, 2, 16))
        for convolution in self.convolutions:
            x = convolution(self.grow(nn.softplus(x)))
        return x


class Autoencoder(nn.Module):
    """Both, with noise between them."""

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = Encoder(), Decoder()

    def __call__(self, images, key):
        mean, log_variance = self.encoder(images)
        noise = mx.random.normal(mean.shape, key=key)
        return self.decoder(mean + noise * mx.exp(0.5 * log_variance)), mean, log_variance


def loss_fn(model, images, key):
    """Reconstruction error plus the divergence from a standard normal distribution."""
    logits, mean, log_variance = model(images, key)
    error = nn.losses.binary_cross_entropy(logits, images, reduction="none").sum(axis=(1, 2, 3))
    divergence = -0.5 * mx.sum(1 + log_variance - mean.square() - mx.exp(log_variance), axis=-1)
    return mx.mean(error + divergence)


def run() -> dict[str, list[float]]:
    """Losses, and figures of a generated image."""
    model = initialize(Autoencoder(), 41)
    rng = np.random.default_rng(42)
    angles = rng.uniform(0, np.pi, (STEPS, BATCH, 1, 1, 1))
    grid = np.linspace(-1, 1, 8)
    distance = np.abs(np.cos(angles) * grid[:, None, None] + np.sin(angles) * grid[:, None])
    images = mx.array((distance < 0.3).astype(np.float32))
    keys = mx.random.split(mx.random.key(43), STEPS)
    losses = train(
        model,
        optim.AdamW(3e-3, weight_decay=0.05),
        lambda batch, key: loss_fn(model, batch, key),
        zip(images, keys, strict=True),
    )
    made = mx.sigmoid(model.decoder(mx.random.truncated_normal(-2, 2, (1, LATENT), key=keys[0])))
    return {"losses": losses, "after": made[0, ::2, ::2, 0].flatten().tolist()}
