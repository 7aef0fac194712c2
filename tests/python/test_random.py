"""Random numbers: moments and ranges of the distributions, keys, seeds, compilation, batching."""

import numpy as np
import pytest
import scipy.stats as stats

import mlx.core as mx

N = 20_000
# distribution -> (draw with a key, cumulative distribution function)
CONTINUOUS = {
    "uniform": (lambda k: mx.random.uniform(-1, 3, (N,), key=k), stats.uniform(-1, 4).cdf),
    "normal": (lambda k: mx.random.normal((N,), loc=1.0, scale=2.0, key=k), stats.norm(1, 2).cdf),
    "gumbel": (lambda k: mx.random.gumbel((N,), key=k), stats.gumbel_r().cdf),
    "laplace": (
        lambda k: mx.random.laplace((N,), loc=1.0, scale=0.5, key=k),
        stats.laplace(1, 0.5).cdf,
    ),
    "truncated normal": (
        lambda k: mx.random.truncated_normal(-1.0, 2.0, (N,), key=k),
        stats.truncnorm(-1, 2).cdf,
    ),
}
# distribution -> (draw, probabilities of 0, 1, ...)
DISCRETE = {
    "bernoulli": (lambda k: mx.random.bernoulli(0.3, (N,), key=k), [0.7, 0.3]),
    "randint": (lambda k: mx.random.randint(0, 5, (N,), key=k), [0.2] * 5),
    "categorical": (
        lambda k: mx.random.categorical(mx.log(mx.array([0.1, 0.2, 0.7])), num_samples=N, key=k),
        [0.1, 0.2, 0.7],
    ),
    "first of permutation": (
        lambda k: mx.concatenate(
            [mx.random.permutation(4, key=s)[:1] for s in mx.random.split(k, 900)]
        ),
        [0.25] * 4,
    ),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_distributions(name):
    draw, cdf = CONTINUOUS[name]
    sample = np.array(draw(mx.random.key(5)))
    assert sample.dtype == np.float32 and np.isfinite(sample).all()
    assert stats.kstest(sample, cdf).pvalue > 1e-3
    again, other = np.array(draw(mx.random.key(5))), np.array(draw(mx.random.key(6)))
    assert np.array_equal(sample, again)
    assert abs(np.corrcoef(sample, other)[0, 1]) < 0.05


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_distributions(name):
    draw, probabilities = DISCRETE[name]
    counts = np.bincount(np.array(draw(mx.random.key(5))).astype(int), minlength=len(probabilities))
    expected = np.array(probabilities) * counts.sum()
    assert len(counts) == len(probabilities)
    assert stats.chisquare(counts, expected).pvalue > 1e-3


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16, mx.float32])
def test_uniform_stays_below_its_upper_end(dtype):
    sample = mx.random.uniform(0, 1, (200_000,), dtype, key=mx.random.key(2))
    assert sample.dtype == dtype
    assert mx.min(sample).item() >= 0 and mx.max(sample).item() < 1
    assert mx.mean(sample.astype(mx.float32)).item() == pytest.approx(0.5, abs=0.01)


def test_permutations_hold_every_element():
    assert sorted(mx.random.permutation(100, key=mx.random.key(0)).tolist()) == list(range(100))
    a = mx.arange(12).reshape(3, 4)
    shuffled = mx.random.permutation(a, axis=1, key=mx.random.key(1))
    assert sorted(shuffled[0].tolist()) == [0, 1, 2, 3]
    assert (shuffled[1] - shuffled[0]).tolist() == [4] * 4


def test_covariance():
    cov = mx.array([[2.0, 0.6], [0.6, 1.0]])
    with mx.stream(mx.cpu):
        sample = mx.random.multivariate_normal(
            mx.array([1.0, -1.0]), cov, (N,), key=mx.random.key(4)
        )
    assert np.allclose(np.mean(np.array(sample), 0), [1, -1], atol=0.05)
    assert np.allclose(np.cov(np.array(sample).T), np.array(cov), atol=0.08)


def test_the_seed_sets_the_sequence():
    def draw():
        return [mx.random.normal((3,)).tolist(), mx.random.randint(0, 99, (3,)).tolist()]

    mx.random.seed(11)
    first, second = draw(), draw()
    mx.random.seed(11)
    assert draw() == first and draw() == second and first != second


@pytest.mark.parametrize("name", ["uniform", "normal", "gumbel"])
def test_compiled_and_batched_draws_are_the_same_bits(name):
    def draw(key):
        return getattr(mx.random, name)(shape=(5, 3), key=key)

    keys = mx.random.split(mx.random.key(9), 4)
    each = mx.stack([draw(k) for k in keys])
    assert mx.array_equal(mx.compile(draw)(keys[0]), each[0]).item()
    assert mx.array_equal(mx.vmap(draw)(keys), each).item()


def test_a_compiled_function_draws_anew_when_it_captures_the_state():
    draw = mx.compile(
        lambda: mx.random.uniform(shape=(4,)), inputs=mx.random.state, outputs=mx.random.state
    )
    mx.random.seed(3)
    got = [draw().tolist() for _ in range(3)]
    mx.random.seed(3)
    assert got == [mx.random.uniform(shape=(4,)).tolist() for _ in range(3)]
    assert got[0] != got[1]
