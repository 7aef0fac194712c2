// The functions of cuSOLVER, their handles, and factors by them.
#include "mlx/backend/cuda/solver.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "mlx/backend/cuda/hardware.h"
#include "mlx/backend/cuda/libraries.h"
#include "mlx/backend/gpu/threads.h"
#include "mlx/core/error.h"

namespace mlx::core::cuda {

namespace {

// cuSOLVER's functions and values of its enumerations. Declared here, so that no header of its
// package is needed.
struct Cusolver {
  using Handle = struct OpaqueSolver*;
  using Params = struct OpaqueParams*;
  int (*create)(Handle*) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*set_stream)(Handle, StreamHandle) = nullptr;
  int (*create_params)(Params*) = nullptr;
  int (*potrf_work)(Handle, Params, int, int64_t, int, const void*, int64_t, int, size_t*,
                    size_t*) = nullptr;
  int (*potrf)(Handle, Params, int, int64_t, int, void*, int64_t, int, void*, size_t, void*, size_t,
               int*) = nullptr;
  int (*getrf_work)(Handle, Params, int64_t, int64_t, int, const void*, int64_t, int, size_t*,
                    size_t*) = nullptr;
  int (*getrf)(Handle, Params, int64_t, int64_t, int, void*, int64_t, int64_t*, int, void*, size_t,
               void*, size_t, int*) = nullptr;
  int (*getrs)(Handle, Params, int, int64_t, int64_t, int, const void*, int64_t, const int64_t*,
               int, void*, int64_t, int*) = nullptr;
  int (*geqrf_work)(Handle, Params, int64_t, int64_t, int, const void*, int64_t, int, const void*,
                    int, size_t*, size_t*) = nullptr;
  int (*geqrf)(Handle, Params, int64_t, int64_t, int, void*, int64_t, int, void*, int, void*,
               size_t, void*, size_t, int*) = nullptr;
  // A function for each dtype, by `kOrthogonal`.
  using Orthogonal = int (*)(Handle, int, int, int, void*, int, const void*, void*, int, int*);
  using OrthogonalWork = int (*)(Handle, int, int, int, const void*, int, const void*, int*);
  Orthogonal orthogonal[4] = {};
  OrthogonalWork orthogonal_work[4] = {};
  Params params = nullptr;  // the defaults, never given back
  bool found = false;
};
constexpr const char* kOrthogonal[][2] = {{"cusolverDnSorgqr", "cusolverDnSorgqr_bufferSize"},
                                          {"cusolverDnDorgqr", "cusolverDnDorgqr_bufferSize"},
                                          {"cusolverDnCungqr", "cusolverDnCungqr_bufferSize"},
                                          {"cusolverDnZungqr", "cusolverDnZungqr_bufferSize"}};
constexpr int kLower = 0, kNoTranspose = 0, kTranspose = 1;

void check_solver(int status, const char* what) {
  if (status) fail<ExecutionError>("cuda", what, " gives status ", status);
}

Cusolver open_cusolver() {
  Cusolver c;
  if (!std::getenv("MLX_CUDA_SOLVER") && !std::getenv("MLX_CUDA_DRIVER")) {
    // The libraries that it needs, which may lie in other folders.
    open_library({"libnvJitLink.so.13", "libnvJitLink.so.12"});
    open_library({"libcublas.so.13", "libcublas.so.12"}, "libcublasLt.so");
    open_library({"libcusparse.so.13", "libcusparse.so.12"});
  }
  void* library =
      open_library_of_device("MLX_CUDA_SOLVER", {"libcusolver.so.12", "libcusolver.so.11"});
  FunctionFinder find(library);
  find(c.create, "cusolverDnCreate");
  find(c.destroy, "cusolverDnDestroy");
  find(c.set_stream, "cusolverDnSetStream");
  find(c.create_params, "cusolverDnCreateParams");
  find(c.potrf_work, "cusolverDnXpotrf_bufferSize");
  find(c.potrf, "cusolverDnXpotrf");
  find(c.getrf_work, "cusolverDnXgetrf_bufferSize");
  find(c.getrf, "cusolverDnXgetrf");
  find(c.getrs, "cusolverDnXgetrs");
  find(c.geqrf_work, "cusolverDnXgeqrf_bufferSize");
  find(c.geqrf, "cusolverDnXgeqrf");
  for (int k = 0; k < 4; ++k) {
    find(c.orthogonal[k], kOrthogonal[k][0]);
    find(c.orthogonal_work[k], kOrthogonal[k][1]);
  }
  c.found = find.found_all() && c.create_params(&c.params) == 0;
  return c;
}
const Cusolver& cusolver() {
  static const Cusolver c = open_functions(open_cusolver);
  return c;
}

/// The library's number for a dtype; -1 where it has none.
int solver_type(Dtype t) {
  return t == float32 ? 0 : t == float64 ? 1 : t == complex64 ? 4 : t == complex128 ? 5 : -1;
}
/// The row of `kOrthogonal` for such a number.
int orthogonal_row(int type) { return type < 4 ? type : type - 2; }
template <class T = void>
T* at_address(uint64_t address) {
  return reinterpret_cast<T*>(address);
}

/// The first use of a function opens more of the library.
void note_solver_use(int bit) {
  static std::atomic<uint32_t> known = 0;
  if (!(known.fetch_or(1u << bit) & (1u << bit))) gpu::drain_at_exit();
}

}  // namespace

