"""Which op takes which dtype, has derivatives and is batched: docs/support.md, found by running.

./dev support       writes the page from the case lists of tests/python/cases
"""

import functools
import inspect
import itertools
import json
import pathlib
import subprocess
import sys
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "golden"), str(HERE / "python")]

import cases  # noqa: E402
import cpu_only  # noqa: E402
import distributed_cases  # noqa: E402
import numpy as np  # noqa: E402
import outcome  # noqa: E402
import second_backend  # noqa: E402
from cases.table import device_array  # noqa: E402

import mlx.core as mx  # noqa: E402

PAGE = HERE.parent / "docs" / "support.md"
ROWS_TRIED = 4
DTYPES = {
    "bool": ["bool_"],
    "int": ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"],
    "f16": ["float16"],
    "bf16": ["bfloat16"],
    "f32": ["float32"],
    "f64": ["float64"],
    "c64": ["complex64"],
    "c128": ["complex128"],
}
BACKENDS = {"NVIDIA": "cuda-host", "Metal": "metal"}
HEAD = """# What works for which op

`./dev support` writes this page. It calls rows of the case lists (`tests/python/cases`) and notes
what is accepted; tests of the same rows check the values.

* dtypes: ● accepted; ◐ accepted in some of the integer dtypes; blank: an error that says so.
* vjp, jvp: ● there is a derivative; 0: the derivative is zero almost everywhere; blank: an error.
* vmap: ● the op can be mapped.
* NVIDIA, Metal: ● kernels or libraries of the device compute it; ◐ some calls; blank: the host
  does, on copies. Found with float32 where the op takes that, on a driver of the host with
  stand-ins for NVIDIA's libraries, and on an emulated device for Metal.

## On a GPU

All ops of the table below also work on an NVIDIA GPU, with the plugin that the option `MLX_CUDA`
builds. The GPU computes:

* elementwise ops, casts, copies, ranges, random bits, and fused groups of these;
* `sum`, `prod`, `max`, `min`, `mean`, `any`, `all`, `argmax`, `argmin`, `softmax`, `logsumexp`,
  norms, cumulative ops;
* sorts, partitions, `searchsorted`, `bincount`, `histogram`, `nonzero`, and indexing with masks;
* `take`, `take_along_axis`, `gather`, `scatter` and its modes, `put_along_axis`, slices that start
  at computed places, writes to slices, `concatenate`;
* `matmul` and `addmm` (by cuBLAS where it is installed), `gather_mm`, `segmented_mm`, quantized
  matrices and their products;
* convolutions, `fast.scaled_dot_product_attention`, `fast.rope`, `fast.gated_delta_update`,
  `hadamard_transform`, and Fourier transforms (by cuFFT where it is installed);
* `cholesky`, `inv` and `solve` of matrices up to 64 x 64, of eight or more matrices up to
  128 x 128, and of up to eight larger ones where cuSOLVER is installed; there also `qr`;
* `scan` with an array of 4,096 elements or more in an iteration, all of whose ops have kernels.

**The host computes all other ops, on copies of their operands**: the other functions of `linalg`,
other control flow, `fast.ctc_loss`, `special.gammainc`, `gammaincc` and `betainc`,
`random_gamma_grad`. It also computes

* ops on arrays with more than eight axes, where neighbouring axes cannot be merged into eight;
* reads and writes at more than eight index arrays;
* scatters of several slices that are longer than 1 along an indexed axis;
* `fast.gated_delta_update` of keys with more than 256 elements.

The backend for Metal, which runs on an emulated device alone, has kernels for these ops too, except
`linalg`, all ops of float64 and complex128, and functions that compute in float64 inside, such as
`quantile` ([more](how/metal.md#the-backend)).

## The ops

Some functions have no case of their own: they are parts of the calls of other cases. Their rows
show the marks of these calls.
"""

