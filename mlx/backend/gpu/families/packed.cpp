// Packing and unpacking, and products with packed matrices.
#include <algorithm>
#include <optional>

#include "mlx/backend/gpu/families/family.h"
#include "mlx/backend/gpu/families/fused.h"
#include "mlx/backend/gpu/families/grouped.h"
#include "mlx/backend/gpu/families/index.h"
#include "mlx/backend/gpu/families/packed_tiles.h"
#include "mlx/backend/gpu/families/step_kernel.h"
#include "mlx/backend/gpu/libraries.h"
#include "mlx/ops/quantized.h"

namespace mlx::core::gpu {

namespace {

using device::PackedArguments;
using device::PackedProductArguments;

bool is_short_float(Dtype t) { return t == float16 || t == bfloat16 || t == float32; }

/// Mode and bits in the source of a kernel.
std::string packed_form(const Packing& p) {
  constexpr const char* names[] = {"affine", "mxfp4", "mxfp8", "nvfp4"};
  return cat("Packed::", names[static_cast<int>(p.mode)], ", ", p.bits);
}
Function packed_kernel(const char* declared, const char* arguments, const std::string& call,
                       DeviceState& device) {
  return device.kernel("packed",
                       cat(declared, "(packed_kernel, ", arguments, ", p) { ", call, "(p); }\n"),
                       "packed_kernel");
}

/// The least number of elements that a thread unpacks.
constexpr int64_t kUnpacked = 8;

/// Packing, unpacking, and one after the other: elementwise except the groups.
class PackKernel final : public OpKernel {
 public:
  enum Kind { pack, unpack, round };

  PackKernel(const Step& step, Kind kind, DeviceState& device) : kind_(kind) {
    const Packing packing = kind == unpack ? attrs_as<DequantizeAttrs>(step.attrs.get()).packing
                                           : attrs_as<Packing>(step.attrs.get());
    for (const Layout& l : step.operands) offsets_.push_back(l.offset * l.dtype.size());
    const Layout &in = step.operands[0], &out = step.operands[step.n_inputs];
    arguments_.group = packing.group;
    arguments_.count = num_elements(kind == unpack ? out.shape : in.shape);
    affine_ = packing.affine();
    const int inputs = kind == unpack ? 2 + affine_ : 1;
    global_ = step.n_inputs > inputs ? inputs : 0;
    out_ = step.n_inputs;
    std::string call = cat(kind == pack    ? "quantize<"
                           : kind == round ? "quantize_round<"
                                           : "dequantize<",
                           packed_form(packing), ", ");
    if (kind == unpack) call += cat(element_type(step.operands[1].dtype), ", ");
    call += cat(element_type(kind == unpack ? out.dtype : in.dtype), ">");
    kernel_.function = packed_kernel("MLX_KERNEL", "PackedArguments", call, device);
    blocks_ = blocks_for(arguments_.count / (kind == unpack ? kUnpacked : packing.group));
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    if (arguments_.count == 0) return;
    auto address = [&](int k) { return static_cast<int64_t>(operands[k]) + offsets_[k]; };
    ArgumentBlock<PackedArguments> block{.p = arguments_};
    PackedArguments& p = block.p;
    if (global_) p.global = address(global_);
    const int packed = kind_ == pack ? out_ : 0;  // where words, scales and biases are
    if (kind_ != round) {
      p.words = address(packed);
      p.scales = address(packed + 1);
      if (affine_) p.biases = address(packed + 2);
    }
    if (kind_ != unpack) p.in = address(0);
    if (kind_ != pack) p.out = address(out_);
    kernel_.launch(to, blocks_, block.all());
  }

