"""pip install --no-build-isolation .   where mlx, nanobind, cmake and wheel are installed."""

from setuptools import setup

from mlx import extension

setup(
    name="scaled_sum",
    version="1.0",
    packages=["scaled_sum"],
    ext_modules=[extension.CMakeExtension("scaled_sum._ext")],
    cmdclass={"build_ext": extension.CMakeBuild},
    python_requires=">=3.10",
)
