// Singular values, eigenvalues and what is computed from them: pseudo-inverses and cofactors; and
// the matrix exponential. One matrix of the batch per thread; inputs are row-contiguous, so LAPACK
// sees their transposes.
#include "mlx/backend/cpu/linalg.h"
#include "mlx/backend/cpu/linalg_bidiagonal.h"
#include "mlx/backend/cpu/linalg_factors.h"
#include "mlx/backend/cpu/linalg_tridiagonal.h"
#include "mlx/ops/linalg.h"

namespace mlx::core::cpu {

namespace {

using namespace linalg;

/// Memory for `n` elements.
template <class T>
struct Elements : Scratch {
  explicit Elements(int64_t n) : Scratch(static_cast<size_t>(n) * sizeof(T)) {}
  operator T*() const { return get<T>(); }
};

template <class T>
void set_identity(T* a, int64_t n) {
  std::fill(a, a + n * n, T(0));
  for (int64_t i = 0; i < n; ++i) a[i * n + i] = T(1);
}

/// Calls `f(a, from, to, i)` for each matrix of the input, in parallel: a copy of it, its source,
/// and the address of a result of its size. `factor` is that of Batch::work.
template <class F>
void for_each_copy(const KernelArgs& args, const Batch& b, double factor, F&& f) {
  if (b.count * b.size() == 0) return;
  dispatch_matrix(args.in[0].dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = args.in[0].as<T>();
    T* out = args.out[0].as<T>();
    for_each_matrix(b, b.work(factor), [&](int64_t i) {
      const T* from = in + i * b.size();
      Elements<T> a(b.size());
      copy_elements(from, +a, b.size());
      f(a, from, out + i * b.size(), i);
    });
  });
}

// --- singular values ----------------------------------------------------------------------------

// aᵀ = U' S V' means a = V'ᵀ S U'ᵀ; column-major V' and U' are their transposes in row-major order.
void svd_kernel(const KernelArgs& args) {
  const Batch b(args.in[0]), left(args.out[0]), right(args.out[2]);
  const bool full = attrs_as<SvdAttrs>(args.attrs).full;
  dispatch_matrix(args.in[0].dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = args.in[0].as<T>();
    T *us = args.out[0].as<T>(), *vs = args.out[2].as<T>();
    Real<T>* values = args.out[1].as<Real<T>>();
    for_each_matrix(b, b.work(20), [&](int64_t i) {
      T *u = us + i * left.size(), *v = vs + i * right.size();
      if (b.size() == 0) {
        if (full) set_identity(u, b.rows);
        if (full) set_identity(v, b.columns);
        return;
      }
      Elements<T> a(b.size());
      copy_elements(in + i * b.size(), +a, b.size());
      require_finite("linalg.svd", +a, b.size(), i);
      if constexpr (kOwnFactors<T>) {
        if (b.rows == b.columns && b.rows >= kBidiagonal)
          return require_converged("linalg.svd",
                                   solve_singular<T>(b.rows, a, values + i * b.rows, v, u), i);
      }
      const Int info =
          lapack::gesdd<T>(full ? 'A' : 'S', b.n(), b.m(), a, values + i * b.small(), v, u);
      require_converged("linalg.svd", info, i);
    });
  });
}

void svdvals_kernel(const KernelArgs& args) {
  const Batch b(args.in[0]);
  if (b.count * b.size() == 0) return;
  dispatch_matrix(args.in[0].dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = args.in[0].as<T>();
    Real<T>* values = args.out[0].as<Real<T>>();
    for_each_matrix(b, b.work(4), [&](int64_t i) {
      Elements<T> a(b.size());
      copy_elements(in + i * b.size(), +a, b.size());
      require_finite("linalg.svd", +a, b.size(), i);
      T unused{};
      const Int info =
          lapack::gesdd<T>('N', b.n(), b.m(), a, values + i * b.small(), &unused, &unused);
      require_converged("linalg.svd", info, i);
    });
  });
}

