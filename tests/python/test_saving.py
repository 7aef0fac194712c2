"""Saving: remains of a failed, killed or concurrent save, permissions, links, file objects."""

import gc
import io
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

import numpy as np
import pytest
from processes import PYTHON

import mlx.core as mx

X = np.arange(100000, dtype="float32")


def savers():
    x = mx.array(X)
    return {
        "a.npy": lambda p: mx.save(p, x),
        "a.npz": lambda p: mx.savez(p, x=x),
        "b.npz": lambda p: mx.savez_compressed(p, x=x),
        "a.safetensors": lambda p: mx.save_safetensors(p, {"x": x}),
        "a.gguf": lambda p: mx.save_gguf(p, {"x": x}),
        "a.mlxfn": lambda p: mx.export_function(str(p), lambda y: y + x, x),
        "a.dot": lambda p: mx.export_to_dot(str(p), x + 1),
    }


NAMES = sorted(savers())


def read(path):
    """The array of a file; None for files without."""
    if path.suffix == ".dot":
        return None
    if path.suffix == ".mlxfn":
        return np.array(mx.import_function(str(path))(mx.zeros(X.shape))[0])
    loaded = mx.load(path)
    return np.array(loaded if path.suffix == ".npy" else loaded["x"])


def check(path):
    got = read(path)
    assert got is None or np.array_equal(got, X)


@pytest.mark.parametrize("name", NAMES)
def test_permissions_are_kept_and_new_files_have_the_usual_ones(name, tmp_path):
    save, path = savers()[name], tmp_path / name
    save(path)
    (tmp_path / "usual").write_bytes(b"")
    assert path.stat().st_mode == (tmp_path / "usual").stat().st_mode
    for mode in (0o600, 0o640, 0o666, 0o755):
        path.chmod(mode)
        save(path)
        assert stat.S_IMODE(path.stat().st_mode) == mode
    check(path)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, "usual"])


@pytest.mark.parametrize("name", NAMES)
def test_symbolic_links_are_followed(name, tmp_path):
    save, path = savers()[name], tmp_path / "folder" / name
    path.parent.mkdir()
    links = [tmp_path / ("1" + name), tmp_path / "folder" / ("2" + name), tmp_path / ("3" + name)]
    links[0].symlink_to(path)
    links[1].symlink_to(name)
    links[2].symlink_to(pathlib.Path("folder") / links[1].name)
    for link in links:  # the first save makes the file
        save(link)
        assert link.is_symlink() and not path.is_symlink()
        check(path)
        path.write_bytes(b"")
    round_trip = tmp_path / ("4" + name)
    round_trip.symlink_to(round_trip.name)
    with pytest.raises(mx.FileError):
        save(round_trip)


@pytest.mark.parametrize("name", NAMES)
def test_irregular_files_are_not_replaced(name, tmp_path):
    save, path = savers()[name], tmp_path / name
    os.mkfifo(path)
    with pytest.raises(mx.FileError, match="not a regular file"):
        save(path)
    assert stat.S_ISFIFO(path.stat().st_mode)
    path.unlink()
    path.mkdir()
    with pytest.raises(mx.FileError, match="directory"):
        save(path)
    path.rmdir()
    path.symlink_to("/dev/null")
    with pytest.raises(mx.FileError, match="not a regular file"):
        save(path)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize("name", NAMES)
def test_long_names_and_names_that_are_not_unicode(name, tmp_path):
    save, suffix = savers()[name], "." + name.split(".")[1]
    long = tmp_path / ("n" * (255 - len(suffix)) + suffix)
    bytes_name = tmp_path / ("\udcff\udc80" + suffix)
    for path in (long, bytes_name):
        for _ in range(2):
            save(path)
            check(path)
    with pytest.raises(mx.FileError, match="NUL"):
        save(str(tmp_path / ("a\0b" + suffix)))
    with pytest.raises(mx.FileError, match="too long"):
        save(tmp_path / ("n" * 300 + suffix))
    with pytest.raises(mx.FileError, match=r"\\xff"):
        mx.load(str(bytes_name) + "missing")


# Programs of the user `nobody`, who may be unable to read the standard library: modules are
# imported at the start.
AS_NOBODY = """
import encodings.cp437, os, resource, signal, sys, zipfile, zlib
sys.path[:0] = {path!r}
import test_saving as t, mlx.core as mx, pathlib
folder = pathlib.Path(sys.argv[1])
if os.geteuid() == 0:
    os.setegid(65534)
    os.seteuid(65534)
"""


