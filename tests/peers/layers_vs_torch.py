"""Layers, losses, optimizers and schedules against PyTorch, outputs and gradients.

    PYTHONPATH=build/python python tests/peers/layers_vs_torch.py [WORDS]   (in a Python with torch)
    ... --record    also writes tests/golden/nn/torch.npz, which the default tests compare with

Prints the largest error of each row of peer_cases.py whose text has the words, in units of the
largest number of the result, and fails where it is above the LIMIT. PyTorch computes in float64.
"""

import argparse
import math
import sys
import types
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch.func import functional_call

sys.path.insert(0, str(Path(__file__).resolve().parent))

import peer_cases as peers
from nn_cases import _fixed_parameters, _inputs, data

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten

# Layouts: our channels are the last axis, theirs the second.


def first(x):
    return x.movedim(-1, 1)


def last(x):
    return x.movedim(1, -1)


def turned(weight):
    """(out, *size, in) as (in, out, *size)."""
    return weight.movedim(-1, 0)


# Helpers of the rows.


def red_none(x):
    return x


def red_mean(x):
    return x.mean()


def red_sum(x):
    return x.sum()


def interleaved_group_norm(x, groups, eps=1e-5):
    """Channel c belongs to group c % groups."""
    split = x.unflatten(-1, (-1, groups))
    axes = [*range(1, split.ndim - 1)]
    mean = split.mean(axes, keepdim=True)
    var = split.var(axes, unbiased=False, keepdim=True)
    return ((split - mean) / (var + eps).sqrt()).reshape(x.shape)


def batch_norm(x, p, training, momentum=0.1, eps=1e-5):
    get = p.__dict__.get
    return F.batch_norm(
        x,
        get("running_mean"),
        get("running_var"),
        get("weight"),
        get("bias"),
        training,
        momentum,
        eps,
    )