bool Solver::has(Dtype type) { return solver_type(type) >= 0 && cusolver().found; }

Solver::Handle Solver::handle_of(StreamHandle stream) {
  return handles_.of(stream, [&](Handle& handle) {
    hardware_.enter();
    check_solver(cusolver().create(&handle), "cusolverDnCreate");
    check_solver(cusolver().set_stream(handle, stream), "cusolverDnSetStream");
  });
}

void Solver::forget(StreamHandle stream) noexcept {
  handles_.forget(stream, [&](Handle handle) {
    hardware_.begin(stream);
    cusolver().destroy(handle);
  });
}

Solver::Work Solver::work(Form form, Dtype type, int64_t n) {
  const std::tuple key(form, type.val(), n);
  const Handle handle = handle_of(nullptr);
  std::lock_guard lock(mutex_);
  if (auto known = works_.find(key); known != works_.end()) return known->second;
  const Cusolver& c = cusolver();
  const int t = solver_type(type);
  Work w;
  gpu::on_own_stack([&] {
    hardware_.enter();
    if (form == Form::cholesky)
      check_solver(c.potrf_work(handle, c.params, kLower, n, t, nullptr, n, t, &w.device, &w.host),
                   "cusolverDnXpotrf_bufferSize");
    else
      check_solver(c.getrf_work(handle, c.params, n, n, t, nullptr, n, t, &w.device, &w.host),
                   "cusolverDnXgetrf_bufferSize");
  });
  works_.emplace(key, w);
  return w;
}

void Solver::cholesky(gpu::Queue& queue, Dtype type, int64_t n, const Operands& at) {
  const Cusolver& c = cusolver();
  const int t = solver_type(type);
  check_solver(c.potrf(handle_of(queue.stream()), c.params, kLower, n, t, at_address(at.a), n, t,
                       at_address(at.device), at.work.device, at.host, at.work.host,
                       at_address<int>(at.info)),
               "cusolverDnXpotrf");
  note_solver_use(t);
}

void Solver::lu(gpu::Queue& queue, Dtype type, int64_t n, const Operands& at) {
  const Cusolver& c = cusolver();
  const int t = solver_type(type);
  check_solver(c.getrf(handle_of(queue.stream()), c.params, n, n, t, at_address(at.a), n,
                       at_address<int64_t>(at.pivots), t, at_address(at.device), at.work.device,
                       at.host, at.work.host, at_address<int>(at.info)),
               "cusolverDnXgetrf");
  note_solver_use(8 + t);
}

void Solver::solve(gpu::Queue& queue, Dtype type, int64_t n, int64_t columns, bool transposed,
                   const Operands& at, uint64_t x) {
  const Cusolver& c = cusolver();
  const int t = solver_type(type);
  check_solver(c.getrs(handle_of(queue.stream()), c.params, transposed ? kTranspose : kNoTranspose,
                       n, columns, t, at_address(at.a), n, at_address<int64_t>(at.pivots), t,
                       at_address(x), n, at_address<int>(at.info)),
               "cusolverDnXgetrs");
  note_solver_use(16 + t);
}

Solver::Work Solver::qr_work(Dtype type, int64_t m, int64_t n) {
  const Cusolver& c = cusolver();
  const int t = solver_type(type), rows = static_cast<int>(m);
  const int k = static_cast<int>(std::min(m, n));
  const Handle handle = handle_of(nullptr);
  Work w;
  int elements = 0;
  std::lock_guard lock(mutex_);  // the handle's
  gpu::on_own_stack([&] {
    hardware_.enter();
    check_solver(
        c.geqrf_work(handle, c.params, m, n, t, nullptr, m, t, nullptr, t, &w.device, &w.host),
        "cusolverDnXgeqrf_bufferSize");
    const int row = orthogonal_row(t);
    check_solver(c.orthogonal_work[row](handle, rows, k, k, nullptr, rows, nullptr, &elements),
                 kOrthogonal[row][1]);
  });
  w.device = std::max(w.device, static_cast<size_t>(elements) * type.size());
  return w;
}

void Solver::reflectors(gpu::Queue& queue, Dtype type, int64_t m, int64_t n, const Operands& at) {
  const Cusolver& c = cusolver();
  const int t = solver_type(type);
  check_solver(c.geqrf(handle_of(queue.stream()), c.params, m, n, t, at_address(at.a), m, t,
                       at_address(at.pivots), t, at_address(at.device), at.work.device, at.host,
                       at.work.host, at_address<int>(at.info)),
               "cusolverDnXgeqrf");
  note_solver_use(24 + t);
}

void Solver::orthogonal(gpu::Queue& queue, Dtype type, int64_t m, int64_t n, const Operands& at) {
  const int t = solver_type(type), row = orthogonal_row(t);
  const int rows = static_cast<int>(m), columns = static_cast<int>(n);
  check_solver(cusolver().orthogonal[row](
                   handle_of(queue.stream()), rows, columns, columns, at_address(at.a), rows,
                   at_address(at.pivots), at_address(at.device),
                   static_cast<int>(at.work.device / type.size()), at_address<int>(at.info)),
               kOrthogonal[row][0]);
  note_solver_use(24 + t);
}

}  // namespace mlx::core::cuda
