"""Kernels that programs bring, on the plugin: `pytest --backend cuda-host cuda_kernels.py`.

test_cuda_plugin.py runs it on the driver of the host, which compiles them as C++; dynamic shared
memory and NVIDIA's own headers need a GPU.
"""

import pathlib
import re
import subprocess

import numpy as np
import pytest
import second_backend
from test_devices_agree import DTYPES, bits, values

import mlx.core as mx

ON_HOST = pytest.mark.skipif("not second_backend.in_use()", reason="machine code of the host")

INDEX = "long i = (long)blockIdx.x * blockDim.x + threadIdx.x;\n"
LAST = "if (i < n[0]) "


def run(body, inputs, shapes, dtypes, *, grid=None, group=64, header="", rows=True, **options):
    """A kernel over inputs a, b, ... and outputs y, z, ...; `n` is the number of threads."""
    names = list("abc"[: len(inputs)])
    kernel = mx.fast.cuda_kernel(
        name="of_test", input_names=[*names, "n"], output_names=list("yz"[: len(shapes)]),
        source=INDEX + body, header=header, ensure_row_contiguous=rows,
    )  # fmt: skip
    grid = grid or max(int(np.prod(s)) for s in shapes)
    return kernel(
        inputs=[*inputs, mx.array(grid, dtype=mx.int64)],
        output_shapes=shapes,
        output_dtypes=dtypes,
        grid=(grid, 1, 1),
        threadgroup=(group, 1, 1),
        **options,
    )


@pytest.fixture(autouse=True)
def no_faults():
    """The driver of the host got no foreign address."""
    yield
    mx.synchronize()
    if second_backend.in_use():
        assert second_backend.host_driver().mlx_host_faults() == 0


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype(dtype):
    a, b = (values(dtype, (100,), seed).astype(dtype) for seed in (1, 2))
    moved, chosen = run(LAST + "{ y[i] = a[i]; z[i] = i % 2 ? a[i] : T(b[i]); }", [a, b],
                        [(100,), (100,)], [dtype, dtype], template=[("T", dtype)])  # fmt: skip
    assert bits(moved) == bits(a)
    assert bits(chosen) == bits(mx.where(mx.arange(100) % 2 == 1, a, b))


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16, mx.complex64], ids=str)
def test_arithmetic_of_the_plugins_own_types(dtype):
    a, b = values(dtype, (70,), 1), values(dtype, (70,), 2)
    body = LAST + "{ T t = a[i]; t += b[i]; y[i] = t; z[i] = a[i] * b[i]; }"
    added, product = run(body, [a, b], [(70,), (70,)], [dtype, dtype], template=[("T", dtype)])
    assert bits(added) == bits(mx.add(a, b, stream=mx.cpu))
    assert bits(product) == bits(mx.multiply(a, b, stream=mx.cpu))


def test_templates_headers_and_several_outputs():
    header = "__device__ float scaled(float x, int n) { return x * n; }"
    body = LAST + "{ if constexpr (twice) y[i] = scaled(a[i], k); else y[i] = 0; z[i] = i; }"
    out = run(body, [mx.arange(5.0)], [(5,), (5,)], [mx.float32, mx.int16], header=header,
              template=[("k", 3), ("twice", True)])  # fmt: skip
    assert [x.tolist() for x in out] == [[0, 3, 6, 9, 12], [0, 1, 2, 3, 4]]


def test_inputs_keep_their_layout_where_that_is_asked():
    a = mx.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)[::-1]
    body = """
    if (i >= n[0]) return;
    long rest = i, at = 0;
    for (int d = a_ndim - 1; d >= 0; --d) {
      at += rest % a_shape[d] * a_strides[d];
      rest /= a_shape[d];
    }
    y[i] = a[at];
    """
    for rows in (False, True):
        out = run(body, [a], [a.shape], [a.dtype], rows=rows)[0]
        assert bits(out) == bits(a), rows
    plain = run(LAST + "y[i] = a[i];", [a], [a.shape], [a.dtype])[0]
    assert bits(plain) == bits(a)


