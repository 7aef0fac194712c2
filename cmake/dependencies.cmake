# Libraries that come from Python packages: their location is asked of the interpreter.

function(mlx_python_path out code)
  execute_process(COMMAND ${Python_EXECUTABLE} -c "${code}" OUTPUT_VARIABLE path
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(${out} ${path} PARENT_SCOPE)
endfunction()

mlx_python_path(openblas_lib "import scipy_openblas32 as b; print(b.get_lib_dir())")
mlx_python_path(openblas_include "import scipy_openblas32 as b; print(b.get_include_dir())")
mlx_python_path(json_include
  "import importlib.resources as r; print(r.files('nlohmann_json') / 'include')")

add_library(mlx_openblas INTERFACE)
target_include_directories(mlx_openblas SYSTEM INTERFACE $<BUILD_INTERFACE:${openblas_include}>)
target_link_libraries(mlx_openblas INTERFACE $<BUILD_INTERFACE:${openblas_lib}/libscipy_openblas.so>)
