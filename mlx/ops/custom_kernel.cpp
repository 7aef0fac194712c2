// Kernels for NVIDIA GPUs: the text around a source, and their nodes.
#include <algorithm>
#include <iostream>

#include "mlx/core/error.h"
#include "mlx/ops/kernel_source.h"

namespace mlx::core {

using namespace kernel_source;

namespace {

constexpr const char* kCudaKernel = "cuda_kernel";

/// Whether there is a GPU of NVIDIA.
bool has_cuda() {
  const Device gpu(Device::gpu);
  return is_available(gpu) && device_info(gpu).contains("compute_capability_major");
}

Arrays no_cuda_derivative(const RuleArgs& args) { refuse_derivative(kCudaKernel, args.attrs); }
Arrays build_cuda_kernel(const Arrays& in, const Attrs* attrs, Stream s) {
  return build(op_cuda_kernel, "CUDA", has_cuda(), in, attrs, s);
}

}  // namespace

constinit const OpDef op_cuda_kernel{.name = "cuda_kernel",
                                     .kind = OpKind::bundle,
                                     .build = build_cuda_kernel,
                                     .vjp = no_cuda_derivative,
                                     .jvp = no_cuda_derivative,
                                     .vmap = no_vmap};

namespace fast {

namespace {

/// The name of a dtype's elements in a source.
std::string cuda_type(Dtype t, const std::string& text) {
  // Sources that use NVIDIA's types get them.
  if (t == float16) return names(text, "__half") ? "__half" : "float16_t";
  if (t == bfloat16) return names(text, "__nv_bfloat16") ? "__nv_bfloat16" : "bfloat16_t";
  if (t == bool_) return "bool";
  if (t == float32) return "float";
  if (t == float64) return "double";
  return std::string(dtype_name(t)) + "_t";
}

/// The parameters of a template, and the arguments for them.
std::pair<std::string, std::string> cuda_template(const Template& arguments,
                                                  const std::string& text) {
  check_template(kCudaKernel, arguments);
  std::string parameters, values;
  for (const auto& [name, value] : arguments) {
    const char* comma = parameters.empty() ? "" : ", ";
    if (const auto* t = std::get_if<Dtype>(&value)) {
      parameters += cat(comma, "typename ", name);
      values += comma + cuda_type(*t, text);
    } else if (const auto* b = std::get_if<bool>(&value)) {
      parameters += cat(comma, "bool ", name);
      values += cat(comma, *b ? "true" : "false");
    } else {
      parameters += cat(comma, "int ", name);
      values += cat(comma, std::get<int>(value));
    }
  }
  return {parameters, values};
}

/// Whether the text uses the word without declaring it: no type and no directive is before it.
bool uses_undeclared(const std::string& text, const std::string& word) {
  const size_t at = text.find(word);
  if (!names(text, word) || at == std::string::npos) return false;
  size_t end = at;
  while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '\t')) --end;
  size_t begin = end;
  while (begin > 0 && is_letter(text[begin - 1])) --begin;
  const std::string before = text.substr(begin, end - begin);
  return before.empty() || before == "return" || before == "case" || before == "if";
}

/// The text that is compiled: the source as the body of a function, and a kernel that calls it.
/// Lines are counted in the source.
std::string cuda_text(const Source& s, const Arrays& in, const std::vector<Dtype>& out,
                      const Template& arguments, KernelAttrs& attrs) {
  const std::string own = s.header + "\n" + s.body;
  std::string fields, parameters, values;
  auto parameter = [&](const std::string& type, const std::string& name, const std::string& value) {
    parameters += cat(parameters.empty() ? "" : ", ", type, " ", name);
    values += (values.empty() ? "" : ", ") + value;
  };
  for (size_t k = 0; k < in.size(); ++k) {
    const std::string& name = s.inputs[k];
    const std::string type = cat("const ", cuda_type(in[k].dtype(), own), "*");
    const size_t length = std::max<size_t>(in[k].ndim(), 1);
    fields += cat("  ", type, " ", name, ";\n");
    parameter(type, name, "mlx_p." + name);
    attrs.follows.push_back(0);
    if (names(own, name + "_shape")) {
      fields += cat("  alignas(8) int ", name, "_shape[", (length + 1) / 2 * 2, "];\n");
      parameter("const int*", name + "_shape", "mlx_p." + name + "_shape");
      attrs.follows.back() |= 1;
    }
    if (names(own, name + "_strides")) {
      fields += cat("  int64_t ", name, "_strides[", length, "];\n");
      parameter("const int64_t*", name + "_strides", "mlx_p." + name + "_strides");
      attrs.follows.back() |= 2;
    }
    if (names(own, name + "_ndim")) parameter("int", name + "_ndim", cat(in[k].ndim()));
  }
  for (size_t k = 0; k < out.size(); ++k) {
    const std::string type = cuda_type(out[k], own) + "*";
    fields += cat("  ", type, " ", s.outputs[k], ";\n");
    parameter(type, s.outputs[k], "mlx_p." + s.outputs[k]);
  }
  const auto [types, given] = cuda_template(arguments, own);
  std::string text = "#define MLX_USER_SOURCE\n";
  if (names(own, "__half")) text += "#include <cuda_fp16.h>\n";
  if (names(own, "__nv_bfloat16")) text += "#include <cuda_bf16.h>\n";
  text += "#include \"mlx/backend/cuda/device/user.cuh\"\n";
  if (names(own, "cooperative_groups") && own.find("<cooperative_groups") == std::string::npos)
    text += "#include \"mlx/backend/cuda/device/groups.cuh\"\n";
  if (uses_undeclared(own, "WARP_SIZE")) text += "constexpr int WARP_SIZE = 32;\n";
  if (!s.header.empty()) text += cat("#line 1 \"", s.name, " (header)\"\n", s.header, "\n");
  if (!types.empty()) text += cat("template <", types, ">\n");
  text += cat("MLX_USER_BODY void mlx_body(", parameters, ") {\n#line 1 \"", s.name, "\"\n", s.body,
              "\n#line 1 \"the kernel's end\"\n}\n");
  text += cat("struct mlx_arguments {\n", fields, "};\n", "MLX_USER_KERNEL(", attrs.entry, ", ",
              attrs.group[0] * attrs.group[1] * attrs.group[2], ", mlx_arguments, mlx_p) {\n",
              "  mlx_body", types.empty() ? "" : "<" + given + ">", "(", values, ");\n}\n");
  return text;
}

}  // namespace

