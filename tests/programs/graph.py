"""A graph convolutional network: nodes learn their community from a few that are labelled."""

import numpy as np
from program_support import STEPS, initialize, numbers

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

NODES, GROUPS, WIDTH = 45, 3, 16


class GraphConvolution(nn.Module):
    """Every node receives the weighted sum of its neighbours' features."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs, bias=False)
        self.bias = mx.zeros((outputs,))

    def __call__(self, x, edges, weights):
        messages = self.linear(x)[edges[1]] * weights[:, None]
        out = mx.zeros((x.shape[0], messages.shape[1])).at[edges[0]].add(messages)
        return out + self.bias


class Network(nn.Module):
    """Two convolutions with dropout, and a skip connection."""

    def __init__(self):
        super().__init__()
        self.first = GraphConvolution(8, WIDTH)
        self.second = GraphConvolution(WIDTH, GROUPS)
        self.skip = nn.Bilinear(8, 8, GROUPS)
        self.dropout = nn.Dropout(0.3)

    def __call__(self, x, edges, weights):
        hidden = self.dropout(nn.mish(self.first(x, edges, weights)))
        return self.second(hidden, edges, weights) + 0.1 * self.skip(x, x)


def community_graph(rng: np.random.Generator):
    """Edges, mostly within groups, with the weights of the normalized adjacency matrix."""
    groups = np.arange(NODES) % GROUPS
    likely = np.where(groups[:, None] == groups, 0.4, 0.03)
    near = np.triu(rng.random((NODES, NODES)) < likely, 1)
    near = near | near.T | np.eye(NODES, dtype=bool)
    edges = mx.array(np.stack(np.nonzero(near)))
    degrees = mx.zeros(NODES, mx.int32).at[edges[0]].add(1).astype(mx.float32)
    weights = mx.rsqrt(degrees[edges[0]] * degrees[edges[1]])
    return mx.array(groups), edges, weights


def run() -> dict[str, list[float]]:
    """Losses; how many of all nodes are right in the end."""
    mx.random.seed(51)
    rng = np.random.default_rng(52)
    groups, edges, weights = community_graph(rng)
    features = numbers(rng, NODES, 8)
    labelled = mx.array(rng.permutation(NODES) < NODES // 3)
    model = initialize(Network(), 53)
    optimizer = optim.MultiOptimizer(
        [optim.SGD(0.5, momentum=0.9, weight_decay=1e-3), optim.Adam(1e-2)],
        [lambda path, _: "linear" in path],
    )

    def loss_fn():
        logits = model(features, edges, weights)
        each = nn.losses.cross_entropy(logits, groups, label_smoothing=0.05)
        return (each * labelled).sum() / labelled.sum()

    step, losses = nn.value_and_grad(model, loss_fn), []
    for _ in range(STEPS):
        loss, gradients = step()
        optimizer.update(model, gradients)
        mx.eval(model.parameters(), optimizer.state)
        losses.append(loss.item())
    model.eval()
    logits = model(features, edges, weights)
    right = mx.sum(mx.argmax(logits, axis=1) == groups)
    return {"losses": losses, "after": [right.item(), *logits[0].tolist()]}
