"""Times of collectives and of a data-parallel step, beside PyTorch's gloo and DDP.

    python tests/peers/collectives_vs_torch.py --torch /path/of/python [--ranks 2] [--rounds 5]
        [--wheel /path/of/python]

Both run as processes of this machine that communicate by TCP, one thread each, in turns: a round of
one, then a round of the other. Written are medians over rounds of the medians within one, in
milliseconds, and their ratio. The last row is the processor time of a process that waits two
seconds for another one. The Python of `--torch` has PyTorch; this one has mlx. That of `--wheel`
has the published package, whose sums by its ring then have a table of their own.

The last table is the cost of checks: the time of an exchange of two processes in C with the headers
that the ring compares, without them, and the difference as a part of this package's sum.
"""

import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

SIZES = {"4 B": 1, "4 KB": 1 << 10, "1 MB": 1 << 18, "64 MB": 1 << 24}
BATCHES = (64, 1024)
SECONDS = 0.5
WAITING = 2.0  # seconds in which rank 0 waits for the others
HEADERS = pathlib.Path(__file__).with_name("headers.c")


def median_time(f, stop):
    """The median time of f; all ranks stop after the same number of calls."""
    for _ in range(3):
        f()
    times, end = [], time.perf_counter() + SECONDS
    while True:
        for _ in range(5):
            start = time.perf_counter()
            f()
            times.append(time.perf_counter() - start)
        if stop(time.perf_counter() > end):
            return 1e3 * statistics.median(times)


def time_of_waiting(rank, meet):
    """Milliseconds of processor time that rank 0 takes while it waits for the others."""
    meet()
    if rank:
        time.sleep(WAITING)
    start = time.process_time()
    meet()
    return 1e3 * (time.process_time() - start)


def stop_mlx(flag):
    """Whether a rank of this package gives True."""
    import mlx.core as mx

    return mx.distributed.all_max(mx.array(flag)).item()


def time_mlx_sums():
    """The times of sums, of one rank of this package."""
    import mlx.core as mx

    result = {}
    for name, count in SIZES.items():
        x = mx.ones((count,))
        mx.eval(x)
        result[name] = median_time(lambda x=x: mx.eval(mx.distributed.all_sum(x)), stop_mlx)
    return result


def run_mlx():
    """The times of one rank of this package."""
    import mlx.core as mx
    import mlx.nn as nn
    import mlx.optimizers as optim

    group = mx.distributed.init(strict=True)
    result = time_mlx_sums()
    mx.random.seed(0)
    for batch in BATCHES:
        net = nn.Sequential(
            *(part for _ in range(4) for part in (nn.Linear(1024, 1024), nn.ReLU()))
        )
        optimizer = optim.SGD(1e-3)
        step = nn.value_and_grad(net, lambda x, y, net=net: nn.losses.mse_loss(net(x), y))
        x, y = mx.random.normal((batch, 1024)), mx.random.normal((batch, 1024))
        mx.eval(x, y, net.parameters())

        def train(net=net, optimizer=optimizer, step=step, x=x, y=y, average=True):
            loss, gradients = step(x, y)
            if average:
                gradients = nn.average_gradients(gradients)
            optimizer.update(net, gradients)
            mx.eval(loss, net.parameters(), optimizer.state)

        result[f"step, batch {batch}"] = median_time(train, stop_mlx)
        result[f"alone, batch {batch}"] = median_time(lambda t=train: t(average=False), stop_mlx)
    result["waiting"] = time_of_waiting(group.rank(), mx.distributed.barrier)
    if group.rank() == 0:
        print(json.dumps(result))


def run_sums():
    """The times of sums alone, of one rank of the published package."""
    import mlx.core as mx

    group = mx.distributed.init(strict=True, backend="ring")
    result = time_mlx_sums()
    if group.rank() == 0:
        print(json.dumps(result))


