// Common parts of meshes: the state of failure, and patience.
#include "mlx/distributed/mesh.h"

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "mlx/core/error.h"

namespace mlx::core::distributed {

Part copied(const Part& part, std::unique_ptr<char[]>& copy) {
  copy.reset(new char[part.bytes]);
  if (part.bytes) std::memcpy(copy.get(), part.data, part.bytes);
  return {part.peer, copy.get(), part.bytes};
}

int Parties::rank_of(int mesh_rank) const {
  return static_cast<int>(std::ranges::find(ranks, mesh_rank) - ranks.begin());
}

namespace {

/// The number of forks between the first process and this one: asking for the process itself is a
/// call of the system in every message.
std::atomic<uint32_t> forks{0};

uint32_t count_forks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
  return forks.load(std::memory_order_relaxed);
}

}  // namespace

Mesh::Mesh(int r, int n) : rank(r), size(n), process_(count_forks()) {}

bool Mesh::set_failure(const std::string& why) noexcept {
  std::lock_guard lock(failure_mutex_);
  if (failed_.load(std::memory_order_relaxed)) return false;
  failure_ = why;
  failed_.store(true, std::memory_order_release);
  return true;
}

std::string Mesh::failure() const {
  std::lock_guard lock(failure_mutex_);
  return failure_;
}

bool Mesh::is_own_process() const { return process_ == count_forks(); }

void Mesh::check(const char* op) const {
  if (failed()) throw CommunicationError(failure());
  if (!is_own_process())
    core::fail<CommunicationError>(
        op,
        "a group in a child process made by fork; the process that called "
        "init may use it");
}

void Patience::check(const std::vector<int>& missing) {
  const double waited = seconds();
  auto text = [&] {
    const std::string line = header_.line_text();
    return cat("no progress for ", static_cast<int64_t>(waited), " s in ", describe(header_),
               ", message ", header_.number, ", waiting for ", name_ranks(missing));
  };
  if (waited > mesh_->timeout) fail_message(header_, text());
  if (next_report_ < 0) next_report_ = mesh_->report_after;
  if (waited < next_report_) return;
  next_report_ = waited + 60;
  std::fprintf(stderr, "[mlx] rank %d: %s\n", mesh_->rank, text().c_str());
}

void fail_message(const Header& header, const std::string& text) {
  throw CommunicationError("[" + std::string(name_of(header.collective())) + "] " + text);
}

}  // namespace mlx::core::distributed
