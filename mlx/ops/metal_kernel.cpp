// Kernels for Metal: the text around a source, and their nodes.
#include <algorithm>
#include <iostream>

#include "mlx/core/error.h"
#include "mlx/ops/kernel_source.h"

namespace mlx::core {

using namespace kernel_source;

bool has_metal() {
  const Device gpu(Device::gpu);
  return is_available(gpu) && device_info(gpu).contains("max_buffer_length");
}

namespace {

constexpr const char* kMetalKernel = "metal_kernel";
constexpr size_t kMostBuffers = 31, kMostConstant = 8;  // elements of inputs that are constants

Arrays no_metal_derivative(const RuleArgs& args) { refuse_derivative(kMetalKernel, args.attrs); }
Arrays build_metal_kernel(const Arrays& in, const Attrs* attrs, Stream s) {
  return build(op_metal_kernel, "Metal", has_metal(), in, attrs, s);
}

/// The name of a dtype's elements in a source.
std::string metal_type(Dtype t) {
  if (t == float64 || t == complex128)
    fail<ValueError>(kMetalKernel, "the dtype ", dtype_name(t),
                     "; the language has no numbers of 64 bits ", "with a fraction");
  if (t == float16) return "half";
  if (t == bfloat16) return "bfloat";
  if (t == bool_) return "bool";
  if (t == float32) return "float";
  return std::string(dtype_name(t)) + "_t";
}

/// A position of threads that a kernel may ask for, and its type.
struct Position {
  const char *name, *type;
};
constexpr Position kPositions[] = {
    {"thread_position_in_grid", "uint3"},
    {"thread_position_in_threadgroup", "uint3"},
    {"threadgroup_position_in_grid", "uint3"},
    {"threads_per_threadgroup", "uint3"},
    {"dispatch_threads_per_threadgroup", "uint3"},
    {"threadgroups_per_grid", "uint3"},
    {"threads_per_grid", "uint3"},
    {"thread_index_in_threadgroup", "uint"},
    {"thread_index_in_simdgroup", "uint"},
    {"simdgroup_index_in_threadgroup", "uint"},
    {"simdgroups_per_threadgroup", "uint"},
    {"threads_per_simdgroup", "uint"},
};

/// Arguments of a template as declarations before the kernel.
std::string metal_template(const Template& arguments) {
  check_template(kMetalKernel, arguments);
  std::string text;
  for (const auto& [name, value] : arguments) {
    if (const auto* t = std::get_if<Dtype>(&value))
      text += cat("typedef ", metal_type(*t), " ", name, ";\n");
    else if (const auto* b = std::get_if<bool>(&value))
      text += cat("constant constexpr bool ", name, " = ", *b ? "true" : "false", ";\n");
    else
      text += cat("constant constexpr int ", name, " = ", std::get<int>(value), ";\n");
  }
  return text;
}

/// The text that is compiled: a kernel with the source as its body. Lines are counted in the
/// source.
std::string metal_text(const Source& s, const Arrays& in, const std::vector<Dtype>& out,
                       const Template& arguments, KernelAttrs& attrs) {
  std::string parameters;
  size_t buffers = 0;
  auto buffer = [&](const std::string& type, const std::string& name) {
    parameters += cat("    ", type, name, " [[buffer(", buffers++, ")]],\n");
  };
  for (size_t k = 0; k < in.size(); ++k) {
    const std::string& name = s.inputs[k];
    buffer(cat("const ", in[k].size() < kMostConstant ? "constant " : "device ",
               metal_type(in[k].dtype()), in[k].ndim() ? "* " : "& "),
           name);
    attrs.follows.push_back(0);
    const char* const parts[] = {"_shape", "_strides", "_ndim"};
    const char* const types[] = {"const constant int* ", "const constant int64_t* ",
                                 "const constant int& "};
    for (int part = 0; part < 3; ++part)
      if (names(s.body, name + parts[part])) {
        buffer(types[part], name + parts[part]);
        attrs.follows.back() |= 1 << part;
      }
  }
  for (size_t k = 0; k < out.size(); ++k)
    buffer(s.atomic ? cat("device atomic<", metal_type(out[k]), ">* ")
                    : cat("device ", metal_type(out[k]), "* "),
           s.outputs[k]);
  if (buffers > kMostBuffers)
    fail<ValueError>(kMetalKernel, "the kernel '", s.name, "' with ", buffers,
                     " inputs, outputs, shapes and strides; at most ", kMostBuffers,
                     " are accepted");
  for (const Position& p : kPositions)
    if (names(s.body, p.name))
      parameters += cat("    ", p.type, " ", p.name, " [[", p.name, "]],\n");
  parameters.resize(parameters.size() - 2);
  std::string text = "#include \"mlx/backend/metal/device/user.h\"\n";
  if (!s.header.empty()) text += cat("#line 1 \"", s.name, " (header)\"\n", s.header, "\n");
  return text + cat(metal_template(arguments), "kernel void ", attrs.entry, "(\n", parameters,
                    ") {\n#line 1 \"", s.name, "\"\n", s.body,
                    "\n#line 1 \"the kernel's end\"\n}\n");
}

}  // namespace

constinit const OpDef op_metal_kernel{.name = "metal_kernel",
                                      .kind = OpKind::bundle,
                                      .build = build_metal_kernel,
                                      .vjp = no_metal_derivative,
                                      .jvp = no_metal_derivative,
                                      .vmap = no_vmap};

namespace fast {

CustomKernelFunction metal_kernel(const std::string& name, const std::vector<std::string>& inputs,
                                  const std::vector<std::string>& outputs,
                                  const std::string& source, const std::string& header, bool rows,
                                  bool atomic, const CompileOptions&) {
  Source s{name, inputs, outputs, source, header, rows, 0, atomic};
  if (has_metal()) {
    check(kMetalKernel, s);
    launch_of(kMetalKernel, name, {1, 1, 1}, {1, 1, 1}, 0, {});
  }
  return [s = std::move(s)](
             const Arrays& in, const std::vector<Shape>& shapes, const std::vector<Dtype>& dtypes,
             const Triple& grid, const Triple& group, const Template& arguments,
             const std::optional<float>& fill, bool verbose, const StreamOrDevice& stream) {
    if (!has_metal()) no_device(kMetalKernel, s.name, "Metal");
    check(kMetalKernel, s);
    check_counts(kMetalKernel, s, in.size(), dtypes.size());
    KernelAttrs attrs = launch_of(kMetalKernel, s.name, grid, group, 0, fill);
    attrs.entry = "mlx_kernel_" + s.name;  // the source may have a function of the name
    attrs.rows = s.rows;
    attrs.code = metal_text(s, in, dtypes, arguments, attrs);
    if (verbose) std::cout << attrs.code << std::flush;
    return make(kMetalKernel, op_metal_kernel, std::move(attrs), in, shapes, dtypes, stream);
  };
}

}  // namespace fast
}  // namespace mlx::core
