// Replicas of an array's bytes: copies between memory spaces, and access by the host.
#include "mlx/core/storage.h"

#include <algorithm>
#include <cstring>

#include "mlx/backend/backend.h"
#include "mlx/core/blocking.h"

namespace mlx::core {

namespace {

/// Gives borrowed memory back when the last buffer over it is freed.
class Loan final : public RefCounted {
 public:
  explicit Loan(std::function<void()> release) : release_(std::move(release)) {}
  ~Loan() override {
    if (release_) release_();
  }

 private:
  std::function<void()> release_;
};

/// A copy of bytes whose computation was suspended.
class SuspendedCopy final : public SuspendedWork {
 public:
  explicit SuspendedCopy(Transfer copy) : copy_(std::move(copy)) {
    copy_.done = {};  // the event owns this
  }
  std::vector<Ref<Event>>& after() override { return copy_.after; }
  void resume(Event& end) override {
    if (Stop stop = stopped_before(copy_.after, false))
      return end.suspend(std::move(stop), std::make_unique<SuspendedCopy>(std::move(copy_)));
    copy_.done = Ref<Event>(&end);
    try {
      backend_of(copy_.stream.device).copy(std::move(copy_));
    } catch (...) {
      end.fail(std::current_exception(), {nullptr});
    }
  }

