// Units of rows as kernels: their text, arguments and launches.
#include "mlx/backend/gpu/families/row_unit.h"

#include <cstring>
#include <sstream>

#include "mlx/backend/gpu/families/fused.h"
#include "mlx/backend/gpu/families/reduce_form.h"
#include "mlx/ops/reduce.h"

namespace mlx::core::gpu {

namespace {

constexpr int64_t kWarps = 8;  // of a block

/// Where the arguments of the kernel lie, counted in words of 8 bytes: the length of a row, how
/// many there are; of each value that is an input or an output of the unit its address, then for an
/// input the distance of rows, or their axes, and of elements where that is not 1; two words a
/// constant.
struct RowWords {
  RowWords(const RowUnit& unit, const RowForm& form) {
    for (const RowValue& v : form.values) {
      values.push_back(count);
      if (v.slot < 0) continue;
      ++count;
      if (v.written) continue;
      count += v.rows.size() == 1 ? 1 : kAxes;
      if (v.is_array && v.step != 1) ++count;
    }
    for (const Step& step : unit.steps) {
      constants.push_back(count);
      count += 2 * static_cast<int>(step.program.constants.size());
    }
  }
  static constexpr int kLength = 0, kRows = 1, kAxes = sizeof(device::Axes) / 8;
  std::vector<int> values, constants;  ///< of each value; the first constant of each step
  int count = 2;
};

/// The text of a unit's kernel.
class RowText {
 public:
  RowText(const RowUnit& unit, const RowForm& form) : unit_(unit), form_(form), at_(unit, form) {}

  std::string print(const KernelTarget& target) {
    for (size_t k = 0; k < unit_.steps.size(); ++k)
      if (unit_.steps[k].op) define_elements(static_cast<int>(k));
    out_ << "MLX_RESIDENT_KERNEL(rows, Words<" << at_.count << ">, p, " << form_.resident
         << ") {\n  constexpr int W = " << form_.warps << ", K = " << form_.each
         << ", kRows = kThreads / (W * kLanes);\n  constexpr bool kWhole = "
         << (form_.whole ? "true" : "false") << ";\n  const int t = static_cast<int>("
         << target.thread
         << ");\n  const int first = t / kLanes % W * (K * kLanes) + t % kLanes;\n"
            "  const int n = static_cast<int>(p.w[0]), left = n - first;\n"
            "  const int64_t rows = p.w[1];\n";
    constants();
    if (form_.parts)
      out_ << "  const int start = first;\n  alignas(16) MLX_SHARED unsigned char partials["
           << 16 * form_.blocks << "];\n";
    out_
        << "  for (int64_t begin = static_cast<int64_t>(" << target.first
        << ") * kRows; begin < rows; begin += static_cast<int64_t>(" << target.step
        << ") * kRows) {\n    const int64_t own = begin + t / (W * kLanes);\n"
           "    const bool there = own < rows;\n    const int64_t line = there ? own : rows - 1;\n";
    numbers();
    const int steps = static_cast<int>(unit_.steps.size());
    for (int k = 0; k < steps; ++k) form_.parts ? step_of_parts(k) : step(k);
    if (form_.parts) store_parts();
    store_numbers();
    out_ << "  }\n}\n";
    return target.source("row_unit", out_.str());
  }

 private:
  const char* type(int value) const { return element_type(form_.values[value].type); }
  std::string word(int k) const { return cat("p.w[", k, "]"); }
  std::string name(int value) const { return cat(form_.values[value].is_array ? "a" : "s", value); }
  /// A value at element k of the thread.
  std::string element(int value) const {
    return form_.values[value].is_array ? cat("a", value, "[k]") : cat("s", value);
  }
  static const char* each() { return "#pragma unroll\n    for (int k = 0; k < K; ++k) "; }

  void constants() {
    for (size_t i = 0; i < unit_.steps.size(); ++i) {
      const Program& p = unit_.steps[i].program;
      for (size_t c = 0; c < p.constants.size(); ++c) {
        const int k = at_.constants[i] + 2 * static_cast<int>(c);
        const char* const t = element_type(Dtype(p.constants[c]));
        out_ << "  const " << t << " c" << i << "_" << c << " = constant<" << t << ">(" << word(k)
             << ", " << word(k + 1) << ");\n";
      }
    }
  }