CustomKernelFunction cuda_kernel(const std::string& name, const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& outputs, const std::string& source,
                                 const std::string& header, bool rows, int shared) {
  if (!has_cuda()) no_device(kCudaKernel, name, "CUDA");
  Source s{name, inputs, outputs, source, header, rows, shared};
  check(kCudaKernel, s);
  launch_of(kCudaKernel, name, {1, 1, 1}, {1, 1, 1}, shared, {});
  return [s = std::move(s)](
             const Arrays& in, const std::vector<Shape>& shapes, const std::vector<Dtype>& dtypes,
             const Triple& grid, const Triple& group, const Template& arguments,
             const std::optional<float>& fill, bool verbose, const StreamOrDevice& stream) {
    check_counts(kCudaKernel, s, in.size(), dtypes.size());
    KernelAttrs attrs = launch_of(kCudaKernel, s.name, grid, group, s.shared, fill);
    attrs.entry = "mlx_kernel_" + s.name;  // the source may have a function of the name
    attrs.rows = s.rows;
    attrs.code = cuda_text(s, in, dtypes, arguments, attrs);
    if (verbose) std::cout << attrs.code << std::flush;
    return make(kCudaKernel, op_cuda_kernel, std::move(attrs), in, shapes, dtypes, stream);
  };
}

std::vector<array> precompiled_cuda_kernel(const std::string& name, const std::string& code,
                                           const std::vector<array>& inputs,
                                           const std::vector<Shape>& shapes,
                                           const std::vector<Dtype>& dtypes,
                                           const std::vector<ScalarArg>& scalars, Triple grid,
                                           Triple group, int shared, std::optional<float> fill,
                                           bool rows, StreamOrDevice s) {
  constexpr const char* op = "precompiled_cuda_kernel";
  if (!has_cuda()) no_device(op, name, "CUDA");
  KernelAttrs attrs = launch_of(op, name, grid, group, shared, fill);
  if (code.empty()) fail<ValueError>(op, "no code; PTX or machine code is accepted");
  attrs.code = code;
  attrs.compiled = true;
  attrs.rows = rows;
  attrs.follows = Shape(inputs.size(), 0);
  for (const ScalarArg& x : scalars) {
    attrs.scalars.push_back(std::visit([](auto v) { return static_cast<double>(v); }, x));
    attrs.kinds.push_back(static_cast<int64_t>(x.index()));
  }
  return make(op, op_cuda_kernel, std::move(attrs), inputs, shapes, dtypes, s);
}

}  // namespace fast
}  // namespace mlx::core
