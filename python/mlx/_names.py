"""Names of other frameworks, and the names or expressions that take their place here.

``mx.cat`` raises an AttributeError that says ``for PyTorch's cat write mx.concatenate``. The tables
are also a part of the documentation.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing takes long to import
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, NoReturn

#: Keyword arguments of other libraries, and the arguments or functions in their place.
KEYWORDS = {
    "device": "stream",
    "dim": "axis",
    "dims": "axis",
    "inplace": "x = f(x)",
    "keepdim": "keepdims",
    "out": "y = f(x)",
    "requires_grad": "mx.grad(f, argnums)",
    "size": "shape",
    "static_argnames": "mx.compile(f): arguments that are no arrays are static",
    "static_argnums": "mx.compile(f): arguments that are no arrays are static",
}
#: Functions of PyTorch that mlx.core has under another name.
TORCH = {
    "autograd": "mx.grad",
    "bmm": "mx.matmul",
    "cat": "mx.concatenate",
    "cdist": "mx.linalg.norm of a difference",
    "chunk": "mx.split",
    "clamp": "mx.clip",
    "dist": "mx.linalg.norm",
    "from_numpy": "mx.array",
    "gather": "mx.take_along_axis",
    "ger": "mx.outer",
    "index_select": "mx.take",
    "is_tensor": "isinstance(x, mx.array)",
    "lerp": "a + w * (b - a)",
    "manual_seed": "mx.random.seed",
    "masked_fill": "mx.where",
    "masked_select": "x[mask]",
    "mm": "mx.matmul",
    "mul": "mx.multiply",
    "multinomial": "mx.random.categorical(mx.log(p), num_samples=n)",
    "mv": "mx.matmul",
    "neg": "mx.negative",
    "no_grad": "mx.stop_gradient (nothing is recorded without mx.grad)",
    "numel": "x.size",
    "one_hot": "mx.eye(n)[labels]",
    "permute": "mx.transpose",
    "rand": "mx.random.uniform",
    "randint": "mx.random.randint",
    "randn": "mx.random.normal",
    "randperm": "mx.random.permutation",
    "relu": "mx.maximum(x, 0), or nn.relu",
    "scatter": "mx.put_along_axis",
    "sub": "mx.subtract",
    "svd": "mx.linalg.svd",
    "tensor": "mx.array",
    "unbind": "mx.unstack",
    "unsqueeze": "mx.expand_dims",
    "Tensor": "mx.array",
    "FloatTensor": "mx.array",
    "LongTensor": "mx.array(..., dtype=mx.int64)",
    "long": "mx.int64",
    "half": "mx.float16",
    "double": "mx.float64",
    "device": "mx.Device",
    "set_default_dtype": "the argument dtype",
    "set_float32_matmul_precision": "mx.set_matmul_precision",
}
#: Functions of NumPy that mlx.core has under another name.
NUMPY = {
    "msort": "mx.sort",
    "ndarray": "mx.array",
    "product": "mx.prod",
    "frombuffer": "mx.array(memoryview(b))",
}
#: Functions of JAX that mlx.core has under another name.
JAX = {
    "jit": "mx.compile",
    "lax": "mx.scan, mx.while_loop, mx.cond, and functions of mx",
    "pmap": "mx.vmap, or mx.distributed",
    "block_until_ready": "mx.eval",
    "device_put": "mx.array, or x.to_device(mx.gpu)",
    "make_jaxpr": "mx.export_to_dot",
    "all_gather": "mx.distributed.all_gather",
    "conv_general_dilated": "mx.conv_general",
    "custom_jvp": "mx.custom_function",
    "custom_vjp": "mx.custom_function",
    "device_get": "numpy.array(x)",
    "devices": "mx.Device",
    "psum": "mx.distributed.all_sum",
    "tree": "mlx.utils.tree_map and its like",
    "tree_map": "mlx.utils.tree_map",
    "tree_flatten": "mlx.utils.tree_leaves and mlx.utils.tree_structure",
    "tree_leaves": "mlx.utils.tree_leaves",
    "tree_structure": "mlx.utils.tree_structure",
    "config": "mx.debug_nans, mx.set_matmul_precision, and arguments dtype",
    "debug": "print, after mx.disable_compile()",
    "pmean": "mx.distributed.all_sum(x) / group.size()",
    "pure_callback": "a call between compiled functions",
    "named_call": "mx.debug_lines, which shows lines of the program",
    "closure_convert": "the function: arrays that it captures are followed",
    "custom_linear_solve": "mx.custom_function around the solver",
    "ensure_compile_time_eval": "mx.eval(x), outside of the compiled function",
    "scatter_add": "x.at[indices].add(values)",
    "approx_max_k": "mx.top_k",
    "rng_uniform": "mx.random.uniform",
    "igamma": "mx.special.gammainc",
    "igammac": "mx.special.gammaincc",
    "reduce_window": "nn.MaxPool2d, nn.AvgPool2d and their like, or a reduction of mx.as_strided",
}
#: Functions of the random modules of NumPy, PyTorch and JAX that mlx.core.random has otherwise.
RANDOM = {
    "rand": "mx.random.uniform(shape=shape)",
    "randn": "mx.random.normal(shape)",
    "random": "mx.random.uniform(shape=shape)",
    "random_sample": "mx.random.uniform(shape=shape)",
    "standard_normal": "mx.random.normal(shape)",
    "default_rng": "mx.random.key(seed)",
    "Generator": "mx.random.key(seed)",
    "RandomState": "mx.random.key(seed)",
    "manual_seed": "mx.random.seed(n)",
    "integers": "mx.random.randint(low, high, shape)",
    "clone": "mx.random.split(key)[0]",
    "get_state": "mx.random.state",
    "key_data": "the key, an array of two uint32",
    "set_state": "mx.random.seed(n), or mx.random.state[0] = key",
    "standard_cauchy": "mx.random.cauchy(shape)",
    "standard_exponential": "mx.random.exponential(shape)",
}
#: Methods and attributes of tensors of PyTorch that arrays have under another name.
TENSOR = {
    "backward": "mx.grad",
    "bmm": "x @ y",
    "chunk": "x.split",
    "clamp": "x.clip",
    "contiguous": "mx.contiguous(x)",
    "cpu": "mx.array(x): the CPU reads every array",
    "cuda": "x.to_device(mx.gpu)",
    "data_ptr": "x.__dlpack__()",
    "detach": "mx.stop_gradient(x)",
    "dim": "x.ndim",
    "double": "x.astype(mx.float64)",
    "expand": "mx.broadcast_to(x, shape)",
    "fill_": "mx.full_like(x, v)",
    "float": "x.astype(mx.float32)",
    "gather": "mx.take_along_axis(x, indices, axis)",
    "grad": "mx.grad",
    "half": "x.astype(mx.float16)",
    "index_select": "x.take(indices, axis)",
    "int": "x.astype(mx.int32)",
    "long": "x.astype(mx.int64)",
    "masked_fill": "mx.where(mask, v, x)",
    "matmul": "x @ y",
    "mm": "x @ y",
    "mul": "x * y",
    "narrow": "x[start:stop]",
    "neg": "-x",
    "norm": "mx.linalg.norm(x)",
    "numel": "x.size",
    "numpy": "numpy.array(x)",
    "permute": "x.transpose",
    "pow": "x ** y",
    "requires_grad": "mx.grad(f, argnums)",
    "requires_grad_": "mx.grad(f, argnums)",
    "scatter": "mx.put_along_axis(x, indices, values, axis)",
    "scatter_add": "x.at[indices].add(values)",
    "sigmoid": "mx.sigmoid(x)",
    "softmax": "mx.softmax(x, axis)",
    "tanh": "mx.tanh(x)",
    "to": "x.astype(dtype)",
    "topk": "mx.topk(x, k)",
    "type": "x.astype(dtype)",
    "unsqueeze": "mx.expand_dims(x, axis)",
    "unbind": "mx.unstack(x)",
}
#: Methods of NumPy's arrays that arrays have under another name.
NDARRAY = {
    "byteswap": "NumPy",
    "ctypes": "memoryview(x)",
    "data": "memoryview(x)",
    "dump": "mx.save(path, x)",
    "dumps": "pickle.dumps(x)",
    "fill": "x[:] = v",
    "flags": "memoryview(x).readonly and memoryview(x).contiguous",
    "flat": "x.flatten()",
    "put": "x[indices] = values",
    "resize": "mx.reshape, or mx.pad",
    "strides": "memoryview(x).strides",
    "tofile": "mx.save(path, x)",
}
#: Methods of modules of PyTorch that modules have under another name.
MODULE = {
    "buffers": "model.freeze(keys=[...]), which keeps parameters from being trained",
    "cpu": "mx.set_default_device(mx.cpu): arrays belong to no device",
    "cuda": "mx.set_default_device(mx.gpu): arrays belong to no device",
    "double": "model.set_dtype(mx.float64)",
    "float": "model.set_dtype(mx.float32)",
    "forward": "the method __call__",
    "half": "model.set_dtype(mx.float16)",
    "load_state_dict": "model.load_weights(list(weights.items()))",
    "named_parameters": "mlx.utils.tree_flatten(model.parameters())",
    "requires_grad_": "model.freeze() and model.unfreeze()",
    "state_dict": "dict(mlx.utils.tree_flatten(model.parameters()))",
    "to": "model.set_dtype(dtype), or mx.set_default_device(device)",
    "zero_grad": "nn.value_and_grad, which returns new gradients",
}
#: Names of torch.optim that mlx.optimizers has otherwise, and attributes of its optimizers.
OPTIMIZERS = {
    "lr_scheduler": "a function of the step as learning rate, such as optim.cosine_decay",
    "CosineAnnealingLR": "optim.cosine_decay",
    "CosineAnnealingWarmRestarts": "optim.cosine_warm_restarts",
    "OneCycleLR": "optim.one_cycle",
    "ReduceLROnPlateau": "optim.ReduceOnPlateau",
    "StepLR": "optim.step_decay",
    "Adadelta": "optim.AdaDelta",
}
OPTIMIZER = {
    "param_groups": "optim.ParameterGroups",
    "state_dict": "optimizer.state",
    "zero_grad": "nn.value_and_grad, which returns new gradients",
}
#: Classes of torch.nn that mlx.nn has under another name.
LAYERS = {
    "BCELoss": "nn.losses.binary_cross_entropy(..., with_logits=False)",
    "BCEWithLogitsLoss": "nn.losses.binary_cross_entropy",
    "BatchNorm1d": "nn.BatchNorm",
    "BatchNorm2d": "nn.BatchNorm",
    "BatchNorm3d": "nn.BatchNorm",
    "CTCLoss": "nn.losses.ctc_loss",
    "ChannelShuffle": "x.reshape(..., groups, -1).swapaxes(-1, -2).reshape(x.shape)",
    "CosineEmbeddingLoss": "nn.losses.cosine_similarity_loss",
    "CrossEntropyLoss": "nn.losses.cross_entropy",
    "GaussianNLLLoss": "nn.losses.gaussian_nll_loss",
    "HuberLoss": "nn.losses.huber_loss",
    "InstanceNorm1d": "nn.InstanceNorm",
    "InstanceNorm2d": "nn.InstanceNorm",
    "KLDivLoss": "nn.losses.kl_div_loss",
    "L1Loss": "nn.losses.l1_loss",
    "MSELoss": "nn.losses.mse_loss",
    "MarginRankingLoss": "nn.losses.margin_ranking_loss",
    "ModuleDict": "a dict that is an attribute",
    "ModuleList": "a list that is an attribute",
    "MultiheadAttention": "nn.MultiHeadAttention",
    "NLLLoss": "nn.losses.nll_loss",
    "Parameter": "an mx.array that is an attribute",
    "ParameterList": "a list of arrays that is an attribute",
    "PoissonNLLLoss": "nn.losses.poisson_nll_loss",
    "SmoothL1Loss": "nn.losses.smooth_l1_loss",
    "SoftMarginLoss": "nn.losses.soft_margin_loss",
    "TripletMarginLoss": "nn.losses.triplet_loss",
    "functional": "mlx.nn itself",
    "Unflatten": "mx.unflatten",
    "UpsamplingBilinear2d": "nn.Upsample(..., mode='linear', align_corners=True)",
    "UpsamplingNearest2d": "nn.Upsample",
}
#: Functions of jax.nn that mlx.nn has under another name.
FUNCTIONS = {
    "dot_product_attention": "mx.fast.scaled_dot_product_attention",
    "identity": "nn.Identity()",
}


def hint(name: str, place: str, tables: dict[str, dict[str, str]]) -> str:
    """The message for a name that ``place`` does not have."""
    for owner, table in tables.items():
        if name in table:
            return f"{place} has no attribute {name!r}: for {owner}'s {name} write {table[name]}"
    return ""


def _shape_hint(name: str, accepted: str, given: list[Any]) -> str:
    """How to write a shape that was given as integers: ``zeros(2, 3)``, ``normal(3)``."""
    parameters = accepted[accepted.find("(") + 1 :].split(", ")
    place = next((i for i, p in enumerate(parameters) if p.startswith("shape:")), None)
    if place is None or len(given) <= place:
        return ""
    rest = given[place:]
    if not all(type(n) is int for n in rest):
        return ""
    shape = tuple(rest)
    before = "".join(f"{x}, " for x in given[:place])
    return f"; for the shape {shape} write {name}({before}{shape})"


def call_hint(name: str, accepted: str, given: list[Any], keywords: tuple[str, ...]) -> str:
    """The end of the message for arguments that a function does not take, or nothing."""
    for word in keywords:
        if word in KEYWORDS and f" {word}: " not in accepted.replace("(", " "):
            return f"; for {word}= write {KEYWORDS[word]}"
    if given and type(given[0]).__name__ == "array" and " key: " in accepted:
        return "; for a key write key=key, after the other arguments"
    return _shape_hint(name, accepted, given)


class Missing:
    """A module's ``__getattr__``, called for names that it does not have."""

    def __init__(self, module: str, tables: dict[str, dict[str, str]]) -> None:
        self.module, self.tables = module, tables

    def __call__(self, name: str) -> NoReturn:
        place = f"module {self.module!r}"
        text = hint(name, place, self.tables)
        if text:
            raise AttributeError(text)
        raise AttributeError(
            f"{place} has no attribute {name!r}", name=name, obj=sys.modules.get(self.module)
        )


