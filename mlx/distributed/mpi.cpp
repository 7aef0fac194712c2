// A mesh over messages of MPI. MPI carries bytes between two ranks; headers, sums and their order
// are those of the other meshes. Only calls that return at once are used, so that waits can end.
#include "mlx/distributed/mpi.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <ranges>
#include <thread>
#include <utility>

#include "mlx/core/blocking.h"
#include "mlx/core/error.h"
#include "mlx/distributed/mpi_library.h"
#include "mlx/distributed/mpi_port.h"
#include "mlx/distributed/pump.h"

namespace mlx::core::distributed {

namespace {

/// How often messages that do not wait look at last words: the library takes its time for it.
constexpr auto kBetweenLooks = std::chrono::milliseconds(1);

using Sent = std::vector<std::unique_ptr<Outgoing>>;
using Got = std::vector<std::unique_ptr<Incoming>>;

/// The ranks to or from which a message is not over.
std::vector<int> open_ranks(const Sent& sent, const Got& got) {
  std::vector<int> ranks;
  for (size_t j = 0; j < sent.size(); ++j)
    if ((sent[j] && !sent[j]->over()) || (got[j] && !got[j]->over()))
      ranks.push_back(static_cast<int>(j));
  return ranks;
}

class MpiMesh final : public Mesh {
 public:
  MpiMesh(const MpiLibrary& mpi, MpiHandle comm, int rank, int size, bool finalizes)
      : Mesh(rank, size),
        port_(mpi, comm),
        words_(port_, rank, size),
        finalizes_(finalizes),
        crowded_(is_crowded(size)) {}

  void exchange(Header h, std::span<const Part> out, std::span<const Part> in,
                const Parties& parties) override {
    // Empty between messages; kept, since short messages take little longer than allocations.
    Sent& sent = sent_;
    Got& got = got_;
    try {
      if (h.step == 0 && Clock::now() - looked_ > kBetweenLooks) look_at_words(h);
      send_all(h, out, sent);
      receive_all(in, got);
      send_agreed(sent, got);
      wait(h, sent, got, parties);
      spare_sent_.put(sent);
      spare_got_.put(got);
    } catch (const CommunicationError& e) {
      give_up(sent, got, e.what());
      note_failure(e.what());
      throw;
    } catch (const Interrupted&) {
      const std::string why =
          cat("[", name_of(h.collective()), "] rank ", rank, " was interrupted in ", describe(h));
      give_up(sent, got, why);
      note_failure(why);
      throw;
    }
  }

  void post(Header h, const Part& part) override {
    look_at_words(h);
    auto m = spare_sent_.take();
    h.bytes = part.bytes;
    m->header = h;
    m->parts = {copied(part, m->copy)};
    start(*m, part.peer);
    send_parts(*m, part.peer);
    backlog_.add(std::move(m));
    if (advance_backlog()) pump_.start();
  }

  void fail(const std::string& why) noexcept override {
    // In a message the error was noted already; another thread's is told at the end.
    set_failure(why);
  }

  /// All ranks hear each other's last words before MPI ends.
  void leave() noexcept override {
    if (!is_own_process() || left_.exchange(true)) return;
    pump_.stop();
    const bool well = set_failure(cat("rank ", rank, " has left the group"));
    const std::unique_lock lock(mutex);
    if (!well) {
      words_.say(Words::failed, failure());
      end_process(port_, words_);
    }
    words_.say(Words::ended, "");
    if (!hear_all() || words_.any_failed()) end_process(port_, words_);
    if (finalizes_) port_.finalize();
  }

