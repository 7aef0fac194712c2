"""An encoder of spectra and a decoder of text with cross-attention, which then decodes greedily."""

import numpy as np
from program_support import STEPS, initialize, train

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

WIDTH, HEADS, VOCABULARY, MELS, FRAMES, LENGTH = 32, 4, 14, 12, 24, 6


class Attention(nn.Module):
    """Attention to the sequence itself or to another one, with the keys and values seen so far."""

    def __init__(self):
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH, bias=False)
        self.value = nn.Linear(WIDTH, WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def __call__(self, x, other=None, mask=None, cache=None):
        source = x if other is None else other
        q, k, v = (
            f(t).reshape(*t.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)
            for f, t in ((self.query, x), (self.key, source), (self.value, source))
        )
        if cache is not None:
            k = mx.concatenate([cache[0], k], axis=2)
            v = mx.concatenate([cache[1], v], axis=2)
        out = mx.fast.scaled_dot_product_attention(q, k, v, scale=q.shape[-1] ** -0.5, mask=mask)
        return self.out(out.swapaxes(1, 2).flatten(-2)), (k, v)


class Layer(nn.Module):
    """Attention, cross-attention in a decoder, and a feed-forward network."""

    def __init__(self, cross: bool):
        super().__init__()
        self.attention, self.attention_norm = Attention(), nn.LayerNorm(WIDTH)
        if cross:
            self.cross, self.cross_norm = Attention(), nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(
            nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 64), nn.GELU(), nn.Linear(64, WIDTH)
        )

    def __call__(self, x, sound=None, mask=None, cache=None):
        y, cache = self.attention(self.attention_norm(x), mask=mask, cache=cache)
        x = x + y
        if sound is not None:
            x = x + self.cross(self.cross_norm(x), sound)[0]
        return x + self.mlp(x), cache


class Speech(nn.Module):
    """Spectra to tokens."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(MELS, WIDTH, 3, padding=1)
        self.conv2 = nn.Conv1d(WIDTH, WIDTH, 3, stride=2, padding=1)
        self.positions = nn.SinusoidalPositionalEncoding(WIDTH, cos_first=True, scale=0.5)
        self.encoder = [Layer(False) for _ in range(2)]
        self.encoder_norm = nn.LayerNorm(WIDTH)
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.token_positions = mx.zeros((LENGTH, WIDTH))
        self.decoder = [Layer(True) for _ in range(2)]
        self.decoder_norm = nn.LayerNorm(WIDTH)

    def encode(self, spectra):
        """Half as many frames as there are spectra."""
        x = nn.gelu(self.conv2(nn.gelu(self.conv1(spectra))))
        x = x + self.positions(mx.arange(x.shape[1]))
        for layer in self.encoder:
            x, _ = layer(x)
        return self.encoder_norm(x)

    def decode(self, tokens, sound, cache=None):
        """Logits, and the keys and values for the next call."""
        start = 0 if cache is None else cache[0][0].shape[2]
        length = tokens.shape[1]
        x = self.embedding(tokens) + self.token_positions[start : start + length]
        made = []
        for layer, past in zip(self.decoder, cache or [None] * 2, strict=True):
            x, kept = layer(x, sound, "causal" if length > 1 else None, past)
            made.append(kept)
        return self.embedding.as_linear(self.decoder_norm(x)), made


def batches(rng: np.random.Generator):
    """Text, and spectra in which each letter is a few frames of certain frequencies."""
    voices = rng.standard_normal((VOCABULARY, MELS))
    for _ in range(STEPS):
        text = rng.integers(1, VOCABULARY, (6, LENGTH))
        text[:, 0] = 0
        spectra = np.repeat(voices[text], FRAMES // LENGTH, axis=1)
        spectra += 0.1 * rng.standard_normal(spectra.shape)
        yield mx.array(spectra.astype(np.float32)), mx.array(text)


def greedy(model, spectra):
    """The most likely tokens one by one."""
    sound, cache = model.encode(spectra), None
    tokens, out = mx.zeros((spectra.shape[0], 1), mx.int32), []
    for _ in range(LENGTH - 1):
        logits, cache = model.decode(tokens, sound, cache)
        out.append(mx.max(logits[:, -1], axis=-1))
        tokens = mx.argmax(logits[:, -1:], axis=-1)
    return mx.stack(out, axis=1)


def run() -> dict[str, list[float]]:
    """Losses; the logits of the greedily chosen tokens."""
    model = initialize(Speech(), 71)

    def loss_fn(spectra, text):
        logits, _ = model.decode(text[:, :-1], model.encode(spectra))
        weights = mx.array(np.linspace(0.5, 1.5, LENGTH - 1, dtype=np.float32))
        return nn.losses.cross_entropy(
            logits, text[:, 1:], weights=mx.broadcast_to(weights, text[:, 1:].shape)
        ).mean()

    data = list(batches(np.random.default_rng(72)))
    losses = train(model, optim.Lion(1e-3, weight_decay=0.01), loss_fn, data)
    return {"losses": losses, "after": greedy(model, data[0][0][:2]).flatten().tolist()}