def test_scalars_and_empty_arrays():
    out = run(
        LAST + "y[i] = a[0] + b_ndim + b_shape[0];", [2.5, mx.zeros((0, 3))], [(3,)], [mx.float32]
    )
    assert out[0].tolist() == [4.5] * 3
    out = run("", [], [(0, 2)], [mx.float32], grid=1)
    assert out[0].shape == (0, 2) and out[0].tolist() == []


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_initial_values(dtype):
    out = run(
        "if (i == 2) y[i] = T(3);", [], [(2, 3)], [dtype], init_value=7, template=[("T", dtype)]
    )
    want = mx.full((6,), 7, dtype)
    want[2] = 3
    assert bits(out[0]) == bits(want.reshape(2, 3))


def test_threads_meet_at_barriers_and_in_warps():
    body = """
    __shared__ float part[64];
    auto block = cooperative_groups::this_thread_block();
    auto warp = cooperative_groups::tiled_partition<32>(block);
    float x = a[cooperative_groups::this_grid().thread_rank()];
    for (int s = 16; s > 0; s /= 2) x += warp.shfl_down(x, s);
    part[threadIdx.x] = x;
    block.sync();
    if (block.thread_rank() == 0) y[blockIdx.x] = part[0] + part[32];
    """
    a = mx.arange(256.0)
    out = run(body, [a], [(4,)], [mx.float32], grid=256)[0]
    assert out.tolist() == a.reshape(4, 64).sum(1).tolist()


def test_grids_in_three_directions():
    kernel = mx.fast.cuda_kernel("three", [], ["y"], """
    int x = blockIdx.x * blockDim.x + threadIdx.x, yy = blockIdx.y * blockDim.y + threadIdx.y,
        z = blockIdx.z * blockDim.z + threadIdx.z;
    y[(z * 4 + yy) * 6 + x] = x + 10 * yy + 100 * z;
    """)  # fmt: skip
    out = kernel(inputs=[], output_shapes=[(3, 4, 6)], output_dtypes=[mx.int32], grid=(6, 4, 3),
                 threadgroup=(2, 4, 1))[0]  # fmt: skip
    x, y, z = mx.arange(6), 10 * mx.arange(4)[:, None], 100 * mx.arange(3)[:, None, None]
    assert out.tolist() == (x + y + z).tolist()


def twice(x):
    return run(LAST + "y[i] = 2 * a[i];", [x], [x.shape], [x.dtype])[0]


def test_it_is_lazy_and_takes_part_in_graphs():
    bad = run("this is no C++;", [mx.ones((2,))], [(2,)], [mx.float32])[0]  # never computed
    x = mx.arange(6.0) + 1
    y = (twice(x * 3) + x).reshape(2, 3)
    assert y.tolist() == [[7, 14, 21], [28, 35, 42]]
    assert mx.compile(lambda x: twice(x + 1) * 2)(x).tolist() == [8, 12, 16, 20, 24, 28]
    assert [twice(x[: k + 1]).size for k in range(3)] == [1, 2, 3]
    assert mx.add(twice(x), x, stream=mx.cpu).tolist() == (3 * x).tolist()
    del bad


def test_refused_transformations_name_the_remedy():
    x = mx.arange(3.0)
    with pytest.raises(ValueError, match="'of_test' cannot be mapped over; custom_function"):
        mx.vmap(twice)(x[None])
    for f in (mx.grad(lambda x: twice(x).sum()), lambda x: mx.jvp(twice, [x], [x])):
        with pytest.raises(ValueError, match="'of_test' has no derivative; custom_function"):
            f(x)

    @mx.custom_function
    def f(x):
        return twice(x)

    f.vjp(lambda primals, cotangent, output: twice(cotangent))
    assert mx.grad(lambda x: f(x).sum())(x).tolist() == [2, 2, 2]


WARPS = {
    "used": ("", "y[i] = WARP_SIZE / 2;"),
    "used in the header": ("__device__ int half() { return WARP_SIZE / 2; }", "y[i] = half();"),
    "of the program": ("constexpr int WARP_SIZE = 32;", "y[i] = WARP_SIZE / 2;"),
    "a macro": ("#define WARP_SIZE 32", "y[i] = WARP_SIZE / 2;"),
    "a local one": ("", "const int WARP_SIZE = 32; y[i] = WARP_SIZE / 2;"),
}


