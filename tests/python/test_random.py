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
    "exponential": (
        lambda k: mx.random.exponential((N,), scale=2.0, key=k),
        stats.expon(scale=2).cdf,
    ),
    "rayleigh": (lambda k: mx.random.rayleigh((N,), scale=2.0, key=k), stats.rayleigh(0, 2).cdf),
    "cauchy": (lambda k: mx.random.cauchy((N,), loc=1.0, key=k), stats.cauchy(1).cdf),
    "logistic": (lambda k: mx.random.logistic((N,), scale=0.5, key=k), stats.logistic(0, 0.5).cdf),
    "lognormal": (
        lambda k: mx.random.lognormal((N,), mean=0.5, sigma=0.8, key=k),
        stats.lognorm(0.8, scale=np.exp(0.5)).cdf,
    ),
    "weibull": (lambda k: mx.random.weibull(1.7, (N,), key=k), stats.weibull_min(1.7).cdf),
    "triangular": (
        lambda k: mx.random.triangular(-1, 0.5, 3, (N,), key=k),
        stats.triang(1.5 / 4, -1, 4).cdf,
    ),
    "gamma": (lambda k: mx.random.gamma(2.5, (N,), scale=0.5, key=k), stats.gamma(2.5, 0, 0.5).cdf),
    "gamma below 1": (lambda k: mx.random.gamma(0.3, (N,), key=k), stats.gamma(0.3).cdf),
    "gamma of large shape": (lambda k: mx.random.gamma(4e5, (N,), key=k), stats.gamma(4e5).cdf),
    "loggamma": (lambda k: mx.random.loggamma(0.02, (N,), key=k), stats.loggamma(0.02).cdf),
    "beta": (lambda k: mx.random.beta(0.5, 3.0, (N,), key=k), stats.beta(0.5, 3).cdf),
    "a coordinate of dirichlet": (
        lambda k: mx.random.dirichlet(mx.array([1.0, 2.0, 0.5]), (N,), key=k)[:, 1],
        stats.beta(2, 1.5).cdf,
    ),
    "chisquare": (lambda k: mx.random.chisquare(3.0, (N,), key=k), stats.chi2(3).cdf),
    "student_t": (lambda k: mx.random.student_t(2.5, (N,), key=k), stats.t(2.5).cdf),
    "f": (lambda k: mx.random.f(3.0, 7.0, (N,), key=k), stats.f(3, 7).cdf),
    "pareto": (lambda k: mx.random.pareto(2.0, (N,), key=k), stats.pareto(2).cdf),
    "vonmises": (lambda k: mx.random.vonmises(0.0, 2.0, (N,), key=k), stats.vonmises(2).cdf),
    "vonmises, concentrated": (
        lambda k: mx.random.vonmises(1.0, 5e3, (N,), key=k),
        stats.vonmises(5e3, 1).cdf,
    ),
    "wald": (lambda k: mx.random.wald(1.5, 2.0, (N,), key=k), stats.invgauss(0.75, 0, 2).cdf),
    "generalized_normal": (
        lambda k: mx.random.generalized_normal(1.5, (N,), key=k),
        stats.gennorm(1.5).cdf,
    ),
    "magnitude of double_sided_maxwell": (
        lambda k: mx.abs(mx.random.double_sided_maxwell(0.0, 2.0, (N,), key=k)),
        stats.maxwell(0, 2).cdf,
    ),
    "cube of the radius of ball": (
        lambda k: mx.linalg.norm(mx.random.ball(3, shape=(N,), key=k), axis=-1) ** 3,
        stats.uniform().cdf,
    ),
    "square of a coordinate of orthogonal": (
        lambda k: mx.random.orthogonal(3, (N // 10,), key=k)[:, 0, 1] ** 2,
        stats.beta(0.5, 1).cdf,
    ),
}


def masses(distribution, last):
    """Probabilities of 0, 1, .., and of `last` or more."""
    below = [distribution.pmf(k) for k in range(last)]
    return [*below, 1 - sum(below)]


def capped(draw, last):
    return lambda k: mx.minimum(draw(k), last)


# distribution -> (draw, probabilities of 0, 1, ...)
DISCRETE = {
    "bernoulli": (lambda k: mx.random.bernoulli(0.3, (N,), key=k), [0.7, 0.3]),
    "randint": (lambda k: mx.random.randint(0, 5, (N,), key=k), [0.2] * 5),
    "categorical": (
        lambda k: mx.random.categorical(mx.log(mx.array([0.1, 0.2, 0.7])), num_samples=N, key=k),
        [0.1, 0.2, 0.7],
    ),
    "geometric": (
        lambda k: mx.minimum(mx.random.geometric(0.4, (N,), key=k), 4) - 1,
        [0.4, 0.24, 0.144, 0.216],
    ),
    "poisson": (
        capped(lambda k: mx.random.poisson(2.0, (N,), key=k), 7),
        masses(stats.poisson(2), 7),
    ),
    "poisson of a large rate": (
        capped(lambda k: mx.maximum(mx.random.poisson(60.0, (N,), key=k) - 40, 0), 40),
        [
            stats.poisson(60).cdf(40),
            *[stats.poisson(60).pmf(k) for k in range(41, 80)],
            stats.poisson(60).sf(79),
        ],
    ),
    "binomial": (lambda k: mx.random.binomial(6, 0.3, (N,), key=k), masses(stats.binom(6, 0.3), 6)),
    "binomial of many trials": (
        capped(lambda k: mx.maximum(mx.random.binomial(200, 0.7, (N,), key=k) - 125, 0), 30),
        [
            stats.binom(200, 0.7).cdf(125),
            *[stats.binom(200, 0.7).pmf(k) for k in range(126, 155)],
            stats.binom(200, 0.7).sf(154),
        ],
    ),
    "negative_binomial": (
        capped(lambda k: mx.random.negative_binomial(3, 0.5, (N,), key=k), 9),
        masses(stats.nbinom(3, 0.5), 9),
    ),
    "a count of multinomial": (
        lambda k: mx.random.multinomial(5, mx.array([0.2, 0.3, 0.5]), (N,), key=k)[:, 1],
        masses(stats.binom(5, 0.3), 5),
    ),
    "bits": (lambda k: mx.random.bits((N,), mx.uint8, key=k) // 64, [0.25] * 4),
    "rademacher": (lambda k: (mx.random.rademacher((N,), key=k) + 1) // 2, [0.5, 0.5]),
    "choice": (lambda k: mx.random.choice(3, (N,), key=k), [1 / 3] * 3),
    "choice by weights": (
        lambda k: mx.random.choice(3, (N,), p=mx.array([1.0, 2.0, 5.0]), key=k),
        [1 / 8, 2 / 8, 5 / 8],
    ),
    "second of a choice by weights": (  # without replacement
        lambda k: mx.vmap(
            lambda s: mx.random.choice(
                3, (2,), replace=False, p=mx.array([0.5, 0.25, 0.25]), key=s
            )[1]
        )(mx.random.split(k, 4000)),
        [1 / 3, 1 / 3, 1 / 3],
    ),
    "folded keys": (
        lambda k: mx.stack(
            [mx.random.randint(0, 4, (), key=mx.random.fold_in(k, n)) for n in range(900)]
        ),
        [0.25] * 4,
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


WIDTHS = {
    "int8": 8, "int16": 16, "int32": 32, "int64": 64,
    "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64,
}  # fmt: skip


def integer_ranges():
    for name, bits in WIDTHS.items():
        low, high = (0, 2**bits) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1))
        high = min(high, 2**64 - 1)  # no dtype holds 2**64
        yield name, low, high
        yield name, high - 100, high
        yield name, high - high // 3, high
        yield name, low, low + 3 * 2 ** (bits - 2)
        if bits >= 32:
            yield name, low, low + 2**24 + 1
            yield name, low + 12345, low + 12345 + 2**25
            yield name, 2**24, 2**24 + 7
            yield name, 2**30 - 3, 2**30 + 4


@pytest.mark.parametrize(("dtype", "low", "high"), list(integer_ranges()))
@pytest.mark.parametrize("bounds", ["numbers", "arrays"])
def test_randint_spreads_evenly_over_any_range(dtype, low, high, bounds):
    def bound(v):
        if bounds == "numbers":
            return v
        wide = mx.uint64 if v >= 2**63 else mx.int64
        return mx.array([v, v], wide)[:1]

    t = getattr(mx, dtype)
    draws = mx.random.randint(bound(low), bound(high), (20_000,), t, key=mx.random.key(11))
    assert draws.dtype == t
    values = [int(v) for v in np.array(draws)]
    assert min(values) >= low
    assert max(values) < high
    n = high - low if high - low < 200 else 16
    counts = np.bincount([(v - low) * n // (high - low) for v in values], minlength=n)
    assert stats.chisquare(counts).pvalue > 1e-4
    if high - low > 2**10:  # the low bits are random too
        low_bits = np.bincount([v % 16 for v in values], minlength=16)
        assert stats.chisquare(low_bits).pvalue > 1e-4
    if high - low <= 128:
        assert len(set(values)) == high - low


def test_randint_of_a_range_of_which_the_default_dtype_holds_a_part():
    with pytest.raises(ValueError, match="int32"):
        mx.random.randint(0, 2**32)
    for low, high, dtype in [(0, 257, mx.uint8), (-1, 5, mx.uint32), (0, 2**31 + 1, mx.int32)]:
        with pytest.raises(ValueError, match="randint"):
            mx.random.randint(low, high, (3,), dtype)


def test_randint_of_an_empty_range_is_the_lower_bound():
    for low, high, dtype in [
        (10, -10, mx.int32),
        (5, 5, mx.int8),
        (5, 0, mx.uint8),
        (2**40, 2**40, mx.int64),
        (2**40, 0, mx.int64),
        (2**63 - 1, -(2**63), mx.int64),
        (2**64 - 1, 0, mx.uint64),
        (True, False, mx.bool_),
        (1.5, 0.5, mx.int64),
    ]:
        want = [int(low)] * 3
        assert mx.random.randint(low, high, (3,), dtype).tolist() == want
        if low is not True and low != 1.5:  # no array of the dtype
            bounds = [mx.array([v] * 3, dtype) for v in (low, high)]
            assert mx.random.randint(*bounds, (3,), dtype).tolist() == want


def test_randint_refuses_bounds_that_no_dtype_holds():
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="bound"):
            mx.random.randint(0, bad, (3,))


def test_randint_of_mixed_bounds():
    low = mx.array([0, 0, 7, 5], mx.int64)
    high = mx.array([10, 2**40, 7, 3], mx.int64)
    key = mx.random.key(4)
    got = mx.random.randint(low, high, (1000, 4), mx.int64, key=key)
    values = np.array(got)
    assert set(values[:, 0]) == set(range(10))
    assert (values[:, 1] >= 0).all()
    assert values[:, 1].max() > 2**39
    assert set(values[:, 2]) == {7}
    assert set(values[:, 3]) == {5}
    # The narrow range draws what it draws alone.
    alone = mx.random.randint(0, 10, (1000, 4), mx.int64, key=key)
    assert mx.array_equal(alone[:, 0], got[:, 0]).item()
    compiled = mx.compile(lambda a, b: mx.random.randint(a, b, (1000, 4), mx.int64, key=key))
    assert mx.array_equal(compiled(low, high), got).item()
    mapped = mx.vmap(lambda k: mx.random.randint(0, 2**40, (5,), mx.int64, key=k))
    keys = mx.random.split(key, 3)
    each = mx.stack([mx.random.randint(0, 2**40, (5,), mx.int64, key=k) for k in keys])
    assert mx.array_equal(mapped(keys), each).item()


def test_choice():
    """Items along an axis, all different without replacement; shapes and errors."""
    key = mx.random.key(3)
    x = mx.arange(12).reshape(3, 4)
    drawn = mx.random.choice(x, (2, 5), axis=1, key=key)
    assert drawn.shape == (3, 2, 5) and ((drawn[1] - drawn[0]) == 4).all()
    all_of_them = mx.random.choice(9, (3, 3), replace=False, key=key)
    assert sorted(all_of_them.flatten().tolist()) == list(range(9))
    likely = mx.random.choice(9, (4,), replace=False, p=mx.array([0.0] * 5 + [1.0] * 4), key=key)
    assert sorted(likely.tolist()) == [5, 6, 7, 8]
    assert mx.random.choice(5, key=key).shape == () and mx.random.choice(0, (0,)).shape == (0,)
    for call, text in (
        (lambda: mx.random.choice(3, (4,), replace=False), "4 of 3 items"),
        (lambda: mx.random.choice(0, (4,)), "no items"),
        (lambda: mx.random.choice(3, (4,), p=mx.array([1.0])), r"shape \(1,\)"),
    ):
        with pytest.raises(ValueError, match=rf"\[choice\] .*{text}"):
            call()


def test_folded_keys():
    """Neither equal nor shared by neighbouring keys; the upper half of the number counts."""
    keys = [
        tuple(mx.random.fold_in(mx.random.key(k), n).tolist())
        for k in range(8)
        for n in (*range(8), 2**32, 2**33)
    ]
    assert len(set(keys)) == len(keys)


def test_parameters_of_distributions():
    """Parameters broadcast, have derivatives, and are checked."""
    key = mx.random.key(1)
    scale = mx.array([1.0, 10.0])
    for draw in (mx.random.exponential, mx.random.rayleigh, mx.random.cauchy, mx.random.logistic):
        one = draw((3, 2), key=key)
        np.testing.assert_allclose(draw((3, 2), scale=scale, key=key), one * scale, rtol=1e-5)
        slope = mx.grad(lambda s, draw=draw: draw((3, 2), scale=s, key=key).sum())(mx.array(2.0))
        np.testing.assert_allclose(slope, one.sum(), rtol=1e-4)
        assert draw((2,), mx.float16, key=key).dtype == mx.float16
        assert draw((2,), mx.float64, key=key).dtype == mx.float64
        with pytest.raises(ValueError, match="broadcast"):
            draw((3, 3), scale=scale)
        with pytest.raises(ValueError, match="real floating dtypes are accepted"):
            draw((3,), mx.int32)
    assert mx.random.weibull(scale, key=key).shape == (2,)
    assert mx.random.triangular(0, scale, 20, key=key).shape == (2,)
    assert mx.random.geometric(mx.array([[0.5], [1.0]]), key=key)[1].item() == 1
    with pytest.raises(ValueError, match="negative numbers are accepted"):
        mx.random.rademacher((2,), mx.uint8)


BY_REJECTION = {
    "gamma": lambda k: mx.random.gamma(mx.array([0.5, 3.0, 40.0]), (5, 3), key=k),
    "poisson": lambda k: mx.random.poisson(mx.array([0.5, 3.0, 40.0]), (5, 3), key=k),
    "binomial": lambda k: mx.random.binomial(50, mx.array([0.1, 0.5, 0.9]), (5, 3), key=k),
    "vonmises": lambda k: mx.random.vonmises(0.5, mx.array([0.0, 1.0, 9.0]), (5, 3), key=k),
    "multinomial": lambda k: mx.random.multinomial(9, mx.array([0.5, 0.2, 0.3]), (5,), key=k),
    "dirichlet": lambda k: mx.random.dirichlet(mx.ones((3,)), (5,), key=k),
}


@pytest.mark.parametrize("name", BY_REJECTION)
def test_draws_by_rejection_depend_on_the_key_alone(name):
    """Compiled, batched and nested draws are those of each key; parts are those of the whole."""
    draw = BY_REJECTION[name]
    keys = mx.random.split(mx.random.key(9), 4)
    each = mx.stack([draw(k) for k in keys])
    assert mx.array_equal(mx.compile(draw)(keys[0]), each[0]).item()
    assert mx.array_equal(mx.vmap(draw)(keys), each).item()
    nested = mx.vmap(mx.vmap(draw))(keys.reshape(2, 2, 2))
    assert mx.array_equal(nested.reshape(each.shape), each).item()


def test_batched_parameters_of_draws_by_rejection():
    rates = mx.array([[0.5, 3.0], [8.0, 90.0]])
    key = mx.random.key(2)
    each = mx.stack([mx.random.poisson(r, key=key) for r in rates])
    assert mx.array_equal(mx.vmap(lambda r: mx.random.poisson(r, key=key))(rates), each).item()


def test_gamma_variates_have_a_derivative_in_their_shape():
    """Derivatives of a quantile at a fixed probability, by differences of SciPy's quantiles."""
    for a in (0.05, 0.7, 3.0, 200.0):
        key = mx.random.key(4)

        def draw(v, key=key):
            return mx.random.gamma(v, (6,), mx.float64, key=key)

        x = np.array(draw(mx.array(a, mx.float64)))
        slopes = np.array(mx.jacfwd(draw)(mx.array(a, mx.float64)))
        p, h = stats.gamma(a).cdf(x), a * 1e-5
        want = (stats.gamma(a + h).ppf(p) - stats.gamma(a - h).ppf(p)) / (2 * h)
        np.testing.assert_allclose(slopes, want, rtol=1e-5)
    loss = mx.grad(lambda v: mx.random.beta(v, 2.0, (40_000,), key=mx.random.key(3)).mean())
    np.testing.assert_allclose(loss(mx.array(3.0)), 2 / 25, rtol=0.05)  # of the mean 3 / 5
    with pytest.raises(ValueError, match="first derivatives are accepted"):
        mx.grad(mx.grad(lambda v: mx.random.gamma(v, key=mx.random.key(0))))(mx.array(2.0))


def test_parameters_out_of_range_and_their_limits():
    key = mx.random.key(0)
    bad = mx.array([-1.0, float("nan")])
    assert mx.random.poisson(bad, key=key).tolist() == [-1, -1]
    assert mx.random.binomial(5, bad, key=key).tolist() == [-1, -1]
    assert mx.isnan(mx.random.gamma(bad, key=key)).all().item()
    assert mx.random.gamma(0.0, (2,), key=key).tolist() == [0, 0]
    assert mx.random.poisson(0, (2,), key=key).tolist() == [0, 0]
    assert mx.random.binomial(7, mx.array([0.0, 1.0]), key=key).tolist() == [0, 7]
    counts = mx.random.multinomial(30, mx.array([0.5, 0.0, 0.5]), (50,), key=key)
    assert (counts.sum(-1) == 30).all().item() and (counts[:, 1] == 0).all().item()
    assert mx.random.gamma(2.0, (0, 3), key=key).shape == (0, 3)
    large = mx.random.poisson(3e9, (100,), mx.int64, key=key)
    assert abs(large.mean().item() / 3e9 - 1) < 1e-4
    q = mx.random.orthogonal(4, (3,), mx.complex64, key=key)
    products = np.array(q @ mx.conj(q).swapaxes(-1, -2))
    np.testing.assert_allclose(products, np.broadcast_to(np.eye(4), (3, 4, 4)), atol=1e-5)
    for call, text in (
        (lambda: mx.random.gamma(mx.ones((3,)), (2,)), "broadcast"),
        (lambda: mx.random.gamma(1.0, (2,), mx.int32), "real floating dtypes are accepted"),
        (lambda: mx.random.poisson(1.0, (2,), mx.complex64), "integer and real floating"),
        (lambda: mx.random.dirichlet(mx.array(1.0)), "at least one number along the last axis"),
        (lambda: mx.random.ball(0), "positive numbers are accepted"),
        (lambda: mx.random.bits((2,), mx.uint64), "uint8, uint16 and uint32"),
    ):
        with pytest.raises(ValueError, match=text):
            call()
