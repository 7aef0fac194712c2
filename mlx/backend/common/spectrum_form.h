// How the whole spectrum of a real signal comes from its first half: rows of the result, and the
// rows of the half that have their coefficients or the images of these.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "mlx/core/shape.h"

namespace mlx::core {

/// Axes of the result, neighbours that are not transformed as one. A row is along the last axis.
struct SpectrumForm {
  Shape shape;
  Strides strides;        ///< of the half, in elements
  uint64_t mirrored = 0;  ///< a bit for each axis that is transformed: the image of k is -k
  int half_axis = 0;      ///< the axis of which there is a half
  int64_t half = 0;       ///< its coefficients that are there

  /// Transforms of length n along `axes`, the last of which has the half.
  SpectrumForm(std::span<const int> axes, int64_t n, const Shape& out, const Strides& in)
      : half(n / 2 + 1) {
    for (size_t d = 0; d < out.size(); ++d) {
      const bool own = std::ranges::find(axes, static_cast<int>(d)) != axes.end();
      if (d > 0 && !own && !last_is_mirrored() && strides.back() == in[d] * out[d]) {
        shape.back() *= out[d];
        strides.back() = in[d];
        continue;
      }
      if (static_cast<int>(d) == axes.back()) half_axis = static_cast<int>(shape.size());
      if (own) mirrored |= uint64_t{1} << shape.size();
      shape.push_back(out[d]);
      strides.push_back(in[d]);
    }
  }

  int last() const { return static_cast<int>(shape.size()) - 1; }
  bool last_is_mirrored() const { return mirrored >> last() & 1; }
  int64_t rows() const {
    int64_t n = 1;
    for (int d = 0; d < last(); ++d) n *= shape[d];
    return n;
  }

  struct Row {
    int64_t own = 0, image = 0;  ///< offsets in the half
    bool beyond = false;         ///< whether all coefficients are images
  };
  Row row(int64_t number) const {
    Row r;
    for (int d = last() - 1; d >= 0; --d) {
      const int64_t k = number % shape[d];
      number /= shape[d];
      r.own += k * strides[d];
      r.image += (mirrored >> d & 1 && k > 0 ? shape[d] - k : k) * strides[d];
      if (d == half_axis) r.beyond = k >= half;
    }
    return r;
  }
};

}  // namespace mlx::core