 private:
  PackedArguments arguments_ = {};
  Kernel kernel_;
  SmallVector<int64_t, 8> offsets_;
  const Kind kind_;
  bool affine_ = false;
  int global_ = 0, out_ = 0;
  int64_t blocks_ = 0;
};

Shape leading(const Layout& l) { return {l.shape.begin(), l.shape.end() - 2}; }

/// A product without the indices of matrices. False where there are too many axes.
bool plan_packed(const Attrs* attrs, std::span<const Layout> operands, int n_inputs, bool gathers,
                 PackedProductArguments& p) {
  const auto& a = attrs_as<QuantizedMatmulAttrs>(attrs);
  const Layout &x = operands[0], &w = operands[1], &out = operands[n_inputs];
  p.m = x.shape[x.shape.size() - 2];
  p.k = x.shape.back();
  p.n = out.shape.back();
  p.rows = w.shape[w.shape.size() - 2];
  p.w.columns = a.transpose ? p.k : p.n;
  p.w.group = a.packing.group;
  const Shape batch = leading(out);
  p.count = num_elements(batch);
  if (gathers) return true;
  auto counted = [&](const Layout& l) {
    const Shape own = leading(l);
    Strides strides(batch.size(), 0);
    int64_t step = 1;
    for (size_t d = own.size(); d-- > 0; step *= own[d])
      if (own[d] != 1) strides[batch.size() - own.size() + d] = step;
    return strides;
  };
  if (num_elements(leading(w)) == 1 && leading(x) == batch) {  // one product of all rows
    p.m *= p.count;
    p.count = 1;
  }
  device::Axes* const axes[] = {&p.x_batch, &p.w_batch};
  return set_axes(axes, batch, {counted(x), counted(w)});
}

/// A product by a library, of a matrix that is unpacked to the workspace before: as a whole, or as
/// many rows at a time as the cache holds.
struct Unpacked {
  int64_t rows = 0;  ///< of the packed matrices, at a time; 0 where there is no such product
  int64_t matrices = 1;
  size_t bytes = 0;
};
Unpacked plan_unpacked(const Attrs* attrs, std::span<const Layout> operands,
                       const PackedProductArguments& p, const DeviceState& device) {
  const auto& a = attrs_as<QuantizedMatmulAttrs>(attrs);
  const Layout& x = operands[0];
  if (p.m * p.n * p.k * p.count == 0 || p.x_batch.rank > 1 || p.w_batch.rank > 1 ||
      !has_products(*device.hardware, x.dtype))
    return {};
  Unpacked u{.rows = p.rows, .matrices = num_elements(leading(operands[1]))};
  const int64_t row = p.w.columns * x.dtype.size();
  if (a.transpose && p.count == 1)
    u.rows = std::clamp<int64_t>(device.hardware->cache / row, 1, u.rows);
  u.bytes = static_cast<size_t>(u.matrices * u.rows * row);
  constexpr size_t kMostBytes = size_t{256} << 20;
  if (u.matrices > 1 && u.bytes > kMostBytes) return {};
  return u;
}
/// Products with few rows of x are memory-bound: they read the packed matrix itself.
constexpr int64_t kFewRows = 8;
bool has_few_rows(const Attrs* attrs, const PackedProductArguments& p) {
  return attrs_as<QuantizedMatmulAttrs>(attrs).transpose && p.m <= kFewRows;
}

/// The kernel by fragments, if one serves a product.
PackedTiles fragments_of(const Attrs* attrs, std::span<const Layout> operands, bool gathers,
                         const PackedProductArguments& p, const DeviceState& device) {
  const auto& a = attrs_as<QuantizedMatmulAttrs>(attrs);
  const Dtype x = operands[0].dtype, scale = operands[2].dtype;
  if (!device.hardware->fragments || !a.transpose) return {};
  if (PackedTiles few = packed_stages(a.packing, x, scale, p); few.blocks) return few;
  if (gathers && p.m < kFewRows) return {};
  return packed_tiles(a.packing, x, scale, p);
}

/// The kernel by warpgroups, if one serves a product.
PackedWarpgroups warpgroups_of(const Attrs* attrs, std::span<const Layout> operands,
                               const PackedProductArguments& p, const DeviceState& device) {
  const auto& a = attrs_as<QuantizedMatmulAttrs>(attrs);
  if (!a.transpose) return {};
  return packed_warpgroups(a.packing, operands[0].dtype, operands[2].dtype, p, device);
}

/// Unpacks the matrices of a step's product, in the dtype of its other factor.
class Unpack {
 public:
  Unpack(const Step& step, const PackedArguments& p, DeviceState& device) : arguments_(p) {
    const Packing& packing = attrs_as<QuantizedMatmulAttrs>(step.attrs.get()).packing;
    const Dtype type = step.operands[0].dtype, unit = step.operands[2].dtype;
    affine_ = packing.affine();
    bits_ = packing.bits;
    unit_size_ = unit.size();
    kernel_.function = packed_kernel("MLX_KERNEL", "PackedArguments",
                                     cat("dequantize<", packed_form(packing), ", ",
                                         element_type(unit), ", ", element_type(type), ">"),
                                     device);
  }
  /// `count` elements from `first` on, which begins a group. `address`: of an operand of the step.
  template <class F>
  void launch(const Enqueue& to, F address, int64_t first, int64_t count, int64_t out) const {
    ArgumentBlock<PackedArguments> block{.p = arguments_};
    block.p.count = count;
    block.p.words = address(1) + first * bits_ / 8;
    block.p.scales = address(2) + first / arguments_.group * unit_size_;
    if (affine_) block.p.biases = address(3) + first / arguments_.group * unit_size_;
    block.p.out = out;
    kernel_.launch(to, blocks_for(count / kUnpacked), block.all());
  }

