# Toolchain file: macOS 14 on 64-bit Arm, compiled and linked by the clang of the Python package
# ziglang, whose programs lie in MLX_ZIG. Nothing of Apple's is needed: what the system's libraries
# export is known by the lists of names in cmake/macos.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64)
set(MLX_ZIG "" CACHE PATH "Folder of the programs c++, ar and ranlib")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MLX_ZIG)
set(CMAKE_CXX_COMPILER ${MLX_ZIG}/c++)
set(CMAKE_AR ${MLX_ZIG}/ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${MLX_ZIG}/ranlib CACHE FILEPATH "")
# Names of libraries are right when they are linked, so that nothing has to change them.
set(CMAKE_INSTALL_NAME_TOOL /bin/false CACHE FILEPATH "")
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)

set(MLX_MACOS_TARGET aarch64-macos.14.0)
# The headers are newer than that system's C++ library. With this macro, which vendors of the library
# define, they use nothing that it lacks.
option(MLX_MACOS_AVAILABILITY "Use what the C++ library of macOS 14 has, no more" ON)
string(CONCAT CMAKE_CXX_FLAGS_INIT "-target ${MLX_MACOS_TARGET} -D_DARWIN_C_SOURCE")
if(MLX_MACOS_AVAILABILITY)
  string(APPEND CMAKE_CXX_FLAGS_INIT " -U_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS"
    " -D_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS=1")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MLX_MACOS_AVAILABILITY)

# Names the extension, in the place of the interpreter, which is the host's.
execute_process(COMMAND ${Python_EXECUTABLE} -c "import sys; print('cpython-%d%d-darwin' % sys.version_info[:2])"
  OUTPUT_VARIABLE SKBUILD_SOABI OUTPUT_STRIP_TRAILING_WHITESPACE)

# Writes a text stub, with which the linker links a library of the system by its names.
function(mlx_text_stub file library names)
  file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/macos/${names} symbols REGEX "^[^#]")
  list(JOIN symbols "', '" symbols)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${CMAKE_CURRENT_LIST_DIR}/macos/${names})
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT "--- !tapi-tbd
tbd-version: 4
targets: [ arm64-macos ]
install-name: '@library@'
exports:
  - targets: [ arm64-macos ]
    symbols: [ '@symbols@' ]
...
")
endfunction()
set(mlx_stubs ${CMAKE_BINARY_DIR}/system)
mlx_text_stub(${mlx_stubs}/libc++.1.tbd /usr/lib/libc++.1.dylib libc++.txt)
mlx_text_stub(${mlx_stubs}/Accelerate.framework/Accelerate.tbd
  /System/Library/Frameworks/Accelerate.framework/Versions/A/Accelerate Accelerate.txt)

# Not zig's static C++ library: exceptions would not cross from one copy to another.
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-nostdlib++ -F${mlx_stubs} -Wl,-S -Wl,-x")
endforeach()
set(CMAKE_CXX_STANDARD_LIBRARIES ${mlx_stubs}/libc++.1.tbd)
