# The C++ engine, libmlx. The sources under backend/cpu/isa are compiled once per instruction set, in
# a namespace of their own, and chosen when the library is loaded.

# Plugins are compiled from the other rooms: cuda.cmake.
set(engine_sources)
foreach(room core ops transforms runtime io distributed compat backend/common backend/cpu)
  file(GLOB room_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/mlx/${room}/*.cpp)
  list(APPEND engine_sources ${room_sources})
endforeach()
file(GLOB isa_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/mlx/backend/cpu/isa/*.cpp)

configure_file(${PROJECT_SOURCE_DIR}/mlx/compat/published/mlx/version.h.in ${PROJECT_BINARY_DIR}/include/mlx/version.h)

# What makes the package run on older systems than the one that builds it; sanitizers have functions
# of their own in these places.
set(portable_sources)
set(portable_libraries)
if(NOT MLX_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  set(portable_sources ${CMAKE_CURRENT_SOURCE_DIR}/portable.cpp)
  # An archive of libstdc++ has no versions of names, and defines what portable.cpp would.
  include(CheckCXXSourceCompiles)
  check_cxx_source_compiles([[
extern "C" void wait(void*, void*);
__asm__(".symver wait,_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
int main() { wait(nullptr, nullptr); }
]] MLX_VERSIONED_LIBSTDCXX)
  if(MLX_VERSIONED_LIBSTDCXX)
    set_source_files_properties(${portable_sources} PROPERTIES COMPILE_DEFINITIONS MLX_VERSIONED_LIBSTDCXX)
  else()
    # Other libraries of a process may use the system's.
    add_link_options(LINKER:--exclude-libs,libstdc++.a)
  endif()
  # Since glibc 2.34 nothing is in these, before that some functions which portable.cpp calls.
  find_library(old_threads NAMES libpthread.so.0)
  find_library(old_loader NAMES libdl.so.2)
  if(old_threads AND old_loader)
    set(portable_libraries -Wl,--push-state,--no-as-needed ${old_threads} ${old_loader}
        -Wl,--pop-state)
  endif()
endif()

# Baseline objects come first, so that inline functions shared with the per-ISA objects resolve to
# code that every machine can run.
add_library(mlx SHARED ${engine_sources} ${portable_sources})
set_source_files_properties(${portable_sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
add_library(MLX::mlx ALIAS mlx)
target_include_directories(mlx PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/mlx/compat/published>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>)
target_include_directories(mlx SYSTEM PRIVATE ${json_include})
target_compile_features(mlx PUBLIC cxx_std_20)
target_link_libraries(mlx PRIVATE mlx_blas Threads::Threads ${CMAKE_DL_LIBS} ${portable_libraries})
target_compile_options(mlx PRIVATE ${mlx_own_calls})
target_compile_definitions(mlx PRIVATE MLX_ENGINE)
if(MLX_ACCELERATE)
  # No other sources include what knows of it; they are compiled once for both.
  set(cpu_sources ${engine_sources})
  list(FILTER cpu_sources INCLUDE REGEX "/mlx/backend/cpu/")
  set_property(SOURCE ${cpu_sources} APPEND PROPERTY COMPILE_DEFINITIONS MLX_ACCELERATE)
  if(NOT APPLE AND NOT MLX_SANITIZE)
    target_link_options(mlx PRIVATE -Wl,--no-undefined)  # a routine that the library lacks
  endif()
endif()
target_precompile_headers(mlx PRIVATE <algorithm> <cmath> <functional> <memory> <mutex> <optional>
  <string> <unordered_map> <vector> <mlx/core/array.h> <mlx/core/error.h>)
target_link_options(mlx PRIVATE ${mlx_own_symbols})
# Specializes templates that its neighbours instantiate.
mlx_join_sources(mlx elementwise.rules)
# In a Python environment the BLAS is found beside this package, wherever that is; any other
# installation names the place where it was built against it.
set(mlx_rpath)
if(blas_lib)
  set(mlx_rpath "${mlx_origin}/../../scipy_openblas32/lib")
  if(NOT SKBUILD)
    list(APPEND mlx_rpath ${blas_lib})
  endif()
endif()
set_target_properties(mlx PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/mlx/lib
  BUILD_RPATH "${blas_lib}"
  INSTALL_RPATH "${mlx_rpath}")

# The sets of this architecture and their flags.
set(isa_list ${PROJECT_SOURCE_DIR}/mlx/backend/cpu/isas.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${isa_list})
string(TOLOWER ${CMAKE_SYSTEM_PROCESSOR} processor)
string(REGEX REPLACE "^amd64$" "x86_64" processor ${processor})
string(REGEX REPLACE "^arm64$" "aarch64" processor ${processor})
file(READ ${isa_list} isa_rows)
string(REGEX MATCH "defined\\(__${processor}__\\)(.*)" isa_rows "${isa_rows}")
string(REGEX REPLACE "#(elif|endif).*" "" isa_rows "${isa_rows}")
string(REGEX MATCHALL "X\\([a-z0-9]+, [0-9]+, \"[^\"]*\"" isa_rows "${isa_rows}")
set(isas)
set(known_isas)
foreach(row IN LISTS isa_rows)
  string(REGEX MATCH "X\\(([a-z0-9]+), ([0-9]+), \"([^\"]*)\"" row "${row}")
  list(APPEND known_isas ${CMAKE_MATCH_1})
  if(MLX_ONLY_ISA AND NOT CMAKE_MATCH_1 STREQUAL MLX_ONLY_ISA)
    continue()
  endif()
  list(APPEND isas ${CMAKE_MATCH_1})
  set(isa_rate ${CMAKE_MATCH_2})
  if(NOT APPLE)  # whose processors all have what compilers use there without flags
    separate_arguments(isa_flags_${CMAKE_MATCH_1} UNIX_COMMAND "${CMAKE_MATCH_3}")
  endif()
endforeach()
set(isa_header <immintrin.h>)
if(processor STREQUAL "aarch64")
  set(isa_header <arm_neon.h>)
endif()
if(MLX_ONLY_ISA)
  if(NOT isas)
    list(JOIN known_isas ", " known_isas_text)
    message(FATAL_ERROR "MLX_ONLY_ISA=${MLX_ONLY_ISA} given; accepted: ${known_isas_text}")
  endif()
  # For everything that names the sets, tests too.
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY COMPILE_DEFINITIONS
    MLX_ONLY_ISA=${MLX_ONLY_ISA} MLX_ONLY_ISA_RATE=${isa_rate})
  add_compile_definitions(MLX_ONLY_ISA=${MLX_ONLY_ISA} MLX_ONLY_ISA_RATE=${isa_rate})
endif()
if(NOT isas)
  message(FATAL_ERROR "No vector instruction set is written for ${CMAKE_SYSTEM_PROCESSOR} yet")
endif()
set(isa_speed -O3)
if(NOT MLX_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # All of their loops are vectors already: -O3 makes them longer to compile and no faster. Clang takes
  # no precompiled header of another level.
  set(vectorized ${isa_sources})
  list(FILTER vectorized INCLUDE REGEX "/(elementwise_float|fft|gemm|gemm_rows|gemm_tiles|quantized)\\.cpp$")
  set_source_files_properties(${vectorized} PROPERTIES COMPILE_OPTIONS -O2)
endif()
if(MLX_SANITIZE MATCHES undefined)
  # What AddressSanitizer sees as well takes most of the time here.
  set(isa_speed -O1 -fno-sanitize=alignment,null,object-size)
elseif(MLX_SANITIZE)
  set(isa_speed -O1)
endif()
# Headers of gcc 12 leave the source of a masked intrinsic uninitialised, and the pragma that quiets it
# does not outlast a precompiled header.
set(isa_warnings $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
# Sanitizers put initialisers into every object; on macOS objects have another format.
if(MLX_SANITIZE OR APPLE)
  set(check_isa_objects ${CMAKE_COMMAND} -E true)
else()
  set(check_isa_objects ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/check_isa_objects.py
      ${CMAKE_READELF})
endif()
# Integers of arrays wrap around, and so do the bits of floats that are reckoned with as integers.
foreach(isa ${isas})
  set(speed ${isa_speed})
  if(isa STREQUAL "v2" AND NOT MLX_SANITIZE)
    set(speed -O2)  # faster to compile; processors without AVX2 are seldom met
  endif()
  add_library(mlx_${isa} OBJECT ${isa_sources})
  target_include_directories(mlx_${isa} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(mlx_${isa} PRIVATE MLX_ISA=${isa} MLX_ISA_${isa}=1)
  target_compile_options(mlx_${isa} PRIVATE ${isa_flags_${isa}} ${speed} ${isa_warnings}
    -fno-trapping-math -fwrapv)
  target_precompile_headers(mlx_${isa} PRIVATE <stdint.h> ${isa_header})
  target_link_libraries(mlx PRIVATE mlx_${isa})
  add_custom_command(TARGET mlx PRE_LINK VERBATIM COMMAND_EXPAND_LISTS
    COMMAND ${check_isa_objects} ${isa} $<TARGET_OBJECTS:mlx_${isa}>)
endforeach()
