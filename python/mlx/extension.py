"""Building C++ extensions of Python against the installed package, with setuptools.

By CMake, with a ``CMakeLists.txt`` that says ``find_package(mlx)`` and ``nanobind_add_module``
(``examples/extension``):

>>> from mlx import extension
>>> setuptools.setup(
...     name="scaled_sum",
...     packages=["scaled_sum"],
...     ext_modules=[extension.CMakeExtension("scaled_sum._ext")],
...     cmdclass={"build_ext": extension.CMakeBuild},
... )

or from sources alone, to which :class:`BuildExtension` adds the headers, libmlx and nanobind:

>>> setuptools.setup(
...     name="scaled_sum",
...     packages=["scaled_sum"],
...     ext_modules=[setuptools.Extension("scaled_sum._ext", ["bindings.cpp"])],
...     cmdclass={"build_ext": extension.BuildExtension},
... )

Bindings that include ``mlx/nanobind.h``, or ``mlx/pybind11.h`` (``examples/pybind11``), take and
return arrays of ``mlx.core``. Importing them raises ImportError where they were compiled with the
headers of another ABI. Bindings made with nanobind in the domain ``mlx`` know the classes of
``mlx.core`` without these headers, where both were compiled with the same nanobind and ``mlx.core``
is imported first.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from setuptools import Extension
from setuptools.command.build_ext import build_ext

_PathLike = os.PathLike[str] | str


def _package() -> Path:
    """The folder of the installed package."""
    import mlx.core

    folder = Path(mlx.core.__file__).resolve().parent
    if not (folder / "include").is_dir():
        raise RuntimeError(
            f"[mlx.extension] {folder} has no C++ headers; extensions build against an installed"
            " package, not against a build tree."
        )
    return folder


def _nanobind() -> Path:
    """The folder of nanobind's sources."""
    found = importlib.util.find_spec("nanobind")
    if found is None or found.origin is None:
        raise RuntimeError("[mlx.extension] nanobind is not installed; the bindings need it.")
    return Path(found.origin).parent


class CMakeExtension(Extension):
    """Describe an extension that CMake builds.

    Args:
        name: its full name, such as ``"package._ext"``; CMake is to make a module ``_ext``.
        sourcedir: the folder of its ``CMakeLists.txt``.

    >>> from mlx import extension
    >>> extension.CMakeExtension("package._ext", "native").name
    'package._ext'
    """

    def __init__(self, name: str, sourcedir: str = "") -> None:
        super().__init__(name, sources=[])
        self.sourcedir = os.fspath(Path(sourcedir).resolve())


class CMakeBuild(build_ext):
    """Build each :class:`CMakeExtension`: the command ``build_ext``.

    CMake is told where to find mlx, Python and nanobind. Files that it puts
    into ``CMAKE_LIBRARY_OUTPUT_DIRECTORY``, other libraries included, become part of the package.
    The variables ``CMAKE_ARGS`` and ``CMAKE_BUILD_PARALLEL_LEVEL`` are obeyed.

    >>> from mlx import extension
    >>> cmdclass = {"build_ext": extension.CMakeBuild}
    """

    def run(self) -> None:
        """Build all extensions; in place, copy what was built beside the sources."""
        if shutil.which("cmake") is None:
            raise RuntimeError("[mlx.extension] cmake is not installed; CMakeBuild needs it.")
        super().run()

    def build_extension(self, ext: CMakeExtension) -> None:
        """Configure and build one extension.

        Args:
            ext: the extension.

        Raises:
            RuntimeError: the package has no headers, or nanobind is not installed.
        """
        output = Path(self.get_ext_fullpath(ext.name)).resolve().parent
        build = Path(self.build_temp).resolve() / ext.name
        for folder in (output, build):
            folder.mkdir(parents=True, exist_ok=True)
        package_cmake = _package() / "share" / "cmake" / "mlx"
        options = {
            "CMAKE_BUILD_TYPE": "Debug" if self.debug else "Release",
            "CMAKE_LIBRARY_OUTPUT_DIRECTORY": output,
            "Python_EXECUTABLE": sys.executable,
            "mlx_DIR": package_cmake,
            "MLX_DIR": package_cmake,
            "nanobind_ROOT": _nanobind() / "cmake",
        }
        command = ["cmake", "-S", ext.sourcedir, "-B", os.fspath(build)]
        if shutil.which("ninja") and "CMAKE_GENERATOR" not in os.environ:
            command += ["-G", "Ninja"]
        command += [f"-D{name}={value}" for name, value in options.items()]
        subprocess.run(command + shlex.split(os.environ.get("CMAKE_ARGS", "")), check=True)
        jobs = [] if "CMAKE_BUILD_PARALLEL_LEVEL" in os.environ else [f"-j{os.cpu_count()}"]
        subprocess.run(["cmake", "--build", os.fspath(build), *jobs], check=True)

    def copy_extensions_to_source(self) -> None:
        """For a build in place: CMake chose the file names, so all libraries are copied."""
        for ext in self.extensions:
            target = Path(self.get_ext_fullpath(ext.name)).parent
            package = ext.name.split(".")[:-1]
            for built in Path(self.build_lib).joinpath(*package).iterdir():
                if built.suffix in {".so", ".dylib", ".pyd", ".dll"}:
                    shutil.copy2(built, target / built.name)