 private:
  const PackedArguments arguments_;
  Kernel kernel_;
  int64_t bits_ = 0, unit_size_ = 0;
  bool affine_ = false;
};

class UnpackedProduct final : public OpKernel {
 public:
  UnpackedProduct(const Step& step, const PackedProductArguments& p, const Unpacked& u,
                  DeviceState& device)
      : plan_(u),
        unpack_(step, p.w, device),
        workspace_(step.workspace),
        out_(step.n_inputs),
        rows_(p.rows),
        columns_(p.w.columns) {
    const auto& a = attrs_as<QuantizedMatmulAttrs>(step.attrs.get());
    const Dtype type = step.operands[0].dtype;
    for (const Layout& l : step.operands) offsets_.push_back(l.offset * l.dtype.size());
    size_ = type.size();
    transpose_ = a.transpose;
    const int64_t matrix = p.rows * p.w.columns;
    auto step_of = [](const device::Axes& axes, int64_t n) {
      return axes.rank == 1 ? axes.strides[0] * n : 0;
    };
    gemm_ = {.a = {0, p.k, step_of(p.x_batch, p.m * p.k), false},
             .b = {0, p.w.columns, step_of(p.w_batch, matrix), a.transpose},
             .out = {0, p.n, p.m * p.n, false},
             .m = p.m,
             .n = p.n,
             .k = p.k,
             .count = p.count,
             .type = type,
             .alpha = 1,
             .beta = 0};
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    auto address = [&](int k) { return static_cast<int64_t>(operands[k]) + offsets_[k]; };
    Gemm g = gemm_;
    g.a.address = static_cast<uint64_t>(address(0));
    g.b.address = operands[workspace_];
    for (int64_t row = 0; row < rows_; row += plan_.rows) {
      const int64_t rows = std::min(plan_.rows, rows_ - row);
      unpack_.launch(to, address, row * columns_, plan_.matrices * rows * columns_,
                     static_cast<int64_t>(operands[workspace_]));
      if (transpose_) g.n = rows;
      g.out.address = static_cast<uint64_t>(address(out_) + row * size_);
      to.device().hardware->products()->run(to.queue, g);
    }
  }