 private:
  /// Waits for the last words of all ranks; false where they do not come.
  bool hear_all() noexcept {
    const auto end = Clock::now() + std::chrono::duration<double>(timeout);
    try {
      while (!words_.over() || advance_backlog()) {
        if (Clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    } catch (const CommunicationError&) {
      return false;
    }
    return true;
  }
  /// Keeps the error of a message, and tells the others.
  void note_failure(const std::string& why) noexcept {
    if (set_failure(why)) words_.say(Words::failed, why);
  }

  /// Sends the first piece of a message, and all of one that is small.
  void start(Outgoing& m, int to) {
    std::memcpy(m.first.data(), &m.header, sizeof(Header));
    size_t bytes = sizeof(Header);
    const bool fits = m.header.bytes <= kInline;
    if (fits)
      for (const Part& p : m.parts) {
        if (p.bytes) std::memcpy(m.first.data() + bytes, p.data, p.bytes);
        bytes += p.bytes;
      }
    port_.send(m.first.data(), bytes, to, tag_message, m.requests.emplace_back());
    m.complete = fits;
  }
  /// Sends the parts of a message that is not small.
  void send_parts(Outgoing& m, int to) {
    if (m.complete) return;
    each_piece(m.parts, [&](char* data, int n) {
      port_.send(data, static_cast<size_t>(n), to, tag_message, m.requests.emplace_back());
    });
    m.complete = true;
  }

  void send_all(Header h, std::span<const Part> out, Sent& sent) {
    for (const Part& p : out) {
      auto& m = sent[static_cast<size_t>(p.peer)];
      if (!m) m = spare_sent_.take();
      m->parts.push_back(p);
      h.bytes = m->header.bytes + p.bytes;
      m->header = h;
    }
    for (int j = 0; j < size; ++j)
      if (auto& m = sent[static_cast<size_t>(j)]) start(*m, j);
  }
  /// Sends parts once all headers have been found to agree: MPI cannot take back a part that a rank
  /// has begun to send. True where that was so.
  bool send_agreed(Sent& sent, const Got& got) {
    if (!std::ranges::all_of(got, [](const auto& m) { return !m || m->known; })) return false;
    for (int j = 0; j < size; ++j)
      if (auto& m = sent[static_cast<size_t>(j)]) send_parts(*m, j);
    return true;
  }

  void receive_all(std::span<const Part> in, Got& got) {
    for (const Part& p : in) {
      auto& m = got[static_cast<size_t>(p.peer)];
      if (!m) m = spare_got_.take();
      m->parts.push_back(p);
      m->bytes += p.bytes;
    }
    for (int j = 0; j < size; ++j)
      if (auto& m = got[static_cast<size_t>(j)])
        port_.receive(m->first.data(), kFirst, j, tag_message, m->requests.emplace_back());
  }

  /// Goes on with a message from a rank; true where the header is known now and agrees.
  bool take(const Header& h, int from, Incoming& m) {
    m.known = true;
    const Header theirs = m.header();
    if (!h.agrees(theirs) || theirs.bytes != m.bytes) return false;
    if (m.bytes <= kInline) {
      const char* data = m.first.data() + sizeof(Header);
      for (const Part& p : m.parts) {
        if (p.bytes) std::memcpy(p.data, data, p.bytes);
        data += p.bytes;
      }
      return true;
    }
    each_piece(m.parts, [&](char* data, int n) {
      port_.receive(data, static_cast<size_t>(n), from, tag_message, m.requests.emplace_back());
    });
    return true;
  }

  void wait(const Header& h, Sent& sent, Got& got, const Parties& parties) {
    Patience patience(*this, h);
    int polls = 0;
    for (Clock::time_point idle = Clock::now();;) {
      bool moved = false;
      if (is_over(h, sent, got, parties, moved)) break;
      // The clock takes a part of a short message's time.
      constexpr int kPollsByClock = 8;
      if (!crowded_ && !moved && ++polls % kPollsByClock) continue;
      const auto now = Clock::now();
      const auto waited = now - idle;
      constexpr auto kSpin = std::chrono::microseconds(20);
      if (!moved && waited > kSpin) moved = port_.test_messages(sent);
      if (moved) {
        patience.progress();
        idle = now;
      } else if (waited > kSpin) {
        const std::vector<int> missing = open_ranks(sent, got);
        look_at_words(h);
        refuse_ended(h, missing, waited);
        advance_backlog();
        check_interrupt();
        patience.check(missing);
        pause(waited);
      } else if (crowded_) {
        sched_yield();
      }
    }
    advance_backlog();
  }

  /// Goes on with a message; true where it is over. A test of any request lets the library work on
  /// all: requests of sent messages are mostly over once answers have come, and are tested last.
  bool is_over(const Header& h, Sent& sent, Got& got, const Parties& parties, bool& moved) {
    bool open = false;
    for (int j = 0; j < size; ++j) {
      auto& m = got[static_cast<size_t>(j)];
      if (!m) continue;
      moved |= port_.test_all(m->requests);
      if (!m->known && Port::over(m->requests)) {
        if (!take(h, j, *m)) tell(h, got, parties);
        moved |= send_agreed(sent, got);
      }
      open |= !m->over();
    }
    if (open) return false;
    moved |= port_.test_messages(sent);
    return std::ranges::all_of(sent, [](const auto& m) { return !m || m->over(); });
  }

  /// Throws the stories of all ranks, as far as these arrive within a moment.
  [[noreturn]] void tell(const Header& h, Got& got, const Parties& parties) {
    constexpr auto kMoment = std::chrono::milliseconds(200);
    const auto end = Clock::now() + kMoment;
    for (bool waits = true; waits && Clock::now() < end; sched_yield()) {
      waits = false;
      for (auto& m : got)
        if (m && !m->known) {
          port_.test_all(m->requests);
          m->known = Port::over(m->requests);
          waits |= !m->known;
        }
    }
    std::vector<Story> stories{{parties.rank_of(rank), h}};
    for (int j = 0; j < size; ++j)
      if (const auto& m = got[static_cast<size_t>(j)]; m && m->known)
        stories.emplace_back(parties.rank_of(j), m->header());
    fail_message(h, disagreement(std::move(stories)));
  }

  /// After an error. Requests of first pieces are kept, with these. Others use arrays of the
  /// program: they get a moment to end, and where they do not, the process must.
  void give_up(Sent& sent, Got& got, const std::string& why) {
    for (auto& m : got)
      if (m) port_.cancel(m->requests);
    constexpr auto kMoment = std::chrono::milliseconds(500);
    const auto end = Clock::now() + kMoment;
    try {
      while ((uses_arrays(sent) || uses_arrays(got)) && Clock::now() < end) {
        port_.test_messages(sent);
        port_.test_messages(got);
        sched_yield();
      }
    } catch (const CommunicationError&) {
      // The first error counts.
    }
    if (uses_arrays(sent) || uses_arrays(got)) {
      std::fprintf(stderr,
                   "[mlx] rank %d: %s\n[mlx] rank %d ends: MPI still uses arrays of the message\n",
                   rank, why.c_str(), rank);
      words_.say(Words::failed, why);
      end_process(port_, words_);
    }
    for (auto& m : sent) given_up_.push_back(std::move(m));
    for (auto& m : got) given_up_in_.push_back(std::move(m));
  }

  /// Reads last words. Throws where a rank has failed, and where this one has.
  void look_at_words(const Header& h) {
    if (failed()) throw CommunicationError(failure());
    words_.read(h);
    looked_ = Clock::now();
  }

  /// Throws where a rank that has left is waited for: its messages would have come by now.
  void refuse_ended(const Header& h, const std::vector<int>& missing, Clock::duration waited) {
    constexpr auto kMoment = std::chrono::seconds(1);
    if (waited < kMoment) return;
    for (int j : missing)
      if (words_.has_ended(j))
        fail_message(h, cat("rank ", j, " ended normally, but ", describe(h), " needs it"));
  }

  /// Goes on with posted messages; true where some are left.
  bool advance_backlog() noexcept {
    try {
      return backlog_.advance(port_);
    } catch (const CommunicationError& e) {
      set_failure(e.what());
      return false;
    }
  }

  Port port_;
  MpiWords words_;
  const bool finalizes_;
  const bool crowded_;
  Clock::time_point looked_{};  ///< at last words
  Sent sent_{static_cast<size_t>(size)};
  Got got_{static_cast<size_t>(size)};
  Spares<Outgoing> spare_sent_;
  Spares<Incoming> spare_got_;
  Backlog backlog_;
  Sent given_up_;
  Got given_up_in_;
  std::atomic<bool> left_{false};
  Pump pump_{mutex, [this] { return advance_backlog(); }};
};

}  // namespace

Ref<Mesh> make_mpi_mesh() {
  const MpiLibrary& mpi = mpi_library();
  if (!mpi.usable)
    fail<ExecutionError>("init", "MPI: ", mpi.problem,
                         "; Open MPI, MPICH and libraries of the "
                         "standard ABI are accepted, and MLX_MPI_LIBNAME names one");
  auto check = [&](int code, const char* call) {
    if (code)
      fail<ExecutionError>("init", "MPI_", call, ": ", text_of(mpi, code), " (", mpi.version, ")");
  };
  int started = 0, threads = 0, over = 0;
  check(mpi.Initialized(&started), "Initialized");
  check(mpi.Finalized(&over), "Finalized");
  if (over)
    fail<ExecutionError>("init",
                         "MPI has ended in this process, and starts once; ring connects "
                         "processes again");
  BlockingRegion region;
  if (started)
    check(mpi.Query_thread(&threads), "Query_thread");
  else
    check(mpi.Init_thread(nullptr, nullptr, mpi.serialized, &threads), "Init_thread");
  if (threads < mpi.serialized)
    fail<ExecutionError>("init", "MPI without support for threads: ", mpi.version,
                         "; MPI_THREAD_SERIALIZED is needed");
  int rank = 0, size = 1;
  check(mpi.Comm_rank(mpi.world, &rank), "Comm_rank");
  check(mpi.Comm_size(mpi.world, &size), "Comm_size");
  if (size == 1 && ranks_by_mpi_launcher() > 1)
    fail<ExecutionError>("init", "the launcher started ", ranks_by_mpi_launcher(), " ranks, and ",
                         mpi.version,
                         " knows of one; MLX_MPI_LIBNAME names the launcher's own library");
  if (size == 1) {
    if (!started) mpi.Finalize();
    return {};
  }
  MpiHandle comm = 0;
  check(mpi.Comm_dup(mpi.world, &comm), "Comm_dup");
  check(mpi.Comm_set_errhandler(comm, mpi.errors_return), "Comm_set_errhandler");
  return make_ref<MpiMesh>(mpi, comm, rank, size, !started);
}

}  // namespace mlx::core::distributed