@pytest.mark.parametrize("name", WARPS)
def test_the_size_of_warps(name):
    header, body = WARPS[name]
    out = run(LAST + "{ " + body + " }", [], [(3,)], [mx.int32], header=header)
    assert out[0].tolist() == [16] * 3


def test_exported_functions_contain_kernels(tmp_path):
    def f(x, k):
        body = LAST + "{ y[i] = 2 * a[i]; if (i != 1) z[i] = a_shape[0] + int(b[0]); }"
        both = run(body, [x + 1, k], [x.shape, (3,)], [x.dtype, mx.int32], init_value=9)
        return [both[0] * 3, both[1]]

    x, k, path = mx.arange(3.0), mx.array([5.0]), str(tmp_path / "f.mlxfn")
    mx.export_function(path, f, x, k)
    want = [y.tolist() for y in f(x, k)]
    assert [y.tolist() for y in mx.import_function(path)(x, k)] == want == [[6, 12, 18], [8, 9, 8]]
    with mx.stream(mx.cpu), pytest.raises(RuntimeError, match="needs a CUDA device"):
        mx.import_function(path)(x, k)


def test_the_fused_kernel_of_attention_on_request():
    q = mx.random.normal((1, 2, 8, 16))
    attention = mx.fast.scaled_dot_product_attention
    for t in (mx.float32, mx.float16, mx.bfloat16):
        p = q.astype(t)
        forced = attention(p, p, p, scale=0.25, mask="causal", force_fused=True)
        assert bits(forced) == bits(attention(p, p, p, scale=0.25, mask="causal"))
    for options in ({"stream": mx.cpu}, {}):
        p = q if options else q.astype(mx.float64)
        with pytest.raises(ValueError, match="force_fused"):
            attention(p, p, p, scale=0.25, force_fused=True, **options)


def test_two_sources_under_one_name():
    x = mx.ones((4,))
    out = [run(LAST + f"y[i] = {k} * a[i];", [x], [(4,)], [mx.float32])[0] for k in (2, 3)]
    assert [y.tolist() for y in out] == [[2] * 4, [3] * 4]


def test_the_source_is_printed_on_request(capfd):
    mx.eval(run(LAST + "y[i] = 41;", [], [(2,)], [mx.int32], verbose=True))
    assert "y[i] = 41;" in capfd.readouterr().out


def test_errors_of_the_compiler_name_the_line_of_the_source():
    with pytest.raises(RuntimeError, match=r"(?s)does not compile.*of_test.3..*undefined_name"):
        mx.eval(run("\nundefined_name = 1;", [], [(2,)], [mx.int32]))
    header = "\n\nint f() { return undefined_too; }"
    with pytest.raises(RuntimeError, match=r"(?s)of_test .header..3..*undefined_too"):
        mx.eval(run("", [], [(2,)], [mx.int32], header=header))
    assert twice(mx.ones((2,))).tolist() == [2, 2]


