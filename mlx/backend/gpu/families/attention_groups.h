// Attention of many queries in 16 bits by products of warpgroups, on devices that have them.
#pragma once

#include <initializer_list>

#include "mlx/backend/gpu/families/attention_tiles.h"
#include "mlx/backend/gpu/kernels/group_arguments.h"
#include "mlx/backend/gpu/libraries.h"

namespace mlx::core::gpu {

/// Whether these kernels serve attention of queries, keys and values, by shapes and dtypes alone.
bool has_groups(const Layout& q, const Layout& k, const Layout& v, const DeviceState& device);
/// The same of their derivative.
bool has_groups_vjp(const Layout& q, const Layout& k, const Layout& v, const DeviceState& device);
/// Asks for layouts of queries, keys and values whose tiles can be copied.
void ask_for_tiles(std::span<const Layout> operands, int n_inputs, Requirements& needs);
/// Whether the addresses of arrays are those that copies of tiles begin at.
inline bool has_tile_addresses(std::initializer_list<int64_t> addresses) {
  int64_t all = 0;
  for (int64_t a : addresses) all |= a;
  return all % 16 == 0;
}

/// A kernel of warpgroups and its launches.
class GroupKernel {
 public:
  /// Groups that compute, of 64 queries or keys each, rows that a copy goes for, and stages of it.
  struct Form {
    int groups, rows, stages;
  };
  GroupKernel() = default;
  GroupKernel(DeviceState& device, KernelOn<device::AttentionGroupArguments> kernel, Form form,
              int shared);
  /// Enqueues the work on so many rows of each of so many heads, by a block on each processor.
  void launch(const Enqueue& to, int64_t heads, int64_t rows,
              const device::AttentionGroupArguments& p) const;
  int rows_at_once() const { return form_.rows; }

 private:
  KernelOn<device::AttentionGroupArguments> kernel_;
  Form form_ = {};
  int shared_ = 0;
};

/// The operands of a step as copies of tiles read them.
class GroupOperands {
 public:
  GroupOperands(const Step& step, const DeviceState& device);
  /// The arguments of kernels on arrays whose addresses `p` has, without maps of keys and values.
  device::AttentionGroupArguments arguments(const Enqueue& to,
                                            const device::AttentionArguments& p) const;
  /// Sets the maps of keys and values for a kernel.
  void map_keys(const Enqueue& to, const GroupKernel& kernel,
                device::AttentionGroupArguments& a) const;
  /// The map of cotangents of results, in rows.
  device::TileMap map_of_cotangents(const Enqueue& to, int64_t address) const;

 private:
  TiledArray q_, k_, v_, given_;
  int64_t together_;
};

/// Attention itself.
class AttentionGroups {
 public:
  AttentionGroups(const Step& step, const AttentionAttrs& attrs, DeviceState& device);
  void launch(const Enqueue& to, const device::AttentionArguments& p) const;

 private:
  GroupOperands operands_;
  GroupKernel kernel_;
};

/// The derivative, by three kernels.
class AttentionGroupsVjp {
 public:
  AttentionGroupsVjp(const Step& step, const AttentionAttrs& attrs, DeviceState& device);
  /// `p`: with addresses, `rows` those of the facts.
  void launch(const Enqueue& to, const device::AttentionVjpArguments& p) const;
  /// Bytes of facts of so many queries of each of so many heads.
  static size_t workspace(int64_t heads, int64_t queries);

 private:
  GroupOperands operands_;
  GroupKernel facts_, queries_, keys_;
};

}  // namespace mlx::core::gpu
