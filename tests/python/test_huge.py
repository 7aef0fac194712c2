"""Arrays of more than 2^31 elements: run by --huge, alone, on a machine with 12 GB to spare."""

import numpy as np
import pytest

import mlx.core as mx

N = 2**31 + 11  # more than int32 counts
pytestmark = pytest.mark.huge


@pytest.fixture(scope="module", autouse=True)
def no_cache():
    """Buffers of this size are not kept for later."""
    before = mx.set_cache_limit(0)
    yield
    mx.set_cache_limit(before)


@pytest.fixture(scope="module")
def a():
    """int8 with values that tell positions apart around both ends and beyond 2^31."""
    values = np.zeros(N, np.int8)
    values[:4] = [1, 2, 3, 4]
    values[2**31 - 1 : 2**31 + 2] = [5, 6, 7]
    values[-4:] = [8, 9, 10, 11]
    return mx.array(values)


def test_views(a):
    assert a.size == N and a.nbytes == N
    assert a[-1].item() == 11 and a[2**31].item() == 6 and a[-N].item() == 1
    assert a[2**31 - 1 : 2**31 + 2].tolist() == [5, 6, 7]
    assert a[::-1][:4].tolist() == [11, 10, 9, 8] and a[:: 2**31].tolist() == [1, 6]
    assert a[-1 : 2**31 - 1 : -(2**30)].tolist() == [11]
    rows = a[: 2**31].reshape(2**16, 2**15)
    assert rows[-1, -1].item() == 5 and rows.T[-1, -1].item() == 5
    assert mx.transpose(rows)[2**15 - 1, 2**16 - 2 :].tolist() == [0, 5]
    assert mx.as_strided(a, (2, 2), (2**31, 1), 0).tolist() == [[1, 2], [6, 7]]
    assert mx.expand_dims(a, 0).shape == (1, N) and mx.flatten(mx.expand_dims(a, 0)).shape == (N,)
    assert mx.split(a, [2**31])[1][:2].tolist() == [6, 7]
    assert np.asarray(a)[-1] == 11 and memoryview(a)[2**31] == 6 and np.from_dlpack(a)[-1] == 11
    wide = mx.broadcast_to(mx.array([1, 2], mx.int8), (2**40, 2))
    assert wide[2**40 - 1].tolist() == [1, 2] and wide.size == 2**41
    assert wide[:: 2**38].sum().item() == 12


def test_elementwise(a):
    b = a * 2 + 1
    assert b[2**31 - 1 : 2**31 + 2].tolist() == [11, 13, 15] and b[-1].item() == 23
    assert b[:4].tolist() == [3, 5, 7, 9]
    del b
    reverse = a + a[::-1]
    assert reverse[0].item() == 12 and reverse[-1].item() == 12 and reverse[2**31].item() == 6
    del reverse
    mask = a > 4
    assert mask[2**31].item() and not mask[3].item() and mask[-1].item()
    assert mx.count_nonzero(mask).item() == 7
    chosen = mx.where(mask, a, mx.array(-1, mx.int8))
    assert chosen[-1].item() == 11 and chosen[2**31 - 2].item() == -1
    del chosen
    halves = a.astype(mx.float16)
    assert halves[-1].item() == 11 and (halves[2**31 :] * 0.5)[0].item() == 3


def test_broadcast_of_rows(a):
    rows = a[: 2**31].reshape(2**16, 2**15)
    total = rows + mx.arange(2**15).astype(mx.int8)
    assert total[-1, -1].item() == np.int8(5 - 1) and total[0, :3].tolist() == [1, 3, 5]


def test_reductions(a):
    assert mx.sum(a).item() == 10 + 18 + 38
    assert mx.max(a).item() == 11 and mx.min(a).item() == 0
    assert mx.argmax(a).item() == N - 1 and mx.argmin(a).item() == 4
    assert mx.any(a == 11).item() and not mx.all(a == 0).item()
    rows = a[: 2**31].reshape(2**16, 2**15)
    assert rows.sum(axis=0)[-1].item() == 5 and rows.sum(axis=1)[-1].item() == 5
    assert rows.max(axis=0)[:4].tolist() == [1, 2, 3, 4]
    assert mx.argmax(rows.T, axis=1)[-1].item() == 2**16 - 1
    tall = a.reshape(N, 1)
    assert mx.sum(tall, axis=0).item() == 66 and mx.max(tall, axis=1)[-1].item() == 11
    assert mx.sum(mx.broadcast_to(mx.array(1, mx.int64), (2**33,))[: 2**32]).item() == 2**32
    assert mx.mean(a, stream=mx.cpu).item() == pytest.approx(66 / N, 1e-5)


def test_scans(a):
    assert mx.cumsum(a, axis=0)[-1].item() == 66
    assert mx.cummax(a, axis=0)[2**31].item() == 6


def test_positions(a):
    at = mx.array([2**31, -1, 0, N - 1], mx.int64)
    assert mx.take(a, at).tolist() == [6, 11, 1, 11] and a[at].tolist() == [6, 11, 1, 11]
    assert mx.take(a, mx.array([2**31 + 1], mx.uint32)).tolist() == [7]
    assert mx.take_along_axis(a, at, 0).tolist() == [6, 11, 1, 11]
    with pytest.raises(IndexError, match=str(N)):
        mx.eval(mx.take(a, mx.array([N], mx.int64)))
    with pytest.raises(IndexError, match=str(N)):
        a[N]
    (places,) = mx.nonzero(a)
    assert places.dtype == mx.int64
    assert places.tolist() == [0, 1, 2, 3, *range(2**31 - 1, 2**31 + 2), *range(N - 4, N)]
    assert a[a > 5].tolist() == [6, 7, 8, 9, 10, 11]
    rows = a[: 2**31].reshape(2**16, 2**15)
    assert rows[mx.array([2**16 - 1]), mx.array([2**15 - 1])].tolist() == [5]
    assert mx.take(rows, mx.array([-1]), axis=1)[-1].tolist() == [5]


