// The functions of cuBLAS, their handles, and products by them.
#include "mlx/backend/cuda/blas.h"

#include <atomic>
#include <complex>

#include "mlx/backend/cuda/blas_types.h"
#include "mlx/backend/cuda/hardware.h"
#include "mlx/backend/cuda/libraries.h"
#include "mlx/backend/gpu/threads.h"

namespace mlx::core::cuda {

namespace {

// cuBLAS's functions and values of its enumerations. Declared here, so that no header of its
// package is needed.
struct Cublas {
  using Handle = struct OpaqueHandle*;
  int (*create)(Handle*) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*set_stream)(Handle, StreamHandle) = nullptr;
  int (*set_math_mode)(Handle, int) = nullptr;
  int (*set_workspace)(Handle, void*, size_t) = nullptr;
  int (*gemm)(Handle, int, int, int64_t, int64_t, int64_t, const void*, const void*, int, int64_t,
              const void*, int, int64_t, const void*, void*, int, int64_t, int, int) = nullptr;
  int (*gemm_batch)(Handle, int, int, int64_t, int64_t, int64_t, const void*, const void*, int,
                    int64_t, int64_t, const void*, int, int64_t, int64_t, const void*, void*, int,
                    int64_t, int64_t, int64_t, int, int) = nullptr;
  int (*gemm_at)(Handle, int, int, int64_t, int64_t, int64_t, const void*, const void* const*, int,
                 int64_t, const void* const*, int, int64_t, const void*, void* const*, int, int64_t,
                 int64_t, int, int) = nullptr;
  bool found = false;
};
constexpr int kDefaultAlgorithm = -1;
constexpr int kNoReducedPrecision = 16;  // sums of 16-bit products stay in float32

Cublas open_cublas() {
  Cublas c;
  FunctionFinder find(open_blas());
  find(c.create, "cublasCreate_v2");
  find(c.destroy, "cublasDestroy_v2");
  find(c.set_stream, "cublasSetStream_v2");
  find(c.set_math_mode, "cublasSetMathMode");
  find(c.set_workspace, "cublasSetWorkspace_v2");
  find(c.gemm, "cublasGemmEx_64");
  find(c.gemm_batch, "cublasGemmStridedBatchedEx_64");
  find(c.gemm_at, "cublasGemmBatchedEx_64");
  c.found = find.found_all();
  return c;
}
const Cublas& cublas() {
  static const Cublas c = open_functions(open_cublas);
  return c;
}

void check_blas(int status, const char* what) {
  if (status) fail<ExecutionError>("cuda", what, " gives status ", status);
}

/// The types with which the library computes.
int compute_of(const gpu::Gemm& g) {
  if (g.type == float64 || g.type == complex128) return kCompute64;
  if (g.type != float32 && g.type != complex64) return kCompute32;
  return g.precision == Precision::high     ? kCompute32Tf32
         : g.precision == Precision::medium ? kCompute32Bfloat16
                                            : kCompute32;
}

}  // namespace

void* open_blas() {
  return open_library_of_device("MLX_CUDA_BLAS", {"libcublas.so.13", "libcublas.so.12"},
                                "libcublasLt.so");
}

int blas_type(Dtype t) {
  switch (t.val()) {
    case Dtype::Val::float32:
      return 0;
    case Dtype::Val::float64:
      return 1;
    case Dtype::Val::float16:
      return 2;
    case Dtype::Val::complex64:
      return 4;
    case Dtype::Val::complex128:
      return 5;
    case Dtype::Val::bfloat16:
      return 14;
    default:
      return -1;
  }
}

bool Blas::has(Dtype type) { return blas_type(type) >= 0 && cublas().found; }

void Blas::Opened::open(StreamHandle stream) {
  hardware.enter();
  check_blas(cublas().create(&handle), "cublasCreate");
  check_blas(cublas().set_stream(handle, stream), "cublasSetStream");
  check_blas(cublas().set_math_mode(handle, kNoReducedPrecision), "cublasSetMathMode");
  // As much as the library takes by itself.
  const size_t bytes = size_t{hardware.major >= 9 ? 32u : 4u} << 20;
  work = hardware.alloc(bytes);
  if (work)
    check_blas(cublas().set_workspace(handle, reinterpret_cast<void*>(work), bytes),
               "cublasSetWorkspace");
}
Blas::Opened::~Opened() {
  if (handle) cublas().destroy(handle);
  if (work) hardware.free(work);
}

Blas::Handle Blas::handle_of(StreamHandle stream) {
  auto open = [&](Opened*& opened) {
    auto made = std::make_unique<Opened>(hardware_);
    made->open(stream);
    opened = made.release();
  };
  return handles_.of(stream, open)->handle;
}

void Blas::forget(StreamHandle stream) noexcept {
  handles_.forget(stream, [&](Opened* opened) {
    hardware_.begin(stream);
    delete opened;
  });
}

void Blas::run(gpu::Queue& queue, const gpu::Gemm& g) {
  queue.call(g.words(), [this, g](StreamHandle stream) { multiply(handle_of(stream), g); });
}

void Blas::multiply(Handle handle, const gpu::Gemm& g) {
  // Scalars have the type of the computation.
  const bool wide = g.type == float64 || g.type == complex128;
  const std::complex<double> alpha = g.alpha, beta = g.beta;
  const std::complex<float> narrow_alpha(alpha), narrow_beta(beta);
  const void* const a = wide ? static_cast<const void*>(&alpha) : &narrow_alpha;
  const void* const b = wide ? static_cast<const void*>(&beta) : &narrow_beta;
  const int type = blas_type(g.type);
  auto form = [](const gpu::Gemm::Operand& x) { return x.transposed ? kTranspose : kNoTranspose; };
  auto data = [](const gpu::Gemm::Operand& x) { return reinterpret_cast<void*>(x.address); };
  // The library's matrices lie column by column: it makes the transposed product.
  if (g.scattered) {
    auto list = [](const gpu::Gemm::Operand& x) { return reinterpret_cast<void**>(x.address); };
    check_blas(cublas().gemm_at(handle, form(g.b), form(g.a), g.n, g.m, g.k, a, list(g.b), type,
                                g.b.row, list(g.a), type, g.a.row, b, list(g.out),
                                blas_type(g.wide_out ? float32 : g.type), g.out.row, g.count,
                                compute_of(g), kDefaultAlgorithm),
               "cublasGemmBatchedEx");
  } else if (g.count == 1) {  // faster than a batch of one by half a microsecond
    check_blas(cublas().gemm(handle, form(g.b), form(g.a), g.n, g.m, g.k, a, data(g.b), type,
                             g.b.row, data(g.a), type, g.a.row, b, data(g.out),
                             blas_type(g.wide_out ? float32 : g.type), g.out.row, compute_of(g),
                             kDefaultAlgorithm),
               "cublasGemmEx");
  } else {
    check_blas(cublas().gemm_batch(handle, form(g.b), form(g.a), g.n, g.m, g.k, a, data(g.b), type,
                                   g.b.row, g.b.step, data(g.a), type, g.a.row, g.a.step, b,
                                   data(g.out), blas_type(g.wide_out ? float32 : g.type), g.out.row,
                                   g.out.step, g.count, compute_of(g), kDefaultAlgorithm),
               "cublasGemmStridedBatchedEx");
  }
  // The first product of a type opens more of the library.
  static std::atomic<uint32_t> opened = 0;
  if (!(opened.fetch_or(1u << type) & (1u << type))) gpu::drain_at_exit();
}

}  // namespace mlx::core::cuda