 private:
  const Unpacked plan_;
  const Unpack unpack_;
  Gemm gemm_ = {};
  SmallVector<int64_t, 8> offsets_;
  const int workspace_, out_;
  const int64_t rows_, columns_;
  int64_t size_ = 0;
  bool transpose_ = false;
};

bool set_packed_indices(std::span<const Layout> operands, int n_inputs, Indices& to) {
  const int lhs = n_inputs - 2, rhs = n_inputs - 1;
  return to.set("gather_qmm", operands, operands[lhs].shape,
                {{lhs, 0, operands[0].shape[0], 1, 1}, {rhs, 0, operands[1].shape[0], 1, 1}});
}

/// Gathered products by a library, of matrices that are unpacked to the workspace before: as a
/// whole, or some of their rows at a time.
struct GroupedUnpacked {
  std::optional<GroupedProducts> products;  ///< none where these products are not served
  int64_t columns = 0;                      ///< of a product at a time
  size_t weights = 0;                       ///< bytes of unpacked matrices
  size_t bytes() const { return products ? products->workspace() + weights : 0; }
};
GroupedProblem grouped_problem(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
                               const PackedProductArguments& p) {
  return {.dtype = operands[0].dtype,
          .positions = num_elements(operands[n_inputs - 2].shape),
          .matrices = operands[1].shape[0],
          .m = p.m,
          .n = p.n,
          .k = p.k,
          .x_matrix = p.m * p.k,
          .x_row = p.k,
          .x_column = 1,
          .transposed = attrs_as<QuantizedMatmulAttrs>(attrs).transpose,
          .columns = p.n};
}
GroupedUnpacked plan_grouped_packed(GroupedProblem q, const DeviceState& device) {
  constexpr int64_t kSome = 16;
  const int64_t most = 4 * device.hardware->cache;
  if (!q.served(device)) return {};
  const int64_t column = q.matrices * q.k * q.dtype.size();  // bytes of it in all matrices
  if (column * q.n > most) {
    if (!q.transposed) return {};
    q.columns = std::min(std::max(most / column / kSome * kSome, kSome), q.n);
  }
  return {GroupedProducts(q, device), q.columns,
          static_cast<size_t>((column * q.columns + 255) / 256 * 256)};
}

class GroupedPackedProduct final : public OpKernel {
 public:
  GroupedPackedProduct(const Step& step, const PackedProductArguments& p,
                       GroupedUnpacked plan_packed, DeviceState& device)
      : plan_(std::move(plan_packed)),
        unpack_(step, p.w, device),
        transpose_(attrs_as<QuantizedMatmulAttrs>(step.attrs.get()).transpose),
        workspace_(step.workspace),
        out_(step.n_inputs),
        matrices_(step.operands[1].shape[0]),
        n_(p.n),
        k_(p.k) {
    set_packed_indices({step.operands.data(), step.operands.size()}, step.n_inputs, indices_);
    for (const Layout& l : step.operands) offsets_.push_back(l.offset * l.dtype.size());
    plan_.products->prepare(device);
    element_ = step.operands[0].dtype.size();
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    auto address = [&](int k) { return static_cast<int64_t>(operands[k]) + offsets_[k]; };
    const auto weights = static_cast<int64_t>(operands[workspace_]);
    const auto p =
        plan_.products->begin(to,
                              {.x = address(0),
                               .out = address(out_),
                               .workspace = weights + static_cast<int64_t>(plan_.weights)},
                              indices_.at(to, operands));
    for (int64_t column = 0; column < n_; column += plan_.columns) {
      const int64_t columns = std::min(plan_.columns, n_ - column), matrix = columns * k_;
      if (columns == n_) {
        unpack_.launch(to, address, 0, matrices_ * matrix, weights);
      } else {
        for (int64_t e = 0; e < matrices_; ++e)
          unpack_.launch(to, address, (e * n_ + column) * k_, matrix,
                         weights + e * matrix * element_);
      }
      plan_.products->multiply(to, p, weights, transpose_ ? k_ : n_, matrix, column, columns);
    }
  }
  bool checks() const override { return true; }
  void raise(const device::ErrorRecord& record) const override { indices_.raise(record); }

 private:
  GroupedUnpacked plan_;
  const Unpack unpack_;
  Indices indices_;
  SmallVector<int64_t, 8> offsets_;
  const bool transpose_;
  const int workspace_, out_;
  const int64_t matrices_, n_, k_;
  int64_t element_ = 0;
};

/// Gathered products by a kernel that unpacks parts of the matrices in registers.
class PackedGroupsProduct final : public OpKernel {
 public:
  PackedGroupsProduct(const Step& step, const PackedProductArguments& p, PackedGroups groups,
                      DeviceState& device)
      : w_(p.w),
        groups_(std::move(groups)),
        affine_(attrs_as<QuantizedMatmulAttrs>(step.attrs.get()).packing.affine()),
        workspace_(step.workspace),
        out_(step.n_inputs) {
    set_packed_indices({step.operands.data(), step.operands.size()}, step.n_inputs, indices_);
    for (const Layout& l : step.operands) offsets_.push_back(l.offset * l.dtype.size());
    groups_.prepare(device);
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    auto address = [&](int k) { return static_cast<int64_t>(operands[k]) + offsets_[k]; };
    PackedArguments w = w_;
    w.words = address(1);
    w.scales = address(2);
    if (affine_) w.biases = address(3);
    groups_.launch(to,
                   {.x = address(0),
                    .out = address(out_),
                    .workspace = static_cast<int64_t>(operands[workspace_])},
                   w, indices_.at(to, operands));
  }
  bool checks() const override { return true; }
  void raise(const device::ErrorRecord& record) const override { indices_.raise(record); }

