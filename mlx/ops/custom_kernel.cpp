// Custom GPU kernels: checks, the text around a source, and their nodes.
#include "mlx/ops/custom_kernel.h"

#include <algorithm>
#include <cctype>
#include <iostream>
#include <set>
#include <sstream>

#include "mlx/core/error.h"

namespace mlx::core {

namespace {

constexpr const char* kOp = "cuda_kernel";

const std::string& name_of(const Attrs* a) { return attrs_as<CudaKernelAttrs>(a).name; }

Arrays no_derivative(const RuleArgs& args) {
  fail<ValueError>(kOp, "the kernel '", name_of(args.attrs),
                   "' has no derivative; custom_function gives it one");
}
std::pair<Arrays, std::vector<int>> no_vmap(const Arrays&, const std::vector<int>&,
                                            const Attrs* attrs, Stream) {
  fail<ValueError>("vmap", "the kernel '", name_of(attrs),
                   "' cannot be mapped over; custom_function gives it a rule for vmap");
}

[[noreturn]] void no_device(const char* op, const std::string& name, const char* kind) {
  fail<ExecutionError>(op, "the kernel '", name, "' needs a ", kind, " device; there is none");
}

/// Whether there is a GPU of NVIDIA.
bool has_cuda() {
  const Device gpu(Device::gpu);
  return is_available(gpu) && device_info(gpu).contains("compute_capability_major");
}

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_identifier(const std::string& s) {
  return !s.empty() && !std::isdigit(static_cast<unsigned char>(s[0])) &&
         std::ranges::all_of(s, is_letter);
}

/// The outputs that the attributes name; throws ValueError where they do not fit each other.
std::vector<std::pair<Shape, Dtype>> outputs_of(const CudaKernelAttrs& a) {
  std::vector<std::pair<Shape, Dtype>> outputs;
  std::istringstream names(a.dtypes);
  size_t next = 0;
  bool fit = true;
  for (std::string name; fit && std::getline(names, name, ',');) {
    fit = next < a.shapes.size();
    const auto rank = fit ? static_cast<size_t>(a.shapes[next++]) : 0;
    if (!(fit = fit && rank <= a.shapes.size() - next)) break;
    const auto first = a.shapes.begin() + static_cast<int64_t>(next);
    outputs.emplace_back(Shape(first, first + static_cast<int64_t>(rank)), dtype_from_name(name));
    fit = std::all_of(first, first + static_cast<int64_t>(rank), [](int64_t n) { return n >= 0; });
    next += rank;
  }
  if (!fit || outputs.empty() || next != a.shapes.size())
    fail<ValueError>(kOp, "outputs that do not fit each other; a shape for each dtype is accepted");
  return outputs;
}

/// A kernel of a file. The checks of cuda_kernel are made again.
Arrays build_kernel(const Arrays& in, const Attrs* attrs, Stream s) {
  const auto& a = attrs_as<CudaKernelAttrs>(attrs);
  if (!has_cuda() || s.device.type != Device::gpu) no_device(kOp, a.name, "CUDA");
  const auto positive = [](int64_t n) { return n > 0 && n <= INT32_MAX; };
  const auto launch = [&](const Shape& n) {
    return n.size() == 3 && std::ranges::all_of(n, positive);
  };
  const auto known = [](int64_t kind) { return kind >= 0 && kind <= CudaKernelAttrs::real; };
  if (!is_identifier(a.name) || !is_identifier(a.entry) || !launch(a.grid) || !launch(a.group) ||
      a.shared < 0 || a.fill.size() > 1 || a.follows.size() != in.size() ||
      a.kinds.size() != a.scalars.size() || !std::ranges::all_of(a.kinds, known))
    fail<ValueError>(kOp,
                     "a kernel whose parts do not fit each other; those of cuda_kernel are "
                     "accepted");
  return make_bundle(op_cuda_kernel, outputs_of(a), s, in, make_attrs(a));
}

}  // namespace

constinit const OpDef op_cuda_kernel{.name = "cuda_kernel",
                                     .kind = OpKind::bundle,
                                     .build = build_kernel,
                                     .vjp = no_derivative,
                                     .jvp = no_derivative,
                                     .vmap = no_vmap};

namespace fast {

namespace {

using Triple = std::tuple<int, int, int>;

/// Whether the text has the word.
bool names(const std::string& text, const std::string& word) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_letter(text[at - 1])) && (end == text.size() || !is_letter(text[end])))
      return true;
  }
  return false;
}

