"""pip install --no-build-isolation .   where mlx and pybind11 are installed."""

import pybind11
from setuptools import Extension, setup

from mlx import extension

setup(
    name="rescaled",
    version="1.0",
    packages=["rescaled"],
    ext_modules=[
        Extension("rescaled._ext", ["bindings.cpp"], include_dirs=[pybind11.get_include()])
    ],
    cmdclass={"build_ext": extension.BuildExtension.with_options(nanobind=False)},
    python_requires=">=3.10",
)