 private:
  const PackedArguments w_;
  PackedGroups groups_;
  Indices indices_;
  SmallVector<int64_t, 8> offsets_;
  const bool affine_;
  const int workspace_, out_;
};

class PackedProduct final : public OpKernel {
 public:
  PackedProduct(const Step& step, bool gathers, DeviceState& device)
      : gathers_(gathers), out_(step.n_inputs) {
    const auto& a = attrs_as<QuantizedMatmulAttrs>(step.attrs.get());
    const std::span<const Layout> operands(step.operands.data(), step.operands.size());
    plan_packed(step.attrs.get(), operands, step.n_inputs, gathers, arguments_);
    if (gathers) set_packed_indices(operands, step.n_inputs, indices_);
    for (const Layout& l : operands) offsets_.push_back(l.offset * l.dtype.size());
    affine_ = a.packing.affine();
    const PackedProductArguments& p = arguments_;
    const std::string types = cat(packed_form(a.packing), ", ", element_type(operands[2].dtype),
                                  ", ", element_type(operands[0].dtype), ", ");
    if (PackedWarpgroups w = warpgroups_of(step.attrs.get(), operands, p, device); w.blocks) {
      group_kernel_ = {kernels::packed_warpgroups(device, a.packing.bits, operands[0].dtype,
                                                  w.units, w.rows, w.split),
                       device::packed_bytes(a.packing.bits, w.rows, w.split), device};
      blocks_ = w.blocks;
      unaligned_ = std::move(w.unaligned);
      return;
    }
    if (PackedTiles tiles = fragments_of(step.attrs.get(), operands, gathers, p, device);
        tiles.blocks) {
      kernel_.function = packed_tiles_kernel(tiles.text, device);
      blocks_ = tiles.blocks;
      unaligned_ = std::move(tiles.unaligned);
      return;
    }
    const bool few = has_few_rows(step.attrs.get(), p);
    const int64_t rows = p.m <= 1 ? 1 : p.m <= 4 ? 4 : kFewRows;
    kernel_.function =
        packed_kernel("MLX_IN_STEP_KERNEL", "PackedProductArguments",
                      few ? cat("packed_rows<", types, rows, ">")
                          : cat("packed_product<", types, a.transpose ? "true>" : "false>"),
                      device);
    if (num_elements(operands[out_].shape) == 0) return;
    const int64_t work =
        few ? (p.count * p.n + 7) / 8 : p.count * ((p.m + 63) / 64) * ((p.n + 63) / 64);
    blocks_ = std::min<int64_t>(work, 1 << 30);
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    if (blocks_ == 0) return;
    auto address = [&](int k) { return static_cast<int64_t>(operands[k]) + offsets_[k]; };
    ArgumentBlock<PackedProductArguments> block{.p = arguments_};
    block.p.x = address(0);
    block.p.w.words = address(1);
    block.p.w.scales = address(2);
    if (affine_) block.p.w.biases = address(3);
    block.p.out = address(out_);
    if (gathers_) block.p.at = indices_.at(to, operands);
    const uint64_t packed = affine_ ? 0b1110 : 0b0110;
    block.p.given = !gathers_ && (to.given & packed) == packed;
    Kernel chosen = kernel_;
    // Arrays of other libraries begin where they like.
    const bool aligned =
        (block.p.x | block.p.w.words) % 16 == 0 && (block.p.w.scales | block.p.w.biases) % 4 == 0;
    if (aligned && group_kernel_) return group_kernel_.launch(to, blocks_, block.p);
    if (!unaligned_.empty() && !aligned)
      chosen.function = to.keep(packed_tiles_kernel(unaligned_, to.device()));
    chosen.launch(to, blocks_, block.all());
  }
  bool checks() const override { return gathers_; }
  void raise(const device::ErrorRecord& record) const override { indices_.raise(record); }