Shape threads(const char* op, const char* what, const Triple& t) {
  const Shape n = {std::get<0>(t), std::get<1>(t), std::get<2>(t)};
  if (std::ranges::any_of(n, [](int64_t k) { return k <= 0; }))
    fail<ValueError>(op, "the ", what, " ", to_string(n), "; positive numbers are accepted");
  return n;
}

/// The launch that is common to both kinds of kernels.
CudaKernelAttrs launch_of(const char* op, const std::string& name, const Triple& grid,
                          const Triple& group, int shared, const std::optional<float>& fill) {
  if (!is_identifier(name))
    fail<ValueError>(op, "the name '", name, "'; letters, digits and underscores are accepted");
  if (shared < 0) fail<ValueError>(op, shared, " bytes of shared memory; 0 or more are accepted");
  CudaKernelAttrs a{.name = name, .code = {}, .entry = name};
  a.grid = threads(op, "grid", grid);
  a.group = threads(op, "threadgroup", group);
  // A grid that is smaller than a block is one block.
  for (size_t d = 0; d < 3; ++d) a.group[d] = std::min(a.group[d], a.grid[d]);
  a.shared = shared;
  if (fill) a.fill = {*fill};
  return a;
}

Arrays make(const char* op, CudaKernelAttrs attrs, const Arrays& inputs,
            const std::vector<Shape>& shapes, const std::vector<Dtype>& dtypes,
            const StreamOrDevice& s) {
  const Stream stream = to_stream(s, Device::gpu);
  if (stream.device.type != Device::gpu)
    fail<ValueError>(op, "the stream ", to_string(stream), "; a stream of a GPU is accepted");
  if (shapes.empty() || shapes.size() != dtypes.size())
    fail<ValueError>(op, shapes.size(), " shapes and ", dtypes.size(),
                     " dtypes of outputs; as many of each, at least one, are accepted");
  std::vector<std::pair<Shape, Dtype>> outputs;
  for (size_t k = 0; k < shapes.size(); ++k) {
    if (std::ranges::any_of(shapes[k], [](int64_t n) { return n < 0; }))
      fail<ValueError>(op, "an output of shape ", to_string(shapes[k]),
                       "; lengths that are not negative are accepted");
    outputs.emplace_back(shapes[k], dtypes[k]);
    attrs.shapes.push_back(static_cast<int64_t>(shapes[k].size()));
    attrs.shapes.insert(attrs.shapes.end(), shapes[k].begin(), shapes[k].end());
    attrs.dtypes += cat(k ? "," : "", dtype_name(dtypes[k]));
  }
  return make_bundle(op_cuda_kernel, std::move(outputs), stream, inputs,
                     make_attrs(std::move(attrs)));
}

/// The name of a dtype's elements in a source.
std::string type_of(Dtype t, const std::string& text) {
  // Sources that use NVIDIA's types get them.
  if (t == float16) return names(text, "__half") ? "__half" : "float16_t";
  if (t == bfloat16) return names(text, "__nv_bfloat16") ? "__nv_bfloat16" : "bfloat16_t";
  if (t == bool_) return "bool";
  if (t == float32) return "float";
  if (t == float64) return "double";
  return std::string(dtype_name(t)) + "_t";
}

/// The arguments of cuda_kernel.
struct Source {
  std::string name;
  std::vector<std::string> inputs, outputs;
  std::string body, header;
  bool rows;
  int shared;
};

void check(const Source& s) {
  std::set<std::string> seen;
  for (const auto* list : {&s.inputs, &s.outputs})
    for (const std::string& name : *list) {
      if (!is_identifier(name))
        fail<ValueError>(kOp, "the name '", name,
                         "' of an input or output; letters, digits and underscores are accepted");
      if (!seen.insert(name).second)
        fail<ValueError>(kOp, "two inputs or outputs '", name, "'; different names are accepted");
    }
  if (s.outputs.empty()) fail<ValueError>(kOp, "no outputs; at least one is accepted");
}

