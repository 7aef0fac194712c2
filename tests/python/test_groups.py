"""Groups of ranks that are threads: splits, names in pickles, and their state."""

import copy
import pickle
import threading
import time

import pytest

import mlx.core as mx

dist = mx.distributed
simulate = dist.simulate


def rank():
    """The rank of this thread."""
    return dist.init().rank()


def test_split():
    def check():
        world = dist.init()
        half = world.split(world.rank() % 2, 10 - world.rank())
        quarter = half.split(half.rank())
        x = mx.array([float(world.rank())])
        again = quarter.split(5)  # of one member
        assert (again.size(), again.rank(), dist.all_sum(x, group=again).item()) == (1, 0, x.item())
        sums = dist.all_sum(x, group=half), dist.all_sum(x), dist.all_sum(x, group=quarter)
        return half.rank(), half.size(), quarter.size(), [s.item() for s in sums]

    assert simulate(check, 4) == [
        (1, 2, 1, [2.0, 6.0, 0.0]),
        (1, 2, 1, [4.0, 6.0, 1.0]),
        (0, 2, 1, [2.0, 6.0, 2.0]),
        (0, 2, 1, [4.0, 6.0, 3.0]),
    ]

    with pytest.raises(RuntimeError, match="process alone cannot be split"):
        dist.init().split(0)


def test_group_objects():
    def check():
        a, b = dist.init(), dist.init()
        other = a.split(rank())
        assert a == b and hash(a) == hash(b) and copy.deepcopy(a) is a and a != other

    simulate(check, 2)


def test_pickled_groups():
    """A pickle names a group by its splits: every rank that has made it finds it, and no other."""

    def check():
        world = dist.init()
        half = world.split(rank() % 2)
        other = world.split(0)
        single = half.split(rank())
        found = [pickle.loads(pickle.dumps(group)) for group in (world, half, other, single)]
        assert found == [world, half, other, single]
        assert pickle.loads(pickle.dumps({"a": half}))["a"].size() == 2
        pickles[rank()] = pickle.dumps(half)
        world_pickles.append(pickle.dumps(world))
        dist.barrier()
        assert pickle.loads(pickles[(rank() + 2) % 4]) == half
        with pytest.raises(ValueError, match=f"world/1:{1 - rank() % 2} of a group that this"):
            pickle.loads(pickles[(rank() + 1) % 4])
        text = pickle.dumps(single)
        del single, found
        with pytest.raises(ValueError, match="does not have"):
            pickle.loads(text)
        return dist.all_sum(mx.array(1), group=half).item()

    pickles, world_pickles = {}, []
    assert simulate(check, 4) == [2] * 4
    # The world is that of the process, or of the simulation, that reads.
    assert pickle.loads(world_pickles[0]) == pickle.loads(pickle.dumps(dist.init())) == dist.init()
    with pytest.raises(ValueError, match="does not have"):
        pickle.loads(pickles[0])


def test_status():
    """The part of a rank in each group that exists, also while a message waits."""
    waits = {}
    over = threading.Event()

    def check():
        world = dist.init()
        half = world.split(rank() % 2, 10 - rank())
        mx.eval(dist.all_sum(mx.ones(4)), dist.all_max(mx.ones(3, mx.int16), group=half))
        s = dist.status()
        assert (s["engine"], s["rank"], s["size"], s["failure"]) == ("threads", rank(), 4, None)
        everyone, mine = s["groups"]
        line = mine.pop("last").split(" (test_groups.py:")
        assert line[0] == "message 1, all_max of 3 int16" and line[1].endswith(")")
        assert mine == {
            "name": f"world/1:{rank() % 2}",
            "rank": 1 - rank() // 2,
            "size": 2,
            "ranks": [2, 0] if rank() % 2 == 0 else [3, 1],
            "messages": 1,
            "bytes": 6,
            "running": False,
        }
        assert (everyone["name"], everyone["ranks"]) == ("world", [0, 1, 2, 3])
        assert (everyone["messages"], everyone["bytes"]) == (2, 16 + 16)  # of split, too
        assert s["messages"] == 3 and s["bytes"] == 38
        sent = (
            dist.send(mx.ones(2), (rank() + 1) % 4),
            dist.recv((2,), mx.float32, (rank() - 1) % 4),
        )
        mx.eval(*sent)
        assert dist.status()["groups"][0]["last"].startswith(("send of 2", "recv of 2"))
        third = world.split(7)
        assert dist.status()["groups"][2]["name"] == "world/2:7"
        del third
        assert len(dist.status()["groups"]) == 2 and dist.status()["messages"] == 6
        if rank() == 3:
            over.wait(60)
        late = dist.all_min(mx.ones(5))
        mx.async_eval(late)
        if rank() == 0:
            while not (now := dist.status()["groups"][0])["running"]:
                time.sleep(0.001)
            waits.update(now)
            over.set()
        mx.eval(late)
        return dist.status()["groups"][0]["running"]

    assert simulate(check, 4) == [False] * 4
    assert waits["last"].startswith("message 4, all_min of 5 float32")
    assert dist.status()["groups"] == []
