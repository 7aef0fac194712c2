// Collectives over a mesh, and the group that runs them.
#pragma once

#include <memory>
#include <vector>

#include "mlx/distributed/mesh.h"

namespace mlx::core::distributed {

/// A group of members of a mesh. Sums, minima and maxima combine ranks in one tree for every size
/// and every engine (`combine_rows`).
class MeshChannel final : public Channel {
 public:
  /// `ranks`: the members in the mesh; `group`: its number, the same in all of them.
  MeshChannel(Ref<Mesh> mesh, std::vector<int> ranks, uint32_t group, bool world,
              std::string name = "world");
  ~MeshChannel() override { mesh_->groups.remove(record_); }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(ranks_.size()); }
  std::string name() const override { return record_.name; }
  Stream queue() const override { return mesh_->queue; }
  bool is_world() const override { return world_; }
  Ref<Channel> split(int color, int key) override;
  void run(const Message& message, const void* in, void* out) override;
  /// Lets the members find out whether all make a request, which then runs elsewhere.
  void agree(const Message& message);

  Mesh& mesh() const { return *mesh_; }
  uint64_t messages() const { return number_; }
  /// Programs hold another channel, which owns this one.
  void serve(const Channel* other) { mesh_->groups.rename(record_, other); }

 private:
  struct Request {
    const Message& message;
    Header header;
    const char* in;
    char* out;
    size_t itemsize, bytes;  ///< of an element, of the input
  };
  void request(const Message& message, const void* in, void* out, bool elsewhere);
  void dispatch(Request& r);
  void meet(Request& r);
  void combine_small(Request& r);
  void combine_large(Request& r);
  void gather(Request& r);
  void scatter_sum(Request& r);
  void broadcast(Request& r);
  void all_to_all(Request& r);
  void exchange(Request& r, std::span<const Part> out, std::span<const Part> in);
  char* scratch(size_t bytes);
  /// Empty lists of parts, for one exchange.
  std::pair<std::vector<Part>&, std::vector<Part>&> parts();
  template <class F>
  void each_other(F&& f);

  const Ref<Mesh> mesh_;
  const std::vector<int> ranks_;
  const uint32_t group_;
  const bool world_;
  const int rank_;
  GroupRecord record_;
  uint64_t number_ = 0;
  uint32_t splits_ = 0;
  std::unique_ptr<char[]> scratch_;
  size_t scratch_bytes_ = 0;
  // Of one request; kept, since short messages take little longer than allocations.
  std::vector<Part> out_, in_;
  std::vector<const void*> rows_;
};

}  // namespace mlx::core::distributed