class MetalLibrary:
    """Describe Metal kernels to be compiled into ``name.metallib``.

    Args:
        name: the name of the library.
        sources: the files ``.metal``.
        extra_compile_args: arguments of the Metal compiler.
        deployment_target: the least version of macOS.

    Raises:
        ValueError: the name has folders in it, or there are no sources.

    >>> from mlx import extension
    >>> extension.MetalLibrary("kernels", ["k.metal"]).sources
    ['k.metal']
    """

    def __init__(
        self,
        name: str,
        sources: Sequence[_PathLike],
        *,
        extra_compile_args: Sequence[str] = (),
        deployment_target: str | None = None,
    ) -> None:
        if not name or os.path.basename(name) != name:
            raise ValueError(
                f"[MetalLibrary] name {name!r}; a file name without folders is accepted"
            )
        if not sources:
            raise ValueError("[MetalLibrary] no sources; at least one Metal source file is needed")
        self.name = name
        self.sources = [os.fspath(source) for source in sources]
        self.extra_compile_args = list(extra_compile_args)
        self.deployment_target = deployment_target


class MetalExtension(Extension):
    """Describe an extension in C++ that brings Metal kernels along.

    Other arguments are those of ``setuptools.Extension``. This package has no Metal backend:
    :class:`BuildExtension` refuses to build such an extension.

    Args:
        name: its full name.
        sources: files of C++; files named ``.metal`` make a library named like the module.
        metal_libraries: further libraries.
        extra_compile_args: a list for C++, or a dict of lists for ``"cxx"`` and ``"metal"``.

    Raises:
        ValueError: there are no Metal sources.

    >>> from mlx import extension
    >>> extension.MetalExtension("package._ext", ["x.cpp", "k.metal"]).sources
    ['x.cpp']
    """

    def __init__(
        self,
        name: str,
        sources: Sequence[_PathLike],
        *args: Any,
        metal_libraries: Sequence[MetalLibrary] | None = None,
        **kwargs: Any,
    ) -> None:
        paths = [os.fspath(source) for source in sources]
        kernels = [path for path in paths if path.endswith(".metal")]
        flags = kwargs.pop("extra_compile_args", None) or {}
        flags = flags if isinstance(flags, dict) else {"cxx": list(flags)}
        kwargs.setdefault("language", "c++")
        super().__init__(name, [path for path in paths if path not in kernels], *args, **kwargs)
        self.extra_compile_args = {"cxx": [], "metal": [], **flags}
        self.metal_library_name = name.rpartition(".")[-1]
        self.metal_libraries = list(metal_libraries or [])
        if kernels:
            self.metal_libraries.append(
                MetalLibrary(
                    self.metal_library_name,
                    kernels,
                    extra_compile_args=self.extra_compile_args["metal"],
                )
            )
        if not self.metal_libraries:
            raise ValueError("[MetalExtension] no Metal sources; at least one is needed")


class BuildExtension(build_ext):
    """Build extensions given by their sources: the command ``build_ext``.

    Adds to each the headers of mlx and libmlx, and nanobind with its runtime in the domain of mlx.
    C++20 is chosen unless the arguments of the compiler do.

    Args:
        nanobind: whether to add nanobind.

    >>> from mlx import extension
    >>> cmdclass = {"build_ext": extension.BuildExtension}
    """

    def __init__(self, *args: Any, nanobind: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.nanobind = nanobind

    @classmethod
    def with_options(cls, **options: Any) -> type[BuildExtension]:
        """Return this command with some arguments given, for ``cmdclass``.

        Args:
            options: the arguments.

        >>> from mlx import extension
        >>> cmdclass = {"build_ext": extension.BuildExtension.with_options(nanobind=False)}
        """

        def construct(self: BuildExtension, *args: Any, **kwargs: Any) -> None:
            cls.__init__(self, *args, **{**options, **kwargs})

        return type(cls.__name__, (cls,), {"__init__": construct})

    def run(self) -> None:
        """Build all extensions, in place if so told."""
        for ext in self.extensions:
            if isinstance(ext, MetalExtension):
                raise RuntimeError(
                    f"[BuildExtension] {ext.name} has Metal kernels; this package has no Metal"
                    " backend that could run them."
                )
            self._complete(ext)
        super().run()

    def _complete(self, ext: Extension) -> None:
        package = _package()
        ext.language = "c++"
        ext.include_dirs.append(os.fspath(package / "include"))
        ext.library_dirs.append(os.fspath(package / "lib"))
        ext.libraries.append("mlx")
        # Beside this package wherever both are installed, else where this package is now.
        beside = "/".join([".."] * ext.name.count(".") + ["mlx", "lib"])
        ext.runtime_library_dirs += [f"$ORIGIN/{beside}", os.fspath(package / "lib")]
        if not any("-std=" in argument for argument in ext.extra_compile_args):
            ext.extra_compile_args.append("-std=c++20")
        if self.nanobind:
            nanobind = _nanobind()
            ext.sources.append(os.fspath(nanobind / "src" / "nb_combined.cpp"))
            ext.include_dirs += [
                os.fspath(nanobind / "include"),
                os.fspath(nanobind / "ext" / "robin_map" / "include"),
            ]
            ext.define_macros += [("NB_DOMAIN", "mlx"), ("NB_COMPACT_ASSERTIONS", None)]
            ext.extra_compile_args += ["-fvisibility=hidden", "-fno-strict-aliasing"]

    def build_extension(self, ext: Extension) -> None:
        """Build one extension.

        Args:
            ext: the extension.
        """
        super().build_extension(ext)
