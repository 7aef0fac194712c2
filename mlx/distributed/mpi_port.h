// Messages of MPI between two ranks, of which every call returns at once, and the last words of
// ranks.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <ranges>
#include <thread>
#include <utility>

#include "mlx/core/error.h"
#include "mlx/distributed/mesh.h"
#include "mlx/distributed/mpi_library.h"

namespace mlx::core::distributed {

enum Tag : int { tag_message = 1, tag_words = 2 };
/// The first piece of a message: its header, and all parts where they are few bytes.
inline constexpr size_t kInline = 8192;
inline constexpr size_t kFirst = sizeof(Header) + kInline;
/// The longest later piece: counts of MPI are ints.
inline constexpr size_t kLongest = size_t{1} << 30;

/// A request of MPI; null once it is over.
struct Request {
  MpiHandle handle = 0;
  bool open = false;
};

/// Bytes to one rank.
struct Outgoing {
  Header header;
  std::vector<Part> parts;
  std::unique_ptr<char[]> copy;
  std::array<char, kFirst> first;
  std::vector<Request> requests;
  bool complete = false;  ///< all requests have been made
  bool over() const { return complete && std::ranges::none_of(requests, &Request::open); }
  void clear() {
    header = {};
    parts.clear();
    copy.reset();
    requests.clear();
    complete = false;
  }
};

/// Bytes from one rank.
struct Incoming {
  std::vector<Part> parts;
  size_t bytes = 0;
  std::array<char, kFirst> first;
  std::vector<Request> requests;
  bool known = false;
  bool over() const { return known && std::ranges::none_of(requests, &Request::open); }
  Header header() const {
    Header h;
    std::memcpy(&h, first.data(), sizeof h);
    return h;
  }
  void clear() {
    parts.clear();
    bytes = 0;
    requests.clear();
    known = false;
  }
};

/// Messages that are over, for new ones: their buffers would be a large part of a short message.
template <class M>
class Spares {
 public:
  std::unique_ptr<M> take() {
    if (list_.empty()) return std::make_unique_for_overwrite<M>();
    auto m = std::move(list_.back());
    list_.pop_back();
    m->clear();
    return m;
  }
  void put(std::vector<std::unique_ptr<M>>& used) {
    for (auto& m : used)
      if (m) list_.push_back(std::move(m));
  }

 private:
  std::vector<std::unique_ptr<M>> list_;
};

/// The words of a rank about its end.
struct Words {
  enum Kind : uint32_t { none, ended, failed };
  uint32_t kind = none;
  std::array<char, 1020> text = {};
};

/// Runs of parts, none longer than a count of MPI.
template <class F>
void each_piece(const std::vector<Part>& parts, F f) {
  for (const Part& p : parts)
    for (size_t at = 0; at < p.bytes; at += kLongest)
      f(static_cast<char*>(p.data) + at, static_cast<int>(std::min(kLongest, p.bytes - at)));
}

/// True where MPI may still read or write the parts of a message: all but the first pieces.
template <class Messages>
bool uses_arrays(const Messages& messages) {
  return std::ranges::any_of(messages, [](const auto& m) {
    return m && std::ranges::any_of(m->requests | std::views::drop(1), &Request::open);
  });
}

/// Gives the processor away: the library has no wait that ends. Pauses are a small part of the wait
/// so far, and so is the processor time of their ends.
inline void pause(Clock::duration waited) {
  constexpr Clock::duration kPatient = std::chrono::milliseconds(2);
  constexpr Clock::duration kLongest = std::chrono::milliseconds(10);
  if (waited < kPatient)
    sched_yield();
  else
    std::this_thread::sleep_for(std::min(waited / 64, kLongest));
}

/// True where ranks are more than processors: a waiting rank leaves its own to another one at once.
inline bool is_crowded(int size) {
  const int here = ranks_here_by_mpi_launcher();
  return (here ? here : size) > static_cast<int>(std::thread::hardware_concurrency());
}

inline std::string text_of(const MpiLibrary& mpi, int code) {
  std::array<char, 1024> text{};
  int length = 0;
  mpi.Error_string(code, text.data(), &length);
  return text.data();
}

/// Requests of one communicator.
class Port {
 public:
  Port(const MpiLibrary& mpi, MpiHandle comm) : mpi_(mpi), comm_(comm) {}
  void send(const void* data, size_t bytes, int to, int tag, Request& r) {
    check_call(mpi_.Isend(data, static_cast<int>(bytes), mpi_.byte, to, tag, comm_, &r.handle));
    r.open = true;
  }
  void receive(void* data, size_t bytes, int from, int tag, Request& r) {
    check_call(mpi_.Irecv(data, static_cast<int>(bytes), mpi_.byte, from, tag, comm_, &r.handle));
    r.open = true;
  }
  /// True where the request is over now and was not before.
  bool test(Request& r) {
    if (!r.open) return false;
    int done = 0;
    check_call(mpi_.Test(&r.handle, &done, mpi_.status_ignore));
    r.open = !done;
    return done;
  }
  bool test_all(std::vector<Request>& list) {
    bool moved = false;
    for (Request& r : list) moved |= test(r);
    return moved;
  }
  template <class Messages>
  bool test_messages(const Messages& messages) {
    bool moved = false;
    for (auto& m : messages)
      if (m) moved |= test_all(m->requests);
    return moved;
  }
  static bool over(const std::vector<Request>& list) {
    return std::ranges::none_of(list, &Request::open);
  }
  void cancel(std::vector<Request>& list) {
    for (Request& r : list)
      if (r.open) mpi_.Cancel(&r.handle);
  }
  void abort() { mpi_.Abort(comm_, 1); }
  void finalize() { mpi_.Finalize(); }

