"""No use of the Python layer leaves a reference cycle: arrays go when their last owner does."""

import gc
import inspect
import weakref

import nn_cases
import pytest
from memory_in_use import memory_in_use

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
import mlx.utils as utils


@pytest.fixture(scope="module", autouse=True)
def few_objects():
    """Keeps existing objects from the collector, which is called often here."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def garbage(action):
    """The types of what only the collector could free after `action()`."""
    action()  # for objects that are made once, such as imports and compiled traces
    gc.collect()
    gc.disable()
    try:
        action()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        return sorted({type(o).__name__ for o in gc.garbage})
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


class Net(nn.Module):
    """Submodules in every kind of container."""

    def __init__(self):
        super().__init__()
        self.blocks = [nn.Linear(64, 64), [nn.Dropout(0.1)], {"norm": nn.BatchNorm(64)}]
        self.table = {"x": nn.Embedding(4, 64), "y": mx.array([1.0])}
        self.last = nn.Sequential(nn.Linear(64, 64, bias=False), nn.ReLU())

    def __call__(self, x):
        """Use all that is trained."""
        return self.last(self.blocks[2]["norm"](self.blocks[0](x)))


X = mx.ones((2, 64))


def loss(model):
    """A loss that also writes running statistics."""
    return model(X).square().mean()


def raising(model):
    """A function that fails half-way."""
    raise ValueError


def fails(call, *args):
    """Call what raises an error."""
    with pytest.raises((ValueError, KeyError, AttributeError)):
        call(*args)


MODULE = {
    "apply": lambda m: m.apply(lambda x: x * 2),
    "apply_to_modules": lambda m: m.apply_to_modules(lambda path, layer: None),
    "children": lambda m: m.children(),
    "eval": lambda m: m.eval(),
    "filter_and_map": lambda m: m.filter_and_map(m.valid_parameter_filter, lambda x: x.shape),
    "freeze": lambda m: (m.freeze(), m.freeze(keys="bias", strict=True)),
    "is_module": lambda m: m.is_module(m),
    "leaf_modules": lambda m: m.leaf_modules(),
    "load_weights": lambda m: m.load_weights(utils.tree_flatten(m.parameters())),
    "modules": lambda m: m.modules(),
    "named_modules": lambda m: m.named_modules(),
    "parameters": lambda m: m.parameters(),
    "save_weights": lambda m: m.save_weights(m.file),
    "set_dtype": lambda m: m.set_dtype(mx.float16),
    "state": lambda m: m.state,
    "train": lambda m: m.train(),
    "trainable_parameter_filter": lambda m: m.trainable_parameters(),
    "trainable_parameters": lambda m: m.trainable_parameters(),
    "training": lambda m: m.training,
    "unfreeze": lambda m: (m.freeze(), m.unfreeze(), m.unfreeze(keys=["bias"])),
    "update": lambda m: m.update(m.parameters()),
    "update_modules": lambda m: m.update_modules(m.leaf_modules()),
    "valid_child_filter": lambda m: m.children(),
    "valid_parameter_filter": lambda m: m.parameters(),
}
MODELS = {
    "repr": repr,
    "missing attribute": lambda m: fails(getattr, m, "nothing"),
    "refused weights": lambda m: fails(m.load_weights, [("x", X)]),
    "refused freeze": lambda m: fails(lambda: m.freeze(keys="x", strict=True)),
    "nn.quantize": lambda m: nn.quantize(m, class_predicate=lambda p, x: isinstance(x, nn.Linear)),
    "nn.value_and_grad": lambda m: nn.value_and_grad(m, loss)(m),
    "nn.value_and_grad fails": lambda m: fails(nn.value_and_grad(m, raising), m),
    "nn.utils.checkpoint": lambda m: (
        nn.value_and_grad(m, nn.utils.checkpoint(m)) and nn.utils.checkpoint(m)(X)
    ),
    "mx.grad": lambda m: mx.grad(loss)(m),
    "mx.grad fails": lambda m: fails(mx.grad(raising), m),
    "mx.vmap": lambda m: mx.vmap(lambda x: m.blocks[0](x))(X),
    "mx.compile": lambda m: mx.compile(lambda x: m.blocks[0](x))(X),
    "average_gradients": lambda m: nn.average_gradients(m.parameters()),
    "clip_grad_norm_sharded": lambda m: nn.utils.clip_grad_norm_sharded(m.parameters(), 1.0),
    "clip_grad_norm": lambda m: optim.clip_grad_norm(m.parameters(), 1.0),
    "fully_shard": lambda m: nn.fully_shard(m),
    "compiled step": lambda m: compiled_step(m, optim.Adam(1e-3)),
}


def compiled_step(model, optimizer):
    """A training step with captured state."""
    optimizer.init(model.trainable_parameters())
    state = [model.state, optimizer.state]

    def step():
        value, gradients = nn.value_and_grad(model, loss)(model)
        optimizer.update(model, gradients)
        return value

    mx.eval(mx.compile(step, inputs=state, outputs=state)(), state)


@pytest.mark.parametrize("use", [*MODULE, *MODELS])
def test_modules_leave_no_cycle(use, tmp_path):
    """Every public method of a module, and every function that takes one."""

    def action():
        model = Net()
        model.file = str(tmp_path / "weights.npz")
        {**MODULE, **MODELS}[use](model)

    assert garbage(action) == []


def test_every_method_is_used():
    """The table above has all public names of a module."""
    public = {n for n in set(dir(nn.Module)) - set(dir(dict)) if not n.startswith("_")}
    assert public | {"update"} == set(MODULE)


CASES = [(s, i) for s, (lines, _) in nn_cases.SECTIONS.items() for i in range(len(lines))]


@pytest.mark.parametrize("section, index", CASES)
def test_layers_losses_and_optimizers_leave_no_cycle(section, index):
    """Values and gradients of every case that is compared with the published package."""
    lines, run = nn_cases.SECTIONS[section]
    assert garbage(lambda: run(lines[index])) == []


TREE = {"a": [X, (X, {"b": X})], "c": X}
UTILS = {
    "tree_flatten": lambda: utils.tree_flatten(TREE, is_leaf=lambda x: isinstance(x, tuple)),
    "tree_unflatten": lambda: utils.tree_unflatten(utils.tree_flatten(TREE)),
    "tree_map": lambda: utils.tree_map(lambda x: x + 1, TREE),
    "tree_map_with_path": lambda: utils.tree_map_with_path(lambda p, x: p, TREE),
    "tree_reduce": lambda: utils.tree_reduce(lambda a, x: a + x.size, TREE, 0),
    "tree_merge": lambda: utils.tree_merge({"x": TREE}, {"y": TREE}),
    "tree_leaves": lambda: utils.tree_leaves(TREE),
    "tree_structure": lambda: utils.tree_structure(TREE).unflatten([X] * 4),
}


@pytest.mark.parametrize("name", UTILS)
def test_trees_leave_no_cycle(name):
    """Every function of mlx.utils."""
    assert garbage(UTILS[name]) == []


def test_every_function_of_trees_is_used():
    """The table above has all functions of mlx.utils."""
    functions = {n for n, f in inspect.getmembers(utils, inspect.isfunction) if n[0] != "_"}
    assert functions - {"overload"} == set(UTILS)


ACTIVATIONS = [
    n for n, f in inspect.getmembers(nn.layers.activations, inspect.isfunction) if n[0] != "_"
]


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_leave_no_cycle(name):
    """Every activation function and its gradient."""
    f = getattr(nn, name)
    more = (mx.array([0.1]),) if name == "prelu" else ()
    assert garbage(lambda: mx.grad(lambda x: f(x, *more).sum().astype(mx.float32))(X)) == []


def test_arrays_go_with_their_model():
    """A model that is walked and deleted leaves no memory behind, without the collector."""
    others = memory_in_use()
    gc.disable()
    try:
        model = nn.Sequential(nn.Linear(64, 4096), nn.ReLU(), nn.BatchNorm(4096))
        mx.eval(model.parameters())
        alive = [weakref.ref(layer) for layer in model.modules()]
        held = mx.get_active_memory() - others
        assert held >= 64 * 4096 * 4
        model.freeze().unfreeze().apply(lambda x: x).train(False)
        optimizer = optim.SGD(0.1)
        _, gradients = nn.value_and_grad(model, loss)(model)
        optimizer.update(model, gradients)
        mx.eval(model.parameters())
        del model, gradients, optimizer
        assert [ref() for ref in alive] == [None] * len(alive)
        assert mx.get_active_memory() - others < held / 4
    finally:
        gc.enable()
