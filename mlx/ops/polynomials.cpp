// Compositions of polynomials.
#include "mlx/ops/polynomials.h"

#include <algorithm>

#include "mlx/core/error.h"
#include "mlx/core/trace.h"
#include "mlx/linalg.h"
#include "mlx/ops.h"

namespace mlx::core {

namespace {

/// The number of coefficients.
int64_t coefficient_count(const char* op, const array& p) {
  if (p.ndim() != 1 || p.size() == 0)
    fail(op, "coefficients of shape ", to_string(p.shape()),
         "; one axis with at least one coefficient is accepted");
  note_shape_read(p);
  return p.shape(0);
}
array in_dtype(const array& p, Dtype t, StreamOrDevice s) {
  return astype(p, t == bool_ ? int32 : t, s);
}
/// Zeros in front, up to n coefficients.
array extended(const array& p, int64_t n, StreamOrDevice s) {
  if (p.shape(0) == n) return p;
  return concatenate({zeros({n - p.shape(0)}, p.dtype(), s), p}, 0, s);
}
template <class F>
array aligned_at_end(const char* op, const array& a, const array& b, StreamOrDevice s, F f) {
  const int64_t n = std::max(coefficient_count(op, a), coefficient_count(op, b));
  const Dtype t = promote_types(a.dtype(), b.dtype());
  return f(extended(in_dtype(a, t, s), n, s), extended(in_dtype(b, t, s), n, s), s);
}
/// n, n - 1, .., 1.
array powers(int64_t n, Dtype t, StreamOrDevice s) { return integer_range(n, 0, -1, t, s); }

}  // namespace

array polyadd(const array& a, const array& b, StreamOrDevice s) {
  return aligned_at_end("polyadd", a, b, s, add);
}
array polysub(const array& a, const array& b, StreamOrDevice s) {
  return aligned_at_end("polysub", a, b, s, subtract);
}

array polymul(const array& a, const array& b, StreamOrDevice s) {
  const int64_t n = coefficient_count("polymul", a), m = coefficient_count("polymul", b);
  const Dtype t = promote_types(a.dtype(), b.dtype());
  const bool swapped = n > m;
  const array &few = swapped ? b : a, &many = swapped ? a : b;
  const array x = in_dtype(few, t, s), y = in_dtype(many, t, s);
  // Each coefficient of the shorter one times the longer one, moved by its position.
  array out;
  for (int64_t i = 0; i < std::min(n, m); ++i) {
    const array moved = pad(multiply(take(x, i, 0, s), y, s),
                            {{static_cast<int>(i), static_cast<int>(std::min(n, m) - 1 - i)}},
                            constant(0, y.dtype()), "constant", s);
    out = i == 0 ? moved : add(out, moved, s);
  }
  return out;
}

std::pair<array, array> polydiv(const array& u, const array& v, StreamOrDevice s) {
  const int64_t n = coefficient_count("polydiv", u), m = coefficient_count("polydiv", v);
  const Dtype t = at_least_float(promote_types(u.dtype(), v.dtype()));
  array rest = astype(u, t, s);
  const array divisor = astype(v, t, s), scale = take(divisor, 0, 0, s);
  if (n < m) return {zeros({1}, t, s), rest};
  const array tail = slice(divisor, {1}, {m}, s);
  std::vector<array> quotient;
  for (int64_t i = 0; i + m <= n; ++i) {
    const array q = divide(slice(rest, {0}, {1}, s), scale, s);
    quotient.push_back(q);
    const array changed = subtract(slice(rest, {1}, {m}, s), multiply(q, tail, s), s);
    rest = concatenate({changed, slice(rest, {m}, {n - i}, s)}, 0, s);
  }
  if (m == 1) rest = zeros({1}, t, s);
  return {concatenate(quotient, 0, s), rest};
}

array polyder(const array& p, int m, StreamOrDevice s) {
  if (m < 0) fail("polyder", "order ", m, "; numbers from 0 are accepted");
  coefficient_count("polyder", p);
  array out = in_dtype(p, p.dtype(), s);
  for (int i = 0; i < m && out.shape(0) > 0; ++i) {
    const int64_t n = out.shape(0) - 1;
    out = multiply(slice(out, {0}, {n}, s), powers(n, out.dtype(), s), s);
  }
  return out;
}

array polyint(const array& p, int m, const array& k, StreamOrDevice s) {
  if (m < 0) fail("polyint", "order ", m, "; numbers from 0 are accepted");
  coefficient_count("polyint", p);
  if (k.ndim() > 1 || (k.ndim() == 1 && k.shape(0) != m))
    fail("polyint", "constants of shape ", to_string(k.shape()), " for order ", m,
         "; a number, or one for each integration is accepted");
  const Dtype t = at_least_float(promote_types(p.dtype(), k.dtype()));
  array out = astype(p, t, s);
  const array constants = broadcast_to(astype(k, t, s), {m}, s);
  for (int i = 0; i < m; ++i) {
    const array raised = divide(out, powers(out.shape(0), t, s), s);
    out = concatenate({raised, slice(constants, {i}, {i + 1}, s)}, 0, s);
  }
  return out;
}

array poly(const array& given, StreamOrDevice s) {
  const bool matrix = given.ndim() == 2 && given.shape(0) == given.shape(1);
  if (!matrix && given.ndim() != 1)
    fail("poly", "an array of shape ", to_string(given.shape()),
         "; roots with one axis, or a square matrix, are accepted");
  note_shape_read(given);
  const Dtype t = at_least_float(given.dtype());
  const array found = matrix ? linalg::eigvals(astype(given, t, s), s) : astype(given, t, s);
  array out = ones({1}, found.dtype(), s);
  for (int64_t i = 0; i < found.shape(0); ++i) {
    const array none = zeros({1}, found.dtype(), s);
    const array lower = multiply(out, take(found, i, 0, s), s);
    out = subtract(concatenate({out, none}, 0, s), concatenate({none, lower}, 0, s), s);
  }
  return matrix && !is_complex(t) ? real(out, s) : out;
}

array roots(const array& p, StreamOrDevice s) {
  const int64_t n = coefficient_count("roots", p) - 1;
  const Dtype t = at_least_float(p.dtype());
  const Dtype wide = t.size() == 2 ? float32 : t;
  const array c = astype(p, wide, s);
  if (n == 0)
    return zeros({0}, is_complex(wide) ? wide : wide == float64 ? complex128 : complex64, s);
  const array first = negative(divide(slice(c, {1}, {n + 1}, s), take(c, 0, 0, s), s), s);
  const array companion = concatenate({expand_dims(first, 0, s), eye(n - 1, n, 0, wide, s)}, 0, s);
  return linalg::eigvals(companion, s);
}

}  // namespace mlx::core
