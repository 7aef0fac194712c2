// The public functions: groups of one process are the identity.
#include "mlx/distributed/distributed.h"

#include "mlx/backend/backend.h"
#include "mlx/core/error.h"
#include "mlx/core/lines.h"
#include "mlx/core/trace.h"
#include "mlx/ops/collective.h"

namespace mlx::core::distributed {

namespace {

[[noreturn]] void alone(const char* op) {
  fail<ValueError>(op, "a group of one process; at least two are needed");
}

Ref<Channel> channel_of(const std::optional<Group>& group) {
  Ref<Channel> c = (group ? *group : init()).channel();
  return c && c->size() > 1 ? c : Ref<Channel>();
}

array run(Collective kind, const array& x, const std::optional<Group>& group, int peer = -1) {
  const Ref<Channel> c = channel_of(group);
  return c ? collective(kind, x, c, peer) : x;
}

}  // namespace

Group::Group(const std::shared_ptr<detail::GroupImpl>& group) {
  if (!group) fail<ValueError>("Group", "a null pointer; a group of `raw_group` is accepted");
  channel_ = group->group().channel();
}

std::shared_ptr<detail::GroupImpl> Group::raw_group() const {
  return std::make_shared<detail::GroupImpl>(*this);
}

Group init(bool strict, const std::string& backend, AllGatherFactory) {
  return init(strict, backend);
}

Group Group::split(int color, int key) const {
  if (!channel_)
    fail<ExecutionError>("split",
                         "a group of this process alone cannot be split; one of a launch can");
  return Group(channel_->split(color, key));
}

array all_sum(const array& x, std::optional<Group> g, StreamOrDevice) {
  return run(Collective::all_sum, x, g);
}
array all_max(const array& x, std::optional<Group> g, StreamOrDevice) {
  return run(Collective::all_max, x, g);
}
array all_min(const array& x, std::optional<Group> g, StreamOrDevice) {
  return run(Collective::all_min, x, g);
}
array all_gather(const array& x, std::optional<Group> g, StreamOrDevice) {
  return run(Collective::all_gather, x, g);
}
array sum_scatter(const array& x, std::optional<Group> g, StreamOrDevice) {
  return run(Collective::sum_scatter, x, g);
}
array all_to_all(const array& x, std::optional<Group> g, StreamOrDevice) {
  return run(Collective::all_to_all, x, g);
}
array broadcast(const array& x, int src, std::optional<Group> g, StreamOrDevice) {
  if (!channel_of(g) && src != 0)
    fail<ValueError>("broadcast", "rank ", src, " of a group of one process; rank 0 is accepted");
  return run(Collective::broadcast, x, g, src);
}
array send(const array& x, int dst, std::optional<Group> g, StreamOrDevice) {
  if (!channel_of(g)) alone("send");
  return run(Collective::send, x, g, dst);
}
array recv(Shape shape, Dtype dtype, int src, std::optional<Group> g, StreamOrDevice) {
  const Ref<Channel> c = channel_of(g);
  if (!c) alone("recv");
  return receive(shape, dtype, src, c);
}
array recv_like(const array& x, int src, std::optional<Group> g, StreamOrDevice) {
  const Ref<Channel> c = channel_of(g);
  if (!c) alone("recv_like");
  return receive(x.shape(), x.dtype(), src, c);
}

void barrier(std::optional<Group> g) {
  const Ref<Channel> c = channel_of(g);
  if (is_recording())
    fail<ValueError>("barrier",
                     "in a function that is compiled or exported, whose calls would not wait; "
                     "a call before or after it is accepted");
  if (!c) return;
  backend_of(c->queue().device).synchronize(c->queue());
  uint32_t (*number)() = program_line.load();
  const std::string& line = text_of_line(number ? number() : 0);
  c->run({.kind = Collective::barrier,
          .dtype = uint8,
          .count = 0,
          .index = c->next_index(),
          .line = line},
         nullptr, nullptr);
}

}  // namespace mlx::core::distributed