  /// A pointer `from<value>` to the row of an input.
  void row_of(int value) {
    const RowValue& v = form_.values[value];
    const int k = at_.values[value];
    out_ << "    const auto* from" << value << " = memory<const " << type(value) << ">(" << word(k)
         << ") + ";
    if (v.rows.size() == 1)
      out_ << "line * " << word(k + 1) << ";\n";
    else
      out_ << "offset_of(*reinterpret_cast<MLX_ARGUMENTS const Axes*>(&" << word(k + 1)
           << "), line);\n";
  }
  /// Numbers of the row. The unit may write over them at its end.
  void numbers() {
    for (int v = 0; v < static_cast<int>(form_.values.size()); ++v) {
      const RowValue& value = form_.values[v];
      if (value.is_array) continue;
      if (!value.written) row_of(v);
      out_ << "    " << type(v) << " s" << v;
      if (!value.written) out_ << " = *from" << v;
      out_ << ";\n";
    }
  }
  /// Arrays that a step uses first: inputs are loaded. Elements that are not there are 0.
  void begin_arrays(int number) {
    for (int v = 0; v < static_cast<int>(form_.values.size()); ++v) {
      const RowValue& value = form_.values[v];
      if (value.is_array && value.first == number) begin_array(v);
    }
  }
  void begin_array(int v) {
    const RowValue& value = form_.values[v];
    out_ << "    " << type(v) << " a" << v << "[K];\n";
    if (value.written) return;
    row_of(v);
    const int step = at_.values[v] + 1 + (value.rows.size() == 1 ? 1 : RowWords::kAxes);
    const std::string by = value.step == 1 ? "" : " * " + word(step);
    out_ << "    from" << v << " += first" << by << ";\n"
         << each() << "{\n      a" << v << "[k] = {};\n      if (kWhole || k * kLanes < left) a"
         << v << "[k] = from" << v << "[k * kLanes" << by << "];\n    }\n";
  }

  /// The values of a step's program at an element.
  void program(int number) {
    const Program& p = unit_.steps[number].program;
    for (size_t k = 0; k < p.inputs.size(); ++k)
      out_ << "      const " << element_type(Dtype(p.inputs[k])) << " v" << k << " = "
           << element(form_.operands[number][k]) << ";\n";
    for (size_t c = 0; c < p.constants.size(); ++c)
      out_ << "      const " << element_type(Dtype(p.constants[c])) << " v" << p.inputs.size() + c
           << " = c" << number << "_" << c << ";\n";
    out_ << print_values(p);
  }
  void step(int number) {
    const Step& s = unit_.steps[number];
    begin_arrays(number);
    if (s.op) return reduce(number);
    compute(number);
    if (num_elements(s.operands[0].shape) == form_.rows) return;
    for (size_t o = 0; o < s.program.outputs.size(); ++o)
      store_array(form_.operands[number][s.n_inputs + o]);
  }
  /// The results of an elementwise step.
  void compute(int number) {
    const Step& s = unit_.steps[number];
    const auto& operands = form_.operands[number];
    const bool wide = num_elements(s.operands[0].shape) > form_.rows;
    out_ << "    ";
    if (wide) out_ << '\n' << each();
    out_ << "{\n";
    program(number);
    for (size_t o = 0; o < s.program.outputs.size(); ++o)
      out_ << "      " << element(operands[s.n_inputs + o]) << " = v" << s.program.outputs[o]
           << ";\n";
    out_ << "    }\n";
  }
  /// The values that a reduction reads, each once.
  std::vector<int> read_by(int number) const {
    const auto& operands = form_.operands[number];
    std::vector<int> values(operands.begin(), operands.begin() + unit_.steps[number].n_inputs);
    std::ranges::sort(values);
    values.erase(std::ranges::unique(values).begin(), values.end());
    return values;
  }
  size_t constants_of(int number) const { return unit_.steps[number].program.constants.size(); }
  /// The type of the elements that a reduction combines, which computes them from values of the
  /// kernel, its members.
  void define_elements(int number) {
    const Step& s = unit_.steps[number];
    out_ << "struct Element" << number << " {\n";
    for (int v : read_by(number)) {
      if (form_.values[v].is_array)
        out_ << "  MLX_THREAD const " << type(v) << " (&a" << v << ")[" << form_.each << "];\n";
      else
        out_ << "  const " << type(v) << " s" << v << ";\n";
    }
    for (size_t c = 0; c < constants_of(number); ++c)
      out_ << "  const " << element_type(Dtype(s.program.constants[c])) << " c" << number << "_"
           << c << ";\n";
    out_ << "  MLX_FN auto operator()(int k) const {\n      (void)k;\n";
    if (!s.program.code.empty()) {
      program(number);
      out_ << "      return v" << s.program.outputs[0] << ";\n";
    } else {
      out_ << "      return " << element(form_.operands[number][0]) << ";\n";
    }
    out_ << "  }\n};\n";
  }
  ReduceForm reduce_form_of(int number) const {
    const Step& s = unit_.steps[number];
    const Dtype in = s.program.code.empty() ? s.operands[0].dtype : computed_input(s).dtype;
    return reduce_form(attrs_as<ReduceAttrs>(s.attrs.get()).kind, in, form_.n);
  }
  std::string operation(int number) const { return cat(reduce_form_of(number).operation); }
  /// The function that makes a row's result of its reduction.
  std::string finish(int number) const {
    const int to = form_.operands[number][unit_.steps[number].n_inputs];
    return cat(reduce_form_of(number).finish, "::finish<", type(to), ">");
  }
  /// The elements that a reduction combines.
  std::string elements(int number) const {
    std::string members;
    auto add = [&](const std::string& member) {
      members += (members.empty() ? "" : ", ") + member;
    };
    for (int v : read_by(number)) add(name(v));
    for (size_t c = 0; c < constants_of(number); ++c) add(cat("c", number, "_", c));
    return cat("Element", number, "{", members, "}");
  }
  void reduce(int number) {
    out_ << "    " << name(form_.operands[number][unit_.steps[number].n_inputs]) << " = "
         << finish(number) << "(reduced_row<" << operation(number) << ", W, K, " << form_.blocks
         << ", kWhole>(MLX_HERE first, left, " << elements(number) << "), n);\n";
  }

