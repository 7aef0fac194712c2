// The types that read the elements of reductions: from an array, or by a program from its inputs.
#include "mlx/backend/gpu/families/reduce_source.h"

#include <algorithm>
#include <bit>

#include "mlx/backend/gpu/families/kernel_table.h"
#include "mlx/backend/gpu/families/print_program.h"
#include "mlx/core/error.h"

namespace mlx::core::gpu {

namespace {

constexpr size_t kShortProgram = 4;    // instructions; many elements are computed at once
constexpr int64_t kAccess = 16;        // most bytes that one access takes
constexpr int64_t kBytesAtOnce = 128;  // of a thread, on their way

/// How far an operand's element of a reduction is, where `i` is its position; one axis is common.
std::string offset_text(const device::Axes& axes, size_t operand) {
  const std::string name = cat("p.in_[", operand, "].reduced");
  if (axes.rank > 1) return cat("offset_of(", name, ", i)");
  if (axes.strides[0] == 0) return "0";
  return axes.strides[0] == 1 ? "i" : cat("i * ", name, ".strides[0]");
}
/// The first element of an operand that belongs to an output.
std::string start_text(const char* type, size_t operand) {
  return cat("memory<const ", type, ">(p.in_[", operand, "].address) + offset_of(p.in_[", operand,
             "].kept, output)");
}
/// The type Arguments of a kernel that computes what it reduces.
std::string arguments_text(const Program& p) {
  return cat("struct Arguments : ReduceArguments {\n  ProgramOperand in_[", p.inputs.size(),
             "];\n  int64_t constants[", 2 * p.constants.size() + 1, "];\n};\n");
}
/// Definitions of the values of a program's constants, and of those that it computes.
std::string computed_text(const Program& p) {
  std::string text;
  for (size_t c = 0; c < p.constants.size(); ++c) {
    const char* type = element_type(Dtype(p.constants[c]));
    text += cat("    const ", type, " v", p.inputs.size() + c, " = constant<", type,
                ">(p.constants[", 2 * c, "], p.constants[", 2 * c + 1, "]);\n");
  }
  return text + print_values(p) + cat("    return v", p.outputs[0], ";\n");
}

/// Whether each element of a reduction is the same.
bool is_fixed(const device::Axes& reduced) { return reduced.rank == 1 && reduced.strides[0] == 0; }

}  // namespace

void split_axes(const std::vector<int>& reduced_axes, const Layout& in, Shape (&shapes)[2],
                Strides (&strides)[2]) {
  for (size_t d = 0; d < in.shape.size(); ++d) {
    const bool reduced = std::ranges::binary_search(reduced_axes, static_cast<int>(d));
    shapes[reduced].push_back(in.shape[d]);
    strides[reduced].push_back(in.strides[d]);
  }
}

bool ReduceSource::set(const Step& step, const std::vector<int>& axes) {
  computes_ = !step.program.code.empty();
  for (int k = 0; k < step.n_inputs; ++k) {
    Shape shapes[2];
    Strides strides[2];
    split_axes(axes, step.operands[k], shapes, strides);
    dtypes_.push_back(step.operands[k].dtype);
    device::ProgramOperand& o = operands_.emplace_back();
    device::Axes* const parts[] = {&o.kept, &o.reduced};
    for (int part : {0, 1})
      if (!set_axes({&parts[part], 1}, shapes[part], {strides[part]})) return false;
  }
  return true;
}

ReduceSource::Spread ReduceSource::spread(size_t operand, const VectorReads& reads) const {
  const device::ProgramOperand& o = operands_[operand];
  const device::Axes& own = reads.along ? o.reduced : o.kept;
  const device::Axes& other = reads.along ? o.kept : o.reduced;
  const int64_t step = own.strides[own.rank - 1];
  if (own.shape[own.rank - 1] % reads.n != 0) return Spread::apart;
  if (step == 0) return Spread::same;
  const bool together =
      step == 1 && are_multiples(own, reads.n, 1) && are_multiples(other, reads.n);
  return together ? Spread::together : Spread::apart;
}

VectorReads ReduceSource::vectors(bool along, int64_t most) const {
  int64_t bytes = 1;
  for (const Dtype t : dtypes_) bytes = std::max(bytes, static_cast<int64_t>(t.size()));
  for (int64_t n = std::min(most, kAccess / bytes); n >= kLeastNeighbours; n /= 2) {
    const VectorReads reads{n, along};
    bool any = false, all = true;
    for (size_t k = 0; k < operands_.size(); ++k) {
      const Spread s = spread(k, reads);
      any |= s == Spread::together;
      all &= s != Spread::apart;
    }
    if (any && all) return reads;
  }
  return {};
}

bool ReduceSource::aligned(const VectorReads& reads, std::span<const int64_t> addresses) const {
  for (size_t k = 0; k < operands_.size(); ++k)
    if (spread(k, reads) == Spread::together &&
        addresses[k] % (reads.n * static_cast<int64_t>(dtypes_[k].size())) != 0)
      return false;
  return true;
}

std::string ReduceSource::type(const VectorReads& reads) const {
  if (computes_) return "Source";
  const std::string element = element_type(dtypes_[0]);
  const char* one = operands_[0].reduced.rank == 1 ? "true" : "false";
  return reads.n > 1 ? cat("VectorsFromMemory<", element, ", ", reads.n, ", ", one, ">")
                     : cat("FromMemory<", element, ", ", one, ">");
}

std::string ReduceSource::definition(const Program& program, const VectorReads& reads) const {
  if (!computes_) return "";
  return arguments_text(program) +
         (reads.n > 1 ? definition_of_vectors(program, reads) : definition_of_elements(program));
}

std::string ReduceSource::definition_of_elements(const Program& program) const {
  std::string members, starts, loads;
  for (size_t k = 0; k < operands_.size(); ++k) {
    const char* type = element_type(dtypes_[k]);
    members += cat("  DevicePointer<const ", type, "> in", k, ";\n");
    starts += cat(",\n      in", k, "(", start_text(type, k), ")");
    loads += cat("    const ", type, " v", k, " = in", k, "[", offset_text(operands_[k].reduced, k),
                 "];\n");
  }
  return cat("struct Source {\n  static MLX_CONSTANT int kBatch = ",
             program.code.size() <= kShortProgram ? 16 : 4,
             ";\n  MLX_ARGUMENTS const Arguments& p;\n", members,
             "  MLX_FN Source(MLX_ARGUMENTS const Arguments& p, int64_t output)\n    : p(p)",
             starts, " {}\n  MLX_FN auto operator()(int64_t i) const {\n", loads,
             computed_text(program), "  }\n};\n");
}

std::string ReduceSource::definition_of_vectors(const Program& program,
                                                const VectorReads& reads) const {
  std::string fetched, fetches, members, starts, loads;
  int64_t bytes = 0;
  for (size_t k = 0; k < operands_.size(); ++k) {
    const std::string type = element_type(dtypes_[k]);
    const bool together = spread(k, reads) == Spread::together;
    const std::string piece = together ? cat("Neighbours<", type, ", ", reads.n, ">") : type;
    const std::string access =
        together ? cat("*neighbours<const ", piece, ">(") : cat("*(");  // then a pointer
    if (is_fixed(operands_[k].reduced)) {
      members += cat("  const ", piece, " f", k, ";\n");
      starts += cat(",\n      f", k, "(", access, start_text(type.c_str(), k), "))");
    } else {
      bytes += static_cast<int64_t>(dtypes_[k].size()) * (together ? reads.n : 1);
      fetched += cat("    ", piece, " f", k, ";\n");
      members += cat("  DevicePointer<const ", type, "> in", k, ";\n");
      starts += cat(",\n      in", k, "(", start_text(type.c_str(), k), ")");
      fetches += cat("    x.f", k, " = ", access, "in", k, " + ",
                     offset_text(operands_[k].reduced, k), ");\n");
    }
    loads += cat("    const ", type, " v", k, " = ", is_fixed(operands_[k].reduced) ? "" : "x.",
                 "f", k, together ? ".x[j]" : "", ";\n");
  }
  const int64_t copies = program.code.size() <= 2 * kShortProgram ? 64 : 16;  // of the program
  const auto at_once = std::min(kBytesAtOnce / std::max<int64_t>(bytes, 1), copies / reads.n);
  return cat(
      "struct Source {\n  struct Fetched {\n", fetched,
      "  };\n  static MLX_CONSTANT int kFetches = ",
      std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(at_once, 1))),
      ";\n  MLX_ARGUMENTS const Arguments& p;\n", members,
      "  MLX_FN Source(MLX_ARGUMENTS const Arguments& p, int64_t output)\n    : p(p)", starts,
      " {}\n  MLX_FN Fetched fetch(int64_t i) const {\n    Fetched x;\n", fetches,
      "    return x;\n  }\n  MLX_FN auto value(MLX_THREAD const Fetched& x, int j) const {\n",
      loads, computed_text(program), "  }\n};\n");
}

}  // namespace mlx::core::gpu
