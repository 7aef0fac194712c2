// The functions of cuBLASLt, and plans of products by them.
#include "mlx/backend/cuda/blas_rows.h"

#include <atomic>
#include <bit>

#include "mlx/backend/cuda/blas_types.h"
#include "mlx/backend/cuda/hardware.h"
#include "mlx/backend/cuda/libraries.h"
#include "mlx/backend/gpu/threads.h"

namespace mlx::core::cuda {

namespace {

using gpu::RowProduct;
using gpu::RowProductPlan;

// cuBLASLt's functions and values of its enumerations. Declared here, so that no header of its
// package is needed.
struct Algorithm {
  uint64_t data[8];
};
struct FoundRow {
  Algorithm algorithm;
  size_t work_bytes;
  int status;
  float waves;
  int reserved[4];
};
struct Cublaslt {
  using Handle = struct OpaqueHandle*;
  using Product = struct OpaqueProduct*;
  using Matrix = struct OpaqueMatrix*;
  using Preference = struct OpaquePreference*;
  int (*create)(Handle*) = nullptr;
  int (*create_product)(Product*, int, int) = nullptr;
  int (*destroy_product)(Product) = nullptr;
  int (*set_product)(Product, int, const void*, size_t) = nullptr;
  int (*create_matrix)(Matrix*, int, uint64_t, uint64_t, int64_t) = nullptr;
  int (*destroy_matrix)(Matrix) = nullptr;
  int (*create_preference)(Preference*) = nullptr;
  int (*destroy_preference)(Preference) = nullptr;
  int (*set_preference)(Preference, int, const void*, size_t) = nullptr;
  int (*find)(Handle, Product, Matrix, Matrix, Matrix, Matrix, Preference, int, FoundRow*,
              int*) = nullptr;
  int (*run)(Handle, Product, const void*, const void*, Matrix, const void*, Matrix, const void*,
             const void*, Matrix, void*, Matrix, const Algorithm*, void*, size_t,
             StreamHandle) = nullptr;
  bool found = false;
};
constexpr int kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kRowAddress = 8;  // of a product
constexpr int kAddsRow = 4;                                                      // an epilogue
constexpr int kMostWork = 1, kReductions = 3, kFirstAlignment = 5;               // of preferences
constexpr uint32_t kReduceInFloat32 = 2;
constexpr int kNotSupported = 15;
constexpr uint64_t kMostWorkBytes = uint64_t{32} << 20;  // as cuBLAS takes on such devices
constexpr int kFloat32 = 0;

Cublaslt open_cublaslt() {
  Cublaslt c;
  FunctionFinder find(open_blas());
  find(c.create, "cublasLtCreate");
  find(c.create_product, "cublasLtMatmulDescCreate");
  find(c.destroy_product, "cublasLtMatmulDescDestroy");
  find(c.set_product, "cublasLtMatmulDescSetAttribute");
  find(c.create_matrix, "cublasLtMatrixLayoutCreate");
  find(c.destroy_matrix, "cublasLtMatrixLayoutDestroy");
  find(c.create_preference, "cublasLtMatmulPreferenceCreate");
  find(c.destroy_preference, "cublasLtMatmulPreferenceDestroy");
  find(c.set_preference, "cublasLtMatmulPreferenceSetAttribute");
  find(c.find, "cublasLtMatmulAlgoGetHeuristic");
  find(c.run, "cublasLtMatmul");
  c.found = find.found_all();
  return c;
}
const Cublaslt& cublaslt() {
  static const Cublaslt c = open_functions(open_cublaslt);
  return c;
}

void check_blas_rows(int status, const char* what) {
  if (status) fail<ExecutionError>("cuda", what, " gives status ", status);
}

/// The first plan of a type opens more of the library, and so does the first product.
enum class RowUse { plan, product };
void note_row_use(Dtype::Val type, RowUse use) {
  static std::atomic<uint32_t> known = 0;
  const uint32_t bit = 1u << (2 * static_cast<int>(type) + static_cast<int>(use));
  if (!(known.fetch_or(bit) & bit)) gpu::drain_at_exit();
}

/// The library's descriptions of a product, and how it computes it.
class LtPlan final : public RowProductPlan, public std::enable_shared_from_this<LtPlan> {
 public:
  /// `status`: of the first call that fails.
  LtPlan(const RowProduct& product, Cublaslt::Handle handle, int& status);
  ~LtPlan() override;
  LtPlan(const LtPlan&) = delete;
  size_t work_bytes() const override { return chosen_.work_bytes; }
  void run(gpu::Queue& queue, const Operands& at, double alpha) const override;

 private:
  void multiply(StreamHandle stream, const Operands& at, double alpha) const;
  int describe(const RowProduct& product);
  int choose();

