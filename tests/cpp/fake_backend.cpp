// A second backend, to prove that the engine knows a backend by its boundary alone. The host cannot
// read its memory, its kernels run late and on another thread, and fail on request.
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "mlx/backend/backend.h"
#include "mlx/core/error.h"

namespace mlx::core {

namespace {

std::atomic<bool> fail_next{false};

/// What a Buffer* of this backend really points to; anyone who takes it for another backend's
/// buffer reads nonsense.
struct Hidden {
  uint64_t guard = 0xfa4efa4efa4efa4eull;
  Buffer* host;
};

Buffer* host_buffer(Buffer* b) {
  auto* h = reinterpret_cast<Hidden*>(b);
  if (h->guard != 0xfa4efa4efa4efa4eull)
    fail<ExecutionError>("fake", "a buffer of another backend");
  return h->host;
}

class Worker {
 public:
  Worker() {
    std::thread([this] { loop(); }).detach();
  }
  void push(Launch launch) {
    std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(launch));
    ++pending_;
    changed_.notify_all();
  }
  void drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return pending_ == 0; });
  }

 private:
  void loop() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !jobs_.empty(); });
      {
        Launch launch = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        run(std::move(launch));
      }
      lock.lock();
      --pending_;
      changed_.notify_all();
    }
  }

  static void run(Launch launch) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    if (fail_next.exchange(false)) {
      launch.done->fail(std::make_exception_ptr(ExecutionError("[fake] failure on request")));
      return;
    }
    for (Binding& b : launch.bindings) b.buffer = host_buffer(b.buffer);
    launch.blocking = true;
    host_backend().launch(std::move(launch));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Launch> jobs_;
  int pending_ = 0;
};

class FakeBackend final : public Backend {
 public:
  Caps caps() const override { return {.host_memory = false, .asynchronous = true}; }
  DeviceInfo info(int) const override { return {{"device_name", std::string("fake")}}; }

  Buffer* alloc(size_t bytes) override {
    auto* h = new Hidden;
    h->host = host_backend().alloc(bytes);
    return reinterpret_cast<Buffer*>(h);
  }
  void free(Buffer* b) override {
    host_backend().free(host_buffer(b));
    delete reinterpret_cast<Hidden*>(b);
  }
  size_t capacity(Buffer* b) const override { return host_backend().capacity(host_buffer(b)); }
  MemoryControl& memory() override { return host_backend().memory(); }
  void* host_pointer(Buffer*) override { return nullptr; }
  Buffer* wrap(void*, size_t) override { fail<ExecutionError>("fake", "cannot wrap host memory"); }
  void copy_in(Buffer* dst, const void* src, size_t n) override {
    std::memcpy(host_backend().host_pointer(host_buffer(dst)), src, n);
  }
  void copy_out(void* dst, Buffer* src, size_t n) override {
    std::memcpy(dst, host_backend().host_pointer(host_buffer(src)), n);
  }

  Requirements find(const OpDef& op, const Attrs* attrs, std::span<const Layout> operands,
                    int n_inputs) override {
    return host_backend().find(op, attrs, operands, n_inputs);
  }
  std::shared_ptr<const Executable> prepare(std::vector<Step> steps) override {
    return host_backend().prepare(std::move(steps));
  }
  void launch(Launch l) override { worker_.push(std::move(l)); }
  void synchronize(Stream) override { worker_.drain(); }

 private:
  Worker worker_;
};

}  // namespace

}  // namespace mlx::core

extern "C" {

void mlx_register_backend() {
  using namespace mlx::core;
  register_backend(Device::gpu, std::make_unique<FakeBackend>());
}

/// Makes the next launch fail.
void mlx_fake_fail_next() { mlx::core::fail_next = true; }
}
