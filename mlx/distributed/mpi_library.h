// The functions of an MPI library that is opened at run time, whichever family it belongs to.
#pragma once

#include <cstdint>
#include <string>

namespace mlx::core::distributed {

/// A handle of MPI. Callees of families whose handles are ints read the low half: both supported
/// calling conventions pass it in a register.
using MpiHandle = intptr_t;

/// An opened library. Families are the standard ABI of MPI 5, Open MPI (handles are addresses), and
/// MPICH (handles are ints).
struct MpiLibrary {
  const char* family = nullptr;
  std::string version;  ///< the first line of the library's own text
  MpiHandle world = 0, byte = 0, errors_return = 0;
  void* status_ignore = nullptr;
  int serialized = 2;  ///< MPI_THREAD_SERIALIZED

  int (*Init_thread)(int*, char***, int, int*);
  int (*Initialized)(int*);
  int (*Finalized)(int*);
  int (*Finalize)();
  int (*Query_thread)(int*);
  int (*Abort)(MpiHandle, int);
  int (*Comm_rank)(MpiHandle, int*);
  int (*Comm_size)(MpiHandle, int*);
  int (*Comm_dup)(MpiHandle, MpiHandle*);
  int (*Comm_set_errhandler)(MpiHandle, MpiHandle);
  int (*Isend)(const void*, int, MpiHandle, int, int, MpiHandle, MpiHandle*);
  int (*Irecv)(void*, int, MpiHandle, int, int, MpiHandle, MpiHandle*);
  int (*Test)(MpiHandle*, int*, void*);
  int (*Cancel)(MpiHandle*);
  int (*Error_string)(int, char*, int*);
  int (*Get_library_version)(char*, int*);

  /// True where none of the names could be opened, or the library lacks a function; the text of
  /// `problem` says why.
  bool usable = false;
  std::string problem;
};

/// The library, opened by the first call: MLX_MPI_LIBNAME, a library that the process has loaded
/// already, or the usual names.
const MpiLibrary& mpi_library();
/// The number of ranks by the variables of MPI's launchers; 0 where none started the process.
int ranks_by_mpi_launcher();
/// The number of ranks on this machine by the same; 0 where the launcher does not tell.
int ranks_here_by_mpi_launcher();

}  // namespace mlx::core::distributed
