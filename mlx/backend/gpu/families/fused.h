// Elementwise programs as kernels: printed, compiled for the walks of their operands, launched.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "mlx/backend/backend.h"
#include "mlx/backend/gpu/families/print_program.h"
#include "mlx/backend/gpu/kernel.h"

namespace mlx::core::gpu {

/// Blocks for a kernel with a thread for each of `count` elements.
int64_t blocks_for(int64_t count);

/// A kernel and how it is launched.
struct Kernel {
  Function function;
  /// Enqueues blocks of 256 threads. The first word of the arguments counts those behind it, which
  /// the kernel gets.
  void launch(const Enqueue& to, int64_t blocks, std::span<const int64_t> arguments) const;
};

/// Arguments of a kernel, with their number in the word before.
template <class T>
struct ArgumentBlock {
  static constexpr size_t kWords = sizeof(T) / 8, kFront = alignof(T) / 8;
  static constexpr std::array<int64_t, kFront> counted() {
    std::array<int64_t, kFront> words = {};
    words.back() = kWords;
    return words;
  }
  std::array<int64_t, kFront> front = counted();
  T p;
  std::span<const int64_t> all() const { return {&front.back(), 1 + kWords}; }
};

class FusedKernel {
 public:
  /// Compiles, where the text is new. The device's context is current.
  FusedKernel(const Step& step, DeviceState& device);
  /// `operands`: addresses that the layouts' offsets count from.
  void launch(const Enqueue& to, std::span<const uint64_t> operands, const Scalar* constants) const;

 private:
  void fill(const Step& step, const ProgramArguments& at, const Shape& shape,
            const std::vector<Strides>& strides);
  void write_table(const Enqueue& to, std::vector<int64_t>& arguments) const;

  struct Table {
    Kernel writes;
    int address_written, address_read;  // among the arguments of the two kernels
  };

  Kernel kernel_;
  std::optional<Table> table_;  // of results, which the kernel looks up
  ProgramForm form_;
  int64_t count_ = 0, blocks_ = 0;
  std::vector<int64_t> arguments_;           // without addresses and constants
  SmallVector<int, 16> addresses_, values_;  // where those go
  SmallVector<int64_t, 16> offsets_;         // bytes
};

/// A fused program as a step.
class FusedStep final : public OpKernel {
 public:
  FusedStep(const Step& step, DeviceState& device) : kernel_(step, device) {}
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    kernel_.launch(to, operands, to.constants);
  }

 private:
  const FusedKernel kernel_;
};

/// Source of a kernel that computes a step's program, and its kind; for tests.
ProgramForm form_of(const Step& step, Shape& shape, std::vector<Strides>& strides,
                    int64_t block_memory = Hardware::kBlockMemory);

}  // namespace mlx::core::gpu
