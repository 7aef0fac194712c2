"""Arrays that ranks send to each other, in functions that are differentiated or recorded."""

import pytest

import mlx.core as mx

dist = mx.distributed
simulate = dist.simulate


def rank():
    """The rank of this thread."""
    return dist.init().rank()


def loss_of(exchange):
    """A loss that depends on an array of the other rank."""
    return lambda x: (x * exchange(x)).sum()


# How an array goes to the other rank, and comes from there.
MESSAGES = {
    "send": lambda x: dist.send(x, 1 - rank()),
    "recv": lambda x: dist.recv(x.shape, x.dtype, 1 - rank()),
    "recv_like": lambda x: dist.recv_like(x, 1 - rank()),
    "computed with": lambda x: mx.exp(dist.recv_like(x, 1 - rank()) + 1),
    "evaluated": lambda x: exchanged(x),
}


def exchanged(x):
    """The array of the other rank, here."""
    sent, got = dist.send(mx.stop_gradient(x), 1 - rank()), MESSAGES["recv"](x)
    mx.eval(sent, got)
    return got


DERIVATIVES = {
    "grad": lambda f: mx.grad(f)(mx.ones(3)),
    "jvp": lambda f: mx.jvp(f, (mx.ones(3),), (mx.ones(3),)),
    "checkpoint": lambda f: mx.grad(mx.checkpoint(f))(mx.ones(3)),
    "of a batch": lambda f: mx.grad(lambda x: mx.vmap(f)(x).sum())(mx.ones((2, 3))),
    "twice": lambda f: mx.grad(lambda x: mx.grad(f)(x).sum())(mx.ones(3)),
}


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("message", MESSAGES)
def test_no_derivative_of_messages(message, derivative):
    """An error, and not the derivative of a constant."""
    if (message, derivative) == ("evaluated", "of a batch"):
        pytest.skip("arrays of a batch have no values")
    with pytest.raises(ValueError, match=r"custom_function.*stop_gradient"):
        simulate(lambda: DERIVATIVES[derivative](loss_of(MESSAGES[message])), 2)


def test_received_constants():
    """Arrays received before the transformation are constants, and so are those that it stops."""

    def check():
        x, other = mx.array([1.0 + rank()]), 1 - rank()
        mx.eval(dist.send(x, other), dist.send(x, other), dist.send(x, other))
        before = dist.recv_like(x, other)
        inside = mx.grad(loss_of(lambda x: mx.stop_gradient(dist.recv_like(x, other))))(x)
        tangent = mx.jvp(loss_of(lambda x: mx.stop_gradient(dist.recv_like(x, other))), (x,), (x,))
        integers = mx.grad(loss_of(lambda x: before.astype(mx.int32)))(x)
        return (
            mx.grad(loss_of(lambda x: before))(x).item(),
            inside.item(),
            tangent[1][0].item(),
            (integers.item()),
        )

    assert simulate(check, 2) == [(2.0, 2.0, 2.0, 2.0), (1.0, 1.0, 2.0, 1.0)]


def test_rule_for_messages():
    """The next stage's loss reaches this stage's parameters by rules that send cotangents back."""

    def check():
        @mx.custom_function
        def forward(h):
            return dist.send(h, 1)

        @forward.vjp
        def forward_vjp(h, cotangent, output):
            return dist.recv_like(h, 1)

        @mx.custom_function
        def backward(h):
            return dist.recv_like(h, 0)

        @backward.vjp
        def backward_vjp(h, cotangent, output):
            return dist.send(cotangent, 0)

        w = mx.array([2.0, 3.0])
        if rank() == 0:
            loss = lambda w: forward(w * 5).sum()  # noqa: E731
        else:
            loss = lambda h: (backward(h) ** 2).sum()  # noqa: E731
        # Without the value nothing would be sent forward.
        value, grad = mx.value_and_grad(loss)(w)
        mx.eval(value, grad)
        return grad.tolist()

    assert simulate(check, 2)[0] == [2 * 10.0 * 5, 2 * 15.0 * 5]


@pytest.mark.parametrize("name", ["recv", "barrier"])
def test_not_in_recorded_functions(name):
    """Nothing would make it run again in the calls."""

    def function(x):
        return x + MESSAGES["recv"](x) if name == "recv" else dist.barrier() or x

    for record in (mx.compile, lambda f: lambda x: mx.export_function("unused", f, x)):
        with pytest.raises(ValueError, match=rf"\[{name}\] in a function that is compiled"):
            simulate(lambda record=record: record(function)(mx.ones(3)), 2)