  const Cublaslt::Handle handle_;
  const Dtype::Val type_;
  // The library's matrices lie column by column: it makes the transposed product, b before a.
  Cublaslt::Matrix b_ = nullptr, a_ = nullptr, out_ = nullptr;
  Cublaslt::Product product_ = nullptr;
  FoundRow chosen_ = {};
  mutable std::mutex mutex_;  ///< for the address of the row, which is part of the description
};

LtPlan::LtPlan(const RowProduct& product, Cublaslt::Handle handle, int& status)
    : handle_(handle), type_(product.type) {
  status = describe(product);
  if (!status) status = choose();
}

int LtPlan::describe(const RowProduct& p) {
  const Cublaslt& c = cublaslt();
  int status = c.create_product(&product_, kCompute32, kFloat32);
  auto set = [&](int what, int value) {
    if (!status) status = c.set_product(product_, what, &value, sizeof(value));
  };
  set(kTransposeA, p.b_transposed ? kTranspose : kNoTranspose);
  set(kTransposeB, p.a_transposed ? kTranspose : kNoTranspose);
  set(kEpilogue, kAddsRow);
  auto matrix = [&](Cublaslt::Matrix& to, int64_t rows, int64_t columns, bool transposed,
                    int64_t row) {
    if (transposed) std::swap(rows, columns);
    if (!status)
      status = c.create_matrix(&to, blas_type(p.type), static_cast<uint64_t>(columns),
                               static_cast<uint64_t>(rows), row);
  };
  matrix(b_, p.k, p.n, p.b_transposed, p.b_row);
  matrix(a_, p.m, p.k, p.a_transposed, p.a_row);
  matrix(out_, p.m, p.n, false, p.n);
  return status;
}

int LtPlan::choose() {
  const Cublaslt& c = cublaslt();
  Cublaslt::Preference preference = nullptr;
  int status = c.create_preference(&preference), count = 0;
  auto set = [&](int what, auto value) {
    if (!status) status = c.set_preference(preference, what, &value, sizeof(value));
  };
  set(kMostWork, kMostWorkBytes);
  set(kReductions, kReduceInFloat32);
  for (int operand = 0; operand < 4; ++operand)
    set(kFirstAlignment + operand, static_cast<uint32_t>(gpu::kRowProductAlignment));
  if (!status)
    status = c.find(handle_, product_, b_, a_, out_, out_, preference, 1, &chosen_, &count);
  if (preference) c.destroy_preference(preference);
  if (status) return status;
  return count > 0 ? chosen_.status : kNotSupported;
}

LtPlan::~LtPlan() {
  const Cublaslt& c = cublaslt();
  for (const Cublaslt::Matrix matrix : {b_, a_, out_})
    if (matrix) c.destroy_matrix(matrix);
  if (product_) c.destroy_product(product_);
}

void LtPlan::run(gpu::Queue& queue, const Operands& at, double alpha) const {
  queue.call(
      gpu::words_of(this, at.a, at.b, at.row, at.out, at.work, std::bit_cast<uint64_t>(alpha)),
      [self = shared_from_this(), at, alpha](StreamHandle stream) {
        self->multiply(stream, at, alpha);
      });
}

void LtPlan::multiply(StreamHandle stream, const Operands& at, double alpha) const {
  const Cublaslt& c = cublaslt();
  auto pointer = [](uint64_t address) { return reinterpret_cast<void*>(address); };
  const float scale = static_cast<float>(alpha), nothing = 0;
  void* const row = pointer(at.row);
  {
    std::lock_guard lock(mutex_);
    check_blas_rows(c.set_product(product_, kRowAddress, &row, sizeof(row)),
                    "cublasLtMatmulDescSetAttribute");
    check_blas_rows(c.run(handle_, product_, &scale, pointer(at.b), b_, pointer(at.a), a_, &nothing,
                          pointer(at.out), out_, pointer(at.out), out_, &chosen_.algorithm,
                          pointer(at.work), chosen_.work_bytes, stream),
                    "cublasLtMatmul");
  }
  note_row_use(type_, RowUse::product);
}

}  // namespace

std::shared_ptr<const RowProductPlan> RowProducts::plan(const RowProduct& product) {
  constexpr size_t kMost = 256;
  if (!cublaslt().found) return nullptr;
  std::shared_ptr<const RowProductPlan> forgotten;  // destroyed without the lock
  std::lock_guard lock(mutex_);
  for (auto p = plans_.begin(); p != plans_.end(); ++p)
    if (p->first == product) {
      plans_.splice(plans_.begin(), plans_, p);
      return p->second;
    }
  int status = 0;
  std::shared_ptr<const RowProductPlan> made;
  gpu::on_own_stack([&] {
    hardware_.enter();
    if (!handle_) status = cublaslt().create(&handle_);
    if (!status) made = std::make_shared<const LtPlan>(product, handle_, status);
  });
  note_row_use(product.type, RowUse::plan);
  if (status == kNotSupported)
    made = nullptr;
  else
    check_blas_rows(status, "cublasLtMatmulAlgoGetHeuristic");
  plans_.emplace_front(product, std::move(made));
  if (plans_.size() > kMost) {
    forgotten = std::move(plans_.back().second);
    plans_.pop_back();
  }
  return plans_.front().second;
}

}  // namespace mlx::core::cuda