def run_torch():
    """The times of one rank of PyTorch."""
    import torch
    import torch.distributed as dist
    from torch import nn

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    result = {}

    def stop(flag):
        t = torch.tensor([int(flag)])
        dist.all_reduce(t, op=dist.ReduceOp.MAX)
        return bool(t.item())

    for name, count in SIZES.items():
        x = torch.ones(count)
        result[name] = median_time(lambda x=x: dist.all_reduce(x), stop)
    torch.manual_seed(0)
    for batch in BATCHES:
        net = nn.Sequential(
            *(part for _ in range(4) for part in (nn.Linear(1024, 1024), nn.ReLU()))
        )
        x, y = torch.randn(batch, 1024), torch.randn(batch, 1024)
        for name, model in (("step", nn.parallel.DistributedDataParallel(net)), ("alone", net)):
            optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

            def train(model=model, optimizer=optimizer, x=x, y=y):
                optimizer.zero_grad()
                nn.functional.mse_loss(model(x), y).backward()
                optimizer.step()

            result[f"{name}, batch {batch}"] = median_time(train, stop)
    result["waiting"] = time_of_waiting(dist.get_rank(), dist.barrier)
    if dist.get_rank() == 0:
        print(json.dumps(result))
    dist.destroy_process_group()


def start_torch(python, ranks):
    """One round of PyTorch."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = str(s.getsockname()[1])
    processes = [
        subprocess.Popen(
            [python, __file__, "--as", "torch"],
            env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(ranks), "PYTHONPATH": "",
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port},
            stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
            text=True,
        )
        for rank in range(ranks)
    ]  # fmt: skip
    out = processes[0].communicate(timeout=600)[0]
    return json.loads(out.splitlines()[-1])


def launched(command, **variables):
    """The JSON that rank 0 of a launcher's command writes."""
    environment = {**os.environ, "MLX_NUM_THREADS": "1", **variables}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=600, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def start_mlx(ranks):
    """One round of this package."""
    launcher = [sys.executable, "-m", "mlx.launch"]
    return launched([*launcher, "-n", str(ranks), __file__, "--as", "mlx"])


def start_wheel(python, ranks):
    """One round of the published package."""
    launcher = [python.parent / "mlx.launch", "-n", str(ranks), "--python", python]
    return launched([*launcher, __file__, "--as", "sums"], PYTHONPATH="")


def time_headers(program):
    """Times of exchanges with headers and without."""
    sizes = [str(4 * count) for count in SIZES.values()]
    done = subprocess.run([program, *sizes], capture_output=True, text=True, check=True)
    return dict(zip(SIZES, json.loads(done.stdout), strict=True))


def print_checks(ours, exchanges, title):
    """Writes the cost of checks for each size."""
    print(title)
    for name in SIZES:
        compared, bare = (statistics.median(r[name][k] for r in exchanges) for k in (0, 1))
        cost = statistics.median(r[name][0] - r[name][1] for r in exchanges)
        part = cost / statistics.median(r[name] for r in ours)
        print(f"{name:18} {compared:10.4f} {bare:10.4f}   {1e3 * cost:+.2f} us, {part:+.1%}")


def print_ratios(ours, theirs, title):
    """Writes a line for each row that both have."""
    print(title)
    for name in theirs[0]:
        a, b = (statistics.median(r[name] for r in rounds) for rounds in (ours, theirs))
        pairs = sorted(x[name] / y[name] for x, y in zip(ours, theirs, strict=True))
        spread = f"{pairs[0]:.2f} to {pairs[-1]:.2f}"
        print(f"{name:18} {a:10.4f} {b:10.4f}   ratio {statistics.median(pairs):.2f} ({spread})")


def main():
    """Run the rounds and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", default=sys.executable, type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--wheel", type=pathlib.Path)
    parser.add_argument("--cc", default="cc")
    roles = {"mlx": run_mlx, "torch": run_torch, "sums": run_sums}
    parser.add_argument("--as", dest="role", choices=roles, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        return roles[options.role]()
    ours, theirs, wheels, exchanges = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "headers")
        subprocess.run([options.cc, "-O2", "-o", program, HEADERS], check=True)
        for _ in range(options.rounds):
            ours.append(start_mlx(options.ranks))
            theirs.append(start_torch(str(options.torch), options.ranks))
            exchanges.append(time_headers(program))
            if options.wheel:
                wheels.append(start_wheel(options.wheel, options.ranks))
    numbers = f"{options.ranks} ranks, {options.rounds} rounds; milliseconds"
    print_ratios(ours, theirs, f"{numbers}, here and in PyTorch")
    if wheels:
        print_ratios(ours, wheels, f"{numbers}, here and in the published package")
    print_checks(ours, exchanges, "exchanges in C; milliseconds, with headers and without")
    return None


if __name__ == "__main__":
    main()
