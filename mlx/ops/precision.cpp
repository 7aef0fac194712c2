// The precision of matrix products: the setting, and its variable in the environment.

#include "mlx/ops/precision.h"

#include <atomic>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "mlx/core/error.h"

namespace mlx::core {

namespace {

constexpr const char* kPrecisionNames[] = {"highest", "high", "medium"};

std::atomic<Precision>& of_all() {
  static std::atomic<Precision> p = [] {
    const char* tf32 = std::getenv("MLX_ENABLE_TF32");
    return tf32 && std::string(tf32) == "1" ? Precision::high : Precision::highest;
  }();
  return p;
}

thread_local constinit int own = -1;

}  // namespace

const char* precision_name(Precision p) { return kPrecisionNames[static_cast<int>(p)]; }

Precision precision_from_name(const char* op, const std::string& name) {
  for (size_t k = 0; k < std::size(kPrecisionNames); ++k)
    if (name == kPrecisionNames[k]) return static_cast<Precision>(k);
  fail<ValueError>(op, "the precision '", name, "'; 'highest', 'high' and 'medium' are accepted");
}

Precision matmul_precision() { return own >= 0 ? static_cast<Precision>(own) : of_all().load(); }
Precision precision_for(Dtype type) {
  return type == float32 || type == complex64 ? matmul_precision() : Precision::highest;
}
Precision set_matmul_precision(Precision p) { return of_all().exchange(p); }
int set_own_matmul_precision(int precision) { return std::exchange(own, precision); }

}  // namespace mlx::core
