// The tile interpreter: runs a fused program over tiles that stay in the first-level cache.
#pragma once

#include <memory>
#include <span>

#include "mlx/backend/backend.h"
#include "mlx/backend/cpu/isa/elementwise.h"

namespace mlx::core::cpu {

/// The tile kernels of the instruction set in use.
const ElementwiseKernels& loaded_kernels();

struct FusedCode;

/// A program compiled for given layouts: loops chosen, tile slots assigned, micro-ops resolved to
/// kernels of the instruction set in use.
class FusedKernel {
 public:
  explicit FusedKernel(const Step& step);
  /// The prologue of a step: its result, with the layout `result`, is read by the step's op.
  FusedKernel(const Step& step, const Layout& result);
  /// A part of a unit of rows, run by `FusedRows`. `far`: bit k for operand k that is not in the
  /// caches. `ahead`: for each operand 0, or the distance in bytes to the next rows of a far array
  /// whose present rows are in the caches.
  FusedKernel(const Step& step, uint64_t far, std::span<const int64_t> ahead);
  ~FusedKernel();
  FusedKernel(FusedKernel&&) noexcept;

  /// `operands`: addresses of the operands' first elements (inputs, then outputs). `constants`:
  /// values of the program's constants. Threads share the work if it is large enough; results do
  /// not depend on them.
  void run(void* const* operands, const Scalar* constants) const;
  /// True for a program of one tile, in which preparations take longer than elements.
  bool is_small() const;

 private:
  friend class FusedRun;
  friend class FusedSource;
  friend class FusedRows;
  std::unique_ptr<const FusedCode> code_;
};

/// A small program that runs many times: work that does not depend on the operands is done once.
class FusedRun {
 public:
  /// `operands`: a list of addresses, which may be others in the next `run`, but equal ones stay
  /// equal. The kernel and the list outlive this object.
  FusedRun(const FusedKernel& kernel, void* const* operands, const Scalar* constants);
  ~FusedRun();
  FusedRun(const FusedRun&) = delete;
  void run();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A program with one result whose elements a kernel requests range by range (prologue fusion);
/// each thread uses its own Reader.
class FusedSource {
 public:
  FusedSource(const FusedKernel& kernel, void* const* operands, const Scalar* constants);
  ~FusedSource();
  /// Estimated nanoseconds to compute all elements on one thread.
  double cost() const;

  class Reader {
   public:
    explicit Reader(const FusedSource& source);
    ~Reader();
    /// Computes n elements starting at element `first` in row-major order.
    void read(int64_t first, int64_t n, void* out);

   private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
  };

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

/// One thread's run of a program over ranges of its elements.
class FusedRows {
 public:
  /// Bytes of working memory.
  static size_t memory(const FusedKernel& kernel);
  /// `operands`: addresses, which may be others in the next `run`, but equal ones stay equal.
  FusedRows(const FusedKernel& kernel, void* const* operands, const Scalar* constants,
            void* memory);
  ~FusedRows();
  FusedRows(FusedRows&&) noexcept;
  /// Computes n elements starting at element `first` in row-major order.
  void run(int64_t first, int64_t n);
  /// After the last one: orders stores that bypass the caches.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mlx::core::cpu
