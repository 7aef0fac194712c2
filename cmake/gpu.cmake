# The room of GPUs: what a device with queues needs, compiled into each plugin, and what devices that
# compile at run time need beside it.

set(gpu_folder ${PROJECT_SOURCE_DIR}/mlx/backend/gpu)
file(GLOB gpu_sources CONFIGURE_DEPENDS ${gpu_folder}/*.cpp)
file(GLOB family_sources CONFIGURE_DEPENDS ${gpu_folder}/families/*.cpp)
# What prints kernels: the plugins', and the tests' alone.
set(printing_sources ${gpu_folder}/families/print_program.cpp
  ${gpu_folder}/families/kernel_table.cpp)
list(REMOVE_ITEM family_sources ${printing_sources})
add_library(mlx_gpu_printing OBJECT ${printing_sources})
target_link_libraries(mlx_gpu_printing PUBLIC mlx)

add_library(mlx_gpu_families OBJECT ${family_sources})
target_link_libraries(mlx_gpu_families PUBLIC mlx)
target_precompile_headers(mlx_gpu_families PRIVATE <algorithm>
  <mlx/backend/gpu/families/family.h> <mlx/backend/gpu/families/fused.h>)
add_library(mlx_gpu OBJECT ${gpu_sources})
target_link_libraries(mlx_gpu PUBLIC mlx)
target_precompile_headers(mlx_gpu PRIVATE <algorithm> <mlx/backend/gpu/devices.h>)
mlx_join_sources(mlx_gpu_families)
mlx_join_sources(mlx_gpu)
if(MLX_SANITIZE MATCHES undefined)
  # That check needs the type information of classes that the engine's library hides.
  target_compile_options(mlx_gpu PRIVATE -fno-sanitize=vptr)
  target_compile_options(mlx_gpu_families PRIVATE -fno-sanitize=vptr)
endif()
