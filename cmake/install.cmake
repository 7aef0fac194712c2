# What `pip install` puts into the package, and what C++ applications find with find_package(mlx).
include(CMakePackageConfigHelpers)
set(package mlx)
set(package_cmake ${package}/share/cmake/mlx)

install(TARGETS mlx mlxc EXPORT mlx-targets COMPONENT cpp
  LIBRARY DESTINATION ${package}/lib
  INCLUDES DESTINATION ${package}/include)
# Headers under the paths that applications know, and what these include: rooms of devices are none
# of it, so that their files are named as they like.
install(DIRECTORY mlx DESTINATION ${package}/include COMPONENT cpp
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN published EXCLUDE PATTERN backend EXCLUDE
  PATTERN mlx/c/src EXCLUDE)
install(DIRECTORY mlx/compat/published/mlx DESTINATION ${package}/include COMPONENT cpp
  FILES_MATCHING PATTERN "*.h")
file(GLOB backend_interface CONFIGURE_DEPENDS mlx/backend/*.h)
install(FILES ${backend_interface} DESTINATION ${package}/include/mlx/backend COMPONENT cpp)
# Ops of applications have kernels of the CPU.
install(FILES mlx/backend/cpu/kernel.h DESTINATION ${package}/include/mlx/backend/cpu COMPONENT cpp)
install(DIRECTORY ${PROJECT_BINARY_DIR}/c/mlx DESTINATION ${package}/include COMPONENT cpp
  FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_BINARY_DIR}/include/mlx/version.h DESTINATION ${package}/include/mlx
  COMPONENT cpp)

# One file in lower case serves find_package(mlx) and find_package(MLX).
install(EXPORT mlx-targets NAMESPACE MLX:: DESTINATION ${package_cmake} COMPONENT cpp)
configure_package_config_file(cmake/mlx-config.cmake.in ${PROJECT_BINARY_DIR}/mlx-config.cmake
  INSTALL_DESTINATION ${package_cmake})
configure_package_config_file(cmake/mlxc-config.cmake.in ${PROJECT_BINARY_DIR}/mlxc-config.cmake
  INSTALL_DESTINATION ${package_cmake})
foreach(name mlx mlxc)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/${name}-config-version.cmake
    COMPATIBILITY SameMajorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/${name}-config.cmake
    ${PROJECT_BINARY_DIR}/${name}-config-version.cmake DESTINATION ${package_cmake} COMPONENT cpp)
endforeach()

if(MLX_BUILD_PYTHON)
  install(TARGETS core LIBRARY DESTINATION ${package} COMPONENT python)
  install(DIRECTORY python/mlx/ DESTINATION ${package} COMPONENT python
    FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi")
endif()
