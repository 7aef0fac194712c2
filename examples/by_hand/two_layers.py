"""A network of two layers on handwritten digits with nothing but arrays and `mx.grad`.

python examples/by_hand/two_layers.py
"""

from digits import accuracy, load

import mlx.core as mx

x, y, x_test, y_test = load()
mx.random.seed(0)
parameters = {
    "w1": mx.random.normal((64, 128)) * (2 / 64) ** 0.5,
    "b1": mx.zeros((128,)),
    "w2": mx.random.normal((128, 10)) * (1 / 128) ** 0.5,
    "b2": mx.zeros((10,)),
}


def scores(p: dict, x: mx.array) -> mx.array:
    """Scores of the ten digits for each row of pixels."""
    hidden = mx.maximum(x @ p["w1"] + p["b1"], 0)
    return hidden @ p["w2"] + p["b2"]


def loss(p: dict, x: mx.array, y: mx.array) -> mx.array:
    """The mean of -log(probability of the label)."""
    z = scores(p, x)
    right = mx.take_along_axis(z, y[:, None], axis=1)
    return mx.mean(mx.logsumexp(z, axis=1, keepdims=True) - right)


loss_and_gradients = mx.value_and_grad(loss)
velocity = {name: mx.zeros_like(p) for name, p in parameters.items()}
for epoch in range(20):
    order = mx.random.permutation(len(x))
    for start in range(0, len(x), 64):
        rows = order[start : start + 64]
        value, gradients = loss_and_gradients(parameters, x[rows], y[rows])
        for name, gradient in gradients.items():
            velocity[name] = 0.9 * velocity[name] + gradient
            parameters[name] = parameters[name] - 0.05 * velocity[name]
        mx.eval(parameters, velocity)
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1:2d}  loss {value.item():.4f}")

share = accuracy(lambda x: scores(parameters, x), x_test, y_test)
print(f"accuracy on held-out digits: {share:.2%}")
