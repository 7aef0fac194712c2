# The backend for Metal as a plugin, libmlx_metal. On macOS it lies beside the engine, which loads it;
# elsewhere with the tests, which run it on an emulated device (metal-cpp/emulated).

set(metal_folder ${PROJECT_SOURCE_DIR}/mlx/backend/metal)
file(GLOB metal_sources CONFIGURE_DEPENDS ${metal_folder}/*.cpp)
# The texts of kernels, in Metal's language.
file(GLOB metal_embedded CONFIGURE_DEPENDS ${metal_folder}/device/*.h ${gpu_folder}/kernels/*
  ${PROJECT_SOURCE_DIR}/mlx/backend/math/*.h)
list(APPEND metal_embedded ${PROJECT_SOURCE_DIR}/mlx/ops/elementwise.def)
set(metal_text ${CMAKE_CURRENT_BINARY_DIR}/metal_sources.cpp)
add_custom_command(OUTPUT ${metal_text} VERBATIM
  COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/metal_texts.py ${metal_text}
          ${PROJECT_SOURCE_DIR} ${metal_embedded}
  DEPENDS ${PROJECT_SOURCE_DIR}/cmake/metal_texts.py ${PROJECT_SOURCE_DIR}/cmake/metal_functions.py
          ${metal_embedded})
add_library(mlx_metal SHARED ${metal_sources} ${metal_text})
mlx_join_sources(mlx_metal)
target_link_libraries(mlx_metal PRIVATE mlx_gpu_families mlx_gpu_printing mlx_gpu mlx metal_cpp Threads::Threads)
if(APPLE)
  set_target_properties(mlx_metal PROPERTIES INSTALL_RPATH "${mlx_origin}"
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/mlx/lib)
  install(TARGETS mlx_metal LIBRARY DESTINATION mlx/lib COMPONENT cpp)
else()
  if(NOT MLX_SANITIZE)
    target_link_options(mlx_metal PRIVATE -Wl,--no-undefined)
  endif()
  set_target_properties(mlx_metal PROPERTIES BUILD_RPATH "${PROJECT_BINARY_DIR}/python/mlx/lib"
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_dependencies(mlx_metal metal_emulated)
endif()