 private:
  void check_call(int code) const {
    if (code) throw CommunicationError("[distributed] MPI: " + text_of(mpi_, code));
  }

  const MpiLibrary& mpi_;
  const MpiHandle comm_;
};

/// Messages that were posted and are not over.
class Backlog {
 public:
  void add(std::unique_ptr<Outgoing> message) { list_.push_back(std::move(message)); }
  /// Goes on with the oldest ones; true where some are left. The library works on all: tests of all
  /// would take longer and longer.
  bool advance(Port& port) {
    constexpr size_t kTested = 16;
    const auto end = list_.begin() + static_cast<int64_t>(std::min(kTested, list_.size()));
    for (auto m = list_.begin(); m != end; ++m) port.test_all((*m)->requests);
    list_.erase(std::remove_if(list_.begin(), end, [](auto& m) { return m->over(); }), end);
    return !list_.empty();
  }

 private:
  std::deque<std::unique_ptr<Outgoing>> list_;
};

/// Last words of all ranks.
class MpiWords {
 public:
  MpiWords(Port& port, int rank, int size)
      : port_(port),
        rank_(rank),
        words_(static_cast<size_t>(size)),
        heard_(static_cast<size_t>(size)) {
    for (int j = 0; j < size; ++j)
      if (const auto i = static_cast<size_t>(j); j != rank)
        port_.receive(&words_[i], sizeof(Words), j, tag_words, heard_[i]);
  }

  /// Throws where a rank has failed.
  void read(const Header& h) {
    port_.test_all(heard_);
    for (size_t j = 0; j < heard_.size(); ++j) {
      const Words& w = words_[j];
      if (heard_[j].open || w.kind != Words::failed) continue;
      const std::string text(w.text.data(), strnlen(w.text.data(), w.text.size()));
      if (text.starts_with('[')) throw CommunicationError(text);
      fail_message(h, text);
    }
  }
  bool has_ended(int rank) const { return words_[static_cast<size_t>(rank)].kind == Words::ended; }
  bool any_failed() const {
    return std::ranges::any_of(words_, [](const Words& w) { return w.kind == Words::failed; });
  }

  void say(Words::Kind kind, const std::string& text) noexcept {
    if (std::exchange(own_.kind, kind) != Words::none) return;
    std::memcpy(own_.text.data(), text.data(), std::min(text.size(), own_.text.size()));
    said_.resize(words_.size());
    try {
      for (size_t j = 0; j < words_.size(); ++j)
        if (static_cast<int>(j) != rank_)
          port_.send(&own_, sizeof own_, static_cast<int>(j), tag_words, said_[j]);
    } catch (const CommunicationError&) {
      // The launcher ends ranks that wait for this one.
    }
  }
  /// True where all have been heard, and have heard this rank.
  bool over() {
    port_.test_all(heard_);
    port_.test_all(said_);
    return Port::over(heard_) && Port::over(said_);
  }

 private:
  Port& port_;
  const int rank_;
  std::vector<Words> words_;
  std::vector<Request> heard_, said_;
  Words own_;
};

/// Ends the process, and by the launcher the others. They get a moment to raise their own errors:
/// from their last words on, which a rank says when it notices that it has failed.
[[noreturn]] inline void end_process(Port& port, MpiWords& words) noexcept {
  constexpr auto kMoment = std::chrono::seconds(1), kPatience = 3 * kMoment;
  try {
    const auto start = Clock::now();
    for (auto now = start, told = start; now - start < kPatience && now - told < kMoment;
         now = Clock::now()) {
      if (!words.over()) told = now;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (const CommunicationError&) {
    // The launcher ends the others without it.
  }
  port.abort();
  _exit(1);
}

}  // namespace mlx::core::distributed