using Template = std::vector<std::pair<std::string, TemplateArg>>;

/// The parameters of a template, and the arguments for them.
std::pair<std::string, std::string> template_text(const Template& arguments,
                                                  const std::string& text) {
  std::string parameters, values;
  for (const auto& [name, value] : arguments) {
    if (!is_identifier(name))
      fail<ValueError>(kOp, "the template argument '", name,
                       "'; letters, digits and underscores are accepted");
    const char* comma = parameters.empty() ? "" : ", ";
    if (const auto* t = std::get_if<Dtype>(&value)) {
      parameters += cat(comma, "typename ", name);
      values += comma + type_of(*t, text);
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
std::string text_of(const Source& s, const Arrays& in, const std::vector<Dtype>& out,
                    const Template& arguments, CudaKernelAttrs& attrs) {
  const std::string own = s.header + "\n" + s.body;
  std::string fields, parameters, values;
  auto parameter = [&](const std::string& type, const std::string& name, const std::string& value) {
    parameters += cat(parameters.empty() ? "" : ", ", type, " ", name);
    values += (values.empty() ? "" : ", ") + value;
  };
  for (size_t k = 0; k < in.size(); ++k) {
    const std::string& name = s.inputs[k];
    const std::string type = cat("const ", type_of(in[k].dtype(), own), "*");
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
    const std::string type = type_of(out[k], own) + "*";
    fields += cat("  ", type, " ", s.outputs[k], ";\n");
    parameter(type, s.outputs[k], "mlx_p." + s.outputs[k]);
  }
  const auto [types, given] = template_text(arguments, own);
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

CustomKernelFunction metal_kernel(const std::string& name, const std::vector<std::string>&,
                                  const std::vector<std::string>&, const std::string&,
                                  const std::string&, bool, bool, const CompileOptions&) {
  return [name](auto&&...) -> std::vector<array> { no_device("metal_kernel", name, "Metal"); };
}

CustomKernelFunction cuda_kernel(const std::string& name, const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& outputs, const std::string& source,
                                 const std::string& header, bool rows, int shared) {
  if (!has_cuda()) no_device(kOp, name, "CUDA");
  Source s{name, inputs, outputs, source, header, rows, shared};
  check(s);
  launch_of(kOp, name, {1, 1, 1}, {1, 1, 1}, shared, {});
  return [s = std::move(s)](
             const Arrays& in, const std::vector<Shape>& shapes, const std::vector<Dtype>& dtypes,
             const Triple& grid, const Triple& group, const Template& arguments,
             const std::optional<float>& fill, bool verbose, const StreamOrDevice& stream) {
    if (in.size() != s.inputs.size() || dtypes.size() != s.outputs.size())
      fail<ValueError>(kOp, in.size(), " inputs and ", dtypes.size(), " outputs; ", s.inputs.size(),
                       " and ", s.outputs.size(), " are accepted");
    CudaKernelAttrs attrs = launch_of(kOp, s.name, grid, group, s.shared, fill);
    attrs.entry = "mlx_kernel_" + s.name;  // the source may have a function of the name
    attrs.rows = s.rows;
    attrs.code = text_of(s, in, dtypes, arguments, attrs);
    if (verbose) std::cout << attrs.code << std::flush;
    return make(kOp, std::move(attrs), in, shapes, dtypes, stream);
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
  CudaKernelAttrs attrs = launch_of(op, name, grid, group, shared, fill);
  if (code.empty()) fail<ValueError>(op, "no code; PTX or machine code is accepted");
  attrs.code = code;
  attrs.compiled = true;
  attrs.rows = rows;
  attrs.follows = Shape(inputs.size(), 0);
  for (const ScalarArg& x : scalars) {
    attrs.scalars.push_back(std::visit([](auto v) { return static_cast<double>(v); }, x));
    attrs.kinds.push_back(static_cast<int64_t>(x.index()));
  }
  return make(op, std::move(attrs), inputs, shapes, dtypes, s);
}

}  // namespace fast
}  // namespace mlx::core
