"""Files that are written here, read by NumPy, safetensors, gguf and the published wheel."""

import io
import json
import zipfile

import files
import ml_dtypes
import numpy as np
import pytest

import mlx.core as mx


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    files.write(mx, folder)
    return folder


def numpy_dtype(dtype):
    return ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype.rstrip("_"))


def expected(dtype, shape):
    return files.numbers(shape).astype(numpy_dtype(dtype))


ARRAYS = [(dtype, shape) for dtype in files.DTYPES for shape in files.SHAPES]


def name_of(dtype, shape):
    return f"{dtype}{'x'.join(map(str, shape))}"


def saved_by_numpy(a):
    out = io.BytesIO()
    np.save(out, a)
    return out.getvalue()


@pytest.mark.parametrize("dtype", files.DTYPES)
def test_npy_has_the_bytes_that_numpy_writes(folder, dtype):
    for shape in files.SHAPES:
        want = expected(dtype, shape)
        got = (folder / f"{name_of(dtype, shape)}.npy").read_bytes()
        if dtype == "bfloat16":  # a dtype that NumPy itself does not have: two bytes of no meaning
            want = want.view("V2")
            got = got.replace(b"'<V2'", b"'|V2'")
        assert got == saved_by_numpy(want), shape


def test_npz_members_are_numpys(folder):
    with zipfile.ZipFile(folder / "all.npz") as z:
        assert z.testzip() is None
        for dtype, shape in ARRAYS:
            if dtype != "bfloat16":
                got = z.read(name_of(dtype, shape) + ".npy")
                assert got == saved_by_numpy(expected(dtype, shape))
    with np.load(folder / "all.npz") as loaded:
        assert np.array_equal(loaded["float323x4"], expected("float32", (3, 4)))


def test_safetensors_reads_it(folder):
    import safetensors
    import safetensors.numpy

    loaded = safetensors.numpy.load_file(folder / "all.safetensors")
    assert len(loaded) == len(ARRAYS)
    for dtype, shape in ARRAYS:
        a = loaded[name_of(dtype, shape)]
        assert a.shape == shape and a.dtype == numpy_dtype(dtype)
        assert np.array_equal(a, expected(dtype, shape))
    with safetensors.safe_open(folder / "all.safetensors", framework="numpy") as f:
        assert f.metadata() == {"format": "mlx", "note": "ä"}


def test_gguf_reads_it(folder):
    import gguf

    tensors = {t.name: t for t in gguf.GGUFReader(folder / "all.gguf").tensors}
    assert len(tensors) == 3 * len(files.GGUF_DTYPES)
    for dtype in files.GGUF_DTYPES:
        for shape in [(7,), (3, 4), (2, 3, 4)]:
            t = tensors[name_of(dtype, shape)]
            assert tuple(t.shape[::-1]) == shape
            got = np.asarray(t.data).view(numpy_dtype(dtype)).reshape(shape)
            assert np.array_equal(got, expected(dtype, shape)), (dtype, shape)


def test_the_published_wheel_reads_written_files(folder):
    recorded = json.loads(files.DATA.read_text())
    now = files.digests(folder)
    assert len(recorded) > 100
    assert {name: now[name] for name in recorded} == recorded


def test_it_is_read_again_here(folder):
    assert files.wrong_in(mx, folder) == []