def in_process(program, folder):
    path = [str(pathlib.Path(__file__).parent), *sys.path]
    ran = subprocess.run(
        [*PYTHON, "-c", AS_NOBODY.format(path=path) + program, str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


@pytest.fixture
def open_folder():
    """A folder that other users may enter. pytest's are closed when another pytest starts."""
    with tempfile.TemporaryDirectory() as name:
        pathlib.Path(name).chmod(0o755)
        yield pathlib.Path(name)


def test_files_in_directories_that_may_not_be_written(open_folder):
    """As a user without privileges: root may write everywhere."""
    folder = open_folder / "folder"
    folder.mkdir()
    for save, name in [(savers()[n], n) for n in NAMES]:
        save(folder / name)
        (folder / name).chmod(0o666)
        with open(folder / name, "ab") as f:
            f.write(bytes(10000))  # the new content is shorter
    folder.chmod(0o555)
    try:
        said = in_process(
            """
for name, save in t.savers().items():
    save(folder / name)
    t.check(folder / name)
    try:
        save(folder / ("new" + name))
    except mx.FileError as e:
        print(name)
d = mx.load(folder / "a.safetensors")
e = mx.load(folder / "a.safetensors")
try:
    mx.save_safetensors(folder / "a.safetensors", {"x": mx.ones(3)})
except mx.FileError as error:
    assert "still to be read" in str(error)
    print("refused")
mx.eval(e)
mx.save_safetensors(folder / "a.safetensors", {"x": d["x"] + 1})
assert mx.array_equal(mx.load(folder / "a.safetensors")["x"], mx.array(t.X) + 1)
""",
            folder,
        )
    finally:
        folder.chmod(0o755)
    assert sorted(said) == sorted([*NAMES, "refused"])


@pytest.mark.parametrize("name", ["a.npy", "a.safetensors"])
def test_long_files_are_written_whole_under_new_and_old_names(name, tmp_path):
    """Longer than the pieces that are handed to the disk."""
    x = mx.arange((36 << 20) // 4 + 3)
    for shift in (0, 1, 2):
        if name == "a.npy":
            mx.save(tmp_path / name, x + shift)
        else:
            mx.save_safetensors(tmp_path / name, {"x": x + shift})
        loaded = mx.load(tmp_path / name)
        loaded = loaded if name == "a.npy" else loaded["x"]
        assert mx.array_equal(loaded, x + shift)
        assert [p.name for p in tmp_path.iterdir()] == [name]


def test_a_killed_save_leaves_the_old_file_and_nothing_else(tmp_path):
    program = """
import sys, mlx.core as mx
x = mx.zeros((1 << 24,))
mx.eval(x)
print("ready", flush=True)
while True:
    mx.save_safetensors(sys.argv[1] + "/a.safetensors", {"x": x})
    mx.savez(sys.argv[1] + "/a.npz", x=x)
"""
    for name in ("a.safetensors", "a.npz"):
        savers()[name](tmp_path / name)
    for i in range(3):
        child = subprocess.Popen([*PYTHON, "-c", program, str(tmp_path)], stdout=subprocess.PIPE)
        child.stdout.readline()
        time.sleep(0.02 + 0.03 * i)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        assert sorted(p.name for p in tmp_path.iterdir()) == ["a.npz", "a.safetensors"]
        for name in ("a.safetensors", "a.npz"):
            assert mx.load(tmp_path / name)["x"].size in (100000, 1 << 24)


def test_full_disks_leave_the_old_file(tmp_path):
    """A limit of the file size stands for the disk."""
    for name in NAMES:
        savers()[name](tmp_path / name)
    said = in_process(
        """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
os.seteuid(os.getuid())
resource.setrlimit(resource.RLIMIT_FSIZE, (60000, resource.RLIM_INFINITY))
for name, save in t.savers().items():
    try:
        save(folder / name)
    except mx.FileError as e:
        assert "too large" in str(e), e
        print(name)
""",
        tmp_path,
    )
    assert said == [n for n in savers() if n != "a.dot"]
    for name in NAMES:
        check(tmp_path / name)
    assert sorted(p.name for p in tmp_path.iterdir()) == NAMES


@pytest.mark.parametrize("name", ["a.npz", "a.safetensors"])
def test_threads_that_save_to_one_path_leave_one_of_their_files(name, tmp_path):
    save, path = savers()[name], tmp_path / name
    errors = []

    def work():
        try:
            for _ in range(5):
                save(path)
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not errors
    check(path)
    assert [p.name for p in tmp_path.iterdir()] == [name]


# --- file objects


class ShortWrites(io.RawIOBase):
    """An unbuffered file that takes few bytes at a time, as one on a full disk does."""

    def __init__(self, most=1000, limit=1 << 60):
        self.content, self.at, self.most, self.limit = bytearray(), 0, most, limit

    def writable(self):
        return True

    def seekable(self):
        return True

    def tell(self):
        return self.at

    def seek(self, to, whence=0):
        self.at = to + (0, self.at, len(self.content))[whence]
        return self.at

    def write(self, data):
        n = min(self.most, len(data), self.limit - self.at)
        self.content[self.at : self.at + n] = bytes(data[:n])
        self.at += n
        return n


OBJECT_SAVERS = {
    "npy": lambda f, x: mx.save(f, x),
    "npz": lambda f, x: mx.savez(f, x=x),
    "safetensors": lambda f, x: mx.save_safetensors(f, {"x": x}),
}


@pytest.mark.parametrize("kind", OBJECT_SAVERS)
def test_writes_that_are_cut_short_go_on(kind):
    f = ShortWrites()
    OBJECT_SAVERS[kind](f, mx.array(X))
    assert not f.closed
    loaded = mx.load(io.BytesIO(bytes(f.content)), format=kind)
    assert np.array_equal(loaded if kind == "npy" else loaded["x"], X)
    if kind != "npz":
        with pytest.raises(mx.FileError, match="wrote 0 of"):
            OBJECT_SAVERS[kind](ShortWrites(limit=5000), mx.array(X))


@pytest.mark.parametrize("answer", [-1, 0, 1 << 70, 10**7])
def test_impossible_answers_of_write_are_errors(answer):
    class Wrong:
        def write(self, data):
            return answer

    for save in (OBJECT_SAVERS["npy"], OBJECT_SAVERS["safetensors"]):
        with pytest.raises(mx.FileError, match="says that it wrote"):
            save(Wrong(), mx.array(X))


def test_an_unbuffered_file_that_would_wait_is_an_error():
    r, w = os.pipe()
    os.set_blocking(w, False)
    x = mx.array(X)
    with (
        open(r, "rb"),
        open(w, "wb", buffering=0) as f,
        pytest.raises(mx.FileError, match="takes no bytes now"),
    ):
        mx.save(f, x)


@pytest.mark.parametrize("kind", ["npy", "safetensors"])
def test_a_file_object_may_keep_its_buffers(kind):
    class Keeps:
        def __init__(self):
            self.parts = []

        def write(self, data):
            self.parts.append(data)

    f = Keeps()
    OBJECT_SAVERS[kind](f, mx.array(X) + 0)
    gc.collect()
    mx.clear_cache()
    trash = [mx.full((len(X),), 7.0) for _ in range(5)]
    mx.eval(trash)
    loaded = mx.load(io.BytesIO(b"".join(bytes(p) for p in f.parts)), format=kind)
    assert np.array_equal(loaded if kind == "npy" else loaded["x"], X)


# --- names


@pytest.mark.parametrize("name", ["a.npz", "b.npz", "a.safetensors", "a.gguf", "file"])
def test_common_inputs_of_the_arrays_of_a_map_are_computed_once(name, tmp_path):
    a = mx.random.normal((64, 64))
    mx.eval(a)

    def arrays():
        table = mx.sin(a) @ a  # read by all, and not kept
        return {f"x{i}": table + i for i in range(20)}

    save = {
        "a.npz": lambda p, x: mx.savez(p, **x),
        "b.npz": lambda p, x: mx.savez_compressed(p, **x),
        "a.safetensors": mx.save_safetensors,
        "a.gguf": mx.save_gguf,
        "file": lambda p, x: mx.save_safetensors(io.BytesIO(), x),
    }[name]
    steps = tmp_path / "steps.json"
    with mx.profile(str(steps)):
        save(str(tmp_path / name), arrays())
    names = [e["name"] for e in json.loads(steps.read_text())["traceEvents"] if "dur" in e]
    assert sum("matmul" in n for n in names) == 1, names


def test_names_with_nul_and_other_characters(tmp_path):
    arrays = {"a\0b": mx.array(1), "a\0c": mx.array(2), "a": mx.array(3), "ä/ü": mx.array(4.5)}
    arrays[""] = mx.array([1, 2])
    for kind, save in (("safetensors", mx.save_safetensors), ("gguf", mx.save_gguf)):
        given = {k: v.astype(mx.float32) for k, v in arrays.items()}
        metadata = {"k\0": "v\0w", "k": "ä"}
        save(tmp_path / f"a.{kind}", given, metadata)
        loaded, back = mx.load(tmp_path / f"a.{kind}", return_metadata=True)
        assert set(loaded) == set(given) and back == metadata
        assert all(mx.array_equal(loaded[k], given[k]) for k in given)
        with pytest.raises(ValueError, match="UTF-8"):
            save(tmp_path / "b", {"a\udc80": mx.array(1.0)})
        with pytest.raises(ValueError, match="UTF-8"):
            save(tmp_path / "b", {"a": mx.array(1.0)}, {"a": "\udc80"})
    with pytest.raises(ValueError, match="keeps this name for metadata"):
        mx.save_safetensors(tmp_path / "b", {"__metadata__": mx.array(1.0)})
    for name in ("a\0b", "n" * 65536):
        with pytest.raises(ValueError, match="NUL character or of"):
            mx.savez(tmp_path / "b", **{name: mx.array(1.0)})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.gguf", "a.safetensors"]
    mx.savez(tmp_path / "c", **{"ä/ü": mx.array(1), "x": mx.array(2), "x.npy": mx.array(3)})
    assert set(mx.load(tmp_path / "c.npz")) == {"ä/ü", "x", "x.npy"}
    with zipfile.ZipFile(tmp_path / "c.npz") as z:
        assert z.testzip() is None
