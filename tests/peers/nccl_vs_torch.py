"""Two ranks with GPUs and NCCL: values, training, ranks that end or are late, times of sums.

    python tests/peers/nccl_vs_torch.py [--torch /path/of/python] [--seconds 150] [--host]

Each part runs in new processes, with a limit of time: processes that have not ended then are
killed, and the next part begins. The last parts have both ranks on one GPU, as hosts to NCCL, so
they also run on a machine with a single one. NVIDIA's libraries come from `--torch`, a Python that
has PyTorch (default: `python3`). `--host` uses a driver and an NCCL of the host instead: a
rehearsal without GPUs. The status is 1 where a part has failed.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve()
HOST = os.environ.get("MLX_NCCL_REHEARSAL") == "1"
SIZES = {"4 KB": 1 << 10, "1 MB": 1 << 18, "64 MB": 1 << 24, "1 GB": 1 << 28}
QUEUED = 20  # sums that are asked for before the first is waited for
if HOST:
    SIZES = {"4 KB": 1 << 10, "1 MB": 1 << 18}
# One GPU for two ranks: no memory that NCCL would share between its GPUs.
ONE_GPU = {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "CUDA_VISIBLE_DEVICES": "0"}
if HOST:
    ONE_GPU["MLX_HOST_DRIVER_DEVICES"] = "1"


# --- what a rank does: each function runs in both ranks


def say(**result):
    """One line for the parent, in one write: lines of ranks would mix otherwise."""
    os.write(1, (json.dumps(result) + "\n").encode())


def start():
    """The package, its group, and the rank."""
    sys.path.insert(0, str(HERE.parents[1] / "python"))
    if os.environ.get("CUDA_VISIBLE_DEVICES") == ONE_GPU["CUDA_VISIBLE_DEVICES"]:
        os.environ["NCCL_HOSTID"] = "host" + os.environ["MLX_RANK"]
    if HOST:
        import second_backend

        second_backend.use("cuda-host")
    import mlx.core as mx

    group = mx.distributed.init(strict=True, backend="nccl")
    return mx, group


def run_values():
    """Every function, dtype and shape, twice: wrong cases, and whether the bits are repeated."""
    _, group = start()
    import distributed_cases

    wrong, first = distributed_cases.run_all()
    again, second = distributed_cases.run_all()
    say(rank=group.rank(), cases=len(list(distributed_cases.cases(group.size()))),
        wrong=(wrong + again)[:5], repeated=first == second)  # fmt: skip


def losses_of(mx, group, average):
    """Losses of a network on the whole batch, or on this rank's part of it."""
    import mlx.nn as nn
    import mlx.optimizers as optim

    mx.random.seed(7)
    sizes = ((64, 256), (256, 256), (256, 8))
    net = nn.Sequential(*(part for s in sizes for part in (nn.Linear(*s), nn.Tanh())))
    x, y = mx.random.normal((128, 64)), mx.random.normal((128, 8))
    mine = slice(group.rank(), None, group.size()) if average else slice(None)
    optimizer = optim.AdamW(1e-3)
    step = nn.value_and_grad(net, lambda x, y: nn.losses.mse_loss(net(x), y))
    losses = []
    for _ in range(20):
        loss, gradients = step(x[mine], y[mine])
        if average:
            gradients = nn.average_gradients(gradients)
            loss = mx.distributed.all_sum(loss) / group.size()
        optimizer.update(net, gradients)
        mx.eval(loss, net.parameters(), optimizer.state)
        losses.append(loss.item())
    return losses


def run_training():
    """The largest difference of a loss between two ranks and one process."""
    mx, group = start()
    alone, two = (losses_of(mx, group, average) for average in (False, True))
    say(rank=group.rank(), device=str(mx.default_device()), first=two[0], last=two[-1],
        difference=max(abs(a - b) for a, b in zip(alone, two, strict=True)))  # fmt: skip


