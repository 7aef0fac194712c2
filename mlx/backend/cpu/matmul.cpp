// Matrix products for any layouts: batch axes are merged into the rows if memory allows, the rest
// is a batch of products of one shape. float32, 16-bit floats and integers use the project's own
// kernels, float64 and complex numbers BLAS.
#include "mlx/backend/cpu/matmul.h"

#include <algorithm>
#include <complex>
#include <optional>

#include "mlx/backend/common/odometer.h"
#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/blas.h"
#include "mlx/backend/cpu/copy.h"
#include "mlx/backend/cpu/gemm.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/positions.h"
#include "mlx/backend/cpu/threads.h"
#include "mlx/ops/gather_mm.h"

namespace mlx::core::cpu {
namespace {

/// One operand of a batch of products; strides in elements.
struct Matrix {
  const void* data = nullptr;
  int64_t row = 0, col = 0;
  int64_t step = 0;                // from product to product of the batch, unless
  SmallVector<int64_t, 2> starts;  // the offset of each is listed

  Matrix(const View* view, int64_t rows, int64_t columns) {
    if (!view) return;
    data = view->data;
    const int ndim = view->ndim();
    const auto stride = [&](int axis, int64_t length) {
      return axis < 0 || view->shape()[axis] != length ? 0 : view->strides()[axis];
    };
    // The stride of an axis of length 1 has no meaning: it is normalised so that equal layouts
    // compare equal.
    row = rows == 1 ? std::max<int64_t>(columns, 1) : stride(ndim - 2, rows);
    col = columns == 1 ? 1 : stride(ndim - 1, columns);
  }
  GemmStarts batch() const { return {starts.empty() ? nullptr : starts.data(), step}; }
  int64_t start(int64_t item) const { return batch()[item]; }
};

struct Products {
  int64_t m, n, k, count = 1;
  Matrix a, b, c, out;

  GemmBatch batch() const { return {count, a.batch(), b.batch(), out.batch(), c.batch()}; }
};

Products make_products(const View& a, const View& b, const View* c, const View& out) {
  const Shape& shape = out.shape();
  int ndim = out.ndim();
  int64_t m = shape[ndim - 2], n = shape[ndim - 1], k = a.shape().back();
  Products p{m, n, k, 1, {&a, m, k}, {&b, k, n}, {c, m, n}, {&out, m, n}};
  Matrix* all[] = {&p.a, &p.b, &p.c, &p.out};
  if (ndim == 2) return p;
  const View* views[] = {&a, &b, c, &out};
  Shape batch(shape.begin(), shape.end() - 2);
  std::vector<Strides> strides;
  for (const View* v : views) {
    Strides s(batch.size(), 0);
    if (v && v->ndim() > 2)
      s = broadcast_strides(Shape(v->shape().begin(), v->shape().end() - 2),
                            Strides(v->strides().begin(), v->strides().end() - 2), batch);
    strides.push_back(s);
  }
  collapse_axes(batch, strides);
  // A batch that shares b and continues the rows of the other operands is one taller matrix.
  while (!batch.empty() && (strides[1].back() == 0 || batch.back() == 1)) {
    bool joins = true;
    for (int i : {0, 2, 3})
      joins = joins && (p.m == 1 || batch.back() == 1 || strides[i].back() == all[i]->row * p.m);
    if (!joins) break;
    for (int i = 0; i < 4; ++i) {
      if (p.m == 1 && i != 1 && batch.back() != 1) all[i]->row = strides[i].back();
      strides[i].pop_back();
    }
    p.m *= batch.back();
    batch.pop_back();
  }
  p.count = num_elements(batch);
  if (batch.size() <= 1) {
    for (int j = 0; j < 4; ++j) all[j]->step = batch.empty() ? 0 : strides[j][0];
    return p;
  }
  Odometer<4> at(batch, {strides[0], strides[1], strides[2], strides[3]});
  for (Matrix* x : all) x->starts.resize(p.count);
  for (int64_t i = 0; i < p.count; ++i, at.next())
    for (int j = 0; j < 4; ++j) all[j]->starts[i] = at[j];
  return p;
}

Gemm float_product(const Products& p, GemmOutput type, double alpha, double beta) {
  Gemm g;
  g.m = p.m;
  g.n = p.n;
  g.k = p.k;
  g.type = g.out_type = type;
  g.a = {p.a.data, p.a.row, p.a.col};
  g.b = {p.b.data, p.b.row, p.b.col};
  g.out = {const_cast<void*>(p.out.data), p.out.row, p.out.col};
  g.epilogue = {static_cast<float>(alpha), static_cast<float>(beta), {p.c.data, p.c.row, p.c.col}};
  return g;
}

void float_products(const Products& p, GemmOutput type, double alpha, double beta) {
  gemm_batched(float_product(p, type, alpha, beta), p.batch());
}

void integer_products(const Products& p, GemmInt type) {
  gemm_int_batched(type, p.m, p.n, p.k, {p.a.data, p.a.row, p.a.col}, {p.b.data, p.b.row, p.b.col},
                   {const_cast<void*>(p.out.data), p.out.row, p.out.col}, p.batch());
}

std::vector<int64_t> list_starts(const Matrix& x, int64_t count) {
  std::vector<int64_t> starts(count);
  for (int64_t i = 0; i < count; ++i) starts[i] = x.start(i);
  return starts;
}

/// A batch of matrices in BLAS format: dense along one axis; copied if necessary.
template <class T>
struct BlasOperand {
  const T* data;
  bool transposed = false;
  int64_t ld;
  std::vector<int64_t> starts;
  std::optional<Scratch> copies;

