// Collectives as exchanges. Each of them has a message from every member to every other one, so
// that all find out where one does something else.
#include "mlx/distributed/algorithms.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "mlx/backend/backend.h"
#include "mlx/core/blocking.h"
#include "mlx/core/error.h"

namespace mlx::core::distributed {

namespace {

constexpr size_t kSmall = 1 << 16;  // bytes that go to all members in one step
constexpr size_t kPiece = 1 << 18;  // bytes of a segment that are under way at a time

char* mutable_bytes(const void* p) { return static_cast<char*>(const_cast<void*>(p)); }

/// Notes a message in the list of groups, and its end.
class Shown {
 public:
  Shown(GroupList& groups, GroupRecord& group, const Header& header, Collective kind, size_t bytes)
      : groups_(groups), group_(group), bytes_(bytes) {
    groups_.begin(group_, header, kind);
  }
  ~Shown() { groups_.end(group_, bytes_, well); }
  Shown(const Shown&) = delete;

  bool well = false;  ///< without an error

 private:
  GroupList& groups_;
  GroupRecord& group_;
  const size_t bytes_;
};

}  // namespace

MeshChannel::MeshChannel(Ref<Mesh> mesh, std::vector<int> ranks, uint32_t group, bool world,
                         std::string name)
    : mesh_(std::move(mesh)),
      ranks_(std::move(ranks)),
      group_(group),
      world_(world),
      rank_(static_cast<int>(std::ranges::find(ranks_, mesh_->rank) - ranks_.begin())) {
  record_.name = std::move(name);
  record_.rank = rank_;
  record_.ranks = ranks_;
  record_.channel = this;
  mesh_->groups.add(record_);
}

template <class F>
void MeshChannel::each_other(F&& f) {
  for (int j = 0; j < size(); ++j)
    if (j != rank_) f(j);
}

std::pair<std::vector<Part>&, std::vector<Part>&> MeshChannel::parts() {
  out_.clear();
  in_.clear();
  return {out_, in_};
}

char* MeshChannel::scratch(size_t bytes) {
  if (bytes > scratch_bytes_) {
    scratch_.reset();
    scratch_bytes_ = 0;
    try {
      scratch_.reset(new char[bytes]);
    } catch (const std::bad_alloc&) {
      // Nothing has been sent: the request can be made again.
      throw MemoryError(
          cat("[distributed] ", bytes, " bytes for a message could not be allocated"));
    }
    scratch_bytes_ = bytes;
  }
  return scratch_.get();
}

void MeshChannel::exchange(Request& r, std::span<const Part> out, std::span<const Part> in) {
  mesh_->exchange(r.header, out, in, {ranks_});
  ++r.header.step;
}

void MeshChannel::run(const Message& m, const void* in, void* out) { request(m, in, out, false); }
void MeshChannel::agree(const Message& m) { request(m, nullptr, nullptr, true); }

void MeshChannel::request(const Message& m, const void* in, void* out, bool elsewhere) {
  BlockingRegion region;
  std::lock_guard lock(mesh_->mutex);
  mesh_->check(name_of(m.kind));
  const size_t itemsize = m.dtype.size();
  Request r{m,
            {},
            static_cast<const char*>(in),
            static_cast<char*>(out),
            itemsize,
            static_cast<size_t>(m.count) * itemsize};
  const bool two = m.kind == Collective::send || m.kind == Collective::recv;
  r.header.kind = static_cast<uint8_t>(two ? Collective::send : m.kind);
  r.header.dtype = static_cast<uint8_t>(m.dtype.val());
  r.header.size = static_cast<uint16_t>(size());
  r.header.group = group_;
  r.header.count = m.count;
  r.header.peer = m.kind == Collective::send ? rank_ : m.peer;
  r.header.number = two ? 0 : number_ + 1;
  r.header.index = m.index;
  r.header.set_line(m.line);
  Shown shown(mesh_->groups, record_, r.header, m.kind, r.bytes);
  try {
    elsewhere ? meet(r) : dispatch(r);
    shown.well = true;
  } catch (const CommunicationError& e) {
    mesh_->fail(e.what());
    throw;
  } catch (const Interrupted&) {
    // Part of the message may have gone out: it cannot be made again.
    mesh_->fail(cat("[", name_of(m.kind), "] rank ", mesh_->rank, " was interrupted in ",
                    describe(r.header)));
    throw;
  }
  if (!two) ++number_;
}

void MeshChannel::dispatch(Request& r) {
  switch (r.message.kind) {
    case Collective::all_sum:
    case Collective::all_max:
    case Collective::all_min:
      return r.bytes <= kSmall ? combine_small(r) : combine_large(r);
    case Collective::all_gather:
    case Collective::split:
    case Collective::barrier:
      return gather(r);
    case Collective::sum_scatter:
      return scatter_sum(r);
    case Collective::broadcast:
      return broadcast(r);
    case Collective::all_to_all:
      return all_to_all(r);
    case Collective::send:
      if (r.out != r.in && r.bytes) std::memcpy(r.out, r.in, r.bytes);
      return mesh_->post(r.header, {ranks_[r.message.peer], mutable_bytes(r.in), r.bytes});
    case Collective::recv: {
      const Part part{ranks_[r.message.peer], r.out, r.bytes};
      return mesh_->exchange(r.header, {}, {&part, 1}, {ranks_});
    }
  }
}

/// Headers alone.
void MeshChannel::meet(Request& r) {
  auto [out, in] = parts();
  each_other([&](int j) { out.push_back({ranks_[j], nullptr, 0}); });
  exchange(r, out, out);
}

/// Everybody sends everything to everybody, and combines it all.
void MeshChannel::combine_small(Request& r) {
  const auto n = static_cast<size_t>(size());
  char* space = scratch(n * r.bytes);
  auto& rows = rows_;
  rows.resize(n);
  auto [out, in] = parts();
  rows[rank_] = r.in;
  each_other([&](int j) {
    char* row = space + static_cast<size_t>(j) * r.bytes;
    rows[j] = row;
    out.push_back({ranks_[j], mutable_bytes(r.in), r.bytes});
    in.push_back({ranks_[j], row, r.bytes});
  });
  exchange(r, out, in);
  combine_rows(r.message.kind, r.message.dtype, rows, r.out, r.message.count);
}

/// Member j combines segment j, piece by piece; the result of a piece travels together with the
/// operands of the next one.
void MeshChannel::combine_large(Request& r) {
  const auto n = static_cast<int64_t>(size());
  const int64_t count = r.message.count, segment = (count + n - 1) / n;
  const auto item = static_cast<int64_t>(r.itemsize);
  const int64_t piece = static_cast<int64_t>(kPiece) / item;
  char* space = scratch(static_cast<size_t>(n * std::min(piece, segment) * item));
  // Elements of piece p of the segment of member j.
  auto span = [&](int64_t j, int64_t p) {
    const int64_t end = std::min(count, (j + 1) * segment);
    const int64_t begin = std::min(end, j * segment + p * piece);
    return std::pair(begin, std::min(end, begin + piece) - begin);
  };
  const int64_t pieces = (segment + piece - 1) / piece;
  auto [out, in] = parts();
  auto& rows = rows_;
  rows.resize(static_cast<size_t>(n));
  for (int64_t p = 0; p <= pieces; ++p) {
    out.clear();
    in.clear();
    each_other([&](int j) {
      if (p > 0) {
        auto [mine, mine_count] = span(rank_, p - 1);
        auto [its, its_count] = span(j, p - 1);
        out.push_back({ranks_[j], r.out + mine * item, static_cast<size_t>(mine_count * item)});
        in.push_back({ranks_[j], r.out + its * item, static_cast<size_t>(its_count * item)});
      }
      if (p == pieces) return;
      auto [its, its_count] = span(j, p);
      const auto mine_count = span(rank_, p).second;
      char* row = space + j * std::min(piece, segment) * item;
      rows[j] = row;
      out.push_back(
          {ranks_[j], mutable_bytes(r.in + its * item), static_cast<size_t>(its_count * item)});
      in.push_back({ranks_[j], row, static_cast<size_t>(mine_count * item)});
    });
    exchange(r, out, in);
    if (p == pieces) break;
    auto [mine, mine_count] = span(rank_, p);
    rows[rank_] = r.in + mine * item;
    combine_rows(r.message.kind, r.message.dtype, rows, r.out + mine * item, mine_count);
  }
}

void MeshChannel::gather(Request& r) {
  auto [out, in] = parts();
  each_other([&](int j) {
    out.push_back({ranks_[j], mutable_bytes(r.in), r.bytes});
    in.push_back({ranks_[j], r.out + static_cast<size_t>(j) * r.bytes, r.bytes});
  });
  if (r.bytes) std::memcpy(r.out + static_cast<size_t>(rank_) * r.bytes, r.in, r.bytes);
  exchange(r, out, in);
}

void MeshChannel::scatter_sum(Request& r) {
  const auto n = static_cast<size_t>(size());
  const size_t part = r.bytes / n;
  const size_t piece = std::min(part, kPiece / r.itemsize * r.itemsize);
  char* space = scratch(n * piece);
  auto [out, in] = parts();
  auto& rows = rows_;
  rows.resize(n);
  size_t begin = 0;
  do {  // once at least: the others must hear from this member
    const size_t bytes = std::min(piece, part - begin);
    out.clear();
    in.clear();
    each_other([&](int j) {
      char* row = space + static_cast<size_t>(j) * piece;
      rows[j] = row;
      out.push_back(
          {ranks_[j], mutable_bytes(r.in + static_cast<size_t>(j) * part + begin), bytes});
      in.push_back({ranks_[j], row, bytes});
    });
    exchange(r, out, in);
    rows[rank_] = r.in + static_cast<size_t>(rank_) * part + begin;
    combine_rows(Collective::all_sum, r.message.dtype, rows, r.out + begin,
                 static_cast<int64_t>(bytes / r.itemsize));
    begin += bytes;
  } while (begin < part);
}

void MeshChannel::broadcast(Request& r) {
  const int source = r.message.peer;
  auto [out, in] = parts();
  each_other([&](int j) {
    out.push_back({ranks_[j], mutable_bytes(r.in), rank_ == source ? r.bytes : 0});
    in.push_back({ranks_[j], r.out, j == source ? r.bytes : 0});
  });
  if (rank_ == source && r.out != r.in && r.bytes) std::memcpy(r.out, r.in, r.bytes);
  exchange(r, out, in);
}

void MeshChannel::all_to_all(Request& r) {
  const size_t part = r.bytes / static_cast<size_t>(size());
  auto at = [&](int j) { return static_cast<size_t>(j) * part; };
  auto [out, in] = parts();
  each_other([&](int j) {
    out.push_back({ranks_[j], mutable_bytes(r.in + at(j)), part});
    in.push_back({ranks_[j], r.out + at(j), part});
  });
  if (part) std::memcpy(r.out + at(rank_), r.in + at(rank_), part);
  exchange(r, out, in);
}

Ref<Channel> MeshChannel::split(int color, int key) {
  // Earlier requests of the program come first.
  backend_of(mesh_->queue.device).synchronize(mesh_->queue);
  const int64_t mine[2] = {color, key < 0 ? rank_ : key};
  std::vector<int64_t> all(2 * ranks_.size());
  run({.kind = Collective::split, .dtype = int64, .count = 2, .line = {}}, mine, all.data());
  std::vector<int> members;
  for (int j = 0; j < size(); ++j)
    if (all[2 * j] == color) members.push_back(j);
  std::ranges::stable_sort(members, {}, [&](int j) { return all[2 * j + 1]; });
  for (int& j : members) j = ranks_[j];
  // Members find the number without asking each other; groups that share no member may share it.
  uint32_t group = group_ * 0x9e3779b1u + ++splits_;
  group = (group ^ static_cast<uint32_t>(color)) * 0x85ebca6bu;
  return make_ref<MeshChannel>(mesh_, std::move(members), group | 1, false,
                               cat(record_.name, "/", splits_, ":", color));
}

}  // namespace mlx::core::distributed
