"""Loaded arrays are read when they are used: memory, files that change, transformations, errors."""

import io
import math
import os
import pathlib
import re
import resource
import subprocess
import sys
import threading
import time
import zipfile

import numpy as np
import pytest
from processes import PYTHON

import mlx.core as mx

FORMATS = ["npy", "npy fortran", "npy swapped", "npz", "npz compressed", "safetensors", "gguf"]
LATER = [f for f in FORMATS if f != "npz compressed"]


def exact(numbers):
    """Of the same dtype; `mx.array` makes float32 of float64."""
    f = io.BytesIO()
    np.save(f, numbers)
    f.seek(0)
    return mx.load(f)


def write(folder, form, numbers):
    """A file with the array "x", and how to load that array."""
    kind = form.split()[0]
    path = folder / f"a.{kind}"
    if form == "npy swapped":
        np.save(path, numbers.astype(numbers.dtype.newbyteorder(">")))
    elif form == "npy fortran":
        np.save(path, numbers.copy(order="F"))
    elif kind == "npy":
        np.save(path, numbers)
    elif kind == "npz":
        (np.savez_compressed if "compressed" in form else np.savez)(path, x=numbers)
    elif kind == "safetensors":
        mx.save_safetensors(path, {"x": exact(numbers)})
    else:
        mx.save_gguf(path, {"x": exact(numbers)})

    def load(file=path, **options):
        loaded = mx.load(file, **options)
        return loaded if kind == "npy" else loaded["x"]

    return path, load


@pytest.fixture
def numbers():
    return np.random.default_rng(0).normal(size=(300, 70)).astype("float32")


@pytest.mark.parametrize("form", FORMATS)
def test_the_file_may_be_renamed_deleted_and_replaced(form, tmp_path, numbers):
    path, load = write(tmp_path, form, numbers)
    renamed, deleted, replaced = load(), load(), load()
    path.rename(tmp_path / "other")
    assert np.array_equal(renamed, numbers)
    os.unlink(tmp_path / "other")
    assert np.array_equal(deleted, numbers)
    write(tmp_path, form, numbers + 1)
    assert np.array_equal(replaced, numbers) and np.array_equal(load(), numbers + 1)


@pytest.mark.parametrize("form", LATER)
def test_a_file_that_was_shortened_or_written_to_is_an_error_at_evaluation(form, tmp_path, numbers):
    for change in (lambda f: f.truncate(100), lambda f: f.write(b"x")):
        path, load = write(tmp_path, form, numbers)
        x = load()
        kept = x + 1
        with open(path, "r+b") as f:
            change(f)
        os.utime(path, ns=(1, 1))  # the clock of files may be coarser than this test is fast
        for a in (x, kept, kept):
            with pytest.raises(mx.FileError, match=rf"{path.name}.* at \d+: "):
                mx.eval(a)
        assert mx.array_equal(mx.ones(3) + 1, mx.full(3, 2))


