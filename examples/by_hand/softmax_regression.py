"""Softmax regression on handwritten digits with nothing but arrays and `mx.grad`.

python examples/by_hand/softmax_regression.py
"""

from digits import accuracy, load

import mlx.core as mx

x, y, x_test, y_test = load()
weights, bias = mx.zeros((64, 10)), mx.zeros((10,))


def scores(weights: mx.array, bias: mx.array, x: mx.array) -> mx.array:
    """Scores of the ten digits for each row of pixels."""
    return x @ weights + bias


def loss(weights: mx.array, bias: mx.array) -> mx.array:
    """The mean of -log(probability of the label), and a little weight decay."""
    z = scores(weights, bias, x)
    right = mx.take_along_axis(z, y[:, None], axis=1)
    return mx.mean(mx.logsumexp(z, axis=1, keepdims=True) - right) + 1e-4 * mx.sum(weights**2)


loss_and_gradients = mx.value_and_grad(loss, argnums=(0, 1))
for step in range(300):
    value, (d_weights, d_bias) = loss_and_gradients(weights, bias)
    weights, bias = weights - 1.5 * d_weights, bias - 1.5 * d_bias
    mx.eval(weights, bias)
    if step % 50 == 0:
        print(f"step {step:3d}  loss {value.item():.4f}")

share = accuracy(lambda x: scores(weights, bias, x), x_test, y_test)
print(f"accuracy on held-out digits: {share:.2%}")
