# The C interface, libmlxc: functions and headers that mlx/c/generate.py writes from its table, and those
# written by hand.
file(GLOB c_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/mlx/c/src/*.cpp)
set(c_generated ${PROJECT_BINARY_DIR}/c)
set(c_generator ${PROJECT_SOURCE_DIR}/mlx/c/generate.py)
set(c_table ${PROJECT_SOURCE_DIR}/mlx/c/table.txt)
set(c_functions ${c_generated}/functions_0.cpp ${c_generated}/functions_1.cpp)
set(c_headers)
file(STRINGS ${c_table} c_sections REGEX "^\\[[a-z_]+\\] ")
foreach(section IN LISTS c_sections)
  string(REGEX REPLACE "^\\[([a-z_]+)\\].*" "\\1" name "${section}")
  list(APPEND c_headers ${c_generated}/mlx/c/${name}.h)
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${c_table})
add_custom_command(OUTPUT ${c_functions} ${c_headers} VERBATIM
  COMMAND ${Python_EXECUTABLE} ${c_generator} ${c_generated}
  COMMAND ${CMAKE_COMMAND} -E touch ${c_functions} ${c_headers}
  DEPENDS ${c_generator} ${c_table}
  COMMENT "Writing the C interface")

add_library(mlxc SHARED ${c_sources} ${c_functions} ${c_headers} ${portable_sources})
add_library(MLX::mlxc ALIAS mlxc)
target_include_directories(mlxc PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
  $<BUILD_INTERFACE:${c_generated}>)
target_link_libraries(mlxc PRIVATE mlx)
target_compile_definitions(mlxc PRIVATE MLX_ENGINE)
target_precompile_headers(mlxc PRIVATE <mlx/mlx.h> <mlx/c/src/convert.h>)
target_link_options(mlxc PRIVATE ${mlx_own_symbols})
mlx_join_sources(mlxc)
set_target_properties(mlxc PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/mlx/lib
  BUILD_RPATH "${mlx_origin};${blas_lib}"
  INSTALL_RPATH "${mlx_origin}")