def test_a_kernel_that_does_not_compile_fails_alone():
    """Its inputs, results beside it and the state of random numbers stay usable."""
    for around in (lambda f: f, mx.compile):
        for _ in range(3):  # a plan is kept when its form is seen for the second time
            x = mx.random.uniform(shape=(4,)) + 1
            bad, good, after = around(lambda x: (lambda b: (b, x * 2, b + 1))(
                run("this is no C++;", [x], [(4,)], [mx.float32])[0]))(x)  # fmt: skip
            drawn = mx.random.uniform(shape=(4,))
            with pytest.raises(RuntimeError, match="does not compile"):
                mx.eval(bad, good, after, drawn, mx.random.state)
            for lost in (bad, after, bad + 1):
                with pytest.raises(RuntimeError, match="does not compile"):
                    mx.eval(lost)
            assert good.tolist() == (x * 2).tolist() and mx.all(x >= 1).item()
            assert 0 <= drawn[0].item() < 1 and mx.random.uniform().item() < 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid": (0, 1, 1)}, r"the grid \(0,1,1\); positive numbers"),
        ({"threadgroup": (1, -1, 1)}, r"the threadgroup \(1,-1,1\); positive"),
        ({"grid": (1, 1)}, "a grid of 2 numbers; three"),
        ({"inputs": []}, "0 inputs and 1 outputs; 1 and 1"),
        ({"output_shapes": []}, "0 shapes and 1 dtypes"),
        ({"output_shapes": [(-1,)]}, "shape"),
        ({"template": [("a b", 1)]}, "the template argument 'a b'"),
        ({"stream": mx.cpu}, "a stream of a GPU"),
        ({"grid": (4096, 1, 1), "threadgroup": (2048, 1, 1)}, "at most 1024 threads"),
        ({"grid": (1, 70000, 1)}, "at most 65535"),
    ],
)
def test_bad_arguments(options, message):
    kernel = mx.fast.cuda_kernel("k", ["a"], ["y"], "y[0] = a[0];")
    given = {"inputs": [mx.ones((1,))], "output_shapes": [(1,)], "output_dtypes": [mx.float32],
             "grid": (1, 1, 1), "threadgroup": (1, 1, 1)} | options  # fmt: skip
    with pytest.raises(ValueError, match=message):
        mx.eval(kernel(**given))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a b", ["x"], ["y"], ""), "the name 'a b'"),
        (("k", ["1x"], ["y"], ""), "the name '1x' of an input"),
        (("k", ["x"], ["x"], ""), "two inputs or outputs 'x'"),
        (("k", ["x"], [], ""), "no outputs"),
        (("k", ["x"], ["y"], "", "", True, -1), "-1 bytes of shared"),
    ],
)
def test_bad_kernels(arguments, message):
    with pytest.raises(ValueError, match=message):
        mx.fast.cuda_kernel(*arguments)


def test_too_much_shared_memory():
    kernel = mx.fast.cuda_kernel("k", [], ["y"], "y[0] = 1;", shared_memory=1 << 20)
    with pytest.raises(ValueError, match="1048576 bytes of shared memory; at most"):
        mx.eval(kernel(inputs=[], output_shapes=[(1,)], output_dtypes=[mx.int32],
                       grid=(1, 1, 1), threadgroup=(1, 1, 1)))  # fmt: skip


@ON_HOST
def test_machine_code(tmp_path):
    """The driver of the host takes a library whose functions get their arguments as one block."""
    source = """
    struct Arguments { const float* a; float* y; bool negative; int n; float scale; };
    extern "C" void scaled(const Arguments* p) {
      for (int i = 0; i < p->n; ++i) p->y[i] = (p->negative ? -1 : 1) * p->scale * p->a[i];
    }"""
    (tmp_path / "k.cpp").write_text(source)
    subprocess.run(
        ["c++", "-shared", "-fPIC", "-o", tmp_path / "k.so", tmp_path / "k.cpp"], check=True
    )
    code = (tmp_path / "k.so").read_bytes()

    def call(name, code):
        return mx.fast.precompiled_cuda_kernel(
            name=name, compiled_source=code, inputs=[mx.arange(4.0)[::-1]], output_shapes=[(5,)],
            output_dtypes=[mx.float32], scalars=[True, 4, 0.5], grid=(1, 1, 1),
            threadgroup=(1, 1, 1), init_value=9, ensure_row_contiguous=True,
        )[0]  # fmt: skip

    assert call("scaled", code).tolist() == [-1.5, -1, -0.5, 0, 9]
    with pytest.raises(RuntimeError, match="cuModuleGetFunction"):
        mx.eval(call("missing", code))
    with pytest.raises(RuntimeError, match="cuModuleLoadData"):
        mx.eval(call("scaled", b"no code"))
    with pytest.raises(ValueError, match="no code; PTX or machine code"):
        call("scaled", b"")


def test_blocks_of_the_guide():
    """The blocks run in order, in one namespace."""
    page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "guides" / "cuda_kernels.md"
    blocks = re.findall(r"^```py\n(.*?)^```$", page.read_text(), re.M | re.S)
    assert len(blocks) == 6
    space = {}
    for block in blocks:
        exec(block, space)
    mx.eval([x for x in space.values() if isinstance(x, mx.array)])
