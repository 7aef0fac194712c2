// QR factors of large matrices by a library, one after the other. Others run through the CPU.
#include <algorithm>

#include "mlx/backend/gpu/families/step_kernel.h"
#include "mlx/backend/gpu/libraries.h"

namespace mlx::core::gpu {

namespace {

using device::ColumnsArguments;

/// The fewest rows and columns, the fewest elements and the most matrices for which the library is
/// faster than the CPU with its copies.
constexpr int64_t kFewest = 32, kFewestElements = 128 * 128, kMostMatrices = 8;

/// The matrices of a step, and offsets of the memory for one of them in the workspace.
struct QrPlan {
  int64_t count, m, n, k;
  int64_t a = 0, scales = 0, info = 0, device = 0, end = 0;
  FactorLibrary::Work library;

  explicit QrPlan(const Layout& in) {
    m = in.shape.end()[-2];
    n = in.shape.end()[-1];
    k = std::min(m, n);
    count = num_elements(Shape(in.shape.begin(), in.shape.end() - 2));
  }
  bool is_for_library() const {
    return k >= kFewest && m <= INT32_MAX / 2 / n && m * n > kFewestElements && count > 0 &&
           count <= kMostMatrices;
  }
  void find_memory(Dtype type, FactorLibrary& factors) {
    auto take = [&](int64_t bytes) {
      const int64_t at = end;
      end += (bytes + 255) / 256 * 256;
      return at;
    };
    a = take(m * n * type.size());
    scales = take(k * type.size());
    info = take(8);
    library = factors.qr_work(type, m, n);
    device = take(static_cast<int64_t>(library.device));
  }
};

class QrKernel final : public StepKernel<ColumnsArguments> {
 public:
  QrKernel(const Step& step, DeviceState& device)
      : StepKernel(step),
        type_(step.operands[0].dtype),
        plan_(step.operands[0]),
        q_(step.n_inputs),
        workspace_(step.workspace) {
    plan_.find_memory(type_, *device.hardware->factors());
    kernel = kernels::rows_of_columns(device, type_);
  }

 private:
  void run(const Enqueue& to, ColumnsArguments&,
           std::span<const uint64_t> operands) const override {
    const auto workspace = static_cast<int64_t>(operands[workspace_]);
    const int64_t size = type_.size(), a = workspace + plan_.a;
    const int64_t m = plan_.m, n = plan_.n, k = plan_.k;
    const auto host = std::make_shared<std::vector<char>>(plan_.library.host);
    if (!host->empty()) to.kept->push_back(host);
    const FactorLibrary::Operands at = {.a = static_cast<uint64_t>(a),
                                        .pivots = static_cast<uint64_t>(workspace + plan_.scales),
                                        .info = static_cast<uint64_t>(workspace + plan_.info),
                                        .device = static_cast<uint64_t>(workspace + plan_.device),
                                        .host = host->data(),
                                        .work = plan_.library};
    FactorLibrary& factors = *to.device().hardware->factors();
    for (int64_t i = 0; i < plan_.count; ++i) {
      const int64_t in = address(operands, 0) + i * m * n * size;
      const int64_t q = address(operands, q_) + i * m * k * size;
      const int64_t r = address(operands, q_ + 1) + i * k * n * size;
      copy(to, {.in = in, .out = a, .rows = n, .columns = m, .stride = n, .upper = 0});
      factors.reflectors(to.queue, type_, m, n, at);
      copy(to, {.in = a, .out = r, .rows = k, .columns = n, .stride = m, .upper = 1});
      factors.orthogonal(to.queue, type_, m, k, at);
      copy(to, {.in = a, .out = q, .rows = m, .columns = k, .stride = m, .upper = 0});
    }
  }
  void copy(const Enqueue& to, const ColumnsArguments& arguments) const {
    kernel.launch(to, blocks_for(arguments.rows * arguments.columns), arguments);
  }

  const Dtype type_;
  QrPlan plan_;
  const int q_, workspace_;
};

bool find_qr(const Attrs*, std::span<const Layout> operands, int n_inputs,
             const DeviceState& device, Requirements& needs) {
  QrPlan plan(operands[0]);
  FactorLibrary* const library = device.hardware->factors();
  const Dtype type = operands[0].dtype;
  if (!plan.is_for_library() || !library || !library->has(type) ||
      !all_in_rows(operands, n_inputs, needs))
    return false;
  plan.find_memory(type, *library);
  needs.workspace = static_cast<size_t>(plan.end);
  return true;
}

constexpr KernelEntry kQrKernels[] = {{"qr", find_qr, prepare_as<QrKernel>}};

}  // namespace

const std::span<const KernelEntry> qr_kernels = kQrKernels;

}  // namespace mlx::core::gpu