 private:
  PackedProductArguments arguments_ = {};
  Indices indices_;
  Kernel kernel_;
  PackedGroupKernel<PackedProductArguments> group_kernel_;  ///< serves aligned addresses
  std::string unaligned_;  ///< the text of a kernel for other addresses; or empty
  SmallVector<int64_t, 8> offsets_;
  const bool gathers_;
  bool affine_ = false;
  const int out_;
  int64_t blocks_ = 0;
};

bool all_in_rows(std::span<const Layout> operands, int n_inputs, Requirements& needs) {
  for (int k = 0; k < n_inputs; ++k) needs.inputs.push_back(Accepts::rows);
  for (size_t k = n_inputs; k < operands.size(); ++k)
    if (!is_row_contiguous(operands[k].shape, operands[k].strides)) return false;
  return true;
}
template <PackKernel::Kind kind>
bool find_pack(const Attrs*, std::span<const Layout> operands, int n_inputs, const DeviceState&,
               Requirements& needs) {
  if (kind == PackKernel::round) needs.in_place = 1;
  const Layout& floats = operands[kind == PackKernel::unpack ? n_inputs : 0];
  return is_short_float(floats.dtype) && all_in_rows(operands, n_inputs, needs);
}
template <PackKernel::Kind kind>
std::unique_ptr<const OpKernel> prepare_pack(const Step& step, DeviceState& device) {
  return std::make_unique<const PackKernel>(step, kind, device);
}
template <bool gathers>
bool find_packed_product(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
                         const DeviceState& device, Requirements& needs) {
  PackedProductArguments p = {};
  Indices indices;
  if (!is_short_float(operands[0].dtype) || !all_in_rows(operands, n_inputs, needs) ||
      !plan_packed(attrs, operands, n_inputs, gathers, p))
    return false;
  if constexpr (gathers) {
    const GroupedProblem q = grouped_problem(attrs, operands, n_inputs, p);
    const PackedGroups groups(attrs_as<QuantizedMatmulAttrs>(attrs).packing, operands[2].dtype, q,
                              device);
    needs.workspace = groups.served() ? groups.workspace() : plan_grouped_packed(q, device).bytes();
    return set_packed_indices(operands, n_inputs, indices);
  } else {
    if (!has_few_rows(attrs, p) && !fragments_of(attrs, operands, gathers, p, device).blocks &&
        !warpgroups_of(attrs, operands, p, device).blocks)
      needs.workspace = plan_unpacked(attrs, operands, p, device).bytes;
    return true;
  }
}
template <bool gathers>
std::unique_ptr<const OpKernel> prepare_packed_product(const Step& step, DeviceState& device) {
  if (step.workspace >= 0) {
    const std::span<const Layout> operands(step.operands.data(), step.operands.size());
    PackedProductArguments p = {};
    plan_packed(step.attrs.get(), operands, step.n_inputs, gathers, p);
    if (gathers) {
      const GroupedProblem q = grouped_problem(step.attrs.get(), operands, step.n_inputs, p);
      PackedGroups groups(attrs_as<QuantizedMatmulAttrs>(step.attrs.get()).packing,
                          operands[2].dtype, q, device);
      if (groups.served())
        return std::make_unique<const PackedGroupsProduct>(step, p, std::move(groups), device);
      return std::make_unique<const GroupedPackedProduct>(step, p, plan_grouped_packed(q, device),
                                                          device);
    }
    const Unpacked u = plan_unpacked(step.attrs.get(), operands, p, device);
    if (u.rows > 0) return std::make_unique<const UnpackedProduct>(step, p, u, device);
  }
  return std::make_unique<const PackedProduct>(step, gathers, device);
}

constexpr KernelEntry kPackedKernels[] = {
    {"quantize", find_pack<PackKernel::pack>, prepare_pack<PackKernel::pack>},
    {"dequantize", find_pack<PackKernel::unpack>, prepare_pack<PackKernel::unpack>},
    {"quantize_round", find_pack<PackKernel::round>, prepare_pack<PackKernel::round>},
    {"quantized_matmul", find_packed_product<false>, prepare_packed_product<false>},
    {"gather_qmm", find_packed_product<true>, prepare_packed_product<true>}};

}  // namespace

const std::span<const KernelEntry> packed_kernels = kPackedKernels;

}  // namespace mlx::core::gpu
