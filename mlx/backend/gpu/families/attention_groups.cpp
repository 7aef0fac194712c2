// Kernels of attention by products of warpgroups: the steps they serve, their forms and launches.
#include "mlx/backend/gpu/families/attention_groups.h"

#include <algorithm>
#include <limits>

namespace mlx::core::gpu {

namespace {

constexpr int64_t kFewestQueries = 64, kMostGroupFeatures = 256, kMostFeaturesOfVjp = 128;
constexpr int kStages = 2, kQueriesAtOnce = 64;
/// Queries of a head have facts up to a multiple of this: whole blocks of the kernel that reads
/// them.
constexpr int64_t kFactRows = 128;

bool fits(const Layout& q, const Layout& k, const Layout& v, const DeviceState& device,
          int64_t most) {
  const int64_t features = q.shape[3], width = v.shape[3];
  const int64_t parts = q.shape[0] * q.shape[1] * std::max(q.shape[2], k.shape[2]);
  return device.hardware->warpgroups() && (q.dtype == float16 || q.dtype == bfloat16) &&
         k.dtype == q.dtype && v.dtype == q.dtype && q.shape[2] >= kFewestQueries &&
         k.shape[2] > 0 && features > 0 && width > 0 && std::max(features, width) <= most &&
         features % 8 == 0 && width % 8 == 0 && parts < std::numeric_limits<int>::max();
}

TiledArray tiled(const Layout& l) {
  TiledArray a{.type = l.dtype.val()};
  for (int axis = 0; axis < 4; ++axis) a.sizes[3 - axis] = l.shape[axis];
  for (int axis = 0; axis < 3; ++axis) {
    int64_t &size = a.sizes[3 - axis], &step = a.steps[2 - axis];
    step = l.strides[axis];
    if (size > 1 && step != 0) continue;
    // The only one: steps are of no meaning.
    size = 1;
    step = 8;
  }
  return a;
}
/// The factors of numbers of batches and heads: 0 where there is one for all.
void set_steps(int64_t (&to)[2], const TiledArray& a, int64_t batches, int64_t heads) {
  to[0] = a.sizes[3] == batches;
  to[1] = a.sizes[2] == heads;
}

/// Whether tiles can be copied: rows follow each other at a distance, and axes go forward.
bool has_tiles(const Layout& l) {
  auto forward = [&](int axis) { return l.shape[axis] <= 1 || l.strides[axis] >= 0; };
  return has_aligned_rows(l) && forward(0) && forward(1) &&
         (l.shape[2] <= 1 || l.strides[2] >= l.shape[3]);
}

/// The type of a mask's elements in the source of kernels.
const char* mask_type(const Step& step, const AttentionAttrs& attrs) {
  return attrs.has_mask ? element_type(step.operands[3].dtype) : "void";
}
/// Columns of whole tiles that have all features of queries, and of values.
int columns_of(const Step& step) {
  const int64_t most = std::max(step.operands[0].shape[3], step.operands[2].shape[3]);
  return static_cast<int>(ceil_div(most, 64) * 64);
}

}  // namespace

bool has_groups(const Layout& q, const Layout& k, const Layout& v, const DeviceState& device) {
  return fits(q, k, v, device, kMostGroupFeatures);
}
bool has_groups_vjp(const Layout& q, const Layout& k, const Layout& v, const DeviceState& device) {
  return fits(q, k, v, device, kMostFeaturesOfVjp);
}

void ask_for_tiles(std::span<const Layout> operands, int n_inputs, Requirements& needs) {
  needs.inputs.resize(n_inputs, Accepts::any);
  for (int i = 0; i < 3; ++i)
    if (!has_tiles(operands[i])) needs.inputs[i] = Accepts::rows;
}

GroupKernel::GroupKernel(DeviceState& device, KernelOn<device::AttentionGroupArguments> kernel,
                         Form form, int shared)
    : kernel_(std::move(kernel)), form_(form), shared_(shared) {
  device.hardware->warpgroups()->allow(kernel_.function().handle, shared_);
}
void GroupKernel::launch(const Enqueue& to, int64_t heads, int64_t rows,
                         const device::AttentionGroupArguments& p) const {
  const DeviceState& device = to.device();
  const int64_t parts = heads * ceil_div(rows, 64 * form_.groups);
  const ArgumentBlock<device::AttentionGroupArguments> block{.p = p};
  to.queue.enqueue({.function = kernel_.function(),
                    .blocks = std::min<int64_t>(parts, device.processors),
                    .arguments = block.all(),
                    .threads = (form_.groups + 1) * device::kGroupThreads,
                    .shared = shared_});
}

GroupOperands::GroupOperands(const Step& step, const DeviceState& device)
    : q_(tiled(step.operands[0])), k_(tiled(step.operands[1])), v_(tiled(step.operands[2])) {
  const Layout &q = step.operands[0], &k = step.operands[1], &v = step.operands[2];
  given_ = q_;
  const int64_t sizes[4] = {v.shape[3], q.shape[2], q.shape[1], q.shape[0]};
  int64_t elements = 1;
  for (int axis = 0; axis < 4; ++axis) {
    given_.sizes[axis] = sizes[axis];
    elements *= sizes[axis];
    if (axis < 3) given_.steps[axis] = elements;
  }
  // Keys and values of heads that blocks read at the same time, in a part of the cache.
  const int64_t bytes = k.shape[2] * (k.shape[3] + v.shape[3]) * q.dtype.size();
  const int64_t key_heads = std::max<int64_t>(1, device.hardware->cache / 5 * 2 / bytes);
  const auto& attrs = attrs_as<AttentionAttrs>(step.attrs.get());
  together_ = attrs.causal ? key_heads * (q.shape[1] / k.shape[1]) : 1;
}

device::AttentionGroupArguments GroupOperands::arguments(
    const Enqueue& to, const device::AttentionArguments& p) const {
  device::AttentionGroupArguments a = {};
  a.q = to.device().hardware->warpgroups()->map(q_, p.q, kQueriesAtOnce);
  a.forward = p;
  set_steps(a.q_steps, q_, p.batches, p.heads);
  set_steps(a.k_steps, k_, p.batches, p.key_heads);
  set_steps(a.v_steps, v_, p.batches, p.key_heads);
  a.together = together_;
  return a;
}
void GroupOperands::map_keys(const Enqueue& to, const GroupKernel& kernel,
                             device::AttentionGroupArguments& a) const {
  Warpgroups& groups = *to.device().hardware->warpgroups();
  const int rows = device::rows_of_copy(kernel.rows_at_once());
  a.k = groups.map(k_, a.forward.k, rows);
  a.v = groups.map(v_, a.forward.v, rows);
}
device::TileMap GroupOperands::map_of_cotangents(const Enqueue& to, int64_t address) const {
  return to.device().hardware->warpgroups()->map(given_, address, kQueriesAtOnce);
}

//--- attention

AttentionGroups::AttentionGroups(const Step& step, const AttentionAttrs& attrs, DeviceState& device)
    : operands_(step, device) {
  const int columns = columns_of(step);
  // Registers and shared memory bound the keys; a causal mask hides keys by parts of tiles.
  const int keys_of_128 = attrs.causal || attrs.has_mask ? 128 : 176;
  const GroupKernel::Form f = {.groups = columns <= 64 ? 3 : 2,
                               .rows = columns <= 64    ? 128
                                       : columns <= 128 ? keys_of_128
                                       : columns <= 192 ? 96
                                                        : 80,
                               .stages = kStages};
  kernel_ = {device,
             kernels::attention_groups(device, step.operands[0].dtype, mask_type(step, attrs),
                                       columns, columns, f.rows, f.groups, f.stages),
             f, device::group_bytes(columns, columns, f.rows, f.groups, f.stages)};
}
void AttentionGroups::launch(const Enqueue& to, const device::AttentionArguments& p) const {
  device::AttentionGroupArguments a = operands_.arguments(to, p);
  operands_.map_keys(to, kernel_, a);
  kernel_.launch(to, p.batches * p.heads, p.queries, a);
}

//--- its derivative

AttentionGroupsVjp::AttentionGroupsVjp(const Step& step, const AttentionAttrs& attrs,
                                       DeviceState& device)
    : operands_(step, device) {
  const int columns = columns_of(step);
  auto make = [&](const auto& maker, GroupKernel::Form f, int bytes) {
    return GroupKernel(device,
                       maker(device, step.operands[0].dtype, mask_type(step, attrs), columns,
                             columns, f.rows, f.groups, f.stages),
                       f, bytes);
  };
  auto bytes = [&](GroupKernel::Form f, bool facts) {
    return device::vjp_bytes(columns, columns, 64 * f.groups, f.rows, f.stages, facts);
  };
  const GroupKernel::Form facts = {.groups = 2, .rows = 128, .stages = kStages};
  const GroupKernel::Form queries = {
      .groups = 2, .rows = columns <= 64 ? 128 : 96, .stages = kStages};
  const GroupKernel::Form keys = {
      .groups = columns <= 64 ? 3 : 2, .rows = kQueriesAtOnce, .stages = 3};
  facts_ = make(kernels::attention_groups_facts, facts,
                device::group_bytes(columns, columns, facts.rows, facts.groups, facts.stages));
  queries_ = make(kernels::attention_groups_queries, queries, bytes(queries, false));
  keys_ = make(kernels::attention_groups_keys, keys, bytes(keys, true));
}
void AttentionGroupsVjp::launch(const Enqueue& to, const device::AttentionVjpArguments& p) const {
  const device::AttentionArguments& f = p.forward;
  device::AttentionGroupArguments a = operands_.arguments(to, f);
  a.given = operands_.map_of_cotangents(to, p.given);
  a.cotangents = p.given;
  a.keys = p.keys;
  a.values = p.values;
  a.facts = p.rows;
  a.facts_rows = ceil_div(f.queries, kFactRows) * kFactRows;
  for (const GroupKernel* kernel : {&facts_, &queries_}) {
    operands_.map_keys(to, *kernel, a);
    kernel->launch(to, f.batches * f.heads, f.queries, a);
  }
  operands_.map_keys(to, keys_, a);
  keys_.launch(to, f.batches * f.key_heads, f.keys, a);
}
size_t AttentionGroupsVjp::workspace(int64_t heads, int64_t queries) {
  const int64_t rows = heads * ceil_div(queries, kFactRows) * kFactRows;
  return static_cast<size_t>(rows) * sizeof(device::GroupFacts);
}

}  // namespace mlx::core::gpu
