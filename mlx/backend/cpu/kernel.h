// The interface of a CPU kernel: a plain function over views of host memory.
#pragma once

#include <algorithm>
#include <functional>

#include "mlx/backend/backend.h"
#include "mlx/core/api.h"

namespace mlx::core::cpu {

/// An operand: address of its first element, and its layout. Inputs may have any strides (also zero
/// and negative) unless the kernel's entry requires contiguous ones; outputs are row-contiguous
/// unless `KernelEntry::keeps_order`.
struct View {
  void* data;
  const Layout* layout;

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  const Shape& shape() const { return layout->shape; }
  const Strides& strides() const { return layout->strides; }
  Dtype dtype() const { return layout->dtype; }
  int64_t size() const { return num_elements(layout->shape); }
  int ndim() const { return static_cast<int>(layout->shape.size()); }
};

/// The axes of a view but one, in the order in which they lie in memory.
inline SmallVector<int, 8> axes_beside(const View& v, int axis) {
  SmallVector<int, 8> axes;
  for (int i = 0; i < v.ndim(); ++i)
    if (i != axis) axes.push_back(i);
  std::ranges::stable_sort(axes, std::ranges::greater{}, [&](int i) { return v.strides()[i]; });
  return axes;
}

class FusedSource;  // cpu/fused.h

struct KernelArgs {
  std::span<const View> in, out;
  const Attrs* attrs;
  void* workspace;
  /// Prologue fusion: computes the elements of the only input, which then has no data.
  const FusedSource* source = nullptr;
};

using KernelFn = void (*)(const KernelArgs&);

/// A row of the backend's kernel table (table.cpp).
struct KernelEntry {
  const OpDef* op;
  KernelFn run;
  uint32_t contiguous = 0;  ///< bit i: input i must be row-contiguous
  uint32_t in_place = 0;  ///< bit i: the output may share input i's buffer if the layouts are equal
  /// Workspace bytes; null: none.
  size_t (*workspace)(std::span<const Layout> operands, int n_inputs, const Attrs*) = nullptr;
  /// `contiguous`, if it depends on the attributes.
  uint32_t (*contiguous_for)(const Attrs*) = nullptr;
  /// Whether it accepts `KernelArgs::source` for an input of this layout; null: never.
  bool (*takes_source)(const Layout& in, const Attrs*) = nullptr;
  /// The output has the memory order of the first input, where that is dense and of its shape.
  bool keeps_order = false;
  /// How many leading axes of the first input it goes through one position after another, as if it
  /// were called for each (rows of a unit, backend.h); null: none.
  int (*rows)(const Layout& in, const Attrs*) = nullptr;

  uint32_t contiguous_inputs(const Attrs* attrs) const {
    return contiguous_for ? contiguous_for(attrs) : contiguous;
  }
};

/// Registers a kernel for a user-defined op; replaces an earlier one.
MLX_API void register_kernel(const KernelEntry& entry);
const KernelEntry* find_kernel(const OpDef& op);

}  // namespace mlx::core::cpu
