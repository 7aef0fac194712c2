// Conversion of index arrays to offsets.
#include "mlx/backend/cpu/positions.h"

#include <algorithm>

#include "mlx/backend/common/odometer.h"

namespace mlx::core::cpu {

Positions::Positions(const char* op, const Shape& shape, const std::vector<IndexedAxis>& axes)
    : op_(op), size_(num_elements(shape)) {
  for (const IndexedAxis& at : axes) {
    Source source{at, shape, {}};
    std::vector<Strides> strides{
        broadcast_strides(at.indices.shape(), at.indices.strides(), shape)};
    collapse_axes(source.shape, strides);
    source.strides = strides[0];
    sources_.push_back(std::move(source));
  }
}

void Positions::read(int64_t begin, int64_t end, int64_t* out) const {
  std::fill(out, out + (end - begin), 0);
  for (const Source& source : sources_) {
    const IndexedAxis& at = source.at;
    int64_t row = source.shape.back(), step = source.strides.back();
    Odometer<1> rows(Shape(source.shape.begin(), source.shape.end() - 1),
                     {Strides(source.strides.begin(), source.strides.end() - 1)});
    dispatch_index(at.indices.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      rows.seek(begin / row);
      for (int64_t i = begin; i < end; rows.next()) {
        int64_t first = i % row, n = std::min(row - first, end - i);
        const T* p = at.indices.as<const T>() + rows[0] + first * step;
        for (int64_t j = 0; j < n; ++j)
          out[i - begin + j] +=
              checked_index(p[j * step], at.size, at.span, op_, at.axis) * at.stride;
        i += n;
      }
    });
  }
}

void Positions::check() const {
  constexpr int64_t kBlock = 256;
  int64_t offsets[kBlock];
  for (int64_t i = 0; i < size_; i += kBlock) read(i, std::min(i + kBlock, size_), offsets);
}

}  // namespace mlx::core::cpu
