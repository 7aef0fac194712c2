// How an MPI library is found, and the constants of each family.
#include "mlx/distributed/mpi_library.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "mlx/core/error.h"

namespace mlx::core::distributed {

namespace {

/// Names of libraries: the standard ABI, Open MPI, MPICH.
std::vector<std::string> library_names() {
  if (const char* given = std::getenv("MLX_MPI_LIBNAME"); given && *given) return {given};
  std::vector<std::string> names = {"libmpi_abi.so.1", "libmpi.so.40", "libmpi.so.12",
                                    "libmpich.so.12", "libmpi.so"};
  // The launcher's own family comes first: another library would not find the other ranks.
  if (std::getenv("OMPI_COMM_WORLD_SIZE")) std::swap(names[0], names[1]);
  // The folder of libraries of an environment with a package of MPI.
  if (const char* prefix = std::getenv("VIRTUAL_ENV")) {
    const std::vector<std::string> plain = names;
    for (size_t k = 0; k < plain.size(); ++k)
      names.insert(names.begin() + static_cast<int64_t>(2 * k),
                   std::string(prefix) + "/lib/" + plain[k]);
  }
  return names;
}

void* open_library(std::string& problem) {
  // A library that another package has loaded must not be loaded a second time.
  if (dlsym(RTLD_DEFAULT, "MPI_Init_thread")) return dlopen(nullptr, RTLD_NOW);
  for (const std::string& name : library_names()) {
    if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL)) return library;
    if (problem.empty()) problem = dlerror();
  }
  return nullptr;
}

MpiHandle address(void* library, const char* name) {
  return reinterpret_cast<MpiHandle>(dlsym(library, name));
}

/// Fills in the constants of the library's family.
void choose_family(void* library, MpiLibrary& m) {
  Dl_info info{};
  dladdr(dlsym(library, "MPI_Init_thread"), &info);
  const char* path = info.dli_fname ? info.dli_fname : "";
  if (MpiHandle world = address(library, "ompi_mpi_comm_world")) {
    m.family = "Open MPI";
    m.world = world;
    m.byte = address(library, "ompi_mpi_byte");
    m.errors_return = address(library, "ompi_mpi_errors_return");
  } else if (std::strstr(path, "libmpi_abi")) {
    m.family = "the standard ABI";
    m.world = 0x101;
    m.byte = 0x247;
    m.errors_return = 0x143;
    m.serialized = 2048;
  } else {
    m.family = "MPICH";
    m.world = 0x44000000;
    m.byte = 0x4c00010d;
    m.errors_return = 0x54000001;
    m.status_ignore = reinterpret_cast<void*>(1);
  }
}

MpiLibrary load() {
  MpiLibrary m{};
  void* library = open_library(m.problem);
  if (!library) return m;
  auto get = [&]<class F>(F& f, const char* name) {
    f = reinterpret_cast<F>(dlsym(library, name));
    if (!f && m.problem.empty()) m.problem = cat("the library has no ", name);
  };
  m.problem.clear();
#define MLX_GET(name) get(m.name, "MPI_" #name)
  MLX_GET(Init_thread);
  MLX_GET(Initialized);
  MLX_GET(Finalized);
  MLX_GET(Finalize);
  MLX_GET(Query_thread);
  MLX_GET(Abort);
  MLX_GET(Comm_rank);
  MLX_GET(Comm_size);
  MLX_GET(Comm_dup);
  MLX_GET(Comm_set_errhandler);
  MLX_GET(Isend);
  MLX_GET(Irecv);
  MLX_GET(Test);
  MLX_GET(Cancel);
  MLX_GET(Error_string);
  MLX_GET(Get_library_version);
#undef MLX_GET
  if (!m.problem.empty()) return m;
  std::array<char, 1 << 13> text{};
  int length = 0;
  m.Get_library_version(text.data(), &length);
  // MPICH puts its number into a column of a table.
  for (const char* c = text.data(); *c && *c != '\n'; ++c) {
    const char plain = *c == '\t' ? ' ' : *c;
    if (plain != ' ' || !m.version.ends_with(' ')) m.version += plain;
  }
  choose_family(library, m);
  m.usable = m.world != 0 && m.byte != 0;
  if (!m.usable) m.problem = cat("the library is of no known family: ", m.version);
  return m;
}

/// The value of the first variable that is set, at least 1; 0 where none is.
int first_number(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* v = std::getenv(name); v && *v) return std::max(std::atoi(v), 1);
  return 0;
}

}  // namespace

const MpiLibrary& mpi_library() {
  static const auto& library = *new MpiLibrary(load());
  return library;
}

int ranks_by_mpi_launcher() {
  if (const int n = first_number({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"})) return n;
  // Launchers by PMIx tell the rank alone.
  return std::getenv("PMIX_RANK") ? 1 : 0;
}

int ranks_here_by_mpi_launcher() {
  return first_number({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"});
}

}  // namespace mlx::core::distributed
