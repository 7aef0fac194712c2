// Products of matrices.
#include "mlx/ops/matmul.h"

#include <algorithm>

#include "mlx/backend/gpu/families/copies.h"
#include "mlx/backend/gpu/families/step_kernel.h"
#include "mlx/backend/gpu/libraries.h"

namespace mlx::core::gpu {

namespace {

using device::MatmulArguments;

/// An operand that repeats along axes which it lacks, or has with length 1.
Layout broadcast(const Layout& l, const Shape& shape) {
  Layout to{shape, Strides(shape.size(), 0), l.offset, l.dtype};
  for (size_t own = l.shape.size(), d = 0; d < own; ++d)
    if (l.shape[d] != 1) to.strides[shape.size() - own + d] = l.strides[d];
  return to;
}

/// `c`: the addend, or null. False where the batch has more axes than the kernel takes.
bool plan_product(const Layout& a, const Layout& b, const Layout* c, const Layout& out,
                  MatmulArguments& p) {
  const size_t rank = out.shape.size(), batch = rank - 2;
  p.m = out.shape[rank - 2];
  p.n = out.shape[rank - 1];
  p.k = a.shape.back();
  auto matrix = [](const Layout& l, int64_t& row, int64_t& column) {
    row = l.strides[l.strides.size() - 2];
    column = l.strides.back();
  };
  matrix(a, p.a_row, p.a_column);
  matrix(b, p.b_row, p.b_column);
  const Shape shape(out.shape.begin(), out.shape.end() - 2);
  p.batch_count = num_elements(shape);
  device::Axes* const axes[] = {&p.a_batch, &p.b_batch, &p.c_batch};
  if (p.batch_count == 1 && !c) {  // the most frequent product, planned for each new form
    for (device::Axes* one : axes) one->rank = one->shape[0] = 1, one->strides[0] = 0;
    return true;
  }
  // Operands may have fewer axes, and axes of length 1 that repeat.
  auto walk = [&](const Layout& l) {
    Strides strides(batch, 0);
    const size_t own = l.shape.size() - 2;
    for (size_t d = 0; d < own; ++d) strides[batch - own + d] = l.shape[d] == 1 ? 0 : l.strides[d];
    return strides;
  };
  std::vector<Strides> strides = {walk(a), walk(b), Strides(batch, 0)};
  if (c) {
    const Strides all = broadcast(*c, out.shape).strides;
    p.c_row = all[rank - 2];
    p.c_column = all[rank - 1];
    strides[2] = Strides(all.begin(), all.end() - 2);
  }
  return set_axes(axes, shape, std::move(strides));
}

/// How the library reads an operand of `rows` x `columns`. False where it cannot.
bool lies(int64_t row, int64_t column, int64_t rows, int64_t columns, Gemm::Operand& to) {
  if (rows == 1) row = columns;
  if (columns == 1) column = 1;
  if (column == 1 && row >= columns) {
    to.transposed = false;
    to.row = row;
    return true;
  }
  if (rows == 1 || row == 1) {
    to.transposed = true;
    to.row = columns == 1 ? rows : column;
    return to.row >= rows;
  }
  return false;
}
/// Operands of a step: the addend of an addmm comes first.
struct Operands {
  const Layout *c, &a, &b, &out;
  Operands(std::span<const Layout> x, bool adds)
      : c(adds ? &x[0] : nullptr), a(x[adds]), b(x[1 + adds]), out(x[2 + adds]) {}
};

/// Products by the library: one call for the matrices along an axis of the batch, at each position
/// of the others.
struct LibraryProducts {
  /// An axis of the batch whose positions are calls of their own: strides in elements.
  struct Axis {
    int64_t length, a, b, out;
  };
  Gemm gemm = {};
  std::vector<Axis> outer;

