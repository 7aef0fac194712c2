"""Ranks that are processes, of which one does something wrong at a random message.

    python random_faults.py FIRST COUNT     the cases of so many numbers; status 1 where one is bad
    python random_faults.py FIRST COUNT mpi     the ranks are started by `mlx.launch --backend mpi`

Each case must end with an error on every rank that is left, with no wrong value before it and
nothing left behind. The ranks are forked from this process, which has the package loaded already.
With MPI, which ends all ranks of a program that has failed, the launcher's status must not be 0.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
from ranks import ended_in_time

import mlx.core as mx
from mlx.launch.hosts import free_ports

TIMEOUT = 1.0  # seconds without progress after which a message fails
PATIENCE = 20.0  # seconds after which a case counts as one that does not end
GONE = ("kill", "stop", "raise", "exit", "leave", "reset", "noise", "interrupt")
ON_CONNECTIONS = ("reset", "noise")
DISAGREE = ("skip", "more", "dtype", "count", "kind", "order", "not evaluated", "late")
SHAPES = [(), (3,), (7, 5), (1000,), (1 << 17,)]


def message(rng, rank, size, fault=None):
    """One collective: its result, and the one that is right."""
    kind = ("sum", "max", "gather")[rng.integers(3)]
    shape = SHAPES[rng.integers(len(SHAPES))]
    dtype = (mx.float32, mx.int32, mx.bfloat16)[rng.integers(3)]
    base = int(rng.integers(0, 10))
    values = [base + r for r in range(size)]
    if fault == "dtype":
        dtype = mx.int64
    elif fault == "count":
        shape = (*shape, 2)
    elif fault == "kind":
        kind = "min"
    x = mx.full(shape, values[rank], dtype=dtype)
    if kind == "gather":
        rows = [np.full(shape or (1,), v) for v in values]
        return mx.distributed.all_gather(x), np.concatenate(rows)
    call = getattr(mx.distributed, f"all_{kind}")
    return call(x), np.full(shape, {"sum": sum, "max": max, "min": min}[kind](values))


def check(result, right):
    """End with a wrong value."""
    got = np.array(result.astype(mx.float32))
    if got.shape != right.shape or not np.array_equal(got, right):
        raise AssertionError(f"a wrong value: {got.ravel()[:3]} and not {right.ravel()[:3]}")


def sockets():
    """The connections of this process."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                found.append(int(name))
        except OSError:
            continue
    return found


def do_wrong(fault, rng, rank, size):
    """The fault of this rank, instead of a message."""
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif fault == "raise":
        raise LookupError("lost it")
    elif fault == "exit":
        sys.exit(3)
    elif fault == "leave":
        os._exit(3)
    elif fault in ON_CONNECTIONS:
        open_ones = sockets()
        chosen = open_ones[int(rng.integers(len(open_ones)))]
        with socket.socket(fileno=os.dup(chosen)) as s:
            if fault == "noise":  # more than a header, or less
                s.send(rng.bytes(int(rng.integers(16, 300))))
            s.shutdown(socket.SHUT_RDWR)
    elif fault == "interrupt":
        timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.daemon = True
        timer.start()
        time.sleep(1)  # the others wait
    elif fault == "late":
        time.sleep(1.5 * TIMEOUT)
    elif fault == "more":  # another size: the same request twice is no mistake that shows
        mx.eval(message(rng, rank, size, "count")[0])
    elif fault == "not evaluated":
        message(rng, rank, size)


def run_rank(case, rank):
    """The program of one rank. Ends with an error, or says that there was none."""
    shared, own = np.random.default_rng(case["seed"]), np.random.default_rng(case["seed"] + rank)
    odd, fault = rank == case["rank"], case["fault"]
    # A shell lets what it runs in the background ignore this signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    mx.distributed.init(strict=True)
    for k in range(case["messages"]):
        if odd and k == case["at"]:
            if fault == "skip":
                message(shared, rank, case["size"], "kind")
                continue  # built as another one, and never asked for
            if fault in ("dtype", "count", "kind"):
                mx.eval(message(shared, rank, case["size"], fault)[0])
                continue
            if fault == "order":
                first, second = (message(shared, rank, case["size"]) for _ in range(2))
                # One more, of a kind that no other message has: it cannot equal the next one.
                mx.eval(mx.distributed.all_min(second[0]), first[0])
                continue
            do_wrong(fault, own, rank, case["size"])
        check(*message(shared, rank, case["size"]))
    mx.distributed.barrier()
    print(json.dumps("no error"))


def make_case(seed, engine):
    """The case of a number."""
    rng = np.random.default_rng(seed)
    # Connections of MPI belong to its library.
    faults = tuple(f for f in GONE if engine == "ring" or f not in ON_CONNECTIONS) + DISAGREE
    size, messages = int(rng.integers(2, 5)), int(rng.integers(10, 60))
    return {
        "seed": seed,
        "size": size,
        "messages": messages,
        "fault": faults[rng.integers(len(faults))],
        "rank": int(rng.integers(size)),
        "at": int(rng.integers(messages)),
    }