  //--- rows in parts: arrays are computed again for each reduction that depends on them

  /// Marks the steps that some arrays depend on, by their values.
  std::vector<bool> steps_before(std::vector<int> values) const {
    std::vector<bool> needed(unit_.steps.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const RowValue& v = form_.values[values[i]];
      if (!v.is_array || !v.written || needed[v.first]) continue;
      needed[v.first] = true;
      const auto& operands = form_.operands[v.first];
      values.insert(values.end(), operands.begin(),
                    operands.begin() + unit_.steps[v.first].n_inputs);
    }
    return needed;
  }
  /// The arrays of a part: inputs, then those that the steps compute.
  void arrays_of_part(const std::vector<bool>& needed, const std::vector<int>& read) {
    out_ << "    for (int part = 0; part < " << form_.parts
         << "; ++part) {\n    const int first = start + part * (W * K * kLanes), left = n - "
            "first;\n";
    std::vector<bool> used(form_.values.size());
    for (int v : read) used[v] = true;
    for (size_t k = 0; k < needed.size(); ++k)
      for (int v : form_.operands[k]) used[v] = used[v] || needed[k];
    for (size_t v = 0; v < used.size(); ++v)
      if (used[v] && form_.values[v].is_array) begin_array(static_cast<int>(v));
    for (size_t k = 0; k < needed.size(); ++k)
      if (needed[k]) compute(static_cast<int>(k));
  }
  void step_of_parts(int number) {
    const Step& s = unit_.steps[number];
    if (!s.op) {
      if (num_elements(s.operands[0].shape) <= form_.rows) compute(number);
      return;
    }
    const std::vector<int> read = read_by(number);
    const std::string op = operation(number);
    out_ << "    {\n    auto* parts = reinterpret_cast<SharedPointer<" << op
         << "::A>>(partials);\n";
    arrays_of_part(steps_before(read), read);
    out_ << "    const auto x = reduced_block<" << op << ", K, kWhole>(first, left, "
         << elements(number)
         << ");\n    const int block = part * W + t / kLanes;\n"
            "    if (t % kLanes == 0 && block < "
         << form_.blocks << ") parts[block] = x;\n    }\n    __syncthreads();\n    "
         << name(form_.operands[number][s.n_inputs]) << " = " << finish(number) << "(counted<" << op
         << ", " << form_.blocks << ">(parts), n);\n    __syncthreads();\n    }\n";
  }
  /// Arrays in memory, after all reductions: they may lie where inputs do.
  void store_parts() {
    std::vector<int> stored;
    for (int v = 0; v < static_cast<int>(form_.values.size()); ++v)
      if (form_.values[v].is_array && form_.values[v].written && form_.values[v].slot >= 0)
        stored.push_back(v);
    if (stored.empty()) return;
    arrays_of_part(steps_before(stored), {});
    for (int v : stored) store_array(v);
    out_ << "    }\n";
  }