class Elsewhere:
    """An attribute that other frameworks' arrays have: reading it raises an AttributeError."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Elsewhere:
        if instance is None:  # for programs that walk through a class
            return self
        raise AttributeError(hint(self.name, "an array", METHODS))


METHODS = {"PyTorch": TENSOR, "NumPy": NDARRAY}


def without_elsewhere(kind: type, names: Iterable[str]) -> list[str]:
    """Return the names that instances of a class have, without the ones that only raise."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        found.update(vars(base))
    return [name for name in names if not isinstance(found.get(name), Elsewhere)]


def dir_of_class(cls: type) -> list[str]:
    """Return ``dir(mx.array)``: a ``__dir__`` for its metaclass."""
    return without_elsewhere(cls, type.__dir__(cls))


def of_random() -> Missing:
    """The ``__getattr__`` of mlx.core.random."""
    return Missing("mlx.core.random", {"another library": RANDOM})


def install(array_class: type) -> Missing:
    """Give arrays the attributes; return the ``__getattr__`` of mlx.core.

    They are no attributes of a class's ``__getattr__``, which would make every access slower.
    """
    for table in METHODS.values():
        for name in table:
            if not hasattr(array_class, name):
                setattr(array_class, name, Elsewhere(name))

    def of_arrays(self: Any) -> list[str]:
        return without_elsewhere(type(self), object.__dir__(self))

    array_class.__dir__ = of_arrays  # type: ignore[method-assign, assignment]
    return Missing("mlx.core", {"PyTorch": TORCH, "NumPy": NUMPY, "JAX": JAX})
