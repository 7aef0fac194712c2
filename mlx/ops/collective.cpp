// Checks and shapes of collectives, and how they are numbered.
#include "mlx/ops/collective.h"

#include "mlx/core/error.h"
#include "mlx/core/lines.h"
#include "mlx/core/trace.h"

namespace mlx::core {

namespace {

const CollectiveAttrs& attrs_of(const Attrs* a) { return *static_cast<const CollectiveAttrs*>(a); }

uint64_t order_of_request(const Attrs* a) { return attrs_of(a).order; }

bool between_two(Collective kind) { return kind == Collective::send || kind == Collective::recv; }

uint64_t ticket_for(Channel& channel, Collective kind) {
  uint32_t (*line)() = program_line.load(std::memory_order_relaxed);
  const bool recorded = is_recording();
  // Of what runs later, and of sends and receives, the number only tells requests apart.
  const uint64_t index = recorded || between_two(kind) ? next_order() : channel.next_index();
  return Ticket::of(index, line ? line() : 0, recorded).bits;
}

uint64_t ticket_of_request(const Attrs* a) {
  return ticket_for(*attrs_of(a).channel, attrs_of(a).kind);
}

array constant_ticket(uint64_t bits) { return constant(Scalar::of(bits), uint64); }

/// The same request on other inputs. One that was read from a file is of all processes.
Arrays build_collective(const Arrays& in, const Attrs* attrs, Stream) {
  const CollectiveAttrs& a = attrs_of(attrs);
  const Ref<Channel> channel = a.channel ? a.channel : world_channel();
  if (a.kind == Collective::recv) {
    if (!channel) fail<ValueError>("recv", "a group of one process; at least two are needed");
    return {receive(a.shape, a.dtype, a.peer, channel)};
  }
  if (channel) return {collective(a.kind, in[0], channel, a.peer)};
  if (a.kind == Collective::send)
    fail<ValueError>("send", "a group of one process; at least two are needed");
  return {in[0]};
}

void check_peer(const char* op, int peer, const Channel& c, bool other) {
  if (peer < 0 || peer >= c.size())
    fail<ValueError>(op, "rank ", peer, "; ranks from 0 to ", c.size() - 1, " are in the group");
  if (other && peer == c.rank())
    fail<ValueError>(op, "rank ", peer, ", which is this process; another one is accepted");
}

const OpDef& op_of(Collective kind) {
  static const OpDef* const ops[] = {&op_all_sum,     &op_all_max,   &op_all_min,    &op_all_gather,
                                     &op_sum_scatter, &op_broadcast, &op_all_to_all, nullptr,
                                     nullptr,         &op_send,      &op_recv};
  return *ops[static_cast<int>(kind)];
}

Ref<const Attrs> attrs_of(Collective kind, const Ref<Channel>& channel, int peer) {
  Ref<CollectiveAttrs> a(new CollectiveAttrs);
  a->channel = channel;
  a->kind = kind;
  a->peer = peer;
  a->order = next_order();
  return a;
}

}  // namespace

bool CollectiveAttrs::equals(const Attrs& o) const {
  auto* other = dynamic_cast<const CollectiveAttrs*>(&o);
  return other && channel == other->channel && kind == other->kind && peer == other->peer &&
         shape == other->shape && dtype == other->dtype;
}

size_t CollectiveAttrs::hash() const {
  size_t h = detail::mix(reinterpret_cast<uintptr_t>(channel.get()), static_cast<size_t>(kind));
  h = detail::mix(h, static_cast<size_t>(peer));
  return detail::mix(detail::mix(h, detail::hash_field(shape)), detail::hash_field(dtype));
}

void CollectiveAttrs::visit(AttrVisitor& v) {
  if (channel && !channel->is_world())
    fail<ValueError>(name_of(kind),
                     "a group that was split off or simulated, in an export; the "
                     "group of all processes is accepted");
  channel = {};
  detail::visit_field(v, "kind", kind);
  detail::visit_field(v, "peer", peer);
  detail::visit_field(v, "shape", shape);
  detail::visit_field(v, "dtype", dtype);
}

#define MLX_COLLECTIVE(NAME, RECEIVED)                          \
  constinit const OpDef op_##NAME{.name = #NAME,                \
                                  .kind = OpKind::kernel,       \
                                  .communicates = true,         \
                                  .received = RECEIVED,         \
                                  .order = order_of_request,    \
                                  .ticket = ticket_of_request,  \
                                  .build = build_collective,    \
                                  .vjp = rules::collective_vjp, \
                                  .jvp = rules::collective_jvp, \
                                  .vmap = rules::collective_vmap};
MLX_COLLECTIVE(all_sum, false)
MLX_COLLECTIVE(all_max, false)
MLX_COLLECTIVE(all_min, false)
MLX_COLLECTIVE(all_gather, false)
MLX_COLLECTIVE(sum_scatter, false)
MLX_COLLECTIVE(broadcast, false)
MLX_COLLECTIVE(all_to_all, false)
MLX_COLLECTIVE(send, false)
MLX_COLLECTIVE(recv, true)
#undef MLX_COLLECTIVE

const char* name_of(Collective kind) {
  static constexpr const char* names[] = {"all_sum",     "all_max",   "all_min",    "all_gather",
                                          "sum_scatter", "broadcast", "all_to_all", "barrier",
                                          "split",       "send",      "recv"};
  return names[static_cast<int>(kind)];
}

array collective(Collective kind, const array& x, const Ref<Channel>& channel, int peer) {
  const char* name = name_of(kind);
  Shape shape = x.shape();
  const int64_t n = channel->size();
  switch (kind) {
    case Collective::all_gather:
      if (shape.empty())
        shape = {n};
      else
        shape[0] *= n;
      break;
    case Collective::sum_scatter:
    case Collective::all_to_all:
      if (shape.empty() || shape[0] % n != 0)
        fail<ValueError>(name, shape.empty() ? "a scalar" : cat("shape ", to_string(shape)),
                         "; a first axis that the group's ", n, " members divide is accepted");
      if (kind == Collective::sum_scatter) shape[0] /= n;
      break;
    case Collective::broadcast:
    case Collective::send:
      check_peer(name, peer, *channel, kind == Collective::send);
      break;
    default:
      break;
  }
  const array ticket = constant_ticket(ticket_for(*channel, kind));
  return make_node(op_of(kind), std::move(shape), x.dtype(), channel->queue(),
                   attrs_of(kind, channel, peer), x, ticket);
}

array receive(const Shape& shape, Dtype dtype, int src, const Ref<Channel>& channel) {
  for (int64_t n : shape)
    if (n < 0)
      fail<ValueError>("recv", "shape ", to_string(shape), "; lengths must not be negative");
  check_peer("recv", src, *channel, true);
  // Nothing would make it run again: it depends on no input of the function.
  if (is_recording())
    fail<ValueError>("recv",
                     "in a function that is compiled or exported; receive before the "
                     "call, and pass the array");
  Ref<CollectiveAttrs> a(new CollectiveAttrs);
  a->channel = channel;
  a->kind = Collective::recv;
  a->peer = src;
  a->shape = shape;
  a->dtype = dtype;
  a->order = next_order();
  const array ticket = constant_ticket(ticket_for(*channel, Collective::recv));
  array result = make_node(op_recv, shape, dtype, channel->queue(), Ref<const Attrs>(a), ticket);
  // A derivative that is being taken finds it, and is refused there.
  result.node()->trace = current_trace();
  return result;
}

}  // namespace mlx::core
