# Libraries that come from Python packages: their location is asked of the interpreter.

function(mlx_python_path out code)
  execute_process(COMMAND ${Python_EXECUTABLE} -c "${code}" OUTPUT_VARIABLE path
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(${out} ${path} PARENT_SCOPE)
endfunction()

# Copies headers into the build tree, so that a build in another environment finds them where the last
# one did and compiles nothing twice.
function(mlx_keep out name from)
  set(to ${PROJECT_BINARY_DIR}/packages/${name})
  file(GLOB_RECURSE files RELATIVE ${from} ${from}/*)
  list(FILTER files EXCLUDE REGEX "[.]pyc$")
  foreach(file ${files})
    cmake_path(GET file PARENT_PATH folder)
    file(MAKE_DIRECTORY ${to}/${folder})
    file(COPY_FILE ${from}/${file} ${to}/${file} ONLY_IF_DIFFERENT)
  endforeach()
  set(${out} ${to} PARENT_SCOPE)
endfunction()

mlx_python_path(json_include
  "import importlib.resources as r; print(r.files('nlohmann_json') / 'include')")
mlx_keep(json_include json ${json_include})

# BLAS and LAPACK. Elsewhere than on macOS, Accelerate's names are those of a library of the tests.
add_library(mlx_blas INTERFACE)
set(blas_lib)
if(NOT APPLE)
  # Found without importing it, which would load a library that may be for another processor.
  mlx_python_path(openblas_package "from importlib.util import find_spec
print(find_spec('scipy_openblas32').submodule_search_locations[0])")
  set(blas_lib ${openblas_package}/lib)
endif()
if(APPLE)
  target_link_libraries(mlx_blas INTERFACE "-framework Accelerate")
elseif(MLX_ACCELERATE)
  add_library(mlx_accelerate SHARED ${PROJECT_SOURCE_DIR}/tests/apple/accelerate.cpp)
  target_link_libraries(mlx_accelerate PRIVATE ${blas_lib}/libscipy_openblas.so)
  target_link_libraries(mlx_blas INTERFACE $<BUILD_INTERFACE:mlx_accelerate>)
else()
  target_link_libraries(mlx_blas INTERFACE $<BUILD_INTERFACE:${blas_lib}/libscipy_openblas.so>)
endif()