  BlasOperand(const Matrix& x, int64_t rows, int64_t columns, int64_t count)
      : data(static_cast<const T*>(x.data)), starts(list_starts(x, count)) {
    int64_t row = rows == 1 ? std::max<int64_t>(columns, 1) : x.row;
    int64_t col = columns == 1 ? 1 : x.col;
    ld = row;
    if (col == 1 && row >= std::max<int64_t>(columns, 1)) return;
    transposed = x.row == 1 && col >= std::max<int64_t>(rows, 1);
    ld = transposed ? col : columns;
    if (transposed) return;
    copies.emplace(starts.size() * rows * columns * sizeof(T));
    for (size_t i = 0; i < starts.size(); ++i) {
      T* to = copies->get<T>() + i * rows * columns;
      copy_strided(data + starts[i], {x.row, x.col}, to, {ld, 1}, {rows, columns}, sizeof(T));
      starts[i] = i * rows * columns;
    }
    data = copies->get<T>();
  }
};

/// out = beta * c for one matrix; zero if there is no c.
template <class T>
void start_from(const Products& p, T beta, int64_t i) {
  T* out = static_cast<T*>(const_cast<void*>(p.out.data)) + p.out.start(i);
  const T* c = static_cast<const T*>(p.c.data);
  for (int64_t r = 0; r < p.m; ++r)
    for (int64_t j = 0; j < p.n; ++j)
      out[r * p.out.row + j] = c ? beta * c[p.c.start(i) + r * p.c.row + j * p.c.col] : T(0);
}

template <class T>
void blas_products(const Products& p, double alpha, double beta) {
  if (p.c.data || p.k == 0)
    for (int64_t i = 0; i < p.count; ++i) start_from(p, T(beta), i);
  if (p.k == 0) return;
  BlasOperand<T> a(p.a, p.m, p.k, p.count), b(p.b, p.k, p.n, p.count);
  const auto out_starts = list_starts(p.out, p.count);
  blas::gemm_batched<T>(a.transposed, b.transposed, p.m, p.n, p.k, T(alpha), a.data, a.ld, b.data,
                        b.ld, T(p.c.data ? 1 : 0), static_cast<T*>(const_cast<void*>(p.out.data)),
                        p.m == 1 ? p.n : p.out.row, p.count, a.starts.data(), b.starts.data(),
                        out_starts.data());
}

/// Computes the products of a batch with the kernels of its dtype.
void multiply(const Products& p, Dtype type, double alpha, double beta) {
  switch (type.val()) {
    case Dtype::Val::float32:
      if constexpr (!blas::kOwnFloat32) return blas_products<float>(p, alpha, beta);
      return float_products(p, GemmOutput::f32, alpha, beta);
    case Dtype::Val::float16:
      return float_products(p, GemmOutput::f16, alpha, beta);
    case Dtype::Val::bfloat16:
      return float_products(p, GemmOutput::bf16, alpha, beta);
    case Dtype::Val::float64:
      return blas_products<double>(p, alpha, beta);
    case Dtype::Val::complex64:
      return blas_products<complex64_t>(p, alpha, beta);
    case Dtype::Val::complex128:
      return blas_products<complex128_t>(p, alpha, beta);
    case Dtype::Val::bool_:
      return integer_products(p, GemmInt::boolean);
    default:
      constexpr GemmInt by_size[] = {GemmInt::i8, GemmInt::i8, GemmInt::i16, {}, GemmInt::i32, {},
                                     {},          {},          GemmInt::i64};
      return integer_products(p, by_size[type.size()]);
  }
}

/// An operand, materialized if it repeats elements: after evaluation it has that layout, and
/// products round by the memory order of their operands.
class Materialized {
 public:
  explicit Materialized(const View& x) : view_(x) {
    if (!repeats(x)) return;
    layout_ = {x.shape(), row_major(x.shape()), 0, x.dtype()};
    copy_.emplace(static_cast<size_t>(x.size()) * x.dtype().size());
    view_ = {copy_->get(), &layout_};
    copy_strided(x, view_);
  }
  const View& view() const { return view_; }

