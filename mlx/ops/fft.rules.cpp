// Derivatives and batching of Fourier transforms. The transpose of a transform is the transform in
// the other direction; the inner coefficients of a half spectrum count twice.
#include "mlx/ops/fft.h"

#include <functional>

#include "mlx/core/error.h"
#include "mlx/ops.h"

namespace mlx::core::rules {

namespace {

/// x cropped or padded with zeros to length n along an axis.
array resized(const array& x, int axis, int64_t n, Stream s) {
  const int64_t have = x.shape()[axis];
  if (have == n) return x;
  if (have < n) return pad(x, {axis}, {0}, {n - have}, constant(0, x.dtype()), "constant", s);
  Shape stop = x.shape();
  stop[axis] = n;
  return slice(x, Shape(x.ndim(), 0), stop, s);
}

/// The half spectrum of a signal of length n with its inner coefficients multiplied by `factor`.
array inner_scaled(const array& x, int axis, int64_t n, double factor, Stream s) {
  const Dtype t = real_dtype(x.dtype());
  Shape shape(x.ndim(), 1);
  shape[axis] = n / 2 + 1;
  const array at = reshape(integer_range(0, n / 2 + 1, 1, int64, s), shape, s);
  array outer = equal(at, constant(0, int64), s);
  if (n % 2 == 0) outer = logical_or(outer, equal(at, array(n / 2, int64), s), s);
  return multiply(x, where(outer, constant(1, t), constant(factor, t), s), s);
}

}  // namespace

namespace {

/// The transpose of a transform of real length n along an axis, without what `resized` does: `of`
/// is the transform of another kind.
array transposed_fft(FftKind kind, int axis, int64_t n, const array& g, Stream s,
                     const std::function<array(const array&, FftKind)>& of) {
  switch (kind) {
    case FftKind::forward:
      return of(g, FftKind::inverse);
    case FftKind::inverse:
      return of(g, FftKind::forward);
    case FftKind::real:
      return of(inner_scaled(g, axis, n, 0.5, s), FftKind::hermitian);
    case FftKind::hermitian:
      return inner_scaled(of(g, FftKind::real), axis, n, 2, s);
  }
  __builtin_unreachable();
}

}  // namespace

Arrays fft_vjp(const RuleArgs& r) {
  const auto& a = attrs_as<FftAttrs>(r.attrs);
  if (!r.grads[0]) return {array{}};
  const Stream s = r.stream;
  const array g = transposed_fft(
      a.kind, a.axis, a.n, r.grads[0], s,
      [&](const array& x, FftKind kind) { return transform(x, {kind, a.axis, a.n, a.scale}, s); });
  return {resized(g, a.axis, r.inputs[0].shape()[a.axis], s)};
}

Arrays fft_planes_vjp(const RuleArgs& r) {
  const auto& a = attrs_as<FftPlanesAttrs>(r.attrs);
  if (!r.grads[0]) return {array{}};
  const Stream s = r.stream;
  const int axis = static_cast<int>(r.grads[0].ndim()) - 1;
  const array g =
      transposed_fft(a.kind, axis, a.n, r.grads[0], s, [&](const array& x, FftKind kind) {
        return transform_planes(x, {kind, a.n, a.scale, a.other_scale}, s);
      });
  return {resized(g, axis, r.inputs[0].shape(-1), s)};
}

/// The sum of what a coefficient of the half is copied to, and of its image.
Arrays spectrum_vjp(const RuleArgs& r) {
  const auto& a = attrs_as<SpectrumAttrs>(r.attrs);
  const array g = r.grads[0];
  if (!g) return {array{}};
  const Stream s = r.stream;
  const int axis = a.axes.back();
  const int64_t half = a.n / 2 + 1, images = a.n - half;
  Shape start(g.ndim(), 0), stop = g.shape();
  const Strides steps(g.ndim(), 1);
  stop[axis] = half;
  array own = slice(g, start, stop, steps, s);
  if (a.conjugate) own = conjugate(own, s);
  if (images == 0) return {own};
  // Along the last axis image k is at n - k, from k = 1 on; along the others at (n - k) % n.
  start[axis] = half;
  stop[axis] = a.n;
  array image = flip(slice(g, start, stop, steps, s), {axis}, s);
  const std::vector<int> others(a.axes.begin(), a.axes.end() - 1);
  if (!others.empty()) {
    image = flip(image, others, s);
    image = roll(image, Shape(others.size(), 1), others, s);
  }
  if (!a.conjugate) image = conjugate(image, s);
  image = pad(image, {axis}, {1}, {half - 1 - images}, constant(0, g.dtype()), "constant", s);
  return {add(own, image, s)};
}

Batched spectrum_vmap(const Arrays& inputs, const std::vector<int>& axes, const Attrs* attrs,
                      Stream s) {
  SpectrumAttrs a = attrs_as<SpectrumAttrs>(attrs);
  for (int& axis : a.axes) ++axis;
  return {{whole_spectrum(to_front(inputs[0], axes[0], s), a, s)}, {0}};
}

Batched fft_planes_vmap(const Arrays& inputs, const std::vector<int>& axes, const Attrs* attrs,
                        Stream s) {
  const auto& a = attrs_as<FftPlanesAttrs>(attrs);
  return {{transform_planes(to_front(inputs[0], axes[0], s), a, s)}, {0}};
}

Batched fft_vmap(const Arrays& inputs, const std::vector<int>& axes, const Attrs* attrs, Stream s) {
  FftAttrs a = attrs_as<FftAttrs>(attrs);
  ++a.axis;
  return {{transform(to_front(inputs[0], axes[0], s), a, s)}, {0}};
}

}  // namespace mlx::core::rules
