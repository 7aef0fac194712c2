"""Conversion of arguments: exceptions of a program's own code, keywords, truth values."""

import os
import stat
import threading

import numpy as np
import pytest

import mlx.core as mx

# Exceptions of the program


class Failure(Exception):
    """Raised by the objects below, and by nothing else."""


def failing(name, error, **others):
    """An object whose method `name` raises; it has other attributes besides."""

    def method(self, *args, **kwargs):
        raise error

    return type("Failing", (), {name: method, **others})()


class Lengthy:
    """A sequence without items."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return 1


ERRORS = [KeyboardInterrupt, Failure, RuntimeError, MemoryError, ValueError, SystemExit]
X = mx.zeros((2, 2))

CALLS = {
    "__index__": [
        lambda o: mx.zeros(o),
        lambda o: mx.zeros((2, o)),
        lambda o: mx.sum(X, axis=o),
        lambda o: mx.sum(X, axis=(0, o)),
        lambda o: mx.reshape(X, (o, 2)),
        lambda o: X.reshape(o, 2),
        lambda o: mx.squeeze(X, o),
        lambda o: mx.split(X, o),
        lambda o: mx.eye(o),
        lambda o: mx.take(X, mx.array(0), o),
        lambda o: X[o],
        lambda o: X[o:],
        lambda o: X[0, ::o],
        lambda o: mx.random.seed(o),
        lambda o: mx.random.key(o),
        lambda o: mx.set_memory_limit(o),
        lambda o: mx.vmap(lambda a: a, in_axes=o)(X),
        lambda o: mx.grad(lambda a: a.sum(), argnums=o),
        lambda o: mx.grad(lambda a: a.sum(), argnums=[o]),
        lambda o: mx.sort(X, o),
        lambda o: mx.sum(X, keepdims=o),
        lambda o: mx.arange(o),
        lambda o: mx.histogram(X, o),
        lambda o: mx.bincount(mx.array([1]), minlength=o),
    ],
    "__float__": [
        lambda o: mx.linspace(o, 1, 3),
        lambda o: mx.fast.layer_norm(X, None, None, o),
        lambda o: mx.allclose(X, X, rtol=o),
        lambda o: mx.arange(o),
        lambda o: mx.nan_to_num(X, nan=o),
    ],
    "__bool__": [lambda o: mx.sum(X, keepdims=o), lambda o: mx.meshgrid(X[0], sparse=o)],
    "__mlx_array__": [
        lambda o: mx.array(o),
        lambda o: mx.exp(o),
        lambda o: mx.add(X, o),
        lambda o: X + o,
        lambda o: o + X,
        lambda o: o > X,
        lambda o: mx.where(o, X, X),
        lambda o: mx.array([o, o]),
        lambda o: mx.stack([X, o]),
        lambda o: X[o],
        lambda o: X.at[0].add(o),
        lambda o: X.__setitem__(0, o),
    ],
    "__array__": [lambda o: mx.array(o), lambda o: mx.asarray(o)],
    "__dlpack__": [
        lambda o: mx.array(o),
        lambda o: mx.exp(o),
        lambda o: X + o,
        lambda o: mx.from_dlpack(o),
        lambda o: mx.from_dlpack(o, copy=False),
        lambda o: mx.asarray(o, copy=False),
    ],
    "__fspath__": [lambda o: mx.load(o), lambda o: mx.save(o, X), lambda o: mx.savez(o, X)],
}


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize(
    ("method", "call"),
    [(m, c) for m, calls in CALLS.items() for c in calls],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_errors_of_a_conversion_reach_the_caller(method, call, error):
    raised = error("mine")
    others = {}
    if method == "__index__":
        others["__bool__"] = lambda self: self.__index__()
    if method == "__bool__":
        others["__index__"] = lambda self: 1
    with pytest.raises(error) as caught:
        call(failing(method, raised, **others))
    assert caught.value is raised


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("method", ["__len__", "__getitem__"])
@pytest.mark.parametrize(
    "call",
    [
        lambda o: mx.zeros(o),
        lambda o: mx.reshape(X, o),
        lambda o: mx.sum(X, axis=o),
        lambda o: mx.transpose(X, o),
        lambda o: mx.pad(X, o),
        lambda o: mx.stack(o),
        lambda o: mx.concatenate(o),
        lambda o: mx.tile(X, o),
        lambda o: mx.split(X, o),
        lambda o: mx.conv_general(mx.zeros((1, 4, 4, 1)), mx.zeros((1, 2, 2, 1)), stride=o),
        lambda o: mx.random.normal(o),
        lambda o: mx.as_strided(X, o, (1, 1)),
        lambda o: mx.broadcast_to(X, o),
        lambda o: mx.vjp(lambda a: a, o, [X]),
    ],
    ids=lambda f: "",
)
def test_errors_of_a_sequence_reach_the_caller(method, call, error):
    raised = error("mine")

    def method_of(self, *args):
        raise raised

    sequence = type("Failing", (Lengthy,), {method: method_of})()
    with pytest.raises(error) as caught:
        call(sequence)
    assert caught.value is raised


@pytest.mark.parametrize("error", [KeyboardInterrupt, Failure, RuntimeError])
def test_errors_of_an_attribute_reach_the_caller(error):
    class Meta(type):
        def __getattr__(cls, name):
            raise error("mine")

    class Failing(metaclass=Meta):
        pass

    class Path:
        def __getattr__(self, name):
            raise error("mine")

    for call in (
        lambda: mx.array(Failing()),
        lambda: mx.exp(Failing()),
        lambda: X + Failing(),
        lambda: mx.load(Path()),
        lambda: mx.save(Path(), X),
        lambda: mx.from_dlpack(Path()),
        lambda: mx.asarray(Path(), copy=False),
    ):
        with pytest.raises(error, match="mine"):
            call()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of zipfile
@pytest.mark.parametrize("error", [KeyboardInterrupt, Failure])
def test_errors_of_a_file_reach_the_caller(error):
    class File:
        def __init__(self, head):
            self.head = head

        def tell(self):
            return 0

        def seek(self, *args):
            return 0

        def read(self, n=-1):
            head, self.head = self.head, b""
            if head:
                return head
            raise error("mine")

        def write(self, data):
            raise error("mine")

    for call in (
        lambda: mx.load(File(b"PK\x03\x04....")),
        lambda: mx.load(File(b"\x93NUMPY..")),
        lambda: mx.load(File(b"")),
        lambda: mx.save(File(b""), X),
        lambda: mx.savez(File(b""), X),
        lambda: mx.save_safetensors(File(b""), {"x": X}),
    ):
        with pytest.raises(error, match="mine"):
            call()


def test_a_type_error_means_another_kind():
    class Odd:
        def __index__(self):
            raise TypeError("not today")

        def __float__(self):
            raise TypeError("not today")

    for call in (mx.zeros, mx.eye, lambda o: mx.sum(X, axis=o), lambda o: mx.linspace(o, 1, 2)):
        with pytest.raises(TypeError):
            call(Odd())
    # The next signature is tried.
    offset = mx.compile(
        lambda o: mx.fast.rope(
            mx.ones((1, 1, 2, 4)), 4, traditional=False, base=1.0, scale=1.0, offset=o
        )
    )
    assert offset(mx.array(3)).shape == (1, 1, 2, 4)


# Keywords


WITH_DEVICE = {
    "arange",
    "asarray",
    "astype",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
}
SCOPES = {
    "mx": mx,
    "linalg": mx.linalg,
    "fft": mx.fft,
    "fast": mx.fast,
    "random": mx.random,
    "array": mx.array,
}


def functions():
    for scope, space in SCOPES.items():
        for name in sorted(dir(space)):
            f = getattr(space, name)
            if type(f).__name__ == "function" and type(f).__module__ == "mlx.core":
                yield scope, name, f


def test_functions_take_the_keywords_of_their_signatures_only():
    seen = 0
    for scope, name, f in functions():
        texts = [text for text, _, _ in f.__nb_signature__]
        if any("**" in text for text in texts):
            continue
        for keyword in ("device", "fill_value", "vals", "nonsense", "out"):
            standard = keyword == "device" and (
                (scope == "mx" and name in WITH_DEVICE) or name in ("fftfreq", "rfftfreq")
            )
            standard |= keyword == "fill_value" and name in ("full", "full_like")
            if standard or any(f"{keyword}:" in text for text in texts):
                continue
            seen += 1
            with pytest.raises(TypeError, match=f"unexpected keyword argument '{keyword}'"):
                f(**{keyword: None})
    assert seen > 1000


@pytest.mark.parametrize("keyword", ["\ud800", "\udc80a", "axis\udfff"])
def test_keywords_that_utf8_cannot_express(keyword):
    """Functions refuse them by name, or take them if they take any keywords."""
    for _, name, f in functions():
        texts = [text for text, _, _ in f.__nb_signature__]
        for given in ({keyword: X}, {keyword: X, "stream": keyword}):
            try:
                f(*[X] * (len(given) - 1), **given)
            except (TypeError, ValueError) as error:
                stars = any("**" in text for text in texts)
                assert stars or keyword in str(error) or "incompatible" in str(error), name


def test_texts_that_utf8_cannot_express(tmp_path):
    word = "\ud800"
    assert mx.grad(lambda x, **k: (x * k[word]).sum(), argnames=["x"])(x=X, **{word: X})[1][
        "x"
    ].size
    assert mx.compile(lambda x, **k: x * k[word])(X, **{word: X}).shape == (2, 2)
    assert mx.compile(lambda x, w: x)(X, word).shape == (2, 2)
    for save in (mx.export_to_dot, mx.save_safetensors, mx.save_gguf, mx.savez):
        path = str(tmp_path / "file")
        with pytest.raises(ValueError, match="which UTF-8 cannot express"):
            save(path, {word: X}) if save in (mx.save_safetensors, mx.save_gguf) else save(
                path, **{word: X}
            )
    with pytest.raises(ValueError, match="which UTF-8 cannot express"):
        mx.export_function(str(tmp_path / "file"), lambda **k: X, **{word: X})


def test_the_standard_names_of_keywords():
    assert mx.full((2,), fill_value=3).tolist() == [3, 3]
    assert mx.full_like(X, fill_value=3).shape == (2, 2)
    assert mx.zeros((2,), device=mx.cpu).tolist() == [0, 0]
    assert mx.astype(X, mx.int32, device=mx.cpu).dtype == mx.int32
    assert mx.fft.fftfreq(4, device=mx.cpu).shape == (4,)


def test_an_argument_given_twice_is_refused():
    for call in (
        lambda: mx.zeros((2,), device=mx.cpu, stream=mx.cpu),
        lambda: mx.full((2,), 1, fill_value=3),
        lambda: mx.full((2,), vals=1, fill_value=3),
        lambda: mx.zeros((2,), shape=(3,)),
        lambda: mx.take(X, mx.array(0), 0, axis=1),
    ):
        with pytest.raises(TypeError):
            call()


# Truth values


def test_truth_values_go_by_their_type():
    class pretend_bool:
        pass

    class Boolean:
        def __bool__(self):
            return True

    for value in (pretend_bool(), Boolean(), "bool", [True], 1.0, None):
        with pytest.raises(TypeError):
            mx.sum(X, keepdims=value)
    for value in (True, np.True_, 1, np.int64(1)):
        assert mx.sum(X, keepdims=value).shape == (1, 1)
    for value in (False, np.False_, 0):
        assert mx.sum(X, keepdims=value).shape == ()


# Files


def test_saving_leaves_the_mask_of_the_process_alone(tmp_path):
    def mask():
        with open("/proc/self/status") as status:
            return next(line.split()[1] for line in status if line.startswith("Umask:"))

    if not os.path.exists("/proc/self/status"):
        pytest.skip("no /proc")
    before, seen, stop = mask(), set(), threading.Event()

    def watch():
        while not stop.is_set():
            seen.add(mask())

    threads = [threading.Thread(target=watch) for _ in range(2)]
    for thread in threads:
        thread.start()
    small = mx.zeros(4)
    for i in range(300):
        mx.save(str(tmp_path / f"{i % 3}.npy"), small)
    stop.set()
    for thread in threads:
        thread.join()
    assert seen == {before}


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o000])
def test_files_have_the_mode_of_any_other(tmp_path, mask):
    previous = os.umask(mask)
    try:
        mx.save(str(tmp_path / "a.npy"), X)
        mx.save_safetensors(str(tmp_path / "a.safetensors"), {"x": X})
    finally:
        os.umask(previous)
    for name in ("a.npy", "a.safetensors"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o666 & ~mask
    assert len(list(tmp_path.iterdir())) == 2
