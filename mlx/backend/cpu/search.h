// Searches of many values in one sorted sequence, of any real dtype.
#pragma once

#include <memory>

#include "mlx/backend/cpu/isa/counting.h"
#include "mlx/backend/cpu/isa/elementwise.h"

namespace mlx::core::cpu {

/// The kernels of the loaded instruction set.
const CountingKernels& counting_kernels();

/// Converts elements of a dtype to the one they are compared in: float32, float64, int32 or int64.
class Comparable {
 public:
  explicit Comparable(Dtype from);
  /// What they are compared in. Keeps their order.
  Dtype type() const { return to_; }
  /// `n` dense elements, in `room` (of n elements) unless they are comparable as they are.
  const void* read(const void* from, int64_t n, void* room) const;
  bool converts() const { return convert_ || flip_; }

 private:
  Dtype from_, to_;
  TileFn convert_ = nullptr;
  bool flip_ = false;  // the sign of uint64 as int64
};

/// A sorted sequence with NaN at its end.
class SortedSequence {
 public:
  /// `n` elements, `step` apart; copied where they are not dense and comparable as they are.
  SortedSequence(const void* first, Dtype t, int64_t n, int64_t step);
  /// Positions of `count` dense values of the sequence's dtype as it is compared.
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