COLLECTIVES = """## Collectives

Found with two ranks that are threads, from the table of `tests/python/distributed_cases.py`. The
tests run the whole table, each function with each dtype and shape, on every engine:

| engine | ranks | tested with |
|---|---|---|
| threads | 2, 3, 4, 8 | threads of one process |
| `ring` | 2, 4; 8 with `--all` | processes of one machine, by TCP |
| `mpi` | 2, 4 | processes of one machine, where a library of MPI is installed |
| `nccl` | 2, 4 | a library of the host in NCCL's place; two GPUs, by hand |

`nccl` moves 16-bit integers through the host in sums and extremes, complex numbers in extremes, and
all dtypes in `send` and `recv`; all others from GPU to GPU.
"""

TESTS = """## Tests that do not run on a GPU

`./dev test --device gpu` and `--backend cuda-host` leave out these tests, those that are the same
on all devices, and a part of the slow ones, which `--seed` chooses and `--all` runs whole.
"""


def rows_by_function():
    """`{function: its first rows}`: rows that are a call of it, else rows with it inside."""
    outer, inner = {}, {}
    for row in itertools.chain.from_iterable(map(cases.families, cases.names())):
        for name in outcome.functions_of(row.expr):
            table = outer if row.expr.startswith(f"mx.{name}(") else inner
            table.setdefault(name, []).append(row)
    found = sorted((inner | outer).items())
    return {name: sorted(rows, key=is_flat)[:ROWS_TRIED] for name, rows in found}


def is_flat(row):
    return row.kind == "flat"


def works(run):
    """Whether something can be computed; anything but a clear refusal is an error of ours."""
    try:
        mx.eval(run())
    except (ValueError, TypeError, NotImplementedError):
        return False
    return True


def inputs(row, dtype):
    """The arrays of a row in a dtype."""
    return [device_array(np.asarray(x)) for x in row.host_inputs(dtype)]


def takes(row, dtype):
    """Whether a row computes in a dtype."""
    return works(lambda: row.call(*inputs(row, dtype)))


def derivative(row, transform):
    """ "●", "0" or "" for mx.vjp or mx.jvp of a row: a derivative, one that is zero, or none."""
    marks = [derivative_in(row, transform, dtype) for dtype in ("float32", "complex64")]
    return max(marks, key=["", "0", "●"].index)


def derivative_in(row, transform, dtype):
    """The mark of a dtype."""
    if not (positions := row.differentiable()) or not takes(row, dtype):
        return ""
    args = inputs(row, dtype)

    def function(*moving):
        given = list(args)
        for position, value in zip(positions, moving, strict=True):
            given[position] = value
        out = row.call(*given)
        return list(out) if isinstance(out, (list, tuple)) else [out]

    primals = [args[position] for position in positions]
    found = []

    def run():
        like = primals if transform is mx.jvp else function(*primals)
        directions = [direction(x, k) for k, x in enumerate(like)]
        found[:] = transform(function, primals, directions)[1]
        return found

    if not works(run):
        return ""
    return "●" if any(mx.any(x != 0).item() for x in found) else "0"


def direction(x, k):
    """A tangent of the array at position `k`. Of equal numbers softmax and subtract make zero."""
    step = mx.linspace(1, 2 + k, x.size).reshape(x.shape)
    return (step * (1 + 0.5j) if mx.issubdtype(x.dtype, mx.complexfloating) else step).astype(
        x.dtype
    )


def batched(row):
    """Whether mx.vmap runs over two copies of the inputs, in a dtype that the row takes."""
    for dtype in ("float32", "int32", "complex64"):
        if row.ins and takes(row, dtype):
            args = [mx.stack([x, x]) for x in inputs(row, dtype)]
            return works(lambda: mx.vmap(row.call)(*args))  # noqa: B023
    return False


@functools.cache
def has_kernels(row):
    """Whether the GPU computes a row by itself, in the first dtype that the row takes; or None.

    A plan that is made once more says nothing, hence the cache.
    """
    for dtype in ("float32", "int32", "uint8", "bool_", "complex64"):
        second_backend.through_the_host()
        if takes(row, dtype):
            return not second_backend.through_the_host()
    return None


