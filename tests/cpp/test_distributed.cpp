// Ranks that are threads, and ranks that are processes where a launcher has started several of this
// program: their results, and errors that reach all of them. Under `./dev test --threads`
// ThreadSanitizer watches.
#include <atomic>
#include <stdexcept>
#include <string>

#include "mlx/distributed/distributed.h"
#include "support.h"

using namespace mlx::core;
namespace dist = mlx::core::distributed;

namespace {

std::string text_of(std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
}

/// Raised by ranks: doctest's checks are for one thread.
void need(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

void run_ranks(int size, const std::function<void(int)>& body) {
  dist::simulate(size, body, text_of);
}

}  // namespace

TEST_CASE("ranks combine small and large arrays") {
  for (int size : {2, 3, 4})
    run_ranks(size, [&](int rank) {
      for (int n : {1, 1000, 100'000}) {
        const array x = full({n}, static_cast<float>(rank + 1));
        const array total = dist::all_sum(x), most = dist::all_max(x);
        const array all = dist::all_gather(x);
        const auto want = static_cast<float>(size * (size + 1) / 2);
        need(max(total).item<float>() == want && min(total).item<float>() == want, "all_sum");
        need(most.data<float>()[0] == static_cast<float>(size), "all_max");
        need(all.size() == static_cast<size_t>(n * size), "all_gather");
        need(all.data<float>()[n * rank] == static_cast<float>(rank + 1), "rows of all_gather");
      }
    });
}

TEST_CASE("ranks communicate while they compute, in groups and in a circle") {
  run_ranks(4, [](int rank) {
    const dist::Group world = dist::init();
    const dist::Group half = world.split(rank % 2);
    array x = full({64, 64}, 0.01f * static_cast<float>(rank + 1));
    std::vector<array> sums;
    for (int k = 0; k < 6; ++k) {
      x = tanh(matmul(x, x));
      sums.push_back(dist::all_sum(x));
      sums.push_back(dist::all_sum(x, half));
    }
    async_eval(sums);
    const array sent = dist::send(full({50'000}, static_cast<float>(rank)), (rank + 1) % 4);
    const array got = dist::recv({50'000}, float32, (rank + 3) % 4);
    eval(sent, got);
    need(got.data<float>()[7] == static_cast<float>((rank + 3) % 4), "recv");
    eval(sums);
    dist::barrier();
  });
}

TEST_CASE("ranks that disagree, fail or leave give an error to all") {
  std::atomic<int> errors{0};
  auto counted = [&](const std::function<void(int)>& body) {
    errors = 0;
    run_ranks(4, [&](int rank) {
      try {
        body(rank);
        eval(dist::all_sum(ones({3})));
      } catch (const CommunicationError&) {
        ++errors;
      }
    });
    return errors.load();
  };
  CHECK(counted([](int rank) { eval(dist::all_sum(ones({rank == 1 ? 5 : 4}))); }) == 4);
  CHECK(counted([](int rank) {
          eval(rank == 1 ? dist::all_max(ones({4})) : dist::all_sum(ones({4})));
        }) == 4);
  CHECK_THROWS_WITH_AS(run_ranks(3,
                                 [](int rank) {
                                   if (rank == 2) throw std::runtime_error("lost it");
                                   eval(dist::all_sum(ones({3})));
                                 }),
                       "lost it", std::runtime_error);
}

TEST_CASE("ranks see their groups, and find them by name") {
  run_ranks(4, [](int rank) {
    const dist::Group world = dist::init();
    const dist::Group half = world.split(rank % 2);
    eval(dist::all_sum(ones({3}), half));
    need(half.name() == (rank % 2 ? "world/1:1" : "world/1:0"), "name");
    need(dist::group_named(half.name()) == half && dist::group_named("world") == world, "found");
    const dist::Status s = dist::status();
    need(s.groups.size() == 2 && s.messages == 2 && s.bytes == 16 + 12, "status");
    const dist::GroupStatus& g = s.groups[1];
    need(g.ranks == std::vector<int>{rank % 2, rank % 2 + 2} && g.rank == rank / 2, "members");
    need(g.messages == 1 && g.bytes == 12 && !g.running, "messages");
    need(g.last == "message 1, all_sum of 3 float32", "last message");
    bool found = true;
    try {
      dist::group_named("world/2:0");
    } catch (const ValueError&) {
      found = false;
    }
    need(!found, "a group that does not exist");
    // The part of a rank is read while its messages run.
    uint64_t most = 0;
    for (int k = 0; k < 20; ++k) {
      const array x = dist::all_sum(full({50'000}, static_cast<float>(k)), half);
      async_eval(x);
      const uint64_t now = dist::status().groups[1].messages;
      need(now >= most, "messages go up");
      most = now;
      eval(x);
    }
    need(dist::status().groups[1].messages == 21, "all messages");
  });
}

TEST_CASE("ranks of a launch, or this process alone, compute together") {
  const dist::Group world = dist::init();
  const int n = world.size(), r = world.rank();
  const dist::Group other = n > 1 ? world.split(r == 0, n - r) : world;
  CHECK(other.size() == (n == 1 || r == 0 ? 1 : n - 1));
  for (int count : {1, 1000, 300'000}) {
    const array x = full({count}, static_cast<float>(r + 1));
    const array total = dist::all_sum(x, world), some = dist::all_max(x, other);
    const array all = dist::all_gather(x, world);
    async_eval(some, all);
    CHECK(max(total).item<float>() == static_cast<float>(n * (n + 1) / 2));
    CHECK(some.data<float>()[0] == static_cast<float>(r == 0 ? 1 : n));
    CHECK(all.data<float>()[int64_t{count} * r] == static_cast<float>(r + 1));
    if (n == 1) continue;
    const array sent = dist::send(x, (r + 1) % n);
    const array got = dist::recv({count}, float32, (r + n - 1) % n);
    eval(sent, got);
    CHECK(got.data<float>()[count - 1] == static_cast<float>((r + n - 1) % n + 1));
  }
  dist::barrier();
  CHECK(dist::status().groups.size() == (n > 1 ? 2 : 0));
  if (n == 1) return;
  CHECK_THROWS_AS(eval(dist::all_sum(ones({r == 1 ? 5 : 4}))), CommunicationError);
  CHECK(!dist::status().failure.empty());
}
