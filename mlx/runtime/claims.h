// Several threads plan at once. A planning context claims each node that it visits, so that no two
// evaluate the same node; where they meet, the younger one gives way.
#pragma once

#include <cstdint>

#include "mlx/core/api.h"
#include "mlx/core/node.h"

namespace mlx::core {

/// The nodes that one evaluation plans: claimed until it has published them. A claim is in the
/// node's mark, in front of the node's place in the schedule.
class MLX_API Claims {
 public:
  /// Thrown in the context that must give way: it lets go of its claims and calls `wait_for`.
  struct Conflict {
    uint32_t owner;
  };

  /// `age` orders contexts: one that tries `again` after a conflict keeps its age.
  explicit Claims(uint64_t age, bool again = false);
  /// Keeps the context from waiting for a claim: a holder of a lock gives way at once.
  class Impatient {
   public:
    explicit Impatient(Claims& claims) : claims_(claims), before_(claims.patient_) {
      claims.patient_ = false;
    }
    ~Impatient() { claims_.patient_ = before_; }
    Impatient(const Impatient&) = delete;

   private:
    Claims& claims_;
    bool before_;
  };
  ~Claims();
  Claims(const Claims&) = delete;
  static uint64_t next_age();
  static void wait_for(const Conflict& conflict);

  /// Makes the node this context's. Waits for an evaluation that is younger, throws Conflict for
  /// one that is older.
  void claim(Node* n) {
    uint64_t mark = n->mark.load(std::memory_order_acquire);
    if (mark >> 32 != id_) take(n, mark);
  }
  /// True where the node was claimed and has a place; the place may be that of an earlier schedule.
  bool has(const Node* n) const { return n->mark.load(std::memory_order_relaxed) >> 32 == id_; }
  /// Notes the place of a claimed node.
  void set_place(Node* n, size_t place) const {
    n->mark.store(uint64_t{id_} << 32 | place, std::memory_order_relaxed);
  }

 private:
  void take(Node* n, uint64_t mark);

  uint64_t age_;
  uint32_t id_;
  bool patient_ = true;
};

/// Runs `f(claims)`, again after each conflict.
template <class F>
auto with_claims(F&& f) {
  const uint64_t age = Claims::next_age();
  for (bool again = false;; again = true) {
    Claims::Conflict conflict;
    {
      Claims claims(age, again);
      try {
        return f(claims);
      } catch (const Claims::Conflict& c) {
        conflict = c;
      }
    }
    Claims::wait_for(conflict);
  }
}

}  // namespace mlx::core
