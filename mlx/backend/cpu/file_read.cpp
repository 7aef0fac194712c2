// Elements of files. Reading a range is a system call, or a copy from the page cache: several
// threads read a large tensor.
#include "mlx/ops/file_read.h"

#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {
namespace {

void read_elements(const KernelArgs& k) {
  const ElementSource& source = source_at(k.in[0].data);
  SmallVector<char*, 4> to;
  for (const View& out : k.out) to.push_back(out.as<char>());
  const std::span<char* const> results(to.data(), to.size());
  constexpr int64_t kGrainBytes = 1 << 20;
  constexpr double kNanosecondsPerByte = 0.2;
  const int64_t units = source.units(), unit = source.unit_bytes();
  parallel_for(
      units, std::max<int64_t>(1, kGrainBytes / unit),
      [&](int64_t begin, int64_t end) { source.read(begin, end, results); },
      static_cast<double>(units * unit) * kNanosecondsPerByte);
  source.finish();
}

constexpr KernelEntry kFileReadKernels[] = {{.op = &op_file_read, .run = read_elements},
                                            {.op = &op_file_read_parts, .run = read_elements}};

}  // namespace

const std::span<const KernelEntry> file_read_kernels = kFileReadKernels;

}  // namespace mlx::core::cpu