@pytest.mark.parametrize("form", LATER)
def test_a_file_whose_time_of_writing_was_put_back_is_an_error(form, tmp_path, numbers):
    path, load = write(tmp_path, form, numbers)
    x, touched = load(), load()
    before = path.stat()
    time.sleep(0.02)  # the clock of files may be coarser than this test is fast
    with open(path, "r+b") as f:
        f.seek(before.st_size // 2)
        same = f.read(4)
        f.seek(before.st_size // 2)
        f.write(same)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    with pytest.raises(mx.FileError, match="ctime"):
        mx.eval(x)
    os.utime(path)
    with pytest.raises(mx.FileError, match=r"mtime.*touch.*load it again"):
        mx.eval(touched)
    mx.eval(load())


@pytest.mark.parametrize("form", LATER)
def test_other_permissions_links_and_names_are_no_change(form, tmp_path, numbers, monkeypatch):
    path, load = write(tmp_path, form, numbers)
    linked, moved, permitted = load(), load(), load()
    time.sleep(0.02)
    path.chmod(0o600)
    assert np.array_equal(permitted, numbers)
    os.link(path, tmp_path / "second")
    assert np.array_equal(linked, numbers)
    (tmp_path / "folder").mkdir()
    os.unlink(tmp_path / "second")
    path.chmod(0o644)
    path.rename(tmp_path / "folder" / path.name)
    assert np.array_equal(moved, numbers)
    monkeypatch.chdir(tmp_path / "folder")
    relative = mx.load(path.name)
    relative = relative["x"] if isinstance(relative, dict) else relative
    monkeypatch.chdir(tmp_path)
    mx.eval(relative)


@pytest.mark.parametrize("form", LATER)
def test_a_file_is_closed_when_its_arrays_are_computed_or_gone(form, tmp_path, numbers):
    path, load = write(tmp_path, form, numbers)
    here = {str(path)}

    def open_files():
        links = pathlib.Path("/proc/self/fd").iterdir()
        return sum(os.path.realpath(link) in here for link in links)

    for _ in range(3):  # also with a cached plan
        x = load()
        assert open_files() == 1
        mx.eval(x)
        assert open_files() == 0
        x = load()
        y = x.astype(mx.float16) if form != "npy fortran" else x[1:]
        del x
        assert open_files() == 1
        mx.eval(y)
        assert open_files() == 0
        load()
        assert open_files() == 0


def test_more_files_than_may_be_open_are_loaded(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    paths = [tmp_path / f"{i}.npy" for i in range(200)]
    for i, path in enumerate(paths):
        np.save(path, np.full(3, i))
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (150, hard))
        loaded = [mx.load(path) for path in paths]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert [a[0].item() for a in loaded] == list(range(200))


def test_transformations_take_arrays_that_are_not_read_yet(tmp_path, numbers):
    _, load = write(tmp_path, "safetensors", numbers)
    w = mx.array(numbers)
    x = mx.ones((4, 300))

    def check(use):
        got, want = use(load()), use(w)
        assert mx.allclose(got, want, rtol=1e-5), use

    check(lambda w: mx.compile(lambda x: x @ w)(x))
    check(lambda w: mx.compile(lambda x, w: x @ w)(x, w))
    check(lambda w: mx.compile(lambda x: x @ load() + w.sum())(x))
    check(lambda w: mx.grad(lambda x: ((x @ w) ** 2).sum())(x))
    check(mx.grad(lambda w: ((x @ w) ** 2).sum()))
    check(lambda w: mx.vmap(lambda x: x @ w)(x))
    check(mx.vmap(lambda w: w.sum()))
    check(lambda w: mx.jvp(lambda w: w * w, [w], [w])[1][0])
    check(mx.checkpoint(lambda w: mx.sin(w).sum()))
    check(lambda w: mx.vmap(lambda i: mx.take(w, i, axis=0))(mx.array([3, 1])))
    for reload in (load, lambda: w):
        w_now = reload()
        mx.export_function(str(tmp_path / "f.mlxfn"), lambda x, w=w_now: x @ w, x)
        assert mx.allclose(mx.import_function(str(tmp_path / "f.mlxfn"))(x)[0], x @ w, rtol=1e-5)


def test_arrays_are_read_on_every_stream_and_by_many_threads(tmp_path, numbers):
    _, load = write(tmp_path, "safetensors", numbers)
    with mx.stream(mx.new_stream(mx.cpu)):
        x = load()
        mx.async_eval(x)
    assert np.array_equal(x, numbers)
    assert np.array_equal(load(stream=mx.cpu), numbers)
    wrong = []

    def work():
        for _ in range(10):
            wrong.extend([1] if not np.array_equal(load() + 1, numbers + 1) else [])

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


ON_A_SECOND_DEVICE = """
import sys
sys.path[:0] = sys.argv[3].split(":")
import second_backend
import mlx.core as mx
second_backend.use(sys.argv[2])
load = lambda: mx.load(sys.argv[1])
x = mx.ones((4, 300))
want = x @ mx.array(load().tolist())
for use in (lambda: x @ load(), lambda: mx.compile(lambda x, w: x @ w)(x, load())):
    assert mx.allclose(use(), want, rtol=1e-5)
# What the device computes in a compiled call is read by the host, and the reverse.
host = mx.add(load(), 1, stream=mx.cpu)
both = mx.add(mx.compile(lambda x, w: x @ w)(x, host), mx.array(1.0), stream=mx.cpu)
assert mx.allclose(both, want + 301, rtol=1e-5)
"""


@pytest.mark.cpu_only("makes a GPU of its own")
@pytest.mark.parametrize("mode", ["fake", "fake-unified"])
def test_other_devices_use_files_that_the_host_reads(mode, tmp_path, numbers):
    """Also in compiled calls, which are planned before the reading is launched."""
    path, _ = write(tmp_path, "npy", numbers)
    program = [*PYTHON, "-c", ON_A_SECOND_DEVICE, str(path), mode, ":".join(sys.path)]
    ran = subprocess.run(program, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr


def test_every_dtype_and_layout_in_every_format(tmp_path):
    dtypes = "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64"
    shapes = [(), (0,), (3,), (2, 3, 4), (1, 9001)]
    for dtype in [*dtypes.split(), "complex64", "complex128"]:
        for shape in shapes:
            want = (np.arange(int(np.prod(shape))) % 100).reshape(shape).astype(dtype)
            for form in FORMATS:
                if form == "gguf" and dtype[0] in "buc":
                    continue
                if form == "safetensors" and dtype == "complex128":
                    continue
                _, load = write(tmp_path, form, want)
                got = load()
                assert np.array_equal(got, want), (form, dtype, shape)
                assert np.asarray(got).dtype == want.dtype
                assert np.array_equal(load()[..., None], want[..., None])


def test_bytes_of_bools_become_0_and_1(tmp_path):
    content = np.array([0, 1, 2, 255], "uint8")
    np.save(tmp_path / "a.npy", content.view("bool"))
    np.savez(tmp_path / "a.npz", x=content.view("bool"))
    for x in (mx.load(tmp_path / "a.npy"), mx.load(tmp_path / "a.npz")["x"]):
        assert x.view(mx.uint8).tolist() == [0, 1, 1, 1]


def test_file_objects_are_read_at_once(tmp_path, numbers):
    path, load = write(tmp_path, "safetensors", numbers)
    content = path.read_bytes()
    with open(path, "rb") as f:
        x = load(f)
    path.write_bytes(b"")
    assert np.array_equal(x, numbers) and np.array_equal(load(io.BytesIO(content)), numbers)
    two = io.BytesIO()
    np.save(two, numbers)
    np.save(two, numbers + 1)
    two.seek(0)
    assert np.array_equal(mx.load(two), numbers) and np.array_equal(mx.load(two), numbers + 1)


def test_file_objects_without_positions_are_refused():
    class Unknown(io.BytesIO):
        def tell(self):
            return None

    content = io.BytesIO()
    mx.save(content, mx.arange(3))
    with pytest.raises(TypeError, match="position as NoneType"):
        mx.load(Unknown(content.getvalue()), format="npy")


# A peak that counts from its start: in another process.
MEASURED = """
import sys, pathlib
import mlx.core as mx
def now(name):
    text = pathlib.Path("/proc/self/status").read_text()
    return int(text.split(name + ":")[1].split()[0]) / 1024
data = mx.array(memoryview(bytearray(2**22)).cast("f", (1024, 1024)))
mx.eval((data * 2).astype(mx.float16).astype(mx.float32))  # the compiler of a GPU takes memory too
del data
mx.clear_cache()
folder = pathlib.Path(sys.argv[1])
start = now("VmRSS")
pathlib.Path("/proc/self/clear_refs").write_text("5")
"""


def measured(folder, program):
    env = {**os.environ, "MLX_NUM_THREADS": "2"}
    ran = subprocess.run(
        [*PYTHON, "-c", MEASURED + program, str(folder)],
        capture_output=True,
        text=True,
        env=env,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return [float(word) for word in ran.stdout.split()]


# The address sanitizer keeps freed memory.
KEPT = math.inf if "asan" in os.environ.get("LD_PRELOAD", "") else 0


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """Two files of 32 MB, of eight arrays each."""
    folder = tmp_path_factory.mktemp("shards")
    for i in range(2):
        arrays = {f"w{k}": mx.random.normal((1024, 1024)) for k in range(8)}
        mx.save_safetensors(folder / f"{i}.safetensors", arrays)
        mx.savez(folder / f"{i}.npz", **arrays)
        mx.save_gguf(folder / f"{i}.gguf", arrays)
    return folder


@pytest.mark.parametrize("kind", ["safetensors", "npz", "gguf"])
def test_loading_uses_no_memory_until_arrays_are_used(shards, kind):
    one, rest = measured(
        shards,
        f"""
d = mx.load(folder / "0.{kind}")
print(now("VmRSS") - start)
mx.eval(d["w3"])
print(now("VmRSS") - start)
""",
    )
    assert one < 8 + KEPT and rest < 12 + KEPT  # MB; an array has 4, all have 32


@pytest.mark.parametrize("kind", ["safetensors", "npz", "gguf"])
def test_a_model_is_converted_with_little_more_than_one_shard_in_memory(shards, kind, tmp_path):
    save = {
        "safetensors": "mx.save_safetensors(p, d)",
        "npz": "mx.savez(p, **d)",
        "gguf": "mx.save_gguf(p, d)",
    }[kind]
    (peak,) = measured(
        shards,
        f"""
mx.set_cache_limit(0)
for i in range(2):
    d = mx.load(folder / f"{{i}}.{kind}")
    d = {{k: (v * 2).astype(mx.float16).astype(mx.float32) for k, v in d.items()}}
    p = {str(tmp_path)!r} + f"/{{i}}.{kind}"
    {save}
    del d
print(now("VmHWM") - start)
""",
    )
    assert peak < 1.5 * 32 + KEPT
    for i in range(2):
        a, b = mx.load(shards / f"{i}.{kind}"), mx.load(tmp_path / f"{i}.{kind}")
        assert all(mx.allclose(a[k] * 2, b[k], atol=1e-2) for k in a)


def test_saving_over_the_file_that_arrays_are_read_from(tmp_path, numbers):
    for form in ("safetensors", "npz", "gguf", "npy"):
        path, load = write(tmp_path, form, numbers)
        whole = mx.load(path)
        save = {
            "safetensors": mx.save_safetensors,
            "gguf": mx.save_gguf,
            "npz": lambda p, d: mx.savez(p, **d),
            "npy": mx.save,
        }[form]
        unread = load()
        save(path, whole + 1 if form == "npy" else {k: v + 1 for k, v in whole.items()})
        assert np.array_equal(load(), numbers + 1) and np.array_equal(unread, numbers)


def test_stored_entries_of_archives_are_checked(tmp_path, numbers):
    path = tmp_path / "a.npz"
    np.savez(path, x=numbers, y=numbers[:3])
    with zipfile.ZipFile(path) as z:
        second = z.infolist()[1].header_offset
    content = bytearray(path.read_bytes())
    assert content[second : second + 4] == b"PK\3\4"
    content[second] = 0
    path.write_bytes(content)
    with pytest.raises(
        mx.FileError, match=re.escape(f"a.npz: y.npy: no entry of an archive at byte {second}")
    ):
        mx.load(path)