 private:
  static bool repeats(const View& x) {
    for (int i = 0; i < x.ndim(); ++i)
      if (x.shape()[i] > 1 && x.strides()[i] == 0) return x.size() > 0;
    return false;
  }
  Layout layout_;
  std::optional<Scratch> copy_;
  View view_;
};

void matmul_kernel(const KernelArgs& args) {
  const Materialized a(args.in[0]), b(args.in[1]);
  matrix_product(a.view(), b.view(), nullptr, args.out[0], 1, 0);
}

void addmm_kernel(const KernelArgs& args) {
  const auto& attrs = attrs_as<AddmmAttrs>(args.attrs);
  const Materialized a(args.in[1]), b(args.in[2]);
  const Materialized c(args.in[0]);  // affects which rows of a batch are merged
  matrix_product(a.view(), b.view(), &c.view(), args.out[0], attrs.alpha, attrs.beta);
}

/// Products of matrices selected by two index arrays. Consecutive products that share the right
/// matrix and continue the rows on the left are merged.
void gather_mm_kernel(const KernelArgs& args) {
  const Materialized left_matrices(args.in[0]), right_matrices(args.in[1]);
  const View &a = left_matrices.view(), &b = right_matrices.view(), &out = args.out[0];
  if (out.size() == 0) return;
  const Shape& shape = args.in[2].shape();
  Positions lhs("gather_mm", shape, {{args.in[2], 0, a.shape()[0], 1, a.strides()[0]}});
  Positions rhs("gather_mm", shape, {{args.in[3], 0, b.shape()[0], 1, b.strides()[0]}});
  int64_t count = lhs.size();
  std::vector<int64_t> left(count), right(count);
  lhs.read(0, count, left.data());
  rhs.read(0, count, right.data());
  int64_t m = a.shape()[1], k = a.shape()[2], n = b.shape()[2];
  Products p{m, n, k, 1, {&a, m, k}, {&b, k, n}, {nullptr, m, n}, {&out, m, n}};
  int64_t row = m == 1 && count > 1 ? left[1] - left[0] : p.a.row;
  std::vector<std::pair<int64_t, int64_t>> runs;  // first product, products
  for (int64_t i = 0; i < count; ++i) {
    bool joins = i > 0 && right[i] == right[i - 1] && left[i] - left[i - 1] == row * m;
    if (joins) {
      ++runs.back().second;
    } else {
      runs.emplace_back(i, 1);
    }
  }
  auto run = [&](int64_t begin, int64_t end) {
    Products each = p;
    each.a.row = row;
    for (int64_t i = begin; i < end; ++i) {
      auto [first, products] = runs[i];
      each.m = m * products;
      each.a.starts = {left[first]};
      each.b.starts = {right[first]};
      each.out.starts = {first * m * n};
      each.out.row = n;
      multiply(each, out.dtype(), 1, 0);
    }
  };
  double ns = 0.03 * static_cast<double>(out.size()) * static_cast<double>(k);
  bool tall = static_cast<int64_t>(runs.size()) < 2 * num_threads();
  if (tall) return run(0, static_cast<int64_t>(runs.size()));
  parallel_for(static_cast<int64_t>(runs.size()), 1, run, ns);
}

/// Products over ranges of the inner axis; the segments are row-contiguous.
void segmented_mm_kernel(const KernelArgs& args) {
  const Materialized left(args.in[0]), right(args.in[1]);
  const View &a = left.view(), &b = right.view(), &segments = args.in[2], &out = args.out[0];
  if (out.size() == 0) return;
  int64_t m = a.shape()[0], k = a.shape()[1], n = b.shape()[1];
  Products p{m, n, k, 1, {&a, m, k}, {&b, k, n}, {nullptr, m, n}, {&out, m, n}};
  p.out.row = n;
  dispatch_index(segments.dtype(), [&](auto tag) {
    auto* ends = segments.as<const typename decltype(tag)::type>();
    for (int64_t i = 0; i < segments.size() / 2; ++i) {
      int64_t from = checked_index(ends[2 * i], k + 1, 1, "segmented_mm", 0);
      int64_t to = checked_index(ends[2 * i + 1], k + 1, 1, "segmented_mm", 0);
      p.k = std::max<int64_t>(to - from, 0);
      p.a.starts = {from * p.a.col};
      p.b.starts = {from * p.b.row};
      p.out.starts = {i * m * n};
      multiply(p, out.dtype(), 1, 0);
    }
  });
}

const KernelEntry kMatmulKernels[] = {
    {.op = &op_matmul, .run = matmul_kernel},
    {.op = &op_addmm, .run = addmm_kernel},
    {.op = &op_gather_mm, .run = gather_mm_kernel},
    {.op = &op_segmented_mm, .run = segmented_mm_kernel, .contiguous = 0b100},
};

}  // namespace

void matrix_product(const View& a, const View& b, const View* c, const View& out, double alpha,
                    double beta) {
  if (out.size() > 0) multiply(make_products(a, b, c, out), out.dtype(), alpha, beta);
}

std::optional<SmallProduct> SmallProduct::of(const Layout& a, const Layout& b, const Layout* c,
                                             const Layout& out, double alpha, double beta) {
  if (!blas::kOwnFloat32 || out.dtype != float32) return {};
  const View va{nullptr, &a}, vb{nullptr, &b}, vc{nullptr, c}, vout{nullptr, &out};
  const Products p = make_products(va, vb, c ? &vc : nullptr, vout);
  const auto gemm = SmallGemm::of(float_product(p, GemmOutput::f32, alpha, beta), c != nullptr);
  if (!gemm) return {};
  SmallProduct small(*gemm);
  auto start = [](const Matrix& x, int64_t i) { return static_cast<int32_t>(x.start(i)); };
  for (int64_t i = 0; i < p.count; ++i)
    small.starts_.push_back({start(p.a, i), start(p.b, i), start(p.c, i), start(p.out, i)});
  return small;
}

void SmallProduct::run(const void* a, const void* b, const void* c, void* out) const {
  const auto *x = static_cast<const float*>(a), *y = static_cast<const float*>(b),
             *z = static_cast<const float*>(c);
  auto* to = static_cast<float*>(out);
  for (const Start& s : starts_) gemm_.run(x + s.a, y + s.b, z + s.c, to + s.out);
}

const std::span<const KernelEntry> matmul_kernels = kMatmulKernels;

}  // namespace mlx::core::cpu
