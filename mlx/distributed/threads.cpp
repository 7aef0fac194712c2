// Threads as ranks: a message is a header and addresses; the receiver copies.
#include "mlx/distributed/threads.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <list>

#include "mlx/core/blocking.h"
#include "mlx/core/error.h"

namespace mlx::core::distributed {

namespace {

/// A message on its way. Its parts are memory of the sender, who waits until it is taken, or a
/// copy.
struct Letter {
  Header header;
  std::vector<Part> parts;
  std::unique_ptr<char[]> copy;
  enum State { posted, taking, taken } state = posted;
};
using LetterRef = std::shared_ptr<Letter>;

}  // namespace

class MeetingPlace {
 public:
  explicit MeetingPlace(int n) : size(n), boxes(static_cast<size_t>(n) * n), ended(n) {}
  std::deque<LetterRef>& box(int from, int to) {
    return boxes[static_cast<size_t>(from) * size + to];
  }

  const int size;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::deque<LetterRef>> boxes;
  std::vector<std::string> ended;  ///< by rank: its last words
  std::string failure;             ///< the first
};

namespace {

class ThreadMesh final : public Mesh {
 public:
  ThreadMesh(std::shared_ptr<MeetingPlace> place, int rank)
      : Mesh(rank, place->size), place_(std::move(place)) {}

  void exchange(Header h, std::span<const Part> out, std::span<const Part> in,
                const Parties& parties) override {
    std::unique_lock lock(place_->mutex);
    std::list<std::pair<int, LetterRef>> sent;
    post_all(h, out, sent);
    try {
      take_all(lock, h, in, parties);
      wait_until(
          lock, h,
          [&] {
            std::erase_if(sent, [](auto& s) { return s.second->state == Letter::taken; });
            return sent.empty();
          },
          [&] {
            std::vector<int> late;
            for (auto& s : sent) late.push_back(s.first);
            return late;
          });
    } catch (...) {
      take_back(lock, sent);
      throw;
    }
  }

  void post(Header h, const Part& part) override {
    auto letter = std::make_shared<Letter>();
    h.bytes = part.bytes;
    letter->header = h;
    letter->parts = {copied(part, letter->copy)};
    std::lock_guard lock(place_->mutex);
    check_place(h);
    place_->box(rank, part.peer).push_back(std::move(letter));
    place_->changed.notify_all();
  }

  void fail(const std::string& why) noexcept override {
    set_failure(why);
    std::lock_guard lock(place_->mutex);
    if (place_->failure.empty()) place_->failure = why;
    place_->changed.notify_all();
  }

  void leave() noexcept override {
    set_failure(cat("rank ", rank, " has left the group"));
    std::lock_guard lock(place_->mutex);
    place_->ended[static_cast<size_t>(rank)] = cat("rank ", rank, " ended normally");
    place_->changed.notify_all();
  }

 private:
  void check_place(const Header& h) {
    if (place_->failure.empty()) return;
    // The error that another rank found is the error of all.
    set_failure(place_->failure);
    if (place_->failure.starts_with('[')) throw CommunicationError(place_->failure);
    fail_message(h, place_->failure);
  }

  /// Gives each receiver its parts. Letters without bytes need not be waited for.
  void post_all(Header h, std::span<const Part> out, std::list<std::pair<int, LetterRef>>& sent) {
    std::vector<LetterRef> to(static_cast<size_t>(size));
    for (const Part& p : out) {
      LetterRef& letter = to[static_cast<size_t>(p.peer)];
      if (!letter) letter = std::make_shared<Letter>();
      letter->parts.push_back(p);
      h.bytes = letter->header.bytes + p.bytes;
      letter->header = h;
    }
    for (int j = 0; j < size; ++j) {
      LetterRef& letter = to[static_cast<size_t>(j)];
      if (!letter) continue;
      place_->box(rank, j).push_back(letter);
      if (letter->header.bytes) sent.emplace_back(j, letter);
    }
    place_->changed.notify_all();
  }

  void take_all(std::unique_lock<std::mutex>& lock, const Header& h, std::span<const Part> in,
                const Parties& parties) {
    std::vector<std::vector<Part>> from(static_cast<size_t>(size));
    for (const Part& p : in) from[static_cast<size_t>(p.peer)].push_back(p);
    std::vector<int> open;
    for (int j = 0; j < size; ++j)
      if (!from[static_cast<size_t>(j)].empty()) open.push_back(j);
    auto there = [&](int j) { return !place_->box(j, rank).empty(); };
    while (!open.empty()) {
      wait_until(
          lock, h, [&] { return std::ranges::any_of(open, there); }, [&] { return open; },
          [&] { refuse_ended(h, open); });
      for (size_t k = 0; k < open.size();) {
        if (!there(open[k])) {
          ++k;
          continue;
        }
        take(lock, h, open[k], from[static_cast<size_t>(open[k])], parties, open);
        open.erase(open.begin() + static_cast<int64_t>(k));
      }
    }
  }

