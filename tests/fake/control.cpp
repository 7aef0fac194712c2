// Functions by which tests make the second backend fail, and read its counts.

#include "control.h"

#include "hardware.h"

namespace mlx::core::fake {

namespace {
std::atomic<int64_t> countdown[4];  // to the one that fails; 0: none does
}

bool fails_now(Failure kind) {
  std::atomic<int64_t>& left = countdown[static_cast<int>(kind)];
  int64_t n = left.load();
  while (n > 0 && !left.compare_exchange_weak(n, n - 1)) {
  }
  return n == 1;
}

Counts& counts() {
  static auto& c = *new Counts;
  return c;
}

}  // namespace mlx::core::fake

using namespace mlx::core::fake;

extern "C" {

/// Makes the n-th allocation (kind 0), launch (1), copy (2) or preparation (3) from now on fail; 0:
/// none.
void mlx_fake_fail(int kind, int64_t n) { countdown[kind] = n; }
/// Stops a stream before its next launch or copy; -2 stands for all streams.
void mlx_fake_hold(int stream) { hold(stream); }
/// Lets what was held go on.
void mlx_fake_release() { release(); }

int64_t mlx_fake_buffers() { return counts().buffers; }
int64_t mlx_fake_faults() { return counts().faults; }
int64_t mlx_fake_launches() { return counts().launches; }
int64_t mlx_fake_finished() { return counts().finished; }
int64_t mlx_fake_borrowed() { return counts().borrowed; }
int64_t mlx_fake_bytes_to_device() { return counts().to_device; }
int64_t mlx_fake_bytes_to_host() { return counts().to_host; }
int64_t mlx_fake_bytes_within() { return counts().within; }
}
