// Copies as jobs of a queue.
#include <algorithm>
#include <cstring>

#include "mlx/backend/gpu/devices.h"
#include "mlx/backend/gpu/executable.h"
#include "mlx/core/event.h"

namespace mlx::core::gpu {

namespace {

struct StartedCopy {
  Transfer copy;
  std::exception_ptr refusal = {};
};
void start_transfer(std::shared_ptr<StartedCopy> s);

class SuspendedCopy final : public SuspendedWork {
 public:
  explicit SuspendedCopy(std::shared_ptr<StartedCopy> started) : started_(std::move(started)) {}
  std::vector<Ref<Event>>& after() override { return started_->copy.after; }
  void resume(Event& end) override {
    if (Stop stop = stopped_before(started_->copy.after, false))
      return end.suspend(std::move(stop), std::make_unique<SuspendedCopy>(std::move(started_)));
    started_->copy.done = Ref<Event>(&end);
    try {
      start_transfer(std::move(started_));
    } catch (...) {
      end.fail(std::current_exception(), {nullptr});
    }
  }

 private:
  std::shared_ptr<StartedCopy> started_;
};

/// Bytes to or from host memory, or between buffers of the device; small ones through memory that
/// the device reaches without waiting.
void enqueue(const Transfer& c, Queue& queue, Flight& flight) {
  Hardware& hardware = *queue.device().hardware;
  const StreamHandle stream = queue.stream();
  const bool from_host = c.from->space == Space::host, to_host = c.to->space == Space::host;
  using Way = Hardware::Way;
  auto at = [](const Ref<Buffer>& b, int64_t offset) {
    return (b->space == Space::host ? reinterpret_cast<Address>(b->host) : address_of(*b)) +
           static_cast<Address>(offset);
  };
  const Address from = at(c.from, c.from_offset), to = at(c.to, c.to_offset);
  if (!from_host && !to_host) return hardware.copy(Way::within, to, from, c.bytes, stream);
  if (c.bytes > Staging::kPiece) {
    hardware.copy(from_host ? Way::to_device : Way::to_host, to, from, c.bytes, stream);
    return queue.wait_device();  // the host's memory may go or change after this
  }
  Staging& staging = queue.device().staging;
  void* piece = staging.take();
  const auto there = reinterpret_cast<Address>(piece);
  if (from_host) {
    std::memcpy(piece, reinterpret_cast<const void*>(from), c.bytes);
    flight.at_end = [&staging, piece](bool) { staging.give(piece); };
    hardware.copy(Way::to_device, to, there, c.bytes, stream);
  } else {
    flight.at_end = [&staging, piece, to, bytes = c.bytes](bool wrote) {
      if (wrote) std::memcpy(reinterpret_cast<void*>(to), piece, bytes);
      staging.give(piece);
    };
    hardware.copy(Way::to_host, there, from, c.bytes, stream);
  }
}

/// Waits for events on the host; gives the error of one that failed.
std::exception_ptr wait_here(const std::vector<Ref<Event>>& events) {
  try {
    for (const Ref<Event>& e : events) e->wait_first();
    return {};
  } catch (...) {
    return std::current_exception();
  }
}

void run_transfer(std::shared_ptr<StartedCopy> s, Ref<DeviceCompletion> completion, Queue& queue) {
  Flight flight{.completion = std::move(completion)};
  Transfer& c = s->copy;
  // Host memory is read while the copy is enqueued.
  const bool reads_here = c.from->space == Space::host;
  flight.error = s->refusal   ? s->refusal
                 : reads_here ? wait_here(c.after)
                              : queue.wait_for(c.after);
  if (!flight.error) {
    try {
      enqueue(c, queue, flight);
    } catch (...) {
      flight.error = std::current_exception();
    }
  }
  if (flight.error && can_resume(flight.error)) {
    flight.rest = std::make_unique<SuspendedCopy>(std::move(s));
  } else {
    flight.after = std::move(c.after);
    flight.buffers = {std::move(c.from), std::move(c.to)};
  }
  s = {};
  queue.finish(std::move(flight));
}

void start_transfer(std::shared_ptr<StartedCopy> s) {
  Transfer& c = s->copy;
  Ref<Queue> queue = device(c.stream.device.index).queue(c.stream.index);
  auto completion = make_ref<DeviceCompletion>(queue);
  c.done->set_completion(completion);
  c.done = {};
  const bool from_host = c.from->space == Space::host;
  const bool large = c.bytes > Staging::kPiece && (from_host || c.to->space == Space::host);
  auto over = [](const Ref<Event>& e) { return e->done(); };
  const bool on_host =
      large || (from_host ? !std::ranges::all_of(c.after, over) : waits_on_host(c.after));
  queue->submit(
      [queue = queue.get(), completion = std::move(completion), s = std::move(s)]() mutable {
        run_transfer(std::move(s), std::move(completion), *queue);
      },
      on_host);
}

}  // namespace

void start_copy(Transfer copy) {
  DeviceState& state = device(copy.stream.device.index);
  state.enter();
  auto s = std::make_shared<StartedCopy>(StartedCopy{std::move(copy)});
  if (Probe* probe = state.hardware->probe) s->refusal = probe->copy_starts();
  start_transfer(std::move(s));
}

}  // namespace mlx::core::gpu