def long_work(mx, seconds):
    """An array that takes the device about so long to compute."""
    n = 64 if HOST else 20480
    a = mx.full((n, n), 1.0 / n, dtype=mx.bfloat16)
    mx.eval(a, a @ a)
    begin = time.perf_counter()
    mx.eval(a @ a @ a)
    each = (time.perf_counter() - begin) / 2
    x = a
    # One launch: the queue of a device holds about a thousand, and the rest would wait on the host.
    for _ in range(1 if HOST else min(500, int(seconds / each))):
        x = x @ a
    return x[0, :8].astype(mx.float32)


def run_late():
    """Rank 0 waits on the device for rank 1, whose array takes longer than the timeout."""
    mx, group = start()
    x = mx.ones(8)
    mx.eval(x, mx.distributed.all_sum(x))
    own = long_work(mx, 11.0) if group.rank() == 1 or HOST else x
    begin, text = time.perf_counter(), "no error"
    try:
        mx.eval(mx.distributed.all_sum(own))
    except mx.CommunicationError as e:
        text = str(e)
    say(
        rank=group.rank(),
        error=text,
        seconds=time.perf_counter() - begin,
        rest=(x + 1).sum().item(),
    )


def run_dies():
    """Rank 1 is killed after both have given a sum to their devices."""
    mx, group = start()
    x = mx.ones(8)
    mx.eval(x, mx.distributed.all_sum(x))
    begin, text = time.perf_counter(), "no error"
    if group.rank() == 1:
        mx.async_eval(mx.distributed.all_sum(long_work(mx, 3.0)))
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        mx.eval(mx.distributed.all_sum(x))
    except mx.CommunicationError as e:
        text = str(e)
    say(rank=0, error=text, seconds=time.perf_counter() - begin, rest=(x + 1).sum().item())


def timed(call, synchronize, stop, seconds=1.0):
    """The median time of a call in milliseconds; all ranks make the same number of calls."""
    for _ in range(5):
        call()
    synchronize()
    times, end = [], time.perf_counter() + seconds
    while True:
        for _ in range(5):
            begin = time.perf_counter()
            call()
            synchronize()
            times.append(time.perf_counter() - begin)
        if stop(time.perf_counter() > end):
            return 1e3 * statistics.median(times)


def run_times():
    """Sums one by one and many at once, and a training step."""
    mx, group = start()
    import mlx.nn as nn
    import mlx.optimizers as optim

    def stop(flag):
        return mx.distributed.all_max(mx.array(flag)).item()

    def nothing():
        return None

    result = {}
    for name, count in SIZES.items():
        x = mx.ones((count,))
        mx.eval(x)
        result[name] = timed(lambda x=x: mx.eval(mx.distributed.all_sum(x)), nothing, stop)
        if count > 1 << 24:
            continue

        def many(x=x):
            mx.eval([mx.distributed.all_sum(x) for _ in range(QUEUED)])

        result[f"{name}, one of {QUEUED}"] = timed(many, nothing, stop) / QUEUED
    for batch in () if HOST else (1024, 8192):
        mx.random.seed(0)
        net = nn.Sequential(*(p for _ in range(4) for p in (nn.Linear(1024, 1024), nn.ReLU())))
        optimizer = optim.SGD(1e-3)
        step = nn.value_and_grad(net, lambda x, y, net=net: nn.losses.mse_loss(net(x), y))
        x, y = mx.random.normal((batch, 1024)), mx.random.normal((batch, 1024))
        mx.eval(x, y, net.parameters())

        def train(net=net, optimizer=optimizer, step=step, x=x, y=y):
            loss, gradients = step(x, y)
            optimizer.update(net, nn.average_gradients(gradients))
            mx.eval(loss, net.parameters(), optimizer.state)

        result[f"step, batch {batch}"] = timed(train, nothing, stop)
    if group.rank() == 0:
        say(rank=0, times=result, device=mx.device_info(mx.gpu).get("device_name", "?"))


