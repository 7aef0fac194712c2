# The plugin for NVIDIA GPUs, libmlx_cuda.so. It needs nothing of NVIDIA's to be built: the driver and
# the compiler of kernels are opened when it runs. With MLX_CUDA it lies beside the engine, which loads
# it; else with the tests, which run it on a driver of the host (tests/cuda).

set(cuda_folder ${PROJECT_SOURCE_DIR}/mlx/backend/cuda)
file(GLOB cuda_sources CONFIGURE_DEPENDS ${cuda_folder}/*.cpp
  ${PROJECT_SOURCE_DIR}/mlx/backend/nccl/*.cpp)
# What kernels include travels in the library, as text.
file(GLOB cuda_embedded CONFIGURE_DEPENDS ${cuda_folder}/device/std/* ${cuda_folder}/device/*.cuh
  ${gpu_folder}/kernels/* ${PROJECT_SOURCE_DIR}/mlx/backend/math/*.h)
list(APPEND cuda_embedded ${PROJECT_SOURCE_DIR}/mlx/core/half.h
  ${PROJECT_SOURCE_DIR}/mlx/ops/elementwise.def)
set(cuda_text ${CMAKE_CURRENT_BINARY_DIR}/cuda_sources.cpp)
add_custom_command(OUTPUT ${cuda_text} VERBATIM
  COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/embed.py ${cuda_text}
          ${PROJECT_SOURCE_DIR} ${cuda_embedded}
  DEPENDS ${PROJECT_SOURCE_DIR}/cmake/embed.py ${cuda_embedded})

# What compiles kernels: the plugin's, and the tests' alone.
set(compiler_sources ${cuda_folder}/compiler.cpp ${cuda_folder}/libraries.cpp
  ${cuda_folder}/target.cpp)
list(REMOVE_ITEM cuda_sources ${compiler_sources})
add_library(mlx_cuda_compiler OBJECT ${compiler_sources} ${cuda_text})
target_link_libraries(mlx_cuda_compiler PUBLIC mlx ${CMAKE_DL_LIBS})

add_library(mlx_cuda SHARED ${cuda_sources})
target_link_libraries(mlx_cuda PRIVATE mlx_cuda_compiler mlx_gpu_printing mlx_gpu_families mlx_gpu
  mlx Threads::Threads)
target_precompile_headers(mlx_cuda PRIVATE <algorithm> <mlx/backend/gpu/families/family.h>
  <mlx/backend/gpu/families/fused.h>)
mlx_join_sources(mlx_cuda)
if(NOT MLX_SANITIZE)
  target_link_options(mlx_cuda PRIVATE -Wl,--no-undefined)
endif()
set_target_properties(mlx_cuda PROPERTIES BUILD_RPATH "${PROJECT_BINARY_DIR}/python/mlx/lib"
  INSTALL_RPATH "$ORIGIN")
if(MLX_CUDA)
  if(MLX_CUDA_PACKAGES AND NOT SKBUILD)
    target_compile_definitions(mlx_cuda_compiler PRIVATE
      MLX_CUDA_PACKAGES="${MLX_CUDA_PACKAGES}/nvidia/cu13/lib")
  endif()
  set_target_properties(mlx_cuda PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/mlx/lib)
  install(TARGETS mlx_cuda LIBRARY DESTINATION mlx/lib COMPONENT cpp)
else()
  set_target_properties(mlx_cuda PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
endif()

# The plugin under sanitizers, for `./dev cuda --sanitize`; the engine is the one that is there.
if(MLX_BUILD_TESTS AND NOT MLX_SANITIZE)
  add_library(mlx_sanitized INTERFACE)
  # Classes of the engine hide the type information that the check `vptr` needs.
  target_compile_options(mlx_sanitized INTERFACE
    -fsanitize=address,undefined -fno-sanitize=vptr -fno-omit-frame-pointer -g1 -O1
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(mlx_sanitized INTERFACE -fsanitize=address,undefined)
  add_library(mlx_cuda_sanitized SHARED EXCLUDE_FROM_ALL ${cuda_sources} ${gpu_sources}
    ${family_sources} ${printing_sources} ${compiler_sources} ${cuda_text})
  target_link_libraries(mlx_cuda_sanitized PRIVATE mlx mlx_sanitized Threads::Threads
    ${CMAKE_DL_LIBS})
  add_dependencies(mlx_cuda_sanitized mlx_cuda_compiler)  # which writes the text
  set_target_properties(mlx_cuda_sanitized PROPERTIES OUTPUT_NAME mlx_cuda
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/sanitized
    BUILD_RPATH "${PROJECT_BINARY_DIR}/python/mlx/lib")
endif()
