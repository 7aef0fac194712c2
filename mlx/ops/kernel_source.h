// Kernels that programs give as source: checks and parts of their text, for each kind of device.
#pragma once

#include <functional>

#include "mlx/ops/custom_kernel.h"

namespace mlx::core::kernel_source {

using Triple = std::tuple<int, int, int>;
using Template = std::vector<std::pair<std::string, fast::TemplateArg>>;

/// The arguments of a function that makes a kernel.
struct Source {
  std::string name;
  std::vector<std::string> inputs, outputs;
  std::string body, header;
  bool rows;
  int shared = 0;
  bool atomic = false;
};

bool is_letter(char c);
bool is_identifier(const std::string& s);
/// Whether the text has the word.
bool names(const std::string& text, const std::string& word);

/// Throws ValueError for names that are none, or that are given twice.
void check(const char* op, const Source& s);
/// The same where the numbers of inputs and outputs are not those of the source.
void check_counts(const char* op, const Source& s, size_t inputs, size_t outputs);
/// Throws ValueError for the name of a template's argument that is none.
void check_template(const char* op, const Template& arguments);

/// The launch that is common to all kernels.
KernelAttrs launch_of(const char* op, const std::string& name, const Triple& grid,
                      const Triple& group, int shared, const std::optional<float>& fill);
/// The results of a kernel, in the graph.
Arrays make(const char* op, const OpDef& def, KernelAttrs attrs, const Arrays& inputs,
            const std::vector<Shape>& shapes, const std::vector<Dtype>& dtypes,
            const StreamOrDevice& s);
/// The same for the kernel of a file, whose checks are made again. `there`: whether there is a
/// device of the kind.
Arrays build(const OpDef& def, const char* kind, bool there, const Arrays& in, const Attrs* attrs,
             Stream s);

[[noreturn]] void no_device(const char* op, const std::string& name, const char* kind);

/// Throws ValueError: kernels have no derivative.
[[noreturn]] void refuse_derivative(const char* op, const Attrs* attrs);
/// The rule of kernels for vmap, which refuses.
std::pair<Arrays, std::vector<int>> no_vmap(const Arrays&, const std::vector<int>&,
                                            const Attrs* attrs, Stream);

}  // namespace mlx::core::kernel_source
