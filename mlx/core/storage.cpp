// Replicas of an array's bytes and who may reach them.
#include "mlx/core/storage.h"

#include "mlx/backend/backend.h"
#include "mlx/core/blocking.h"

namespace mlx::core {

Storage::Storage(Backend& host, void* data, size_t bytes, std::function<void()> release)
    : backend_(&host),
      buffer_(host.wrap(data, bytes)),
      bytes_(bytes),
      release_(std::move(release)) {}

Storage::~Storage() {
  if (replica_) other_->free(replica_);
  if (buffer_) backend_->free(buffer_);
  if (release_) release_();
}

/// Brings what the host wrote through an export back to the owner.
void Storage::sync_to_owner() {
  if (!host_writes_) return;
  backend_->copy_in(buffer_, other_->host_pointer(replica_), bytes_);
  host_writes_ = pinned();
}

void Storage::wait() {
  if (!ready || intact) return;
  try {
    ready->wait();
  } catch (const Interrupted&) {
    throw;
  } catch (...) {
    if (!intact) throw;
  }
}

void* Storage::map(Access access) {
  wait();
  if (void* p = backend_->host_pointer(buffer_)) {
    if (access == Access::write) replica_valid_ = false;
    return p;
  }
  std::lock_guard lock(replica_mutex_);
  if (!replica_) {
    other_ = &host_backend();
    replica_ = other_->alloc(bytes_);
  }
  void* p = other_->host_pointer(replica_);
  if (!replica_valid_ && bytes_) backend_->copy_out(p, buffer_, bytes_);
  replica_valid_ = true;
  host_writes_ |= access == Access::write;
  return p;
}

Buffer* Storage::buffer_for(Backend& backend) {
  if (&backend == backend_) {
    std::lock_guard lock(replica_mutex_);
    sync_to_owner();
    return buffer_;
  }
  if (backend.caps().host_memory) {
    map(Access::read);
    return replica_;
  }
  wait();
  std::lock_guard lock(replica_mutex_);
  if (!replica_) {
    other_ = &backend;
    replica_ = backend.alloc(bytes_);
  }
  // An export may write at any time while it lives.
  if ((!replica_valid_ || pinned()) && bytes_)
    backend.copy_in(replica_, backend_->host_pointer(buffer_), bytes_);
  replica_valid_ = true;
  return replica_;
}

}  // namespace mlx::core