  void take(std::unique_lock<std::mutex>& lock, const Header& h, int peer,
            const std::vector<Part>& parts, const Parties& parties, const std::vector<int>& open) {
    LetterRef letter = place_->box(peer, rank).front();
    size_t bytes = 0;
    for (const Part& p : parts) bytes += p.bytes;
    if (!h.agrees(letter->header) || letter->header.bytes != bytes) tell(lock, h, parties, open);
    place_->box(peer, rank).pop_front();
    letter->state = Letter::taking;
    lock.unlock();
    copy(letter->parts, parts);
    lock.lock();
    letter->state = Letter::taken;
    place_->changed.notify_all();
  }

  static void copy(const std::vector<Part>& from, const std::vector<Part>& to) {
    size_t a = 0, b = 0, done_a = 0, done_b = 0;
    while (a < from.size() && b < to.size()) {
      const size_t n = std::min(from[a].bytes - done_a, to[b].bytes - done_b);
      if (n)
        std::memcpy(static_cast<char*>(to[b].data) + done_b,
                    static_cast<const char*>(from[a].data) + done_a, n);
      done_a += n;
      done_b += n;
      if (done_a == from[a].bytes) ++a, done_a = 0;
      if (b < to.size() && done_b == to[b].bytes) ++b, done_b = 0;
    }
  }

  /// Throws the stories of all ranks. Ranks that are not `open` agreed with this one; the others
  /// get a moment to tell theirs.
  [[noreturn]] void tell(std::unique_lock<std::mutex>& lock, const Header& h,
                         const Parties& parties, const std::vector<int>& open) {
    auto there = [&](int j) { return !place_->box(j, rank).empty(); };
    constexpr auto kMoment = std::chrono::milliseconds(200);
    place_->changed.wait_for(lock, kMoment, [&] {
      return std::ranges::all_of(open, there) || !place_->failure.empty();
    });
    check_place(h);
    std::vector<Story> stories{{parties.rank_of(rank), h}};
    for (int j : parties.ranks) {
      const bool is_open = std::ranges::find(open, j) != open.end();
      if (is_open && there(j))
        stories.emplace_back(parties.rank_of(j), place_->box(j, rank).front()->header);
      else if (!is_open && j != rank && h.collective() != Collective::send)
        stories.emplace_back(parties.rank_of(j), h);
    }
    fail_message(h, disagreement(std::move(stories)));
  }

  void refuse_ended(const Header& h, const std::vector<int>& open) {
    for (int j : open)
      if (const std::string& words = place_->ended[static_cast<size_t>(j)];
          !words.empty() && place_->box(j, rank).empty())
        fail_message(h, words + ", but " + describe(h) + " needs it");
  }

  /// Waits under the lock; throws where the group has failed, or nothing moves for too long.
  template <class Ready, class Missing>
  void wait_until(std::unique_lock<std::mutex>& lock, const Header& h, Ready ready,
                  Missing missing) {
    wait_until(lock, h, ready, missing, [] {});
  }
  template <class Ready, class Missing, class Check>
  void wait_until(std::unique_lock<std::mutex>& lock, const Header& h, Ready ready, Missing missing,
                  Check check) {
    constexpr auto kSlice = std::chrono::milliseconds(20);
    Patience patience(*this, h);
    for (;;) {
      check_place(h);
      if (ready()) return;
      check();
      place_->changed.wait_for(lock, kSlice);
      if (ready()) continue;
      lock.unlock();
      try {
        check_interrupt();
        patience.check(missing());
      } catch (...) {
        lock.lock();
        throw;
      }
      lock.lock();
    }
  }

  /// Waits until no other rank reads this one's memory: after an error.
  void take_back(std::unique_lock<std::mutex>& lock, std::list<std::pair<int, LetterRef>>& sent) {
    for (auto& [peer, letter] : sent)
      if (letter->state == Letter::posted) std::erase(place_->box(rank, peer), letter);
    place_->changed.wait(lock, [&] {
      return std::ranges::none_of(sent, [](auto& s) { return s.second->state == Letter::taking; });
    });
  }

  const std::shared_ptr<MeetingPlace> place_;
};

}  // namespace

std::vector<Ref<Mesh>> make_thread_meshes(int size) {
  auto place = std::make_shared<MeetingPlace>(size);
  std::vector<Ref<Mesh>> meshes;
  for (int r = 0; r < size; ++r) meshes.push_back(make_ref<ThreadMesh>(place, r));
  return meshes;
}

}  // namespace mlx::core::distributed
