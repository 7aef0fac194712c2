# Toolchain file: 64-bit Arm Linux, compiled by Debian's cross compiler (g++-aarch64-linux-gnu).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# Headers of Python for this processor; Debian keeps some in a folder of the architecture's.
set(MLX_SYSROOT "" CACHE PATH "Folder with usr/include/python3.11")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MLX_SYSROOT)
if(MLX_SYSROOT)
  set(Python_INCLUDE_DIR ${MLX_SYSROOT}/usr/include/python3.11 CACHE PATH "")
  set(SKBUILD_SOABI cpython-311-aarch64-linux-gnu)  # names the extension, in the place of the interpreter
  set(CMAKE_CXX_FLAGS_INIT "-idirafter ${MLX_SYSROOT}/usr/include")
endif()
# Programs are the host's, and packages are found by paths that are given.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
