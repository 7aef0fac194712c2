// Small products, and batches of products. Each has the bits of gemm(); of small ones, a kernel
// computes as many at once as a register has lanes.
#include <algorithm>
#include <utility>

#include "mlx/backend/cpu/gemm.h"
#include "mlx/backend/cpu/gemm_operands.h"
#include "mlx/backend/cpu/gemm_rows.h"
#include "mlx/backend/cpu/panels.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {

namespace {

constexpr double kItemNs = 30;  // of a product, beside its arithmetic

// Calls `f(item)` for a batch, in parallel if the single products are too short for threads.
template <class F>
void for_each_item(int64_t count, double item_ns, const F& f) {
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      f(item);
    }
  };
  if (item_ns < 1e6 || count >= 8 * num_threads()) {
    parallel_for(count, 1, run, item_ns * static_cast<double>(count));
  } else {
    run(0, count);
  }
}

/// Lines of `length` elements; a single one where lines follow each other and `merges` is set.
GemmLines lines_of(int64_t lines, int64_t line, int64_t length, int64_t step, bool merges) {
  if (merges && line == length * step) return {1, 0, lines * length, step};
  return {lines, line, length, step};
}

/// A batch of small products, a lane each.
class LaneProducts {
 public:
  static std::optional<LaneProducts> of(const Gemm& product, const GemmBatch& batch);
  void run() const;

 private:
  LaneProducts(const Gemm& g, const GemmBatch& batch, GemmSource source)
      : g_(g), batch_(batch), source_(source) {}
  void set_lines(bool pairs);
  bool fits(int64_t per) const;

  Gemm g_;  // after swaps()
  GemmBatch batch_;
  GemmSource source_;
  GemmSmall form_;
};

std::optional<LaneProducts> LaneProducts::of(const Gemm& product, const GemmBatch& batch) {
  constexpr int64_t kFewest = 4;  // products that are faster together
  const GemmEpilogue& e = product.epilogue;
  if (batch.count < kFewest || std::min({product.m, product.n, product.k}) <= 0) return {};
  if (product.m * product.n > kSmallUnits || product.type != product.out_type) return {};
  if (e.alpha != 1 || e.addend.data != nullptr) return {};
  const bool swapped = swaps(product);
  const Gemm g = swapped ? transposed(product) : product;
  const GemmRoute way = route(g);
  if (way != GemmRoute::dot && way != GemmRoute::axpy) return {};
  const bool floats = way == GemmRoute::axpy && g.type == GemmOutput::bf16;
  const GemmSource source = floats ? GemmSource::bf16 : row_source(g.type);
  LaneProducts all(g, batch, source);
  if (swapped) std::swap(all.batch_.a, all.batch_.b);
  all.form_.dots = way == GemmRoute::dot;
  const bool pairs = source == GemmSource::bf16_pair;
  all.set_lines(pairs);
  if (!all.fits(pairs ? 2 : 1)) return {};
  return all;
}

void LaneProducts::set_lines(bool pairs) {
  const bool one = g_.m * g_.n == 1, merges = !pairs && !one;
  const bool a_along = pairs || one || g_.a.col == 1 || g_.a.row != 1;
  const bool b_along = one || form_.dots;
  const bool out_along = g_.out.col == 1 || g_.out.row != 1;
  form_.m = g_.m;
  form_.n = g_.n;
  form_.k = g_.k;
  form_.a_along = a_along;
  form_.b_along = b_along;
  form_.out_along = out_along;
  form_.a = a_along ? lines_of(g_.m, g_.a.row, g_.k, g_.a.col, merges)
                    : lines_of(g_.k, g_.a.col, g_.m, g_.a.row, merges);
  form_.b = b_along ? lines_of(g_.n, g_.b.col, g_.k, g_.b.row, merges)
                    : lines_of(g_.k, g_.b.row, g_.n, g_.b.col, merges);
  form_.out = out_along ? lines_of(g_.m, g_.out.row, g_.n, g_.out.col, true)
                        : lines_of(g_.n, g_.out.col, g_.m, g_.out.row, true);
}

/// True if the factors are small or, for one result each, elements of neighbours are neighbours.
bool LaneProducts::fits(int64_t per) const {
  const int64_t units = ceil_div(g_.k, per);
  if (std::max(g_.m, g_.n) * units <= kSmallUnits) return true;
  const auto adjacent = [](const GemmStarts& s) { return s.at == nullptr && s.step == 1; };
  return g_.m * g_.n == 1 && per == 1 && g_.k <= kAxpyDepth && adjacent(batch_.a) &&
         adjacent(batch_.b);
}