  std::string pointer(int value) const {
    return cat("memory<", type(value), ">(", word(at_.values[value]), ")");
  }
  void store_array(int value) {
    if (form_.values[value].slot < 0) return;
    out_ << "    if (there) {\n    auto* to = " << pointer(value) << " + (line * n + first);\n"
         << each() << "if (kWhole || k * kLanes < left) to[k * kLanes] = a" << value
         << "[k];\n    }\n";
  }
  void store_numbers() {
    for (int v = 0; v < static_cast<int>(form_.values.size()); ++v) {
      const RowValue& value = form_.values[v];
      if (!value.written || value.is_array || value.slot < 0) continue;
      out_ << "    if (there && first == 0) " << pointer(v) << "[line] = s" << v << ";\n";
    }
  }

  const RowUnit& unit_;
  const RowForm& form_;
  const RowWords at_;
  std::ostringstream out_;
};

class RowUnitKernel final : public OpKernel {
 public:
  RowUnitKernel(const RowUnit& unit, const RowForm& form, DeviceState& device) {
    const RowWords at(unit, form);
    kernel_.function =
        device.kernels->find(RowText(unit, form).print(*device.hardware->target()), "rows");
    arguments_.resize(1 + at.count);
    arguments_[0] = at.count;
    int64_t* const words = arguments_.data() + 1;
    words[RowWords::kLength] = form.n;
    words[RowWords::kRows] = form.rows;
    for (size_t k = 0; k < form.values.size(); ++k)
      if (form.values[k].slot >= 0) bind(form.values[k], at.values[k], words);
    for (size_t i = 0; i < unit.steps.size(); ++i) {
      const Step& s = unit.steps[i];
      for (size_t c = 0; c < s.program.constants.size(); ++c)
        constants_.push_back({1 + at.constants[i] + 2 * static_cast<int>(c),
                              s.first_constant + static_cast<int>(c)});
    }
    const int64_t rows = kWarps / form.warps;
    blocks_ = std::min<int64_t>((form.rows + rows - 1) / rows, 1 << 20);
  }

  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    std::vector<int64_t> arguments = arguments_;
    for (const Address& a : addresses_)
      arguments[a.word] = static_cast<int64_t>(operands[a.operand]) + a.offset;
    for (auto [word, constant] : constants_)
      std::memcpy(&arguments[word], to.constants[constant].bytes,
                  sizeof(to.constants[constant].bytes));
    kernel_.launch(to, blocks_, arguments);
  }

 private:
  struct Address {
    int word, operand;
    int64_t offset;  // bytes
  };

  void bind(const RowValue& v, int where, int64_t* words) {
    addresses_.push_back({1 + where, v.slot, v.offset * v.type.size()});
    if (v.written) return;
    int64_t* next = words + where + 1;
    if (v.rows.size() == 1) {
      *next++ = v.strides[0];
    } else {
      device::Axes axes = {};
      axes.rank = static_cast<int64_t>(v.rows.size());
      std::ranges::copy(v.rows, axes.shape);
      std::ranges::copy(v.strides, axes.strides);
      std::memcpy(next, &axes, sizeof(axes));
      next += RowWords::kAxes;
    }
    if (v.is_array && v.step != 1) *next = v.step;
  }

  Kernel kernel_;
  int64_t blocks_ = 0;
  std::vector<int64_t> arguments_;  // without addresses and constants
  std::vector<Address> addresses_;
  std::vector<std::pair<int, int>> constants_;  // a word, and the constant of the launch
};

}  // namespace

std::unique_ptr<const OpKernel> prepare_row_unit(const Step& step, DeviceState& device) {
  std::vector<const Step*> steps;
  for (const Step& s : step.unit->steps) steps.push_back(&s);
  const std::optional<RowForm> form = row_form(steps, step.unit->rows);
  return std::make_unique<const RowUnitKernel>(*step.unit, form.value(), device);
}

}  // namespace mlx::core::gpu