def write_into(folder, rank):
    """Give this process a file for what it writes."""
    out = os.open(os.path.join(folder, str(rank)), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.dup2(out, 1)
    os.dup2(out, 2)


def start_ranks(case, folder):
    """Fork the ranks: their ids; None in a rank."""
    hosts = os.path.join(folder, "hosts.json")
    with open(hosts, "w") as f:
        json.dump([[f"127.0.0.1:{port}"] for port in free_ports(case["size"])], f)
    ids = []
    for rank in range(case["size"]):
        sys.stdout.flush()
        child = os.fork()
        if child:
            ids.append(child)
            continue
        write_into(folder, rank)
        os.environ.update(
            MLX_RANK=str(rank), MLX_HOSTFILE=hosts, MLX_DISTRIBUTED_TIMEOUT=str(TIMEOUT)
        )
        return None, rank
    return ids, None


def wait_for(ids, stopped):
    """The statuses of the ranks; one that was stopped is ended, once it is the last."""
    left, status, end = dict(enumerate(ids)), {}, time.monotonic() + PATIENCE
    while left and time.monotonic() < end:
        time.sleep(0.002)
        for rank, child in list(left.items()):
            done, code = os.waitpid(child, os.WNOHANG)
            if done:
                status[rank] = os.waitstatus_to_exitcode(code)
                del left[rank]
        if list(left) == [stopped]:
            os.kill(left[stopped], signal.SIGKILL)
    for child in left.values():
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return status, sorted(left)


def text_of(folder, rank):
    """The output of a rank."""
    with open(os.path.join(folder, str(rank)), errors="replace") as f:
        return f.read()


def judge(case, folder, status, hung):
    """The text of what is wrong with a case; empty: nothing."""
    if hung:
        return f"ranks {hung} did not end"
    for rank in range(case["size"]):
        text = text_of(folder, rank)
        if "a wrong value" in text or "no error" in text:
            return f"rank {rank}: {text[-300:]}"
        if status[rank] == 0:
            return f"rank {rank} ended with status 0: {text[-300:]}"
        goes = rank == case["rank"] and case["fault"] in GONE
        if not goes and "CommunicationError" not in text:
            return f"rank {rank} has status {status[rank]} and no error: {text[-300:]}"
    return ""


def run_forked(case, folder):
    """Run a case on TCP: the text of its problem; None in a rank, after its program."""
    ids, rank = start_ranks(case, folder)
    if ids is None:
        return run_rank(case, rank)
    status, hung = wait_for(ids, case["rank"] if case["fault"] == "stop" else None)
    return judge(case, folder, status, hung)


def run_launched_rank(case, folder):
    """The program of a rank that a launcher of MPI has started."""
    rank = mx.distributed.init(strict=True, backend="mpi").rank()
    write_into(folder, rank)
    with open(os.path.join(folder, f"id {rank}"), "w") as f:
        f.write(str(os.getpid()))
    run_rank(case, rank)


def run_launched(case, folder):
    """Run a case on MPI: the text of its problem, or an empty one."""
    program = [__file__, "rank", json.dumps(case), folder]
    options = ["-n", str(case["size"]), "--backend", "mpi", "--timeout", str(TIMEOUT)]
    process = subprocess.Popen(
        [sys.executable, "-m", "mlx.launch", *options, *program],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True, text=True,
    )  # fmt: skip
    try:
        said = process.communicate(timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return "the launcher did not end"
    ids = [int(text_of(folder, f"id {rank}")) for rank in range(case["size"])]
    if not ended_in_time(ids, 5):
        return f"processes are left of {ids}: {said[-300:]}"
    if process.returncode == 0:
        return f"the launcher ended with status 0: {said[-300:]}"
    texts = [text_of(folder, rank) for rank in range(case["size"])]
    bad = [t for t in texts if "a wrong value" in t or "no error" in t]
    return bad[0][-300:] if bad else ""


def main(first, count, engine="ring"):
    """Run cases in turn; the bad ones are printed."""
    faults, bad = {}, 0
    for seed in range(first, first + count):
        case = make_case(seed, engine)
        folder = tempfile.mkdtemp()  # a rank must not remove it
        problem = run_launched(case, folder) if engine == "mpi" else run_forked(case, folder)
        if problem is None:
            return None
        shutil.rmtree(folder)
        faults[case["fault"]] = faults.get(case["fault"], 0) + 1
        if problem:
            bad += 1
            print(case, problem, flush=True)
    print(f"{count} cases, {bad} bad: {faults}")
    return sys.exit(bad > 0)


if __name__ == "__main__":
    if sys.argv[1] == "rank":
        run_launched_rank(json.loads(sys.argv[2]), sys.argv[3])
    else:
        main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