def test_writes(a):
    b = a[...]
    b[2**31] = 99
    assert b[2**31 - 1 : 2**31 + 2].tolist() == [5, 99, 7] and a[2**31].item() == 6
    del b
    b = a[...]
    b[mx.array([N - 1, 2**31], mx.int64)] = mx.array([1, 2], mx.int8)
    assert b[-1].item() == 1 and b[2**31].item() == 2
    del b
    b = a.at[mx.array([N - 1, N - 1], mx.int64)].add(1)
    assert b[-1].item() == 13
    del b
    b = mx.slice_update(a, mx.array([50, 51], mx.int8), mx.array([2**31], mx.int64), (0,))
    assert b[2**31 - 1 : 2**31 + 3].tolist() == [5, 50, 51, 0]
    assert mx.slice(a, mx.array([2**31], mx.int64), (0,), (2,)).tolist() == [6, 7]


def test_joined(a):
    b = mx.concatenate([a[: 2**31], a[2**31 :]])
    assert b.size == N and b[2**31 - 1 : 2**31 + 2].tolist() == [5, 6, 7] and b[-1].item() == 11
    del b
    b = mx.concatenate([a[: 2**30], a[-4:], a[: 2**30]])
    assert b[2**30 : 2**30 + 5].tolist() == [8, 9, 10, 11, 1]
    del b
    b = mx.roll(a, 1)
    assert b[:2].tolist() == [11, 1] and b[2**31 : 2**31 + 2].tolist() == [5, 6]
    del b
    b = mx.pad(a, (2, 1))
    assert b.size == N + 3 and b[2].item() == 1 and b[2**31 + 2].item() == 6 and b[-2].item() == 11
    del b
    b = mx.tile(mx.array([1, 2, 3], mx.int8), 2**30)
    assert b.size == 3 * 2**30 and b[-3:].tolist() == [1, 2, 3] and b[2**31 + 1].item() == 1
    del b
    b = mx.repeat(mx.array([1, 2, 3], mx.int8), 2**30)
    assert b[[0, 2**30, 2**31, 2**31 - 1]].tolist() == [1, 2, 3, 2]


def test_sort():
    a = (mx.arange(N, dtype=mx.int64) % 7 - 3).astype(mx.int8)
    mx.eval(a)
    s = mx.sort(a)
    del a
    assert s[0].item() == -3 and s[-1].item() == 3 and s[N // 2].item() == 0


def test_products():
    a = mx.broadcast_to(mx.array([[1.0], [2.0]], mx.float16), (2, 2**31 + 8))
    assert (a[:, -1:] + 1).tolist() == [[2], [3]]
    column = mx.zeros((N, 1), mx.int8)
    column[-1] = 3
    out = column @ mx.array([[2]], mx.int8)
    assert out.shape == (N, 1) and out[-1].item() == 6 and out[0].item() == 0


def test_random():
    drawn = mx.random.uniform(shape=(2**31 + 2**10,), dtype=mx.float16, key=mx.random.key(0))
    tail = drawn[-4096:].astype(mx.float32)
    assert 0.45 < tail.mean().item() < 0.55 and len(set(tail.tolist())) > 1000
    assert tail.min().item() >= 0 and tail.max().item() <= 1


@pytest.mark.parametrize("kind", ["npy", "safetensors", "npz"])
def test_files(a, kind, tmp_path):
    path = str(tmp_path / f"huge.{kind}")
    if kind == "npy":
        mx.save(path, a)
        b = mx.load(path)
    elif kind == "npz":
        mx.savez(path, a=a)
        b = mx.load(path)["a"]
    else:
        mx.save_safetensors(path, {"a": a})
        b = mx.load(path)["a"]
    assert b.shape == (N,) and b.dtype == mx.int8
    assert b[2**31 - 1 : 2**31 + 2].tolist() == [5, 6, 7] and b[-1].item() == 11
    if kind == "npy":
        assert np.load(path, mmap_mode="r")[2**31] == 6


def test_transformed(a):
    f = mx.compile(lambda x: (x * 2 + 1)[2**31 :].sum())
    assert f(a).item() == 2 * (6 + 7 + 38) + 11
    rows = a[: 2**31].reshape(2**16, 2**15)
    assert mx.vmap(lambda r: r.max())(rows)[-1].item() == 5
    g = mx.grad(lambda w: (w * 2)[2**31 :].sum())(mx.zeros(2**31 + 4, mx.float16))
    assert g[2**31 - 1 :].tolist() == [0, 2, 2, 2, 2]


def test_more_than_uint32_counts():
    """Positions are uint32: an axis that they cannot count is refused."""
    big = mx.zeros(2**32 + 5, mx.bool_)
    big[-1] = True
    assert mx.any(big).item() and mx.count_nonzero(big).item() == 1
    assert big[2**32 :].tolist() == [False, False, False, False, True]
    with pytest.raises(OverflowError, match=str(2**32 + 5)):
        mx.argmax(big)
    with pytest.raises(OverflowError, match=str(2**32 + 5)):
        mx.argsort(mx.broadcast_to(mx.array(1), (2**32 + 5,)))
