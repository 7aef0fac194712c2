// Searches for many values in one sorted sequence, of any real dtype.
#pragma once

#include <memory>

#include "mlx/backend/cpu/isa/counting.h"
#include "mlx/backend/cpu/isa/elementwise.h"

namespace mlx::core::cpu {

/// The kernels of the instruction set in use.
const CountingKernels& counting_kernels();

/// Converts elements to the type in which they are compared: float32, float64, int32 or int64.
class Comparable {
 public:
  explicit Comparable(Dtype from);
  /// The comparison type. Keeps the order of the elements.
  Dtype type() const { return to_; }
  /// `n` dense elements, copied to `buffer` (of n elements) if they need conversion.
  const void* read(const void* from, int64_t n, void* buffer) const;
  bool converts() const { return convert_ || flip_; }

 private:
  Dtype from_, to_;
  TileFn convert_ = nullptr;
  bool flip_ = false;  // flips the sign bit: uint64 as int64
};

/// A sorted sequence with NaN at its end.
class SortedSequence {
 public:
  /// `n` elements with distance `step`; copied if they are not dense or need conversion.
  SortedSequence(const void* first, Dtype t, int64_t n, int64_t step);
  /// Positions of `count` dense values of the sequence's comparison type.
  void search(const void* values, int64_t count, bool right, uint32_t* positions) const {
    search_(keys_, ordered_, all_, values, count, right, positions);
  }

 private:
  SearchFn search_;
  const void* keys_;
  int64_t all_, ordered_;
  std::unique_ptr<char[]> copy_;
};

}  // namespace mlx::core::cpu
