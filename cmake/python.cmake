# The Python package. In the build tree it is complete under python/mlx: the extension, the engine,
# type stubs, and links to the Python sources, so that PYTHONPATH=build/python needs no installation.

mlx_python_path(nanobind_package "import nanobind, os; print(os.path.dirname(nanobind.__file__))")
mlx_keep(nanobind_ROOT nanobind ${nanobind_package})
find_package(nanobind CONFIG REQUIRED)
if(Python_VERSION VERSION_LESS 3.11)
  # What writes the type stubs needs it, and runs without the path of the build's environment.
  mlx_python_path(typing_extensions "import typing_extensions as t; print(t.__file__)")
  file(COPY_FILE ${typing_extensions} ${PROJECT_BINARY_DIR}/packages/typing_extensions.py
       ONLY_IF_DIFFERENT)
endif()

file(GLOB binding_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/src/*.cpp)
# The docstrings of functions, from text files.
set(docstrings ${PROJECT_BINARY_DIR}/docstrings.cpp)
file(GLOB docstring_texts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/docstrings/*.txt)
add_custom_command(OUTPUT ${docstrings} VERBATIM
  COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/python/docstrings.py ${docstrings}
  DEPENDS ${PROJECT_SOURCE_DIR}/python/docstrings.py ${docstring_texts}
  COMMENT "Writing docstrings")
nanobind_add_module(core NB_DOMAIN mlx NOMINSIZE ${binding_sources} ${docstrings} ${portable_sources})
# In one piece, as it is in other build systems: its files are short, and their headers are long.
set_target_properties(nanobind-static PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
set_source_files_properties(${docstrings} ${portable_sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
mlx_join_sources(core)
target_link_libraries(core PRIVATE mlx)
target_compile_options(core PRIVATE ${mlx_own_calls})
target_compile_definitions(core PRIVATE MLX_ENGINE)
if(MLX_SANITIZE MATCHES undefined)
  # A thread that is unwound by the C library has no exception object; catching that binds a reference
  # to null.
  target_compile_options(core PRIVATE -fno-sanitize=null)
endif()
# Without NDEBUG nanobind checks for the GIL at each change of a reference count.
foreach(target core nanobind-static)
  target_compile_definitions(${target} PRIVATE $<$<CONFIG:Release>:NDEBUG>)
endforeach()
target_include_directories(core PRIVATE ${PROJECT_SOURCE_DIR}/python/src)
target_precompile_headers(core PRIVATE <convert.h> <module.h> <mlx/ops.h>)
if(APPLE AND CMAKE_CROSSCOMPILING)
  target_sources(core PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/macos/python_sizes.cpp)
  set(CMAKE_SHARED_MODULE_CREATE_CXX_FLAGS -dynamiclib)  # its linker ends in a crash for bundles
  # Python's names are looked up when the extension is loaded; this linker does not take nanobind's
  # file of them.
  get_target_property(link_options core LINK_OPTIONS)
  list(FILTER link_options EXCLUDE REGEX "darwin-ld-")
  set_target_properties(core PROPERTIES LINK_OPTIONS "${link_options}")
  target_link_options(core PRIVATE -Wl,-undefined,dynamic_lookup)
endif()
set_target_properties(core PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/mlx
  BUILD_RPATH "${mlx_origin}/lib;${blas_lib}"
  INSTALL_RPATH "${mlx_origin}/lib")

file(GLOB python_parts RELATIVE ${PROJECT_SOURCE_DIR}/python/mlx CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/python/mlx/*)
list(REMOVE_ITEM python_parts __pycache__)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/python/mlx)
foreach(part ${python_parts})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python/mlx/${part} ${PROJECT_BINARY_DIR}/python/mlx/${part}
       SYMBOLIC)
endforeach()

# Type stubs of the extension, mlx/core/*.pyi, and the marker that tells type checkers of them.
set(stubs ${PROJECT_BINARY_DIR}/python/mlx/core/__init__.pyi)
add_custom_command(OUTPUT ${stubs} VERBATIM
  COMMAND ${CMAKE_COMMAND} -E env
          PYTHONPATH=${PROJECT_BINARY_DIR}/python:${PROJECT_BINARY_DIR}/packages ${Python_EXECUTABLE}
          ${PROJECT_SOURCE_DIR}/python/stubs.py ${PROJECT_BINARY_DIR}/python/mlx
  COMMAND ${CMAKE_COMMAND} -E touch ${PROJECT_BINARY_DIR}/python/mlx/py.typed
  DEPENDS core mlx ${PROJECT_SOURCE_DIR}/python/stubs.py
  COMMENT "Writing type stubs")
add_custom_target(stubs ALL DEPENDS ${stubs})
# Packages are built by this target alone.
add_dependencies(stubs mlxc)
if(MLX_CUDA)
  add_dependencies(stubs mlx_cuda)
endif()
install(DIRECTORY ${PROJECT_BINARY_DIR}/python/mlx/core DESTINATION mlx FILES_MATCHING PATTERN "*.pyi")
install(FILES ${PROJECT_BINARY_DIR}/python/mlx/py.typed DESTINATION mlx)