 private:
  Transfer copy_;
};

/// Copies bytes between buffers on a stream, once `after` is done; returns the end of the copy.
Ref<Event> start_copy(Ref<Buffer> from, Ref<Buffer> to, size_t bytes, Stream stream,
                      const Ref<Event>& after, const Ref<Event>& reading) {
  auto end = make_ref<Event>();
  Transfer copy{.from = std::move(from),
                .to = std::move(to),
                .bytes = bytes,
                .stream = stream,
                .after = {},
                .done = end};
  if (after) copy.after.push_back(after);
  if (reading) copy.after.push_back(reading);
  if (Stop stop = stopped_before(copy.after, false)) {
    end->suspend(std::move(stop), std::make_unique<SuspendedCopy>(std::move(copy)));
    return end;
  }
  backend_of(stream.device).copy(std::move(copy));
  end->set_launched();
  return end;
}

/// The arrival that marks a copy of a device's pinned memory on the host. It is no replica: it is
/// kept for readers that have its address.
const Ref<Event>& only_read() {
  static const auto& mark = *new Ref<Event>(make_ref<Event>());
  return mark;
}

}  // namespace

Storage::Storage(Ref<Buffer> buffer, size_t bytes)
    : primary_{std::move(buffer), {}},
      written_(primary_.buffer.get()),
      present_(written_->usable()),
      bytes_(bytes) {}

Storage::Storage(void* data, size_t bytes, std::function<void()> release)
    : Storage(host_backend().wrap(data, bytes, 0, make_ref<Loan>(std::move(release))), bytes) {
  borrowed_ = true;
}

void Storage::update_present() {
  Spaces all = primary_.buffer->usable();
  for (const Replica& r : others_)
    if (r.arrival != only_read()) all |= r.buffer->usable();
  present_ = all;
}

Spaces Storage::present() const { return present_.load(std::memory_order_relaxed); }

const Storage::Replica* Storage::find(Space space) const {
  if (primary_.buffer->usable() & spaces(space)) return &primary_;
  for (const Replica& r : others_)
    if (r.buffer->usable() & spaces(space) && r.arrival != only_read()) return &r;
  return nullptr;
}

Ref<Buffer> Storage::replica(Space space) const {
  std::lock_guard lock(mutex_);
  const Replica* r = find(space);
  return r ? r->buffer : Ref<Buffer>();
}

Ref<Buffer> Storage::bring(Space space, Stream stream, Ref<Event>& arrival) {
  std::lock_guard lock(mutex_);
  const Replica* r = find(space);
  Replica copy;
  if (!r) {
    copy = make_copy(space, stream);
    r = &copy;
  }
  arrival = r->arrival ? r->arrival : settled() ? Ref<Event>() : ready;
  Ref<Buffer> buffer = r->buffer;
  if (r == &copy && !pinned()) keep(std::move(copy));
  return buffer;
}

/// A replica that a copy of the bytes will fill, or one over the same memory.
Storage::Replica Storage::make_copy(Space space, Stream stream) {
  const Ref<Buffer>& from = primary_.buffer;
  const Device device = device_of(space), owner = device_of(from->space);
  Backend& there = backend_of(device);
  const Ref<Event> after = primary_.arrival ? primary_.arrival : settled() ? Ref<Event>() : ready;
  if (from->host && space != Space::host)
    if (Ref<Buffer> same = there.wrap(from->host, from->bytes, device.index, from))
      return {same, after};
  // Copies run on the device that has the bytes, or gets them, never on the host.
  auto on = [&](Device d) { return stream.device == d ? stream : copy_stream(d); };
  Ref<Buffer> to = there.alloc(bytes_, on(device));
  if (space == Space::host)
    return {to, start_copy(from, to, bytes_, on(owner), after, reading_mark())};
  if (from->host) return {to, start_copy(from, to, bytes_, on(device), after, reading_mark())};
  Ref<Buffer> middle = host_backend().alloc(bytes_, on(Device::cpu));
  Ref<Event> landed = start_copy(from, middle, bytes_, on(owner), after, reading_mark());
  return {to, start_copy(middle, to, bytes_, on(device), landed, {})};
}

/// Adds a replica. One on a device replaces those on the host.
void Storage::keep(Replica copy) {
  bool to_host = copy.buffer->host, moves = !to_host && primary_.buffer->host && !borrowed();
  if (moves) {
    std::erase_if(others_, [](const Replica& r) { return r.buffer->host != nullptr; });
    primary_ = std::move(copy);
  } else {
    others_.push_back(std::move(copy));
  }
  update_present();
}

Ref<Event> Storage::reading() {
  std::lock_guard lock(mutex_);
  return reading_mark();
}

const Ref<Event>& Storage::reading_mark() {
  if (!reading_) {
    reading_ = make_ref<Event>();
    reading_->signal();
  }
  return reading_;
}

bool Storage::being_read() const {
  if (reading_ && reading_->refs.load(std::memory_order_acquire) > 1) return true;
  if (!noted_read_.load(std::memory_order_relaxed)) return false;
  // Any reference to the buffer except the writer's may be a reader's. The count is read first: a
  // writer that ends in between makes the answer true rather than false.
  const uint32_t users = primary_.buffer->refs.load(std::memory_order_acquire) - 1;
  return users > (ready && !ready->done() ? 1 : 0);
}

Ref<Buffer> Storage::start_write(Space space, Ref<Event> end) {
  std::lock_guard lock(mutex_);
  primary_ = {find(space)->buffer, {}};
  others_.clear();
  reading_ = {};
  noted_read_ = false;
  written_ = primary_.buffer.get();
  update_present();
  ready = std::move(end);
  return primary_.buffer;
}

void Storage::wait() {
  if (!ready) return;
  try {
    ready->wait();
  } catch (const Interrupted&) {
    throw;
  } catch (...) {
    if (!ready->suspended() && !spoiled()) return;
    ready->set_reported();
    throw;
  }
}

void* Storage::map(Access access) {
  wait();
  Ref<Event> arrival;
  Ref<Buffer> here;
  if (access == Access::read && pinned() && !(present() & spaces(Space::host))) {
    // An export may have written since the last read: the bytes are copied again, to the same
    // address as before.
    std::lock_guard lock(mutex_);
    auto old = std::ranges::find(others_, only_read(), &Replica::arrival);
    if (old == others_.end()) {
      Replica copy = make_copy(Space::host, Stream(kCopyStream, Device::cpu));
      here = copy.buffer;
      arrival = copy.arrival;
      others_.push_back({here, only_read()});
    } else {
      here = old->buffer;
      const Stream stream(kCopyStream, device_of(primary_.buffer->space));
      arrival = start_copy(primary_.buffer, here, bytes_, stream, primary_.arrival, reading_mark());
    }
  } else {
    here = bring(Space::host, Stream(kCopyStream, Device::cpu), arrival);
  }
  if (arrival) arrival->wait();
  if (access == Access::write) {
    std::lock_guard lock(mutex_);
    primary_ = {here, {}};
    others_.clear();
    update_present();
  }
  return here->host;
}

void Storage::read(void* to, int64_t offset, size_t bytes) {
  wait();
  if (!bytes) return;
  if (present() & spaces(Space::host)) {
    std::memcpy(to, static_cast<char*>(map(Access::read)) + offset, bytes);
    return;
  }
  Ref<Buffer> from;
  Ref<Event> arrival;
  {
    std::lock_guard lock(mutex_);
    from = primary_.buffer;
    arrival = primary_.arrival;
  }
  const Device device = device_of(from->space);
  Transfer copy{.from = from,
                .to = host_backend().wrap(to, bytes, 0),
                .from_offset = offset,
                .bytes = bytes,
                .stream = Stream(kCopyStream, device),
                .after = {},
                .done = make_ref<Event>()};
  if (arrival) copy.after.push_back(arrival);
  Ref<Event> end = copy.done;
  backend_of(device).copy(std::move(copy));
  end->set_launched();
  end->wait();
}

}  // namespace mlx::core
