# Translation units of several sources: most of what a short file costs is its headers and the templates
# that it instantiates, which its neighbours share.

set(MLX_UNIT_SIZE 8 CACHE STRING "Sources compiled as one, at most; 1: each by itself")

# Joins the sources of a target that lie in one folder, in the order of their names, but the ones in `ARGN`.
function(mlx_join_sources target)
  if(MLX_UNIT_SIZE LESS 2)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "^${PROJECT_SOURCE_DIR}/.*\\.cpp$")
  list(SORT sources)
  set(folder)
  foreach(source IN LISTS sources)
    get_filename_component(parent ${source} DIRECTORY)
    if(NOT parent STREQUAL folder)
      set(folder ${parent})
      set(index 0)
      file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${folder})
      string(MAKE_C_IDENTIFIER ${name} name)
    endif()
    get_filename_component(stem ${source} NAME_WLE)
    if(stem IN_LIST ARGN)
      continue()
    endif()
    math(EXPR unit "${index} / ${MLX_UNIT_SIZE}")
    math(EXPR index "${index} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name}_${unit})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # Members of a class of one source, of types that are that source's alone: gcc takes the unit for a header.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()
