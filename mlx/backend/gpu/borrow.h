// Steps for which a device has no kernel: they run through the CPU, on copies of their operands.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "mlx/backend/backend.h"

namespace mlx::core {

/// Moves bytes between the device and the host, and waits for them.
struct BorrowCopies {
  virtual ~BorrowCopies() = default;
  virtual void to_host(void* to, uint64_t from, size_t bytes) = 0;
  virtual void to_device(uint64_t to, const void* from, size_t bytes) = 0;
};

/// A step of the CPU, prepared once.
class BorrowedStep {
 public:
  /// The step, an op or a program, that work of the device contains.
  BorrowedStep(const Step& step, Device device);
  /// `operands`: device addresses that the layouts' offsets count from. `constants`: of the step's
  /// program. The device's earlier work on the operands is over.
  void run(std::span<const uint64_t> operands, const Scalar* constants, BorrowCopies& copies) const;

 private:
  struct Range {
    int64_t first, end;  // bytes
  };
  Range range(int operand) const;

  Step step_;  // as the CPU sees it
  std::shared_ptr<const Executable> executable_;
};

/// Notes that an op ran through the CPU.
void note_borrowed(std::string_view op);
/// The ops that were noted since the last call, each once, separated by spaces: for tests.
std::string take_borrowed();

}  // namespace mlx::core