// With aᵀ = U' S V', its column-major pseudo-inverse V'ᴴ S⁺ U'ᴴ is that of a in row-major order.
void pinv_kernel(const KernelArgs& args) {
  const Batch b(args.in[0]);
  const int64_t k = b.small();
  const double rcond = attrs_as<PinvAttrs>(args.attrs).rcond;
  for_each_copy(args, b, 20, [&]<class T>(Elements<T>& a, const T*, T* out, int64_t i) {
    Elements<T> u(b.columns * k), v(k * b.rows);
    Elements<Real<T>> values(k);
    require_finite("linalg.pinv", +a, b.size(), i);
    const Int info = lapack::gesdd<T>('S', b.n(), b.m(), a, values, u, v);
    require_converged("linalg.pinv", info, i);
    const Real<T> limit = static_cast<Real<T>>(rcond) * values[0];
    for (int64_t j = 0; j < k; ++j) {
      const Real<T> factor = values[j] > limit ? 1 / values[j] : 0;
      for (int64_t r = 0; r < b.columns; ++r) u[j * b.columns + r] *= factor;
    }
    lapack::gemm<T>(true, b.m(), b.n(), static_cast<Int>(k), v, u, out);
  });
}

/// The determinant from a column-major matrix's factors: the product of the diagonal.
template <class T>
T determinant(T* a, Int n, Int* pivots) {
  T product = static_cast<T>(factor(a, n, pivots));
  for (int64_t r = 0; r < n; ++r) product *= a[r * n + r];
  return product;
}

/// The adjugate of column-major `b` from its singular values: det(U V) Vᴴ adj(S) Uᴴ, without an
/// inverse.
template <class T>
void adjugate_by_values(const T* b, T* out, Int n, int64_t matrix) {
  const int64_t size = static_cast<int64_t>(n) * n;
  Elements<T> a(size), u(size), v(size);
  Elements<Real<T>> values(n);
  Elements<Int> pivots(n);
  copy_elements(b, +a, size);
  require_finite("linalg.det", +a, size, matrix);
  require_converged("linalg.det", lapack::gesdd<T>('A', n, n, a, values, u, v), matrix);
  copy_elements(+u, +a, size);
  T sign = determinant<T>(a, n, pivots);
  copy_elements(+v, +a, size);
  sign *= determinant<T>(a, n, pivots);
  for (int64_t j = 0; j < n; ++j) {
    T others = conjugated(sign);  // the product takes the adjoint of u
    for (int64_t r = 0; r < n; ++r)
      if (r != j) others *= values[r];
    for (int64_t r = 0; r < n; ++r) u[j * n + r] *= others;
  }
  lapack::gemm<T>(true, n, n, n, v, u, out);
}

/// The derivatives of the determinant: det(a) a⁻ᵀ, and its limit if `a` is singular or nearly so.
void cofactors_kernel(const KernelArgs& args) {
  const Batch b(args.in[0]);
  const Int n = b.n();
  for_each_copy(args, b, 2, [&]<class T>(Elements<T>& a, const T* in, T* out, int64_t i) {
    Elements<Int> pivots(n);
    T det = determinant<T>(a, n, pivots);
    Real<T> smallest = std::abs(a[0]), largest = smallest;
    for (int64_t r = 1; r < n; ++r) {
      smallest = std::min(smallest, std::abs(a[r * n + r]));
      largest = std::max(largest, std::abs(a[r * n + r]));
    }
    const Real<T> unit = std::numeric_limits<Real<T>>::epsilon();
    if (smallest > std::sqrt(unit) * largest) {
      invert_factored<T>(n, a, pivots);
      transpose(+a, out, n, n, [&](T x) { return det * x; });
    } else {
      adjugate_by_values<T>(in, a, n, i);
      transpose(+a, out, n, n);
    }
  });
}

// --- eigenvalues --------------------------------------------------------------------------------

