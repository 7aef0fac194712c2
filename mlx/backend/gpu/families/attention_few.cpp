// Kernels of attention of a few queries in 16 bits: which steps they serve, and their launches.
#include "mlx/backend/gpu/families/attention_few.h"

#include <algorithm>
#include <limits>

namespace mlx::core::gpu {

namespace {

constexpr int64_t kRowsOfFew = 8;  // of a block
constexpr int64_t kMostFewFeatures = 128;

/// Keys of a part, by their number alone: bits do not depend on the batch.
int64_t length_of_part(int64_t keys) { return keys <= 2048 ? 128 : keys <= 16384 ? 256 : 512; }
int64_t count_parts(int64_t keys) {
  return std::max<int64_t>(ceil_div(keys, length_of_part(keys)), 1);
}
/// Rows that share a head of the keys.
int64_t rows_of_head(const Layout& q, const Layout& k) {
  return k.shape[1] ? q.shape[1] / k.shape[1] * q.shape[2] : 0;
}

class FewQueries final : public AttentionStep {
 public:
  FewQueries(const Step& step, DeviceState& device)
      : AttentionStep(step, attrs_as<AttentionAttrs>(step.attrs.get())) {
    const auto& a = attrs_as<AttentionAttrs>(step.attrs.get());
    const Layout &q = step.operands[0], &k = step.operands[1], &v = step.operands[2];
    p.split = length_of_part(p.keys);
    p.splits = count_parts(p.keys);
    const char* mask = a.has_mask ? element_type(step.operands[3].dtype) : "void";
    const int64_t f = ceil_div(p.features, 32) * 32, w = ceil_div(p.width, 64) * 64;
    template_ = cat(element_type(q.dtype), ", ", mask, ", ", f, ", ", w, ", ");
    vectors_ = has_aligned_rows(q) && has_aligned_rows(k) && has_aligned_rows(v);
    kernel = Parts(parts(vectors_, device));
    if (p.splits > 1) {
      bind(p.partials, step.workspace);
      join_ = kernels::attention_few_join(device, q.dtype);
    }
    if (num_elements(step.operands[step.n_inputs].shape))
      blocks =
          blocks_of(p.batches * p.key_heads * p.splits * ceil_div(rows_of_head(q, k), kRowsOfFew));
  }

 protected:
  void run(const Enqueue& to, device::AttentionArguments& bound,
           std::span<const uint64_t>) const override {
    if (!blocks) return;
    // Arrays of other libraries begin where they like.
    Parts chosen = kernel;
    if (vectors_ && (bound.q | bound.k | bound.v) % 16 != 0)
      chosen = Parts(to.keep(parts(false, to.device())));
    chosen.launch(to, blocks, bound);
    if (join_) join_.launch(to, blocks_of(p.batches * p.heads * p.queries), bound);
  }

 private:
  using Parts = KernelOn<device::AttentionArguments>;
  Function parts(bool vectors, DeviceState& device) const {
    constexpr int kBlocksOfProcessor = 2;
    const std::string text =
        cat("MLX_RESIDENT_KERNEL(attention_few_kernel, AttentionArguments, p, ", kBlocksOfProcessor,
            ") { attention_few<", template_, vectors ? "true" : "false", ">(p); }\n");
    return device.kernel("attention_few", text, "attention_few_kernel");
  }

  std::string template_;  ///< arguments of the kernel's template, but the last
  bool vectors_;
  Parts join_;
};

}  // namespace

bool has_few_queries(const Layout& q, const Layout& k, const Layout& v) {
  // More rows read the keys again, which pays where other kernels have too few blocks.
  constexpr int64_t kMostRows = 16, kMostRowsOfManyKeys = 64, kManyKeys = 1024;
  const int64_t rows = rows_of_head(q, k), features = q.shape[3], width = v.shape[3];
  return q.dtype != float32 && features > 0 && width > 0 &&
         std::max(features, width) <= kMostFewFeatures &&
         k.shape[2] <= std::numeric_limits<int>::max() &&
         rows <= (k.shape[2] < kManyKeys ? kMostRows : kMostRowsOfManyKeys);
}

size_t few_queries_workspace(const Layout& q, const Layout& k, const Layout& v) {
  const int64_t parts = count_parts(k.shape[2]);
  if (parts == 1) return 0;
  const int64_t rows = q.shape[0] * q.shape[1] * q.shape[2];
  return static_cast<size_t>(rows * parts * (v.shape[3] + 2)) * sizeof(float);
}

std::unique_ptr<const OpKernel> prepare_few_queries(const Step& step, DeviceState& device) {
  return prepare_as<FewQueries>(step, device);
}

}  // namespace mlx::core::gpu
