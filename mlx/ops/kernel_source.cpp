// Kernels that programs give as source: checks and parts of their text, for each kind of device.
#include "mlx/ops/kernel_source.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include "mlx/core/error.h"

namespace mlx::core::kernel_source {

namespace {

const std::string& kernel_name(const Attrs* a) { return attrs_as<KernelAttrs>(a).name; }

/// The outputs that the attributes name; throws ValueError where they do not fit each other.
std::vector<std::pair<Shape, Dtype>> outputs_of(const char* op, const KernelAttrs& a) {
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
    fail<ValueError>(op, "outputs that do not fit each other; a shape for each dtype is accepted");
  return outputs;
}

Shape threads(const char* op, const char* what, const Triple& t) {
  const Shape n = {std::get<0>(t), std::get<1>(t), std::get<2>(t)};
  if (std::ranges::any_of(n, [](int64_t k) { return k <= 0; }))
    fail<ValueError>(op, "the ", what, " ", to_string(n), "; positive numbers are accepted");
  return n;
}

}  // namespace

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_identifier(const std::string& s) {
  return !s.empty() && !std::isdigit(static_cast<unsigned char>(s[0])) &&
         std::ranges::all_of(s, is_letter);
}

bool names(const std::string& text, const std::string& word) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_letter(text[at - 1])) && (end == text.size() || !is_letter(text[end])))
      return true;
  }
  return false;
}

void no_device(const char* op, const std::string& name, const char* kind) {
  fail<ExecutionError>(op, "the kernel '", name, "' needs a ", kind, " device; there is none");
}

void refuse_derivative(const char* op, const Attrs* attrs) {
  fail<ValueError>(op, "the kernel '", kernel_name(attrs),
                   "' has no derivative; custom_function gives it one");
}
std::pair<Arrays, std::vector<int>> no_vmap(const Arrays&, const std::vector<int>&,
                                            const Attrs* attrs, Stream) {
  fail<ValueError>("vmap", "the kernel '", kernel_name(attrs),
                   "' cannot be mapped over; custom_function gives it a rule for vmap");
}

void check(const char* op, const Source& s) {
  std::set<std::string> seen;
  for (const auto* list : {&s.inputs, &s.outputs})
    for (const std::string& name : *list) {
      if (!is_identifier(name))
        fail<ValueError>(op, "the name '", name,
                         "' of an input or output; letters, digits and underscores are accepted");
      if (!seen.insert(name).second)
        fail<ValueError>(op, "two inputs or outputs '", name, "'; different names are accepted");
    }
  if (s.outputs.empty()) fail<ValueError>(op, "no outputs; at least one is accepted");
}

void check_counts(const char* op, const Source& s, size_t inputs, size_t outputs) {
  if (inputs != s.inputs.size() || outputs != s.outputs.size())
    fail<ValueError>(op, inputs, " inputs and ", outputs, " outputs; ", s.inputs.size(), " and ",
                     s.outputs.size(), " are accepted");
}
void check_template(const char* op, const Template& arguments) {
  for (const auto& [name, value] : arguments)
    if (!is_identifier(name))
      fail<ValueError>(op, "the template argument '", name,
                       "'; letters, digits and underscores are accepted");
}

KernelAttrs launch_of(const char* op, const std::string& name, const Triple& grid,
                      const Triple& group, int shared, const std::optional<float>& fill) {
  if (!is_identifier(name))
    fail<ValueError>(op, "the name '", name, "'; letters, digits and underscores are accepted");
  if (shared < 0) fail<ValueError>(op, shared, " bytes of shared memory; 0 or more are accepted");
  KernelAttrs a{.name = name, .code = {}, .entry = name};
  a.grid = threads(op, "grid", grid);
  a.group = threads(op, "threadgroup", group);
  // A grid that is smaller than a block is one block.
  for (size_t d = 0; d < 3; ++d) a.group[d] = std::min(a.group[d], a.grid[d]);
  a.shared = shared;
  if (fill) a.fill = {*fill};
  return a;
}

Arrays make(const char* op, const OpDef& def, KernelAttrs attrs, const Arrays& inputs,
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
  return make_bundle(def, std::move(outputs), stream, inputs, make_attrs(std::move(attrs)));
}

Arrays build(const OpDef& def, const char* kind, bool there, const Arrays& in, const Attrs* attrs,
             Stream s) {
  const auto& a = attrs_as<KernelAttrs>(attrs);
  if (!there || s.device.type != Device::gpu) no_device(def.name, a.name, kind);
  const auto positive = [](int64_t n) { return n > 0 && n <= INT32_MAX; };
  const auto launch = [&](const Shape& n) {
    return n.size() == 3 && std::ranges::all_of(n, positive);
  };
  const auto known = [](int64_t kind) { return kind >= 0 && kind <= KernelAttrs::real; };
  if (!is_identifier(a.name) || !is_identifier(a.entry) || !launch(a.grid) || !launch(a.group) ||
      a.shared < 0 || a.fill.size() > 1 || a.follows.size() != in.size() ||
      a.kinds.size() != a.scalars.size() || !std::ranges::all_of(a.kinds, known))
    fail<ValueError>(def.name,
                     "a kernel whose parts do not fit each other; the parts of a call are "
                     "accepted");
  return make_bundle(def, outputs_of(def.name, a), s, in, make_attrs(a));
}

}  // namespace mlx::core::kernel_source
