// Sums the rows of a matrix by a kernel in Metal's language, on this system's Metal device or on
// the emulated one:
//     MLX_METAL_RUNTIME=build/metal-cpp/libmetal_emulated.so build/tests/metal_rows
#include <cstdint>
#include <cstdio>

#include "metal.h"

constexpr const char* kSource = R"(
#include <metal_stdlib>
using namespace metal;

struct Shape {
  uint rows, length;
};

// A threadgroup for each row: a thread adds every n-th element, a SIMD group its lanes, and the
// first SIMD group the sums of all of them.
kernel void sum_rows(device const float* in [[buffer(0)]], device float* out [[buffer(1)]],
                     constant Shape& shape [[buffer(2)]],
                     uint row [[threadgroup_position_in_grid]],
                     uint thread_index [[thread_position_in_threadgroup]],
                     uint threads [[threads_per_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]],
                     uint simd [[simdgroup_index_in_threadgroup]]) {
  threadgroup float sums[32];
  float sum = 0;
  for (uint i = thread_index; i < shape.length; i += threads) sum += in[row * shape.length + i];
  sum = simd_sum(sum);
  if (lane == 0) sums[simd] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simd == 0) {
    sum = simd_sum(lane < threads / 32 ? sums[lane] : 0.0f);
    if (lane == 0) out[row] = sum;
  }
}
)";

int main() {
  if (!metal::Device::available()) {
    std::puts("No Metal device: name a runtime in MLX_METAL_RUNTIME.");
    return 1;
  }
  const objc::Pool pool;
  constexpr uint32_t kRows = 64, kLength = 1000;
  try {
    const auto device = metal::Device::standard();
    const auto pipeline = device.pipeline(device.library(kSource).function("sum_rows"));
    const auto in = device.buffer(sizeof(float) * kRows * kLength);
    const auto out = device.buffer(sizeof(float) * kRows);
    auto* const numbers = static_cast<float*>(in.contents());
    for (uint32_t i = 0; i < kRows * kLength; ++i) numbers[i] = static_cast<float>(i % 7);

    const auto queue = device.queue();
    auto commands = queue.command_buffer();
    auto encoder = commands.encoder();
    const uint32_t shape[] = {kRows, kLength};
    encoder.pipeline(pipeline);
    encoder.buffer(0, in);
    encoder.buffer(1, out);
    encoder.bytes(2, shape, sizeof shape);
    encoder.dispatch_groups({kRows, 1, 1}, {256, 1, 1});
    encoder.end();
    commands.commit();
    commands.wait();

    const auto* const sums = static_cast<const float*>(out.contents());
    std::printf("%s: sums of the first rows: %g %g %g\n", device.name().c_str(), sums[0], sums[1],
                sums[2]);
    device.library("kernel void broken(device float* out [[buffer(0)]]) { out[0] = one; }");
  } catch (const metal::Error& error) {
    std::printf("%s\n", error.what());
  }
}