  int64_t calls() const {
    int64_t n = 1;
    for (const Axis& axis : outer) n *= axis.length;
    return n;
  }
  /// f(gemm) for each call; addresses move by elements of the type.
  template <class F>
  void each(Gemm g, F f, size_t axis = 0) const {
    if (axis == outer.size()) return f(g);
    const auto size = static_cast<int64_t>(g.type.size());
    const Axis& x = outer[axis];
    for (int64_t i = 0; i < x.length; ++i) {
      each(g, f, axis + 1);
      g.a.address += static_cast<uint64_t>(x.a * size);
      g.b.address += static_cast<uint64_t>(x.b * size);
      g.out.address += static_cast<uint64_t>(x.out * size);
    }
  }
};

/// More calls are not worth their time where a copy of the operands makes them one.
constexpr int64_t kManyCalls = 64;

/// The products as the library makes them. False where it cannot.
bool plan_blas(const Operands& x, const DeviceState& device, LibraryProducts& to) {
  // The result of a batch takes the place of the addend: its strides are walked beside those of the
  // operands.
  MatmulArguments p = {};
  const bool single = num_elements(x.out.shape) == x.out.shape.back() * x.out.shape.end()[-2];
  if (!has_products(*device.hardware, x.out.dtype) ||
      !plan_product(x.a, x.b, single ? nullptr : &x.out, x.out, p) ||
      p.m * p.n * p.k * p.batch_count == 0)
    return false;
  Gemm& g = to.gemm;
  g.type = x.out.dtype;
  g.m = p.m;
  g.n = p.n;
  g.k = p.k;
  g.count = 1;
  if (!lies(p.a_row, p.a_column, p.m, p.k, g.a) || !lies(p.b_row, p.b_column, p.k, p.n, g.b))
    return false;
  g.out = {0, p.n, p.m * p.n, false};
  const int64_t rank = p.batch_count > 1 ? p.a_batch.rank : 0;
  auto axis = [&](int64_t d) {
    return LibraryProducts::Axis{p.a_batch.shape[d], p.a_batch.strides[d], p.b_batch.strides[d],
                                 p.c_batch.strides[d]};
  };
  int64_t longest = -1;  // of those along which no operand runs backwards
  for (int64_t d = 0; d < rank; ++d)
    if (axis(d).a >= 0 && axis(d).b >= 0 && (longest < 0 || axis(d).length >= axis(longest).length))
      longest = d;
  to.outer.clear();
  for (int64_t d = 0; d < rank; ++d)
    if (d != longest) to.outer.push_back(axis(d));
  if (longest >= 0) {
    const LibraryProducts::Axis inner = axis(longest);
    g.count = inner.length;
    g.a.step = inner.a;
    g.b.step = inner.b;
    g.out.step = inner.out;
  }
  // A batch that shares the right operand, and continues the rows of the left one, is one product.
  if (g.count > 1 && g.b.step == 0 && !g.a.transposed && g.a.step == p.m * g.a.row &&
      g.out.step == p.m * p.n) {
    g.m *= g.count;
    g.count = 1;
  }
  return true;
}

/// The library's plan of an addmm whose addend is a row of the result, of a product of two matrices
/// with more than one row and column. Null where it has none.
std::shared_ptr<const RowProductPlan> plan_row(const Operands& x, const AddmmAttrs& attrs,
                                               const LibraryProducts& products,
                                               const DeviceState& device) {
  const Gemm& g = products.gemm;
  const bool has_type = g.type == float32 || g.type == float16 || g.type == bfloat16;
  Strides addend = broadcast(*x.c, x.out.shape).strides;
  const int64_t column = addend.back();
  addend.pop_back();
  if (!has_type || attrs.beta != 1 || g.count > 1 || products.calls() > 1 || g.m < 2 || g.n < 2 ||
      column != 1 || std::ranges::any_of(addend, [](int64_t stride) { return stride != 0; }))
    return nullptr;
  return device.hardware->products()->plan({.m = g.m,
                                            .n = g.n,
                                            .k = g.k,
                                            .a_row = g.a.row,
                                            .b_row = g.b.row,
                                            .a_transposed = g.a.transposed,
                                            .b_transposed = g.b.transposed,
                                            .type = g.type.val()});
}

template <bool adds>
class MatmulKernel final : public StepKernel<MatmulArguments> {
 public:
  MatmulKernel(const Step& step, DeviceState& device) : StepKernel(step) {
    const Operands x(found_operands(step), adds);
    plan_product(x.a, x.b, x.c, x.out, p);
    p.alpha = 1;
    if constexpr (adds) {
      const auto& a = attrs_as<AddmmAttrs>(step.attrs.get());
      p.alpha = a.alpha;
      p.beta = a.beta;
      bind(p.addend, 0);
    }
    bind(p.a, adds);
    bind(p.b, 1 + adds);
    bind(p.out, 2 + adds);
    by_library_ = (!adds || p.beta != 0) && plan_blas(x, device, products_);
    if (by_library_) {
      Gemm& g = products_.gemm;
      if (!adds) g.precision = precision_of(step.attrs.get());
      g.alpha = p.alpha;
      g.beta = p.beta;
      if constexpr (adds) {
        copies_.add(0, broadcast(*x.c, x.out.shape), 3, x.out, device);
        row_ = plan_row(x, attrs_as<AddmmAttrs>(step.attrs.get()), products_, device);
        // The operands were others when the workspace was asked for, if they are copies.
        if (row_ && row_->work_bytes() > 0 && step.workspace < 0) row_ = nullptr;
        workspace_ = step.workspace;
      }
      return;
    }
    kernel = kernels::matrix_product(device, x.out.dtype, value_of(x.out.dtype));
    blocks = std::min<int64_t>(p.batch_count * ((p.m + 63) / 64) * ((p.n + 63) / 64), 1 << 30);
  }