def run_torch():
    """The same in PyTorch. Neither rounds factors of matrix products to TF32."""
    import torch
    import torch.distributed as dist
    from torch import nn

    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    torch.backends.cuda.matmul.allow_tf32 = False
    dist.init_process_group("nccl")
    synchronize = torch.cuda.synchronize

    def stop(flag):
        t = torch.tensor([int(flag)], device="cuda")
        dist.all_reduce(t, op=dist.ReduceOp.MAX)
        return bool(t.item())

    result = {}
    for name, count in SIZES.items():
        x = torch.ones(count, device="cuda")
        result[name] = timed(lambda x=x: dist.all_reduce(x), synchronize, stop)
        if count > 1 << 24:
            continue

        def many(x=x):
            for _ in range(QUEUED):
                dist.all_reduce(x)

        result[f"{name}, one of {QUEUED}"] = timed(many, synchronize, stop) / QUEUED
    for batch in (1024, 8192):
        torch.manual_seed(0)
        net = nn.Sequential(*(p for _ in range(4) for p in (nn.Linear(1024, 1024), nn.ReLU())))
        model = nn.parallel.DistributedDataParallel(net.cuda(), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        x, y = (torch.randn(batch, 1024, device="cuda") for _ in range(2))

        def train(model=model, optimizer=optimizer, x=x, y=y):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

        result[f"step, batch {batch}"] = timed(train, synchronize, stop)
    if rank == 0:
        say(rank=0, times=result, nccl=".".join(map(str, torch.cuda.nccl.version())))
    os._exit(0)  # the end of a group can wait for a rank that is over


# --- what starts them


class Parts:
    """The parts, the time that is left for them, and what has failed."""

    def __init__(self, seconds, torch, env):
        self.end = time.monotonic() + seconds
        self.torch, self.env, self.failed = torch, env, []

    def run(self, command, seconds, **env):
        """Run a command; its status (None: killed), the lines of ranks, the errors."""
        left = min(seconds, self.end - time.monotonic())
        if left < 1:
            return None, [], "no time was left"
        process = subprocess.Popen(
            command, env={**self.env, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        status = None
        try:
            out, err = process.communicate(timeout=left)
            status = process.returncode
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            try:  # processes that hold the pipes are ended by the launcher's guard
                out, err = process.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                out, err = "", ""
            err += f"killed after {left:.0f} s"
        lines = [json.loads(x) for x in out.splitlines() if x.startswith("{")]
        return status, sorted(lines, key=lambda x: x["rank"]), err

    def ranks(self, role, seconds, *options, **env):
        """Two ranks of this package."""
        launch = [sys.executable, "-m", "mlx.launch", "-n", "2", "--backend", "nccl", *options]
        return self.run([*launch, str(HERE), "--as", role], seconds, **env)

    def torch_ranks(self, seconds):
        """Two ranks of PyTorch: the first one's result."""
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        text = (
            f"import os, subprocess, sys\nps = [subprocess.Popen([sys.executable, {str(HERE)!r}, "
            "'--as', 'torch'], env={**os.environ, 'RANK': str(r)}) for r in range(2)]\n"
            "sys.exit(max(abs(p.wait()) for p in ps))"
        )
        plain = {k: v for k, v in self.env.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
        whole, self.env = self.env, plain
        try:
            return self.run([self.torch, "-c", text], seconds, WORLD_SIZE="2",
                            MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))  # fmt: skip
        finally:
            self.env = whole

    def report(self, name, good, text, errors=""):
        """One line of the table; the last errors of a part that has failed."""
        print(f"{'ok  ' if good else 'FAIL'} {name:28} {text}", flush=True)
        if not good:
            self.failed.append(name)
            print("     " + "\n     ".join(errors.strip().splitlines()[-12:]), flush=True)

    def check_values(self, name, **env):
        status, lines, err = self.ranks("values", 45, **env)
        wrong = [w for x in lines for w in x["wrong"]]
        good = status == 0 and len(lines) == 2 and not wrong and all(x["repeated"] for x in lines)
        cases = lines[0]["cases"] if lines else 0
        text = f"{cases} cases on each of 2 ranks, twice; wrong: {wrong or 'none'}"
        self.report(name, good, text, err)

    def check_training(self, name, **env):
        status, lines, err = self.ranks("training", 30, **env)
        good = status == 0 and len(lines) == 2 and all(x["difference"] < 1e-5 for x in lines)
        text = "".join(
            f"{x['device']}: loss {x['first']:.5f} to {x['last']:.5f}, from one process's "
            f"{x['difference']:.1e}; " for x in lines
        )  # fmt: skip
        self.report(name, good, text, err)

    def check_error(self, name, role, wanted, count, *options, **env):
        status, lines, err = self.ranks(role, 30, *options, **env)
        good = len(lines) == count and all(wanted in x["error"] and x["rest"] == 16 for x in lines)
        text = "; ".join(
            f"rank {x['rank']} after {x['seconds']:.2f} s: {x['error']}" for x in lines
        )
        self.report(name, good and status is not None, f"status {status}; {text}", err)

    def check_times(self):
        status, ours, err = self.ranks("times", 40)
        good = status == 0 and len(ours) == 1
        self.report("times", good, ours[0]["device"] if good else "", err)
        status, theirs, err = self.torch_ranks(40) if not HOST else (0, [], "")
        if not HOST:
            good_torch = status == 0 and len(theirs) == 1
            text = f"NCCL {theirs[0]['nccl']}" if good_torch else ""
            self.report("times of PyTorch", good_torch, text, err)
        if not good:
            return
        print("\nmilliseconds            this    PyTorch   ratio   GB/s of this (bus)")
        other = theirs[0]["times"] if theirs else {}
        for row, ms in ours[0]["times"].items():
            count = SIZES.get(row.split(",")[0])
            rate = f"{4 * count / ms / 1e6:8.1f}" if count else ""
            peer = (
                f"{other[row]:10.4f} {ms / other[row]:7.2f}"
                if row in other
                else f"{'–':>10} {'–':>7}"
            )
            print(f"{row:18} {ms:10.4f} {peer}   {rate}")
        print(flush=True)


def environment(torch):
    """Variables of all parts: NVIDIA's libraries are those of PyTorch's Python."""
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    # Multicast of NVLink concerns a whole machine, of which these GPUs may be a part.
    env.setdefault("NCCL_NVLS_ENABLE", "0")
    if HOST:
        return {**env, "MLX_HOST_DRIVER_DEVICES": "2"}
    text = (
        "import glob, site\nfolders = [f + '/nvidia/*/lib' for f in site.getsitepackages()]\n"
        "print(':'.join(p for f in folders for p in glob.glob(f)))"
    )
    plain = {k: v for k, v in env.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            [torch, "-c", text], capture_output=True, text=True, timeout=20, env=plain
        )
        known = env.get("MLX_CUDA_LIBRARY_PATH", "")
        env["MLX_CUDA_LIBRARY_PATH"] = ":".join(filter(None, [done.stdout.strip(), known]))
    return env


def main():
    """Run the parts in turn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", default=shutil.which("python3") or sys.executable)
    parser.add_argument("--seconds", type=float, default=145)
    parser.add_argument("--host", action="store_true")
    roles = ("values", "training", "late", "dies", "times", "torch")
    parser.add_argument("--as", dest="role", choices=roles, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        return globals()[f"run_{options.role}"]()
    if options.host and not HOST:
        os.execve(
            sys.executable, [sys.executable, *sys.argv], {**os.environ, "MLX_NCCL_REHEARSAL": "1"}
        )
    begin = time.monotonic()
    parts = Parts(options.seconds, options.torch, environment(options.torch))
    hang = {"MLX_HOST_NCCL_HANG": "2"} if HOST else {}
    parts.check_training("training, 2 GPUs")
    parts.check_values("values, 2 GPUs")
    parts.check_error("a rank is killed", "dies", "rank 1", 1, **hang)
    # Longer than the library takes to connect, which has this timeout, too.
    late = "no progress for 6 s"
    parts.check_error("a rank is late", "late", late, 2, "--timeout", "6", **hang)
    parts.check_times()
    parts.check_training("training, 2 ranks on 1 GPU", **ONE_GPU)
    parts.check_values("values, 2 ranks on 1 GPU", **ONE_GPU)
    print(f"{time.monotonic() - begin:.0f} s; failed: {', '.join(parts.failed) or 'none'}")
    return sys.exit(bool(parts.failed))


if __name__ == "__main__":
    main()
