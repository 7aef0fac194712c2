"""A Gaussian process whose settings are sampled: Hamiltonian Monte Carlo, 32 chains under `vmap`.

    ./dev example gaussian_process

The density of one setting takes a Cholesky factor. It is written for one chain; `grad` gives its
derivative and `vmap` runs all chains at once. The picture shows the mean and the spread of the
functions, over all settings that were sampled. Takes less than a minute.
"""

import numpy as np
import show

import mlx.core as mx

CHAINS, POINTS, LEAPS = 32, 30, 8


def truth(x: mx.array) -> mx.array:
    """The function behind the measurements."""
    return mx.sin(2 * x) + 0.4 * x


def kernel(a: mx.array, b: mx.array, setting: mx.array) -> mx.array:
    """Covariance of the function at points a and b; setting: log of length, height, noise."""
    return mx.exp(2 * setting[1] - 0.5 * ((a[:, None] - b) / mx.exp(setting[0])) ** 2)


def factor(x: mx.array, setting: mx.array) -> mx.array:
    """Cholesky factor of the covariance of measurements."""
    noise = mx.exp(2 * setting[2]) + 1e-4
    return mx.linalg.cholesky(kernel(x, x, setting) + noise * mx.eye(x.size))


def log_density(setting: mx.array, x: mx.array, y: mx.array) -> mx.array:
    """The log posterior density of a setting, up to a constant: likelihood and normal prior."""
    low = factor(x, setting)
    white = mx.linalg.solve_triangular(low, y[:, None])
    likelihood = -0.5 * mx.sum(white**2) - mx.sum(mx.log(mx.diag(low)))
    return likelihood - 0.5 * mx.sum((setting - mx.array([0.0, 0.0, -1.5])) ** 2)


def predict(
    setting: mx.array, x: mx.array, y: mx.array, new: mx.array
) -> tuple[mx.array, mx.array]:
    """Mean and variance of the function at new points."""
    low = factor(x, setting)
    across = mx.linalg.solve_triangular(low, kernel(x, new, setting))
    mean = across.T @ mx.linalg.solve_triangular(low, y[:, None])[:, 0]
    return mean, mx.exp(2 * setting[1]) - mx.sum(across**2, axis=0)


def transition(setting: mx.array, key: mx.array, x: mx.array, y: mx.array) -> tuple:
    """One step of a chain: follow the slope with a random momentum, accept or stay."""
    slope = mx.grad(log_density)
    keys = mx.random.split(key, 3)
    momentum = mx.random.normal(setting.shape, key=keys[0])
    size = 0.12 * mx.random.uniform(0.7, 1.3, key=keys[1])
    at, start = setting, momentum
    momentum = momentum + 0.5 * size * slope(at, x, y)
    for leap in range(LEAPS):
        at = at + size * momentum
        momentum = momentum + (0.5 if leap == LEAPS - 1 else 1.0) * size * slope(at, x, y)
    before = log_density(setting, x, y) - 0.5 * mx.sum(start**2)
    after = log_density(at, x, y) - 0.5 * mx.sum(momentum**2)
    accepted = mx.log(mx.random.uniform(key=keys[2])) < after - before
    return mx.where(accepted, at, setting), accepted


def main(given: list[str] | None = None) -> dict[str, float]:
    """Sample, predict, draw; the figures at the end."""
    options = show.options(__doc__, "gaussian_process", 150, given)
    mx.random.seed(options.seed)
    x = mx.sort(mx.random.uniform(-3, 3, (POINTS,)))
    x = mx.where(x > 0.6, x * 0.6 + 1.2, x)  # leaves a gap
    y = truth(x) + 0.25 * mx.random.normal(x.shape)

    chains = 0.3 * mx.random.normal((CHAINS, 3)) + mx.array([0.0, 0.0, -1.5])
    move = mx.compile(mx.vmap(transition, in_axes=(0, 0, None, None)))
    progress, kept, rates = show.Progress(options.steps), [], []
    for step in range(options.steps):
        chains, accepted = move(chains, mx.random.split(mx.random.key(step), CHAINS), x, y)
        mx.eval(chains, accepted)
        rates.append(mx.mean(accepted).item())
        progress(accepted=sum(rates) / len(rates))
        if step >= options.steps // 3:
            kept.append(chains)

    samples = mx.stack(kept)  # (draws, chains, 3)
    within = mx.mean(mx.var(samples, axis=0, ddof=1), axis=0)
    between = mx.var(mx.mean(samples, axis=0), axis=0, ddof=1)
    rhat = mx.max(mx.sqrt(1 + between / within)).item()  # near 1 when the chains agree
    new = mx.linspace(-4, 4, 160)
    some = samples[:: max(len(kept) // 8, 1)].reshape(-1, 3)
    means, variances = mx.vmap(predict, in_axes=(0, None, None, None))(some, x, y, new)
    mean = mx.mean(means, axis=0)
    deviation = mx.sqrt(mx.mean(variances, axis=0) + mx.var(means, axis=0))
    covered = mx.mean(mx.abs(truth(new) - mean) < 2 * deviation).item()
    noise = mx.mean(mx.exp(samples[..., 2])).item()

    figure, axes = show.panels(1, 2, 9, 3.2)
    low, high = np.array(mean - 2 * deviation), np.array(mean + 2 * deviation)
    axes[0].fill_between(np.array(new), low, high, alpha=0.25)
    axes[0].plot(np.array(new), np.array(mean), label="mean, ±2 deviations")
    axes[0].plot(np.array(new), np.array(truth(new)), "k--", linewidth=0.8, label="truth")
    axes[0].plot(np.array(x), np.array(y), "k.", markersize=4)
    axes[0].legend(fontsize=7)
    for k, name in enumerate(("length", "height", "noise")):
        values = np.array(mx.exp(samples[..., k])).ravel()
        axes[1].hist(values, bins=40, density=True, alpha=0.5, label=name)
    axes[1].set(title=f"{samples.shape[0] * CHAINS} settings", xlim=(0, 4))
    axes[1].legend(fontsize=7)
    show.save(figure, options.output / "gaussian_process.png")
    print(
        f"accepted {sum(rates) / len(rates):.0%}, R-hat {rhat:.3f}, noise {noise:.3f} (is 0.25),"
        f" truth within two deviations at {covered:.0%} of the points"
    )
    return {"accepted": sum(rates) / len(rates), "rhat": rhat, "noise": noise, "covered": covered}


if __name__ == "__main__":
    main()
