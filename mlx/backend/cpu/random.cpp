// Random bits: an array of n words has counters 0 .. n - 1; words i and i + (n + 1) / 2 come from
// one call of the generator. The last word of an odd count is paired with counter 0.
#include "mlx/backend/cpu/isa/random.h"

#include <algorithm>

#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/threads.h"
#include "mlx/ops/random.h"

namespace mlx::core::cpu {
namespace {

const RandomKernels& random_kernels_of() { return MLX_FOR_ISA(random_kernels); }

constexpr double kNsPerPair = 1.0;
constexpr int64_t kGrain = 4096;

/// Words [0, n) for one key; `out` has `bytes` bytes, which may end within the last word.
void fill_bits(const uint32_t* key, int64_t bytes, char* out) {
  int64_t n = (bytes + 3) / 4, half = (n + 1) / 2, tail = n % 2, pairs = half - tail;
  int64_t whole = bytes % 4 ? n - 1 : n;  // number of words that are stored completely
  auto* words = reinterpret_cast<uint32_t*>(out);
  auto run = [&](int64_t begin, int64_t end) {
    // The second word of the last pair may be truncated.
    int64_t stop = std::min(end, std::max(begin, whole - half));
    random_kernels_of().threefry(key, static_cast<uint32_t>(begin), static_cast<uint32_t>(half),
                                 stop - begin, words + begin, words + half + begin);
    for (int64_t i = stop; i < end; ++i) {
      uint32_t last;
      random_kernels_of().threefry(key, static_cast<uint32_t>(i), static_cast<uint32_t>(half), 1,
                                   words + i, &last);
      std::memcpy(words + half + i, &last, bytes - 4 * (half + i));
    }
  };
  parallel_for(pairs, kGrain, run, kNsPerPair * pairs);
  if (tail) {
    uint32_t first, unused, i = static_cast<uint32_t>(half - 1);
    random_kernels_of().threefry(key, i, 0u - i, 1, &first, &unused);
    std::memcpy(words + half - 1, &first, std::min<int64_t>(4, bytes - 4 * (half - 1)));
  }
}

void random_bits_kernel(const KernelArgs& args) {
  const auto& attrs = attrs_as<RandomBitsAttrs>(args.attrs);
  int64_t bytes = num_elements(attrs.shape) * attrs.width, count = args.in[0].size() / 2;
  if (bytes == 0) return;
  auto* keys = args.in[0].as<const uint32_t>();
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      fill_bits(keys + 2 * i, bytes, args.out[0].as<char>() + i * bytes);
  };
  if (count == 1) return run(0, 1);
  parallel_for(count, 1, run, kNsPerPair * count * bytes / 8);
}

const KernelEntry kRandomKernels[] = {
    {.op = &op_random_bits, .run = random_bits_kernel, .contiguous = 1},
};

}  // namespace

const std::span<const KernelEntry> random_kernels = kRandomKernels;

}  // namespace mlx::core::cpu
