// The table of published names, and how attributes become published arguments.
#include "mlx/transforms/published_ops.h"

#include <algorithm>
#include <cctype>
#include <span>
#include <string_view>
#include <utility>

namespace mlx::core {

namespace {

using Fields = std::vector<ExportAttribute>;

struct FieldList final : AttrVisitor {
  Fields out;
  void visit(const char*, int64_t& v) override { out.emplace_back(v); }
  void visit(const char*, double& v) override { out.emplace_back(v); }
  void visit(const char*, std::string& v) override { out.emplace_back(v); }
  void visit(const char*, Shape& v) override { out.emplace_back(v); }
  void visit(const char*, std::vector<double>& v) override { out.emplace_back(v); }
};

int64_t number(const ExportAttribute& a) { return std::get<int64_t>(a); }
bool flag(const ExportAttribute& a) { return number(a) != 0; }
std::vector<int> int_list(const ExportAttribute& a) {
  const Shape& s = std::get<Shape>(a);
  return {s.begin(), s.end()};
}
Dtype dtype(const ExportAttribute& a) { return dtype_from_name(std::get<std::string>(a)); }

/// The published number of a kind, or -1.
template <size_t N>
int64_t renumbered(const int (&table)[N], const ExportAttribute& kind) {
  const int64_t k = number(kind);
  return k >= 0 && k < static_cast<int64_t>(N) ? table[k] : -1;
}

// Indexed by Reduction: sum, mean, prod, max, min, all, any, argmax, argmin.
constexpr int reductions[] = {2, -1, 3, 5, 4, 0, 1, 1, 0};
// Indexed by ScanKind: sum, prod, max, min.
constexpr int scans[] = {2, 3, 0, 1};
// Indexed by ScatterMode: set, add, multiply, divide, maximum, minimum.
constexpr int scatters[] = {4, 2, 3, -1, 0, 1};
constexpr int scatters_along_axis[] = {1, 0};

using Translate = bool (*)(const Fields& f, size_t ndim, PublishedOp& out);

bool reduction(const Fields& f, PublishedOp& out, ExportAttribute axes) {
  const int64_t kind = renumbered(reductions, f[0]);
  if (kind < 0) return false;
  out.arguments = {kind, std::move(axes)};
  if (!flag(f[2])) out.squeezed = int_list(f[1]);
  return true;
}

bool sorting(const Fields& f, PublishedOp& out, const char* partition) {
  out.arguments = {number(f[0])};
  if (number(f[1]) < 0) return true;
  out.name = partition;
  out.arguments = {number(f[1]), number(f[0])};
  return true;
}

struct Row {
  const char* name;
  Translate translate;  ///< null: no arguments, or the same ones
};

#define ARGUMENTS(...)                                   \
  [](const Fields& f, size_t, PublishedOp& out) {        \
    return out.arguments = {__VA_ARGS__}, (void)f, true; \
  }

using Entry = std::pair<std::string_view, Row>;

/// Elementwise ops whose published name is not their own in capitals.
constexpr Entry elementwise[] = {
    {"arccos", {"ArcCos", nullptr}},
    {"arccosh", {"ArcCosh", nullptr}},
    {"arcsin", {"ArcSin", nullptr}},
    {"arcsinh", {"ArcSinh", nullptr}},
    {"arctan", {"ArcTan", nullptr}},
    {"arctan2", {"ArcTan2", nullptr}},
    {"arctanh", {"ArcTanh", nullptr}},
    {"erfinv", {"ErfInv", nullptr}},
    {"logaddexp", {"LogAddExp", nullptr}},
    {"rint", {"Round", nullptr}},
    {"where", {"Select", nullptr}},
    {"log2", {"Log", ARGUMENTS(int64_t{0})}},
    {"log10", {"Log", ARGUMENTS(int64_t{1})}},
    {"log", {"Log", ARGUMENTS(int64_t{2})}},
    {"sqrt", {"Sqrt", ARGUMENTS(false)}},
    {"rsqrt", {"Sqrt", ARGUMENTS(true)}},
    {"equal", {"Equal", ARGUMENTS(false)}},
    {"bitwise_and", {"BitwiseBinary", ARGUMENTS(int64_t{0})}},
    {"bitwise_or", {"BitwiseBinary", ARGUMENTS(int64_t{1})}},
    {"bitwise_xor", {"BitwiseBinary", ARGUMENTS(int64_t{2})}},
    {"left_shift", {"BitwiseBinary", ARGUMENTS(int64_t{3})}},
    {"right_shift", {"BitwiseBinary", ARGUMENTS(int64_t{4})}},
};

/// Casts, views, copies.
constexpr Entry views[] = {
    {"cast", {"AsType", ARGUMENTS(dtype(f[0]))}},
    {"view", {"View", ARGUMENTS(dtype(f[0]))}},
    {"reshape", {"Reshape", nullptr}},
    {"flatten", {"Flatten", nullptr}},
    {"unflatten", {"Unflatten", nullptr}},
    {"expand_dims", {"ExpandDims", ARGUMENTS(int_list(f[0]))}},
    {"squeeze", {"Squeeze", ARGUMENTS(int_list(f[0]))}},
    {"transpose", {"Transpose", ARGUMENTS(int_list(f[0]))}},
    {"broadcast_to", {"Broadcast", nullptr}},
    {"as_strided", {"AsStrided", nullptr}},
    {"slice", {"Slice", nullptr}},
    {"slice_update", {"SliceUpdate", ARGUMENTS(int64_t{4}, f[0], f[1], f[2])}},
    {"concatenate", {"Concatenate", nullptr}},
    {"depends", {"Depends", nullptr}},
    {"contiguous", {"Contiguous", ARGUMENTS(flag(f[0]))}},
};

/// Reductions, scans, sorting.
constexpr Entry along_axes[] = {
    {"reduce",
     {"Reduce",
      [](const Fields& f, size_t, PublishedOp& out) { return reduction(f, out, int_list(f[1])); }}},
    {"arg_reduce",
     {"ArgReduce",
      [](const Fields& f, size_t, PublishedOp& out) {
        const auto axes = int_list(f[1]);
        return axes.size() == 1 && reduction(f, out, int64_t{axes[0]});
      }}},
    {"scan",
     {"Scan",
      [](const Fields& f, size_t, PublishedOp& out) {
        const int64_t kind = renumbered(scans, f[0]);
        out.arguments = {kind, f[1], flag(f[2]), flag(f[3])};
        return kind >= 0;
      }}},
    {"sort",
     {"Sort",
      [](const Fields& f, size_t, PublishedOp& out) { return sorting(f, out, "Partition"); }}},
    {"argsort",
     {"ArgSort",
      [](const Fields& f, size_t, PublishedOp& out) { return sorting(f, out, "ArgPartition"); }}},
    {"searchsorted", {"SearchSorted", ARGUMENTS(flag(f[0]))}},
    {"softmax",
     {"Softmax",
      [](const Fields& f, size_t ndim, PublishedOp& out) {
        out.arguments = {true};  // of the last axis, summed in float32
        return number(f[0]) + 1 == static_cast<int64_t>(ndim);
      }}},
};

/// Indexing.
constexpr Entry indexing[] = {
    {"take_along_axis", {"GatherAxis", nullptr}},
    {"scatter",
     {"Scatter",
      [](const Fields& f, size_t, PublishedOp& out) {
        const int64_t mode = renumbered(scatters, f[1]);
        out.arguments = {mode, int_list(f[0])};
        return mode >= 0;
      }}},
    {"scatter_axis",
     {"ScatterAxis",
      [](const Fields& f, size_t, PublishedOp& out) {
        const int64_t mode = renumbered(scatters_along_axis, f[1]);
        out.arguments = {mode, f[0]};
        return mode >= 0;
      }}},
};

/// Products and convolutions.
constexpr Entry products[] = {
    {"matmul", {"Matmul", nullptr}},
    {"addmm", {"AddMM", nullptr}},
    {"conv",
     {"Convolution", ARGUMENTS(int_list(f[0]), int_list(f[1]), int_list(f[2]), int_list(f[3]),
                               int_list(f[4]), f[5], flag(f[6]))}},
    {"quantize", {"Quantize", ARGUMENTS(f[1], f[2], f[0], false)}},
    {"quantized_matmul", {"QuantizedMatmul", ARGUMENTS(f[1], f[2], f[0], flag(f[3]))}},
    {"hadamard_transform", {"Hadamard", ARGUMENTS(f[0])}},
    {"random_bits", {"RandomBits", nullptr}},
};

/// Linear algebra.
constexpr Entry linear_algebra[] = {
    {"cholesky", {"Cholesky", ARGUMENTS(flag(f[0]))}},
    {"qr", {"QRF", nullptr}},
    {"svd",
     {"SVD",
      [](const Fields& f, size_t, PublishedOp& out) {
        out.arguments = {true};  // with the singular vectors
        return flag(f[0]);
      }}},
    {"inv", {"Inverse", ARGUMENTS(false, true)}},
    {"eigh", {"Eigh", ARGUMENTS(std::string(flag(f[0]) ? "U" : "L"), true)}},
};

/// Communication; sums and extrema share a name.
constexpr Entry communication[] = {
    {"all_sum", {"AllReduce", ARGUMENTS(int64_t{2})}},
    {"all_max", {"AllReduce", ARGUMENTS(int64_t{3})}},
    {"all_min", {"AllReduce", ARGUMENTS(int64_t{4})}},
    {"all_gather", {"AllGather", ARGUMENTS()}},
    {"sum_scatter", {"ReduceScatter", ARGUMENTS()}},
    {"send", {"Send", ARGUMENTS(f[1])}},
    {"recv", {"Recv", ARGUMENTS(f[1])}},
};
#undef ARGUMENTS

const Row* find_row(std::string_view name) {
  for (std::span<const Entry> family :
       {std::span<const Entry>(elementwise), std::span<const Entry>(views),
        std::span<const Entry>(along_axes), std::span<const Entry>(indexing),
        std::span<const Entry>(products), std::span<const Entry>(linear_algebra),
        std::span<const Entry>(communication)})
    for (const Entry& e : family)
      if (e.first == name) return &e.second;
  return nullptr;
}

/// "logical_not" as "LogicalNot".
std::string in_capitals(std::string_view name) {
  std::string out;
  bool starts = true;
  for (char c : name) {
    if (c != '_') out += starts ? static_cast<char>(std::toupper(c)) : c;
    starts = c == '_';
  }
  return out;
}

/// Elementwise ops that MLX composes of others, or does not have.
bool is_published_elementwise(std::string_view name) {
  constexpr std::string_view ours[] = {"isfinite", "isinf",      "isnan",      "isneginf",
                                       "isposinf", "reciprocal", "logical_xor"};
  return std::ranges::find(ours, name) == std::end(ours);
}

}  // namespace

PublishedOp published_op(const OpDef& op, const Attrs* attrs, size_t ndim) {
  FieldList fields;
  if (attrs) Ref<Attrs>(attrs->clone())->visit(fields);
  if (const Row* row = find_row(op.name)) {
    PublishedOp out{row->name, fields.out, {}};
    if (!row->translate || row->translate(fields.out, ndim, out)) return out;
  } else if (op.kind == OpKind::elementwise && is_published_elementwise(op.name)) {
    return {in_capitals(op.name), std::move(fields.out), {}};
  }
  return {op.name, std::move(fields.out), {}};
}

}  // namespace mlx::core
