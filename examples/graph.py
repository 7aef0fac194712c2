"""A graph network: it finds the group of each person from who knows whom and a few known groups.

    ./dev example graph

The graph is random: people of one group know each other more often. Each person has noisy features;
four of each group of sixty are labelled. Messages along the edges are gathered and added up. A
network without edges is trained beside it. Takes a few seconds.
"""

import numpy as np
import show

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

GROUPS, SIZE, FEATURES, LABELLED = 4, 60, 8, 4
COUNT = GROUPS * SIZE


def people() -> tuple[mx.array, mx.array, mx.array, mx.array]:
    """Features, groups, and both ends of every acquaintance, in each direction."""
    groups = mx.arange(COUNT) // SIZE
    chance = mx.where(groups[:, None] == groups, 0.10, 0.012)
    upper = mx.triu(mx.random.uniform(0, 1, (COUNT, COUNT)) < chance, k=1)
    one, other = map(mx.array, np.nonzero(np.array(upper)))
    features = mx.random.normal((GROUPS, FEATURES))[groups] * 0.6
    features = features + mx.random.normal((COUNT, FEATURES))
    return features, groups, mx.concatenate([one, other]), mx.concatenate([other, one])


class GraphNet(nn.Module):
    """Two rounds of messages; without edges it is a network of two layers."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.own = [nn.Linear(FEATURES, width), nn.Linear(width, GROUPS)]
        self.message = [nn.Linear(FEATURES, width), nn.Linear(width, GROUPS)]
        self.dropout = nn.Dropout(0.3)

    def __call__(self, x: mx.array, source: mx.array, target: mx.array) -> mx.array:
        """Scores of the groups of each person."""
        known = mx.zeros(len(x)).at[target].add(mx.ones(source.shape))
        for own, message in zip(self.own, self.message, strict=True):
            if own is not self.own[0]:
                x = self.dropout(nn.relu(x))
            sent = message(x)[source]
            received = mx.zeros((len(x), sent.shape[1])).at[target].add(sent)
            x = own(x) + received / mx.maximum(known, 1)[:, None]
        return x


def train(steps: int, x: mx.array, groups: mx.array, edges: tuple[mx.array, mx.array]) -> tuple:
    """Train on the labelled people; the accuracy on the others, their scores, the losses."""
    model = GraphNet()
    optimizer = optim.AdamW(1e-2, weight_decay=0.05, bias_correction=True)
    optimizer.init(model.trainable_parameters())
    state = [model.state, optimizer.state, mx.random.state]
    labelled = mx.arange(COUNT) % SIZE < LABELLED

    def loss() -> mx.array:
        each = nn.losses.cross_entropy(model(x, *edges), groups)
        return mx.sum(mx.where(labelled, each, 0)) / mx.sum(labelled)

    def step() -> mx.array:
        value, gradients = nn.value_and_grad(model, loss)()
        optimizer.update(model, gradients)
        return value

    compiled = mx.compile(step, inputs=state, outputs=state)
    progress, losses = show.Progress(steps), []
    for _ in range(steps):
        value = compiled()
        mx.eval(value, state)
        losses.append(value.item())
        progress(loss=losses[-1])
    scores = model.eval()(x, *edges)
    right = mx.argmax(scores, axis=1) == groups
    return mx.mean(right[~labelled]).item(), scores, losses


def main(given: list[str] | None = None) -> dict[str, float]:
    """Train with and without edges, draw; the figures at the end."""
    options = show.options(__doc__, "graph", 200, given)
    mx.random.seed(options.seed)
    x, groups, source, target = people()
    print(f"{COUNT} people, {source.size // 2} acquaintances, {GROUPS * LABELLED} labels")
    nobody = mx.zeros((0,), dtype=source.dtype)
    without, plain, _ = train(options.steps, x, groups, (nobody, nobody))
    accuracy, scores, losses = train(options.steps, x, groups, (source, target))

    figure, axes = show.panels(1, 3, 9, 3.1)
    adjacency = mx.zeros((COUNT, COUNT)).at[source, target].add(mx.ones(source.shape))
    axes[0].imshow(1 - np.array(adjacency), cmap="gray", interpolation="nearest")
    axes[0].set_title("who knows whom")
    for panel, values, title in (
        (axes[1], plain, f"features alone: {without:.0%}"),
        (axes[2], scores, f"with edges: {accuracy:.0%}"),
    ):
        centred = values - mx.mean(values, axis=0)
        u, s, _ = mx.linalg.svd(centred)
        panel.scatter(*np.array(u[:, :2] * s[:2]).T, c=np.array(groups), cmap="tab10", s=6)
        panel.set(title=title, xticks=[], yticks=[])
    show.save(figure, options.output / "graph.png")
    print(f"right about unlabelled people: {without:.1%} without edges, {accuracy:.1%} with them")
    return {
        "first loss": losses[0],
        "last loss": losses[-1],
        "accuracy": accuracy,
        "plain": without,
    }


if __name__ == "__main__":
    main()