def sinusoids(x, dims, low, high, scale=None, cos_first=False, turn=1.0):
    frequencies = torch.logspace(math.log10(high), math.log10(low), dims // 2, dtype=torch.float64)
    angles = x[..., None] * frequencies * turn
    parts = [angles.sin(), angles.cos()]
    return torch.cat(parts[::-1] if cos_first else parts, -1) * (scale or math.sqrt(2 / dims))


def rope(x, dims, traditional, base=10000.0, scale=1.0):
    """Complex rotation of the pairs."""
    half = dims // 2
    angles = (
        scale
        * torch.arange(x.shape[-2])[:, None].double()
        * base ** (-torch.arange(half).double() / half)
    )
    turned_, rest = x[..., :dims], x[..., dims:]
    pairs = turned_.unflatten(-1, (half, 2) if traditional else (2, half))
    pairs = pairs if traditional else pairs.mT
    z = torch.view_as_complex(pairs.contiguous()) * torch.polar(torch.ones_like(angles), angles)
    y = torch.view_as_real(z)
    return torch.cat([(y if traditional else y.mT).flatten(-2), rest], -1)


def alibi(x):
    heads, queries, keys = x.shape[-3:]
    power = 2 ** math.floor(math.log2(heads))
    slopes = [2 ** (-8 * (k + 1) / power) for k in range(power)]
    slopes += [2 ** (-4 * (2 * k + 1) / power) for k in range(heads - power)]
    distance = (torch.arange(queries)[:, None] - torch.arange(keys)).abs()
    return x - torch.tensor(slopes, dtype=torch.float64)[:, None, None] * distance


def state(p, prefix, names):
    """A state dict of torch from parameters of ours: `theirs=ours` pairs."""
    return {theirs: p[prefix + ours] for theirs, ours in names.items() if prefix + ours in p}


def sampled(x, y, reach=1.3, **options):
    options.setdefault("align_corners", False)
    return last(F.grid_sample(first(x), torch.tanh(y) * reach, **options))


def ctc(x, targets, steps=None, lengths=None, **options):
    log_probs, targets = F.log_softmax(x, -1).transpose(0, 1), torch.tensor(targets)
    steps = torch.tensor(steps or [len(log_probs)] * len(targets))
    lengths = torch.tensor(lengths or [targets.shape[1]] * len(targets))
    return F.ctc_loss(log_probs, targets, steps, lengths, **options)


def rnn_state(kind, p, prefix):
    """The weights of one direction of one layer of ours by torch's names, without suffixes."""
    names = {"RNN": ("Wxh", "Whh", "bias"), "GRU": ("Wx", "Wh", "b"), "LSTM": ("Wx", "Wh", "bias")}
    of_x, of_h, bias = (prefix + name for name in names[kind])
    result = {"weight_ih": p[of_x], "weight_hh": p[of_h]}
    if bias in p:
        rest = torch.zeros_like(p[bias])
        if kind == "GRU":
            rest = torch.cat([rest[: 2 * len(rest) // 3], p[prefix + "bhn"]])
        result.update(bias_ih=p[bias], bias_hh=rest)
    return result


def stacked(kind, p, layers, both, x, *states):
    """Outputs of several layers of torch; an LSTM's cells are those of our last layer."""
    inputs = x if x.ndim == 3 else x[None]
    parameters = {}
    for layer in range(layers):
        for suffix, extra in (("", ""), ("_reverse", "backward.")) if both else (("", ""),):
            prefix = ("" if layer == 0 else f"deeper.{layer - 1}.") + extra
            for name, value in rnn_state(kind, p, prefix).items():
                parameters[f"{name}_l{layer}{suffix}"] = value
    hidden = p["Whh" if kind == "RNN" else "Wh"].shape[-1]
    module = getattr(torch.nn, kind)(
        x.shape[-1], hidden, layers, bias="bias_ih_l0" in parameters, batch_first=True,
        bidirectional=both, dtype=torch.float64,
    )  # fmt: skip
    given = [s if x.ndim == 3 else s[:, None] for s in states]
    start = (tuple(given) if kind == "LSTM" else given[0],) if given else ()
    y = functional_call(module, parameters, (inputs, *start))[0]
    y = y if x.ndim == 3 else y[0]
    return (y, stacked_cells(p, layers, both, x, *states)) if kind == "LSTM" else y


def stacked_cells(p, layers, both, x, hidden, cell):
    """The cells of the last of several layers after each step."""
    for layer in range(layers):
        parts = []
        for way in range(2 if both else 1):
            prefix = ("" if layer == 0 else f"deeper.{layer - 1}.") + ("backward." if way else "")
            weights = [p[prefix + name] for name in ("Wx", "Wh", "bias")]
            k = layer * (2 if both else 1) + way
            turned_x = x.flip(-2) if way else x
            run = lstm(turned_x, hidden[k], cell[k], *weights)
            parts.append([part.flip(-2) for part in run] if way else run)
        x, cells = (torch.cat(part, -1) for part in zip(*parts, strict=True))
    return cells


def cell(kind, p, x, *states, **options):
    """One step of torch."""
    module = getattr(torch.nn, f"{kind}Cell")(
        x.shape[-1], states[0].shape[-1], bias="b" in p or "bias" in p, dtype=torch.float64,
        **options,
    )  # fmt: skip
    start = states if kind == "LSTM" else states[0]
    return functional_call(module, rnn_state(kind, p, ""), (x, start))


def attention_state(p, prefix, bias):
    projections = [f"{prefix}{name}_proj." for name in ("query", "key", "value")]
    weight = torch.cat([p[name + "weight"] for name in projections])
    result = {"in_proj_weight": weight, "out_proj.weight": p[prefix + "out_proj.weight"]}
    if bias:
        known = projections[0] + "bias" in p
        zeros = torch.zeros(len(weight), dtype=torch.float64)
        result["in_proj_bias"] = torch.cat([p[n + "bias"] for n in projections]) if known else zeros
        result["out_proj.bias"] = p[prefix + "out_proj.bias"] if known else zeros[: len(zeros) // 3]
    return result


def attention(p, prefix, heads, q, k, v, mask=None):
    module = torch.nn.MultiheadAttention(q.shape[-1], heads, batch_first=True, dtype=torch.float64)
    options = {"attn_mask": mask, "need_weights": False}
    return functional_call(module, attention_state(p, prefix, True), (q, k, v), options)[0]


def _block(make, p, prefix, attentions, x, args, heads, norm_first, activation, options):
    """A transformer layer of torch on our parameters; `attentions` are `theirs=ours` names."""
    dims, hidden = x.shape[-1], p[prefix + "linear1.weight"].shape[0]
    module = make(
        dims, heads, hidden, 0.0, activation, batch_first=True, norm_first=norm_first,
        dtype=torch.float64,
    )  # fmt: skip
    names = {}
    for part in ("weight", "bias"):
        names.update({f"linear{i}.{part}": f"linear{i}.{part}" for i in (1, 2)})
        names.update({f"norm{i}.{part}": f"ln{i}.{part}" for i in range(1, len(attentions) + 2)})
    parameters = state(p, prefix, names)
    for theirs, ours in attentions.items():
        for key, value in attention_state(p, f"{prefix}{ours}.", True).items():
            parameters[f"{theirs}.{key}"] = value
    return functional_call(module, parameters, (x, *args), options)


def encoder_layer(p, prefix, heads, x, mask, norm_first=True, activation=F.relu):
    make, attentions = torch.nn.TransformerEncoderLayer, {"self_attn": "attention"}
    options = {"src_mask": mask}
    return _block(make, p, prefix, attentions, x, (), heads, norm_first, activation, options)


def decoder_layer(p, prefix, heads, x, memory, mask, memory_mask, norm_first=True):
    make = torch.nn.TransformerDecoderLayer
    attentions = {"self_attn": "self_attention", "multihead_attn": "cross_attention"}
    options = {"tgt_mask": mask, "memory_mask": memory_mask}
    return _block(make, p, prefix, attentions, x, (memory,), heads, norm_first, F.relu, options)


def encoder(p, prefix, heads, x, mask):
    for k in range(2):
        x = encoder_layer(p, f"{prefix}layers.{k}.", heads, x, mask)
    return F.layer_norm(x, x.shape[-1:], p[prefix + "ln.weight"], p[prefix + "ln.bias"])


def recurrent(make, x, hidden, wx, wh, b=None, bhn=None, **options):
    module = make(
        x.shape[-1],
        wh.shape[-1],
        bias=b is not None,
        batch_first=True,
        dtype=torch.float64,
        **options,
    )
    parameters = {"weight_ih_l0": wx, "weight_hh_l0": wh}
    if b is not None:
        zeros = torch.zeros(len(b) - (0 if bhn is None else len(bhn)), dtype=torch.float64)
        parameters["bias_ih_l0"] = b
        parameters["bias_hh_l0"] = zeros if bhn is None else torch.cat([zeros, bhn])
    args = (x,) if hidden is None else (x, hidden[None])
    return functional_call(module, parameters, args)[0]


def lstm(x, hidden, cell, wx, wh, b=None):
    """Step by step, for all cells are returned."""
    module = torch.nn.LSTMCell(x.shape[-1], wh.shape[-1], bias=b is not None, dtype=torch.float64)
    parameters = {"weight_ih": wx, "weight_hh": wh}
    if b is not None:
        parameters.update(bias_ih=b, bias_hh=torch.zeros_like(b))
    states = []
    now = None if hidden is None else (hidden, cell)
    for step in x.unbind(-2):
        now = functional_call(module, parameters, (step, now))
        states.append(now)
    return tuple(torch.stack(parts, -2) for parts in zip(*states, strict=True))


# Optimizers without a counterpart: formulas for one parameter in NumPy, step t from 1.


def sgd(g, w, s, t, lr, momentum, dampening):
    s["v"] = momentum * s.get("v", 0) + (1 - dampening) * g
    return w - lr * s["v"]


def adam(g, w, s, t, lr, decay=0.0, b1=0.9, b2=0.999, eps=1e-8):
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g**2
    return w * (1 - lr * decay) - lr * s["m"] / (np.sqrt(s["v"]) + eps)


def adamax(g, w, s, t, lr, b1=0.9, b2=0.999, eps=1e-8):
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = np.maximum(b2 * s.get("v", 0), np.abs(g))
    return w - lr * s["m"] / (s["v"] + eps)


def lion(g, w, s, t, lr, b1=0.9, b2=0.99, decay=0.0):
    m = s.get("m", 0)
    s["m"] = b2 * m + (1 - b2) * g
    return w * (1 - lr * decay) - lr * np.sign(b1 * m + (1 - b1) * g)


def adafactor(g, w, s, t, lr=None, scale=True, b1=None, decay=0.0, warmup=False):
    def rms(x):
        return np.sqrt((x**2).mean())

    rate = lr or min(1e-6 * t if warmup else 1e-2, 1 / np.sqrt(t))
    rate = rate * max(1e-3, rms(w)) if scale else rate
    keep, square = 1 - t**-0.8, g**2 + 1e-30
    if g.ndim < 2:
        s["v"] = keep * s.get("v", 0) + (1 - keep) * square
        estimate = s["v"]
    else:
        r = s["r"] = keep * s.get("r", 0) + (1 - keep) * square.mean(-1)
        c = s["c"] = keep * s.get("c", 0) + (1 - keep) * square.mean(-2)
        estimate = (r / r.mean(-1, keepdims=True))[..., None] * c[..., None, :]
    u = g / np.sqrt(estimate)
    u = rate * u / max(1.0, rms(u))
    if b1 is not None:
        u = s["m"] = b1 * s.get("m", 0) + (1 - b1) * u
    return w * (1 - decay * rate) - u


def muon(g, w, s, t, lr, decay=0.01, momentum=0.95, nesterov=True, steps=5):
    g = g + decay * w
    v = s["v"] = momentum * s.get("v", 0) + (1 - momentum) * g
    u = momentum * v + (1 - momentum) * g if nesterov else v
    if u.ndim >= 2:
        rows, columns = u.shape[-2:]
        x = u.reshape(len(u), -1)
        x = x / (np.linalg.norm(x) + 1e-7)
        left, values, right = np.linalg.svd(x, full_matrices=False)
        for _ in range(steps):  # The iteration acts on the singular values alone.
            values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
        u = (left * values @ right).reshape(u.shape) * math.sqrt(max(1, rows / columns))
    return w - lr * u


class Formula:
    """An optimizer in the manner of torch.optim over one of the formulas."""

    def __init__(self, formula, **options):
        self.formula, self.options, self.states, self.t = formula, options, {}, 0

    def bind(self, parameters):
        self.parameters = parameters

    def step(self):
        self.t += 1
        for k, w in enumerate(self.parameters):
            new = self.formula(
                w.grad.numpy(),
                w.detach().numpy(),
                self.states.setdefault(k, {}),
                self.t,
                **self.options,
            )
            w.data = torch.tensor(new)


# The sections.


class Parameters(types.SimpleNamespace):
    """Parameters by path, and those with a plain name as attributes."""

    def __getitem__(self, path):
        return self.__dict__[path]

    def __contains__(self, path):
        return path in self.__dict__


def tensor(x, grad=False):
    x = np.array(x)
    if x.dtype.kind != "f":
        return torch.tensor(x)
    return torch.tensor(x.astype(np.float64), requires_grad=grad)


def weighted_sum(outputs):
    total = 0
    for y in outputs:
        total = total + (y.flatten() * torch.cos(torch.arange(y.numel()).double())).sum()
    return total


def gradient(x):
    return (torch.zeros_like(x) if x.grad is None else x.grad).numpy()


def torch_layer(ours, theirs):
    source, *shapes = ours.split(" | ")
    layer = _fixed_parameters(eval(source, {"nn": nn, "mx": mx}))
    trainable = {path for path, _ in tree_flatten(layer.trainable_parameters())}
    p = Parameters(**{k: tensor(v, k in trainable) for k, v in tree_flatten(layer.parameters())})
    inputs = [tensor(x, True) for x in _inputs(shapes)]
    names = dict(zip("xyzw", inputs, strict=False))
    y = eval(theirs, {**globals(), **names, "p": p})
    outputs = list(y) if isinstance(y, tuple) else [y]
    weighted_sum(outputs).backward()
    many = len(outputs) > 1
    results = {f"output.{k if many else ''}": y.detach().numpy() for k, y in enumerate(outputs)}
    for path, value in p.__dict__.items():
        if path in trainable:
            results[f"gradient.{path}"] = gradient(value)
        else:
            results[f"after.{path}"] = value.numpy()
    floating = [x for x in inputs if x.requires_grad]
    results.update({f"input_gradient.{k}": gradient(x) for k, x in enumerate(floating)})
    return results


def torch_loss(ours, theirs):
    chosen = peers.inputs_of(ours)
    names = {name: tensor(x, name in chosen) for name, x in peers.loss_data().items()}
    value = eval(theirs, {**globals(), **names})
    weighted_sum([value]).backward()
    results = {f"gradient.{name}": gradient(names[name]) for name in chosen}
    return {"value": value.detach().numpy(), **results}


def torch_function(ours, theirs):
    _, *shapes = ours.split(" | ")
    inputs = [tensor(x, True) for x in _inputs(shapes)]
    value = eval(theirs, {**globals(), **dict(zip("xyzw", inputs, strict=False))})
    weighted_sum([value]).backward()
    gradients = {f"gradient.{k}": gradient(x) for k, x in enumerate(inputs)}
    return {"value": value.detach().numpy(), **gradients}


def torch_optimizer(ours, theirs):
    shapes = {"weight": (4, 3), "layers.0.bias": (3,), "kernel": (2, 3, 2, 2)}
    parameters = [tensor(data("start", shape), True) for shape in shapes.values()]
    optimizer = eval(theirs, {**globals(), "optim": torch.optim, "w": parameters})
    if isinstance(optimizer, Formula):
        optimizer.bind(parameters)
    for k in range(peers.STEPS):
        for w in parameters:
            w.grad = tensor(data(k, tuple(w.shape), 0.5))
        optimizer.step(*[lambda: torch.tensor(0.0)] * isinstance(optimizer, torch.optim.LBFGS))
    return {
        f"parameter.{name}": w.detach().numpy() for name, w in zip(shapes, parameters, strict=True)
    }


def torch_schedule(ours, theirs):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], 0.1)
    schedule = eval(theirs, {**globals(), "lr": torch.optim.lr_scheduler, "o": optimizer})
    values = []
    for t in range(peers.STEPS):
        if callable(schedule):
            values.append(schedule(t))
        else:
            values.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            schedule.step()
    return {"value": np.array(values)}


THEIRS = {
    "layers": torch_layer,
    "losses": torch_loss,
    "functions": torch_function,
    "optimizers": torch_optimizer,
    "schedules": torch_schedule,
}


def dropouts():
    """`(name, error)`: the dropped share; four standard deviations of the share are the LIMIT."""
    cases = {
        "nn.Dropout(0.3)": (64, 64, 32),
        "nn.Dropout2d(0.3)": (64, 5, 6, 128),
        "nn.Dropout3d(0.3)": (64, 3, 2, 4, 128),
    }
    mx.random.seed(1)
    for source, shape in cases.items():
        layer = eval(source)
        y, dx = mx.vjp(layer, [mx.ones(shape)], [mx.ones(shape)])
        kept = np.array(y[0])
        ok = np.isin(kept, [0, np.float32(1 / 0.7)]).all() and (np.array(dx[0]) == kept).all()
        if "d(" in source:  # Whole channels.
            ok = ok and (kept == kept[(slice(None), *[slice(0, 1)] * (kept.ndim - 2))]).all()
            kept = kept[(slice(None), *[0] * (kept.ndim - 2))]
        deviations = abs((kept == 0).mean() - 0.3) / math.sqrt(0.3 * 0.7 / kept.size)
        yield source, deviations * peers.LIMIT / 4 if ok else math.inf


def compare(words):
    """Yield `(section, ours, error or exception, their results)`."""
    for section, (cases, run) in peers.SECTIONS.items():
        for ours, theirs in cases:
            if all(word in f"{section} {ours}" for word in words):
                reference = THEIRS[section](ours, theirs)
                try:
                    error = peers.error(run(ours), reference)
                except Exception as problem:  # Reported as the failure of one row.
                    error = problem
                yield section, ours, error, reference
    for ours, error in dropouts():
        if all(word in f"dropout {ours}" for word in words):
            yield "dropout", ours, error, {}


def main():
    """Run the rows; 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="run the rows whose text has all words")
    parser.add_argument("--record", action="store_true", help=f"write {peers.GOLDEN.name}")
    arguments = parser.parse_args()
    recorded, failed, count = {}, 0, 0
    for section, ours, error, reference in compare(arguments.words):
        bad = isinstance(error, Exception) or not error <= peers.LIMIT
        failed, count = failed + bad, count + 1
        shown = f"{error:.1e}" if isinstance(error, float) else f"{type(error).__name__}: {error}"
        print(f"{'FAIL' if bad else 'ok  '} {section:10} {ours:100} {shown}")
        recorded.update(
            {f"{section}/{ours}/{key}": x.astype(np.float32) for key, x in reference.items()}
        )
    print(f"{count} rows, {failed} failed (limit {peers.LIMIT:.0e}, float32 against float64)")
    if arguments.record:
        np.savez_compressed(peers.GOLDEN, **recorded)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
