"""A network is trained in Python, written to a file, and called by a program in C++.

    ./dev example exported

Builds examples/cpp/exported_function with CMake, runs it on the file, and compares what it prints
with what the network gives in Python. Takes about half a minute.
"""

import argparse
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys

import show

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim


def train(steps: int) -> tuple[nn.Module, float]:
    """A network that guesses whether four numbers and noise have a positive sum; its accuracy."""
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = optim.Adam(1e-2, bias_correction=True)
    progress = show.Progress(steps)

    def loss(x: mx.array, y: mx.array) -> mx.array:
        return nn.losses.cross_entropy(model(x), y, reduction="mean")

    for _ in range(steps):
        x = mx.random.normal((64, 4))
        y = (mx.sum(x, axis=1) + 2 * mx.random.normal((64,)) > 0).astype(mx.int32)
        value, gradients = nn.value_and_grad(model, loss)(x, y)
        optimizer.update(model, gradients)
        mx.eval(value, model.state, optimizer.state)
        progress(loss=value.item())
    x = mx.random.normal((1000, 4))
    return model, mx.mean(mx.argmax(model(x), axis=1) == (mx.sum(x, axis=1) > 0)).item()


def tool(name: str) -> str:
    """A program of this Python's environment, or of the machine."""
    beside = pathlib.Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name) or sys.exit(f"{name} is missing")


def package(folder: pathlib.Path) -> pathlib.Path:
    """Where CMake finds the library: in the installed package, or one made from the build tree."""
    here = pathlib.Path(mx.__file__).parent
    if not (here / "share").is_dir():
        build, prefix = here.parents[1], folder / "package"
        command = (tool("cmake"), "--install", build, "--prefix", prefix, "--component", "cpp")
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        blas = importlib.util.find_spec("scipy_openblas32").submodule_search_locations[0]
        if not (prefix / "scipy_openblas32").exists():
            (prefix / "scipy_openblas32").symlink_to(blas)
        here = prefix / "mlx"
    return here / "share" / "cmake" / "mlx"


def compiled(folder: pathlib.Path) -> pathlib.Path:
    """Build the program in C++."""
    print("builds examples/cpp/exported_function")
    source, build = show.HERE / "cpp" / "exported_function", folder / "build"
    for command in (
        (tool("cmake"), "-S", source, "-B", build, f"-Dmlx_DIR={package(folder)}"),
        (tool("cmake"), "--build", build),
    ):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            sys.exit(done.stdout)
    return build / "exported_function"


def main(given: list[str] | None = None) -> dict[str, float]:
    """Train, export, call from Python and from C++; the figures at the end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, help="the program, if it is built already")
    parser.add_argument("--quick", action="store_true", help="the file is called by Python alone")
    parser.add_argument("--output", type=pathlib.Path, default=show.HERE / "output" / "exported")
    options = parser.parse_args(given)
    options.output.mkdir(parents=True, exist_ok=True)
    mx.random.seed(0)
    model, accuracy = train(20 if options.quick else 300)

    file = options.output / "predict.mlxfn"
    mx.export_function(str(file), lambda x: mx.softmax(model(x), axis=-1), mx.zeros((1, 4)))
    print(f"accuracy {accuracy:.1%}; exported to {file}, {file.stat().st_size} bytes")
    expected = mx.softmax(model(mx.ones((1, 4))), axis=-1)
    read = mx.import_function(str(file))(mx.ones((1, 4)))[0]
    print(f"Python, for ones: {expected.tolist()[0]}, from the file: {read.tolist()[0]}")
    difference = mx.max(mx.abs(read - expected)).item()
    if options.program or not options.quick:
        program = options.program or compiled(options.output)
        said = subprocess.run([program, file], check=True, stdout=subprocess.PIPE, text=True).stdout
        print(f"C++, for ones: {said.strip()}")
        numbers = [float(n) for n in re.findall(r"[-+.\de]*\d[-+.\de]*", said.split("]")[0])]
        difference = mx.max(mx.abs(mx.array(numbers) - expected[0])).item()
        print(f"largest difference: {difference:.2g}")
    return {"accuracy": accuracy, "difference": difference}


if __name__ == "__main__":
    main()