/// Eigenvalues and, unless `vectors` is null, eigenvectors of Hermitian matrices. LAPACK sees the
/// conjugate of the matrix with the other triangle; its eigenvectors are conjugated likewise.
void hermitian_kernel(const KernelArgs& args, const char* op, const View& out,
                      const View* vectors) {
  const Batch b(args.in[0]);
  const bool upper = attrs_as<TriangleAttrs>(args.attrs).upper;
  if (b.count * b.size() == 0) return;
  dispatch_matrix(args.in[0].dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = args.in[0].as<T>();
    Real<T>* values = out.as<Real<T>>();
    const int64_t n = b.rows;
    for_each_matrix(b, b.work(vectors ? 9 : 1.5), [&](int64_t i) {
      const T* from = in + i * b.size();
      for (int64_t r = 0; r < n; ++r)
        require_finite(op, from + r * n + (upper ? r : 0), upper ? n - r : r + 1, i);
      T* to = vectors ? vectors->as<T>() + i * b.size() : nullptr;
      if constexpr (kOwnFactors<T>) {
        if (n >= kTridiagonal)
          return require_converged(op, solve_symmetric(upper, n, from, values + i * n, to), i);
      }
      Elements<T> a(b.size());
      copy_elements(from, +a, b.size());
      require_converged(op, lapack::syevd<T>(vectors, upper ? 'L' : 'U', b.n(), a, values + i * n),
                        i);
      if (vectors) transpose(+a, to, n, n, [](T x) { return conjugated(x); });
    });
  });
}

void eigh_kernel(const KernelArgs& args) {
  hermitian_kernel(args, "linalg.eigh", args.out[0], &args.out[1]);
}
void eigvalsh_kernel(const KernelArgs& args) {
  hermitian_kernel(args, "linalg.eigvalsh", args.out[0], nullptr);
}

/// Spectrum of one column-major matrix, which is destroyed; `v` receives column eigenvectors, or is
/// null.
template <class T>
Int spectrum(Int n, std::complex<T>* a, std::complex<T>* w, std::complex<T>* v) {
  return lapack::geev<std::complex<T>>(n, a, w, v);
}
template <class T>
Int spectrum(Int n, T* a, std::complex<T>* w, std::complex<T>* v) {
  Elements<T> re(n), im(n), packed(v ? static_cast<int64_t>(n) * n : 0);
  const Int info = lapack::geev<T>(n, a, re, im, v ? +packed : nullptr);
  for (int64_t j = 0; j < n; ++j) w[j] = {re[j], im[j]};
  if (!v || info != 0) return info;
  for (int64_t j = 0; j < n; ++j) {
    // A pair of conjugate values stores the parts of one vector in two columns.
    const T* x = packed + j * n;
    const bool pair = im[j] != 0;
    for (int64_t i = 0; i < n; ++i) {
      v[j * n + i] = {x[i], pair ? x[n + i] : T(0)};
      if (pair) v[(j + 1) * n + i] = std::conj(v[j * n + i]);
    }
    j += pair;
  }
  return info;
}

void general_kernel(const KernelArgs& args, const char* op, const View& out, const View* vectors) {
  const Batch b(args.in[0]);
  if (b.count * b.size() == 0) return;
  dispatch_matrix(args.in[0].dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = std::complex<Real<T>>;
    const T* in = args.in[0].as<T>();
    C* values = out.as<C>();
    const int64_t n = b.rows;
    for_each_matrix(b, b.work(vectors ? 25 : 10), [&](int64_t i) {
      Elements<T> a(b.size());
      Elements<C> v(vectors ? b.size() : 0);
      transpose(in + i * b.size(), +a, n, n);
      require_finite(op, +a, b.size(), i);
      require_converged(op, spectrum(b.n(), +a, values + i * n, vectors ? +v : nullptr), i);
      if (vectors) transpose(+v, vectors->as<C>() + i * b.size(), n, n);
    });
  });
}

void eig_kernel(const KernelArgs& args) {
  general_kernel(args, "linalg.eig", args.out[0], &args.out[1]);
}
void eigvals_kernel(const KernelArgs& args) {
  general_kernel(args, "linalg.eigvals", args.out[0], nullptr);
}

// --- exponential --------------------------------------------------------------------------------

/// A Padé approximant and the largest 1-norm for which it is accurate to the dtype's precision.
struct Approximant {
  int degree;
  double norm;
};
constexpr Approximant kFloat[] = {
    {3, 0.4258730016922831}, {5, 1.880152677804762}, {7, 3.925724783138660}};
constexpr Approximant kDouble[] = {{3, 1.495585217958292e-2},
                                   {5, 2.539398330063230e-1},
                                   {7, 9.504178996162932e-1},
                                   {9, 2.097847961257068},
                                   {13, 5.371920351148152}};

template <class T>
double column_norm(const T* a, int64_t n) {
  double largest = 0;
  for (int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += std::abs(a[j * n + i]);
    if (!(sum <= largest)) largest = sum;
  }
  return largest;
}

