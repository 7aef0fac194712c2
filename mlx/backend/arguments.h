// The arguments of a launch: the bindings of its slots, and the values of constants, in one block
// of memory.
#pragma once

#include <cstring>
#include <new>
#include <span>

#include "mlx/core/api.h"
#include "mlx/core/node.h"

namespace mlx::core {

/// Location of a slot. Without a buffer it is in the arena of the executable.
struct Binding {
  Buffer* buffer = nullptr;
  int64_t offset = 0;  ///< bytes
};
static_assert(sizeof(Binding) == sizeof(Scalar));

/// Bindings, followed by constants. Keeps the buffers alive.
class MLX_API Arguments {
 public:
  Arguments() = default;
  Arguments(size_t n_bindings, size_t n_constants) : n_bindings_(n_bindings) {
    cells_.reserve(n_bindings + n_constants);
    cells_.resize(n_bindings);
  }
  Arguments(Arguments&& o) noexcept
      : cells_(std::move(o.cells_)), n_bindings_(std::exchange(o.n_bindings_, 0)) {}
  Arguments& operator=(Arguments&& o) noexcept {
    std::swap(cells_, o.cells_);
    std::swap(n_bindings_, o.n_bindings_);
    return *this;
  }
  ~Arguments() {
    for (const Binding& b : bindings()) Ref<Buffer>::adopt(b.buffer);
  }

  void bind(size_t i, Ref<Buffer> buffer, int64_t offset) {
    cells_[i] = cell(Binding{buffer.release(), offset});
  }
  void add_constant(const Scalar& value) { cells_.push_back(cell(value)); }

  std::span<const Binding> bindings() const {
    return {std::launder(reinterpret_cast<const Binding*>(cells_.data())), n_bindings_};
  }
  const Scalar* constants() const {
    return std::launder(reinterpret_cast<const Scalar*>(cells_.data() + n_bindings_));
  }
  /// Bindings and constants as bytes, 16 each.
  std::span<const std::byte> block() const {
    return std::as_bytes(std::span(cells_.data(), cells_.size()));
  }

 private:
  /// Storage of a Binding or a Scalar.
  struct Cell {
    alignas(16) unsigned char bytes[16];
  };
  template <class T>
  static Cell cell(const T& value) {
    Cell c;
    std::memcpy(c.bytes, &value, sizeof(c.bytes));
    return c;
  }
  SmallVector<Cell, 8> cells_;
  size_t n_bindings_ = 0;
};

}  // namespace mlx::core