 private:
  void run(const Enqueue& to, MatmulArguments& bound,
           std::span<const uint64_t> operands) const override {
    if (!by_library_) return kernel.launch(to, blocks, bound);
    if (add_row(to, bound, operands)) return;
    copies_.launch(to, operands);
    Gemm g = products_.gemm;
    g.a.address = static_cast<uint64_t>(bound.a);
    g.b.address = static_cast<uint64_t>(bound.b);
    g.out.address = static_cast<uint64_t>(bound.out);
    ProductLibrary& library = *to.device().hardware->products();
    products_.each(g, [&](const Gemm& one) { library.run(to.queue, one); });
  }

  /// False where the library does not add the addend as it stores the product.
  bool add_row(const Enqueue& to, const MatmulArguments& bound,
               std::span<const uint64_t> operands) const {
    if (!row_) return false;
    auto address = [](int64_t x) { return static_cast<uint64_t>(x); };
    const RowProductPlan::Operands at = {address(bound.a), address(bound.b), address(bound.addend),
                                         address(bound.out),
                                         workspace_ < 0 ? 0 : operands[workspace_]};
    if ((at.a | at.b | at.row | at.out) % kRowProductAlignment) return false;
    row_->run(to.queue, at, p.alpha);
    return true;
  }

  LibraryProducts products_;
  Copies copies_;  // of what is added, to where the library adds it
  std::shared_ptr<const RowProductPlan> row_;
  int workspace_ = -1;
  bool by_library_ = false;
};

template <bool adds>
bool find_product(const Attrs* attrs, std::span<const Layout> operands, int,
                  const DeviceState& device, Requirements& needs) {
  const Operands x(operands, adds);
  MatmulArguments p = {};
  // Copies that the library can read: bits do not depend on the layout of an operand.
  if (has_products(*device.hardware, x.out.dtype)) {
    LibraryProducts products;
    const bool served = plan_blas(x, device, products);
    const bool many = served && products.calls() > kManyCalls;
    if constexpr (adds) {
      needs.inputs.push_back(Accepts::any);
      if (const auto row =
              served ? plan_row(x, attrs_as<AddmmAttrs>(attrs), products, device) : nullptr)
        needs.workspace = row->work_bytes();
    }
    needs.inputs.push_back(many ? Accepts::rows : Accepts::matrix);
    needs.inputs.push_back(many ? Accepts::rows : Accepts::matrix);
  }
  return x.a.dtype == x.out.dtype && x.b.dtype == x.out.dtype &&
         (!adds || x.c->dtype == x.out.dtype) && x.a.shape.size() >= 2 && x.b.shape.size() >= 2 &&
         is_rows(x.out) && plan_product(x.a, x.b, x.c, x.out, p);
}

constexpr KernelEntry kMatmulKernels[] = {
    {"matmul", find_product<false>, prepare_as<MatmulKernel<false>>},
    {"addmm", find_product<true>, prepare_as<MatmulKernel<true>>}};

}  // namespace

const std::span<const KernelEntry> matmul_kernels = kMatmulKernels;

}  // namespace mlx::core::gpu