/// x = exp(a) of one matrix in either memory order; `a` is destroyed.
template <class T>
void exponential(T* a, T* x, Int n) {
  const int64_t size = static_cast<int64_t>(n) * n;
  const double norm = column_norm(a, n);
  if (!std::isfinite(norm)) {
    std::fill(x, x + size, T(std::numeric_limits<Real<T>>::quiet_NaN()));
    return;
  }
  std::span<const Approximant> table = kDouble;
  if constexpr (std::is_same_v<Real<T>, float>) table = kFloat;
  size_t row = 0;
  while (row + 1 < table.size() && norm > table[row].norm) ++row;
  const int degree = table[row].degree;
  const int squarings =
      norm > table[row].norm ? static_cast<int>(std::ceil(std::log2(norm / table[row].norm))) : 0;
  for (int64_t i = 0; i < size; ++i) a[i] *= static_cast<Real<T>>(std::ldexp(1.0, -squarings));

  double c[16] = {1};
  for (int j = 0; j < degree; ++j) c[j + 1] = c[j] * (degree - j) / ((2.0 * degree - j) * (j + 1));
  // Even powers up to the sixth; higher ones are the sixth times lower ones.
  Elements<T> memory(5 * size);
  T *p2 = memory, *p4 = p2 + size, *p6 = p4 + size, *high = p6 + size, *even = high + size;
  lapack::gemm<T>(false, n, n, n, a, a, p2);
  if (degree > 3) lapack::gemm<T>(false, n, n, n, p2, p2, p4);
  if (degree > 5) lapack::gemm<T>(false, n, n, n, p2, p4, p6);
  // The sum of c[first] + c[first + 2] a² + ..
  auto sum = [&](int first, T* to) {
    auto k = [&](int j) { return static_cast<Real<T>>(c[first + j]); };
    if (degree > 7) {
      for (int64_t i = 0; i < size; ++i)
        high[i] = k(8) * p2[i] + (degree > 9 ? k(10) * p4[i] + k(12) * p6[i] : T(0));
      lapack::gemm<T>(false, n, n, n, p6, high, to);
    } else {
      std::fill(to, to + size, T(0));
    }
    for (int64_t i = 0; i < size; ++i) {
      to[i] += k(2) * p2[i];
      if (degree > 3) to[i] += k(4) * p4[i];
      if (degree > 5) to[i] += k(6) * p6[i];
    }
    for (int64_t i = 0; i < n; ++i) to[i * n + i] += k(0);
  };
  sum(1, x);
  sum(0, even);
  T* odd = high;
  lapack::gemm<T>(false, n, n, n, a, x, odd);
  for (int64_t i = 0; i < size; ++i) {
    x[i] = even[i] + odd[i];
    even[i] -= odd[i];
  }
  solve_in_place<T>(even, x, n, n);
  for (int i = 0; i < squarings; ++i) {
    copy_elements(x, a, size);
    lapack::gemm<T>(false, n, n, n, a, a, x);
  }
}

void expm_kernel(const KernelArgs& args) {
  const Batch b(args.in[0]);
  for_each_copy(args, b, 15, [&]<class T>(Elements<T>& a, const T*, T* out, int64_t) {
    exponential<T>(a, out, b.n());
  });
}

const KernelEntry kSpectralKernels[] = {
    {.op = &op_svd, .run = svd_kernel, .contiguous = 1},
    {.op = &op_svdvals, .run = svdvals_kernel, .contiguous = 1},
    {.op = &op_pinv, .run = pinv_kernel, .contiguous = 1},
    {.op = &op_cofactors, .run = cofactors_kernel, .contiguous = 1},
    {.op = &op_eigh, .run = eigh_kernel, .contiguous = 1},
    {.op = &op_eigvalsh, .run = eigvalsh_kernel, .contiguous = 1},
    {.op = &op_eig, .run = eig_kernel, .contiguous = 1},
    {.op = &op_eigvals, .run = eigvals_kernel, .contiguous = 1},
    {.op = &op_expm, .run = expm_kernel, .contiguous = 1},
};

}  // namespace

const std::span<const KernelEntry> spectral_kernels = kSpectralKernels;

}  // namespace mlx::core::cpu
