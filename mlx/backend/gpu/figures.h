// Figures and limits of a device's memory whose freed blocks are kept and given out again.
#pragma once

#include <algorithm>
#include <mutex>
#include <utility>

#include "mlx/backend/backend.h"

namespace mlx::core {

/// The base of a device's pool in a backend. Protected members are used under `mutex_`.
class PoolFigures : public MemoryControl {
 public:
  size_t active() const override { return read(active_); }
  size_t peak() const override { return read(peak_); }
  size_t cached() const override { return read(cached_); }
  void reset_peak() override {
    std::lock_guard lock(mutex_);
    peak_ = 0;
  }
  void clear_cache() override {
    std::lock_guard lock(mutex_);
    trim(0);
  }
  size_t limit(Limit which) const override { return read(limits_[which]); }
  size_t limit(Limit which, size_t bytes) override {
    std::lock_guard lock(mutex_);
    const size_t before = std::exchange(limits_[which], bytes);
    if (which == cache) trim(bytes);
    return before;
  }

 protected:
  /// Counts a block as in use, unless the hard limit forbids it. Cached blocks go beyond the soft
  /// limit.
  bool reserve(size_t bytes) {
    std::lock_guard lock(mutex_);
    if (active_ + bytes > limits_[hard]) return false;
    active_ += bytes;
    peak_ = std::max(peak_, active_);
    if (active_ + cached_ > limits_[soft])
      trim(limits_[soft] > active_ ? limits_[soft] - active_ : 0);
    return true;
  }
  /// Frees cached blocks until no more than `most` bytes are left.
  virtual void trim(size_t most) = 0;

  mutable std::mutex mutex_;
  size_t active_ = 0, peak_ = 0, cached_ = 0, limits_[3] = {};

 private:
  size_t read(const size_t& figure) const {
    std::lock_guard lock(mutex_);
    return figure;
  }
};

}  // namespace mlx::core