void LaneProducts::run() const {
  const auto kernel = gemm_kernels().small[static_cast<int>(source_)];
  const double cells = static_cast<double>(g_.m * g_.k + g_.k * g_.n + g_.m * g_.n);
  constexpr int64_t kGrain = 512;  // whole groups of lanes
  parallel_for(
      batch_.count, kGrain,
      [&](int64_t begin, int64_t end) {
        kernel(form_, g_.a.data, batch_.a, g_.b.data, batch_.b, g_.out.data, batch_.out, begin,
               end);
      },
      static_cast<double>(batch_.count) * (1 + cells / 4 + estimate(g_)));
}

/// A batch of products of SmallGemm, one by one.
void run_each(const SmallGemm& small, const Gemm& product, const GemmBatch& batch) {
  const auto *a = static_cast<const float*>(product.a.data),
             *b = static_cast<const float*>(product.b.data);
  auto* out = static_cast<float*>(product.out.data);
  for_each_item(batch.count, kItemNs + estimate(product), [&](int64_t item) {
    const void* addend =
        advance(product.epilogue.addend.data, batch.addend[item] * int64_t{sizeof(float)});
    small.run(a + batch.a[item], b + batch.b[item], static_cast<const float*>(addend),
              out + batch.out[item]);
  });
}

}  // namespace

std::optional<SmallGemm> SmallGemm::of(const Gemm& product, bool adds) {
  if (product.type != GemmOutput::f32 || product.out_type != GemmOutput::f32) return {};
  if (product.m <= 0 || product.n <= 0 || product.k <= 0) return {};
  const SmallGemm small(product, swaps(product), adds);
  const Gemm& g = small.product_;
  if (std::max({g.m * g.k, g.k * g.n, g.m * g.n}) > kMostElements) return {};
  if (route(g) != GemmRoute::dot && route(g) != GemmRoute::axpy) return {};
  return small;
}

SmallGemm::SmallGemm(const Gemm& product, bool swaps, bool adds)
    : product_(swaps ? transposed(product) : product),
      swaps_(swaps),
      adds_(adds),
      copies_a_(product_.a.col != 1),
      in_output_(!adds && product_.out.col == 1 && product_.epilogue.alpha == 1) {}

void SmallGemm::run(const float* a, const float* b, const float* addend, float* out) const {
  if (swaps_) std::swap(a, b);
  const Gemm& g = product_;
  const auto f32 = static_cast<int>(GemmSource::f32);
  const GemmKernels& kernels = gemm_kernels();
  float rows[kMostElements], sums[kMostElements];
  int64_t a_row = g.a.row;
  if (copies_a_) {
    for (int64_t i = 0; i < g.m; ++i)
      for (int64_t l = 0; l < g.k; ++l) rows[i * g.k + l] = a[i * g.a.row + l * g.a.col];
    a = rows;
    a_row = g.k;
  }
  float* acc = in_output_ ? out : sums;
  const int64_t ld = in_output_ ? g.out.row : g.n;
  if (is_by_rows())
    kernels.dot[f32](a, a_row, b, g.b.col, g.m, g.n, g.k, acc, ld);
  else
    kernels.axpy[f32](a, a_row, b, g.b.row, g.m, g.n, g.k, acc, ld, false);
  if (in_output_) return;
  GemmTarget target = g.out;
  target.data = out;
  GemmEpilogue epilogue = g.epilogue;
  if (adds_) epilogue.addend.data = addend;
  kernels.store[static_cast<int>(GemmOutput::f32)](acc, ld, g.m, g.n, target, epilogue);
}

void gemm_batched(const Gemm& product, const GemmBatch& batch) {
  if (const auto lanes = LaneProducts::of(product, batch)) return lanes->run();
  const auto small = SmallGemm::of(product, product.epilogue.addend.data != nullptr);
  if (small && batch.count > 1) return run_each(*small, product, batch);
  const int64_t in = element_size(product.type), out = element_size(product.out_type);
  for_each_item(batch.count, kItemNs + estimate(product), [&](int64_t item) {
    auto g = product;
    g.a.data = advance(g.a.data, batch.a[item] * in);
    g.b.data = advance(g.b.data, batch.b[item] * in);
    g.out.data = advance(g.out.data, batch.out[item] * out);
    g.epilogue.addend.data = advance(g.epilogue.addend.data, batch.addend[item] * out);
    gemm(g);
  });
}

void gemm_int_batched(GemmInt type, int64_t m, int64_t n, int64_t k, const GemmOperand& a,
                      const GemmOperand& b, const GemmTarget& out, const GemmBatch& batch) {
  const int64_t size = element_size(type);
  const double ns =
      static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k + 1) / 8;
  for_each_item(batch.count, ns, [&](int64_t item) {
    auto left = a, right = b;
    auto target = out;
    left.data = advance(a.data, batch.a[item] * size);
    right.data = advance(b.data, batch.b[item] * size);
    target.data = advance(out.data, batch.out[item] * size);
    gemm_int(type, m, n, k, left, right, target);
  });
}

}  // namespace mlx::core::cpu
