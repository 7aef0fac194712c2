// Composite functions with kernels of their own: the submodule mlx.core.fast.
#include "mlx/fast.h"

#include "convert.h"
#include "mlx/ops.h"
#include "module.h"

namespace mlx::python {

namespace {
namespace fast = mlx::core::fast;

/// A kernel of a program that can be called, for CUDA or for Metal.
struct CudaKernel {
  static constexpr const char *op = "cuda_kernel", *name = "_CudaKernel",
                              *text = "A kernel for CUDA that was given as source.";
  fast::CustomKernelFunction call;
};
struct MetalKernel {
  static constexpr const char *op = "metal_kernel", *name = "_MetalKernel",
                              *text = "A kernel for Metal that was given as source.";
  fast::CustomKernelFunction call;
};
/// An argument of a template, and one of a kernel: only True and False are bools.
struct TemplateValue {
  fast::TemplateArg value;
};
struct KernelScalar {
  fast::ScalarArg value;
};
bool load_small(PyObject* o, auto& value) {
  From<int> number;
  if (PyBool_Check(o))
    value = o == Py_True;
  else if (number.load(o))
    value = number.get();
  else
    return false;
  return true;
}

}  // namespace

template <>
struct From<CudaKernel> : FromBound<CudaKernel> {};
template <>
struct From<MetalKernel> : FromBound<MetalKernel> {};
template <>
struct From<TemplateValue> {
  TemplateValue value;
  bool load(PyObject* o) {
    From<Dtype> dtype;
    if (load_small(o, value.value)) return true;
    if (!dtype.load(o)) return false;
    value.value = dtype.get();
    return true;
  }
  TemplateValue& get() { return value; }
};
template <>
struct From<KernelScalar> {
  KernelScalar value;
  bool load(PyObject* o) {
    From<float> real;
    if (load_small(o, value.value)) return true;
    if (!real.load(o)) return false;
    value.value = real.get();
    return true;
  }
  KernelScalar& get() { return value; }
};

namespace {
#define STREAM "stream: StreamOrDevice = None) -> array"

void bind_norms(nb::module_& m) {
  def(m, "rms_norm(x: array, weight: array | None, eps: float, *, " STREAM,
      [](const array& x, const std::optional<array>& weight, double eps, const StreamOrDevice& s) {
        return fast::rms_norm(x, weight, eps, s);
      });
  def(m, "layer_norm(x: array, weight: array | None, bias: array | None, eps: float, *, " STREAM,
      [](const array& x, const std::optional<array>& weight, const std::optional<array>& bias,
         double eps,
         const StreamOrDevice& s) { return fast::layer_norm(x, weight, bias, eps, s); });
}

void bind_layers(nb::module_& m) {
  def(m,
      "rope(a: array, dims: int, *, traditional: bool, base: float | None, scale: float, "
      "offset: int | array, freqs: array | None = None, " STREAM,
      [](const array& a, int dims, bool traditional, std::optional<double>& base, double scale,
         std::variant<int, array>& offset, const std::optional<array>& freqs,
         const StreamOrDevice& s) {
        if (auto* n = std::get_if<int>(&offset))
          return fast::rope(a, dims, traditional, base, scale, *n, freqs, s);
        return fast::rope(a, dims, traditional, base, scale, std::get<1>(offset), freqs, s);
      });
  def(m,
      "scaled_dot_product_attention(q: array, k: array, v: array, *, scale: float, "
      "mask: None | str | array = None, sinks: array | None = None, force_fused: bool = "
      "False, " STREAM,
      [](const array& q, const array& k, const array& v, double scale,
         std::variant<std::monostate, std::string, array>& mask, const std::optional<array>& sinks,
         bool force_fused, const StreamOrDevice& s) {
        std::string mode;
        std::optional<array> values;
        if (auto* text = std::get_if<std::string>(&mask)) {
          mode = *text;
          if (mode != "causal")
            fail<ValueError>("scaled_dot_product_attention", "the mask '", mode,
                             "'; 'causal' or an array is accepted");
        }
        if (auto* given = std::get_if<array>(&mask)) values = *given;
        return fast::scaled_dot_product_attention(q, k, v, scale, mode, values, sinks, force_fused,
                                                  s);
      });
  def(m, "cross_entropy(logits: array, targets: array, *, " STREAM,
      [](const array& logits, const array& targets, const StreamOrDevice& s) {
        return fast::cross_entropy(logits, targets, s);
      });
  def(m,
      "ctc_loss(log_probs: array, targets: array, input_lengths: array | None = None, "
      "target_lengths: array | None = None, blank: int = 0, *, " STREAM,
      [](const array& log_probs, const array& targets, const std::optional<array>& input_lengths,
         const std::optional<array>& target_lengths, int blank, const StreamOrDevice& s) {
        return fast::ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, s);
      });
  def(m,
      "gated_delta_update(q: array, k: array, v: array, gamma: array, beta: array, "
      "initial_state: array | None = None, mask: array | None = None, "
      "stream: StreamOrDevice = None) -> list[array]",
      [](const array& q, const array& k, const array& v, const array& gates, const array& beta,
         const std::optional<array>& state, const std::optional<array>& mask,
         const StreamOrDevice& s) {
        return fast::gated_delta_update(q, k, v, gates, beta, state, mask, s);
      });
}

#define KERNEL_TEXT                                                      \
  "name: str, input_names: Sequence[str], output_names: Sequence[str], " \
  "source: str, header: str = '', ensure_row_contiguous: bool = True, "

using Ints = std::vector<int>;
std::tuple<int, int, int> three(const char* op, const char* what, const Ints& n) {
  if (n.size() != 3)
    fail<ValueError>(op, "a ", what, " of ", n.size(), " numbers; three are accepted");
  return {n[0], n[1], n[2]};
}

Arrays to_inputs(const char* op, const std::vector<Operand>& given) {
  Arrays inputs;
  for (const Operand& o : given) inputs.push_back(for_dtype(op, o, {}));
  return inputs;
}

/// The object that cuda_kernel, or metal_kernel, returns.
template <class K>
void bind_kernel_class(nb::module_& m) {
  using Argument = std::pair<std::string, TemplateValue>;
  nb::class_<K> c(m, K::name, K::text);
  def(c,
      "__call__(self, *, inputs: Sequence[ScalarOrArray], output_shapes: "
      "Sequence[Sequence[int]], output_dtypes: Sequence[Dtype], grid: tuple[int, int, int], "
      "threadgroup: tuple[int, int, int], template: Sequence[tuple[str, bool | int | Dtype]] | "
      "None = None, init_value: float | None = None, verbose: bool = False, stream: "
      "StreamOrDevice = None) -> list[array]",
      [](K& self, std::vector<Operand>& inputs, std::vector<Shape>& shapes,
         std::vector<Dtype>& dtypes, Ints& grid, Ints& group,
         std::optional<std::vector<Argument>>& arguments, std::optional<float>& init, bool verbose,
         const StreamOrDevice& s) {
        constexpr const char* op = K::op;
        std::vector<std::pair<std::string, fast::TemplateArg>> values;
        if (arguments)
          for (const auto& [name, value] : *arguments) values.emplace_back(name, value.value);
        return self.call(to_inputs(op, inputs), shapes, dtypes, three(op, "grid", grid),
                         three(op, "threadgroup", group), values, init, verbose, s);
      });
}

void bind_metal(nb::module_& m) {
  using Names = std::vector<std::string>;
  bind_kernel_class<MetalKernel>(m);
  def(m,
      "metal_kernel(" KERNEL_TEXT
      "atomic_outputs: bool = False, compile_options: object | None = None) -> Callable[..., "
      "list[array]]",
      [](std::string& name, Names& inputs, Names& outputs, std::string& source, std::string& header,
         bool contiguous, bool atomic, nb::handle) {
        return nb::cast(MetalKernel{
            fast::metal_kernel(name, inputs, outputs, source, header, contiguous, atomic)});
      });
}

void bind_cuda(nb::module_& m) {
  using Names = std::vector<std::string>;
  bind_kernel_class<CudaKernel>(m);
  def(m, "cuda_kernel(" KERNEL_TEXT "shared_memory: int = 0) -> Callable[..., list[array]]",
      [](std::string& name, Names& inputs, Names& outputs, std::string& source, std::string& header,
         bool contiguous, int shared) {
        return nb::cast(CudaKernel{
            fast::cuda_kernel(name, inputs, outputs, source, header, contiguous, shared)});
      });
  def(m,
      "precompiled_cuda_kernel(*, name: str, compiled_source: bytes, "
      "inputs: Sequence[ScalarOrArray], output_shapes: Sequence[tuple[int, ...]], "
      "output_dtypes: Sequence[Dtype], scalars: Sequence[object], grid: tuple[int, int, int], "
      "threadgroup: tuple[int, int, int], shared_memory: int = 0, init_value: float | None = None, "
      "ensure_row_contiguous: bool = False, stream: StreamOrDevice = None) -> list[array]",
      [](std::string& name, nb::handle code, std::vector<Operand>& inputs,
         std::vector<Shape>& shapes, std::vector<Dtype>& dtypes, std::vector<KernelScalar>& scalars,
         Ints& grid, Ints& group, int shared, std::optional<float>& init, bool contiguous,
         const StreamOrDevice& s) {
        constexpr const char* op = "precompiled_cuda_kernel";
        if (!PyBytes_Check(code.ptr()))
          fail<TypeError>(op, "code of type ", class_name(code), "; bytes are accepted");
        std::vector<fast::ScalarArg> numbers;
        for (const KernelScalar& x : scalars) numbers.push_back(x.value);
        const std::string bytes(PyBytes_AS_STRING(code.ptr()),
                                static_cast<size_t>(PyBytes_GET_SIZE(code.ptr())));
        return fast::precompiled_cuda_kernel(
            name, bytes, to_inputs(op, inputs), shapes, dtypes, numbers, three(op, "grid", grid),
            three(op, "threadgroup", group), shared, init, contiguous, s);
      });
}

}  // namespace

void bind_fast(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("fast", "Composite functions with kernels of their own.");
  bind_norms(m);
  bind_layers(m);
  bind_metal(m);
  bind_cuda(m);
}

}  // namespace mlx::python