def kernel_marks(backend):
    """`{function: its mark}` on a backend that becomes the GPU of this process."""
    second_backend.use(backend)
    marks = {}
    for name, rows in rows_by_function().items():
        found = [has for row in rows if (has := has_kernels(row)) is not None]
        marks[name] = "●" if found and all(found) else "◐" if any(found) else ""
    return marks


def kernel_marks_of_process(backend):
    """The same, found by another process: a process has one GPU."""
    command = [sys.executable, __file__, "--kernels", backend]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def line(name, rows, on_devices):
    """The line of a function. `on_devices`: its marks."""
    cells = []
    for members in DTYPES.values():
        found = [any(takes(row, dtype) for row in rows) for dtype in members]
        cells.append("●" if all(found) else "◐" if any(found) else "")
    for transform in (mx.vjp, mx.jvp):
        marks = {derivative(row, transform) for row in rows}
        cells.append(next((mark for mark in ("●", "0") if mark in marks), ""))
    cells.append("●" if any(batched(row) for row in rows) else "")
    return f"| {name} | " + " | ".join([*cells, *on_devices]) + " |"


def rank():
    """The rank of this thread."""
    return mx.distributed.init().rank()


def collective_line(name, call):
    """The line of a collective, in the order of `line`."""

    def on_ranks(run):
        return all(mx.distributed.simulate(lambda: works(run), 2))

    cells = []
    for members in DTYPES.values():
        found = [on_ranks(lambda t=t: call(mx.ones((4,), getattr(mx, t)))) for t in members]
        cells.append("●" if all(found) else "◐" if any(found) else "")
    # Of a message the sender would need one.
    f = (lambda x: mx.distributed.send(x, 1 - rank())) if name.startswith("send") else call
    for run in (
        lambda: mx.grad(lambda y: f(y).sum())(mx.arange(1.0, 5.0)),
        lambda: mx.jvp(lambda y: [f(y)], [mx.arange(1.0, 5.0)], [mx.ones(4)])[1],
        lambda: mx.vmap(call)(mx.ones((3, 4))),
    ):
        cells.append("●" if on_ranks(run) else "")
    return f"| {name} | " + " | ".join(cells) + " |"


def collectives():
    """The lines of all collectives."""
    named = {"around": "send and recv_like"}
    return [collective_line(named.get(row[0], row[0]), row[1]) for row in distributed_cases.ROWS]


def without_rows(covered):
    """Public functions that no row is about."""
    names = []
    modules = {"": mx, "fast.": mx.fast, "random.": mx.random}
    modules |= {f"{n}.": getattr(mx, n) for n in ("fft", "linalg", "special") if hasattr(mx, n)}
    for prefix, module in modules.items():
        for name, value in vars(module).items():
            public = callable(value) and not name.startswith("_") and not inspect.isclass(value)
            if public and prefix + name not in covered:
                names.append(prefix + name)
    return sorted(names)


def heading(first, columns):
    """The first two lines of a table."""
    return [f"| {first} | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]


def page():
    """The text of docs/support.md."""
    table = rows_by_function()
    columns = [*DTYPES, "vjp", "jvp", "vmap"]
    devices = [kernel_marks_of_process(backend) for backend in BACKENDS.values()]
    lines = [HEAD, *heading("op", [*columns, *BACKENDS])]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        lines += [line(name, rows, [d[name] for d in devices]) for name, rows in table.items()]
    rest = ", ".join(f"`{name}`" for name in without_rows(table))
    lines += ["", "Functions without rows, which tests of their own cover:", "", *wrapped(rest)]
    lines += ["", *COLLECTIVES.split("\n"), *heading("collective", columns)]
    lines += [*collectives(), "", *TESTS.split("\n"), *cpu_only.table()]
    return "\n".join(lines) + "\n"


def wrapped(text, width=105):
    """Lines of words, of a width at most."""
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".lstrip()
    return lines


if __name__ == "__main__":
    if sys.argv[1:2] == ["--kernels"]:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            print(json.dumps(kernel_marks(sys.argv[2])))
        sys.exit()
    PAGE.write_text(page())
    print(f"{PAGE}: {sum(1 for _ in itertools.filterfalse(str.isspace, PAGE.open()))} lines")
