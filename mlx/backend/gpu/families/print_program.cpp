// The text of a fused program: loads, instructions, stores, and the walk over elements.
#include "mlx/backend/gpu/families/print_program.h"

#include <sstream>

namespace mlx::core::gpu {

namespace {

const char* type_name(Dtype::Val v) {
  switch (v) {
#define MLX_CASE(T, D) \
  case Dtype::Val::D:  \
    return #T;
    MLX_FOR_EACH_DTYPE(MLX_CASE)
#undef MLX_CASE
  }
  __builtin_unreachable();
}

struct Row {
  const char* name;
  int arity;
};
Row row_of(OpId op) {
  static constexpr Row rows[] = {
#define E(name, arity, ...) {#name, arity},
#include "mlx/ops/elementwise.def"
#undef E
  };
  return rows[static_cast<int>(op)];
}

class Printer {
 public:
  Printer(const Program& p, const ProgramForm& form, const std::string& name)
      : p_(p), form_(form), at_(p, form), name_(name), unroll_(elements_a_thread(form)) {}

  std::string print(const KernelTarget& target) {
    out_ << target.head << "#include \"" << target.folder
         << "program.cuh\"\nusing namespace mlx::core;\nusing namespace mlx::core::device;\n"
         << target.declaration << "(" << name_ << ", Words<" << at_.words
         << ">, p) {\n  using I = " << (form_.wide ? "uint64_t" : "uint32_t")
         << ";\n  const I n = static_cast<I>(p.w[0]);\n  constexpr int U = " << unroll_ << ";\n";
    pointers();
    out_ << "  for (I first = static_cast<I>(" << target.first << ") * (kThreads * U) + "
         << target.thread << "; first < n;\n       first += static_cast<I>(" << target.step
         << ") * (kThreads * U)) {\n";
    load();
    compute();
    out_ << "  }\n}\n";
    return out_.str();
  }

  std::string values() {
    instructions();
    return out_.str();
  }

 private:
  int inputs() const { return static_cast<int>(p_.inputs.size()); }
  Dtype::Val type_of(int v) const {
    if (v < inputs()) return p_.inputs[v];
    if (v < p_.first_instr()) return p_.constants[v - inputs()];
    return p_.code[v - p_.first_instr()].out;
  }

  /// Addresses of the operands, and constants.
  void pointers() {
    for (int k = 0; k < inputs(); ++k)
      out_ << "  const " << type_name(p_.inputs[k]) << "* in" << k << " = reinterpret_cast<const "
           << type_name(p_.inputs[k]) << "*>(p.w[" << at_.operands[k] << "]);\n";
    for (size_t o = 0; o < p_.outputs.size(); ++o) {
      const char* type = type_name(type_of(p_.outputs[o]));
      out_ << "  " << type << "* out" << o << " = reinterpret_cast<" << type << "*>(p.w["
           << at_.operands[inputs() + o] << "]);\n";
    }
    for (size_t c = 0; c < p_.constants.size(); ++c) {
      const char* type = type_name(p_.constants[c]);
      out_ << "  const " << type << " v" << inputs() + c << " = constant<" << type << ">(p.w["
           << at_.constants[c] << "], p.w[" << at_.constants[c] + 1 << "]);\n";
    }
  }

  void begin_elements() {
    out_ << "#pragma unroll\n    for (int u = 0; u < U; ++u) {\n"
            "      const I i = first + static_cast<I>(u * kThreads);\n"
            "      if (i >= n) break;\n";
  }
  /// The indices of the element.
  void indices() {
    out_ << "      I rest = i;\n";
    for (int d = form_.rank - 1; d > 0; --d) {
      const int length = ProgramArguments::kShape + d;
      out_ << "      const I x" << d << " = rest % static_cast<I>(p.w[" << length << "]); rest /= "
           << "static_cast<I>(p.w[" << length << "]);\n";
    }
    out_ << "      const I x0 = rest;\n";
  }
  /// How far an operand or a numbering is into its walk.
  std::string offset(Walk walk, int strides) const {
    if (walk == Walk::dense) return "i";
    if (walk == Walk::scalar) return "0";
    std::ostringstream s;
    for (int d = 0; d < form_.rank; ++d)
      s << (d ? " + " : "") << "static_cast<int64_t>(x" << d << ") * p.w[" << strides + d << "]";
    return s.str();
  }

  void load() {
    if (inputs() == 0) return;
    bool strided = false;
    for (int k = 0; k < inputs(); ++k) {
      out_ << "    " << type_name(p_.inputs[k]) << " a" << k << "[U];\n";
      strided = strided || form_.operands[k] == Walk::strided;
    }
    begin_elements();
    if (strided) indices();
    for (int k = 0; k < inputs(); ++k)
      out_ << "      a" << k << "[u] = in" << k << "["
           << offset(form_.operands[k], at_.operands[k] + 1) << "];\n";
    out_ << "    }\n";
  }

  void compute() {
    begin_elements();
    bool strided = false;
    for (size_t k = inputs(); k < form_.operands.size(); ++k)
      strided = strided || form_.operands[k] == Walk::strided;
    for (Walk w : form_.numberings) strided = strided || w == Walk::strided;
    if (strided) indices();
    for (size_t k = 0; k < form_.numberings.size(); ++k)
      out_ << "      const int64_t number" << k << " = static_cast<int64_t>("
           << offset(form_.numberings[k], at_.numberings[k]) << ");\n";
    for (int k = 0; k < inputs(); ++k)
      out_ << "      const " << type_name(p_.inputs[k]) << " v" << k << " = a" << k << "[u];\n";
    instructions();
    for (size_t o = 0; o < p_.outputs.size(); ++o) {
      const size_t k = inputs() + o;
      out_ << "      out" << o << "[" << offset(form_.operands[k], at_.operands[k] + 1) << "] = v"
           << p_.outputs[o] << ";\n";
    }
    out_ << "    }\n";
  }

  void instructions() {
    for (size_t k = 0; k < p_.code.size(); ++k) {
      out_ << "      const " << type_name(p_.code[k].out) << " v" << p_.first_instr() + k << " = ";
      instruction(p_.code[k]);
      out_ << ";\n";
    }
  }
  void instruction(const Instr& i) {
    const char* type = type_name(i.out);
    if (reads_index(i.op)) {
      const int numbering =
          at_.numberings[i.a] + (form_.numberings[i.a] == Walk::strided ? form_.rank : 0);
      if (i.op == OpId::random_bits) {
        out_ << "random_word(number" << i.a << ", p.w[" << numbering << "], v" << i.b << ", v"
             << i.c << ")";
      } else if (i.type == Dtype::Val::int64) {
        out_ << "integer_position<" << type << ">(number" << i.a << ", p.w[" << numbering + 3
             << "], p.w[" << numbering + 4 << "])";
      } else {
        out_ << "float_position<" << type << ">(number" << i.a << ", as_double(p.w["
             << numbering + 1 << "]), as_double(p.w[" << numbering + 2 << "]))";
      }
      return;
    }
    if (i.op == OpId::copy) {
      out_ << "v" << i.a;
    } else if (i.op == OpId::cast) {
      out_ << "cast<" << type << ">(v" << i.a << ")";
    } else if (row_of(i.op).arity == 3) {
      out_ << "v" << i.a << " ? v" << i.b << " : v" << i.c;
    } else {
      out_ << "row<" << type << ">(bodies::" << row_of(i.op).name << "{}, v" << i.a;
      if (row_of(i.op).arity == 2) out_ << ", v" << i.b;
      out_ << ")";
    }
  }

  const Program& p_;
  const ProgramForm& form_;
  const ProgramArguments at_;
  const std::string& name_;
  const int unroll_;
  std::ostringstream out_;
};

}  // namespace

bool ProgramForm::all_dense() const {
  for (Walk w : operands)
    if (w == Walk::strided) return false;
  for (Walk w : numberings)
    if (w == Walk::strided) return false;
  return true;
}

ProgramArguments::ProgramArguments(const Program& p, const ProgramForm& form) {
  int next = kShape + form.rank;
  for (Walk w : form.operands) {
    operands.push_back(next);
    next += 1 + (w == Walk::strided ? form.rank : 0);
  }
  for (size_t c = 0; c < p.constants.size(); ++c, next += 2) constants.push_back(next);
  for (Walk w : form.numberings) {
    numberings.push_back(next);
    next += 5 + (w == Walk::strided ? form.rank : 0);
  }
  words = next;
}

int elements_a_thread(const ProgramForm& form) { return form.all_dense() ? 4 : 1; }

std::string print_values(const Program& p) { return Printer(p, {}, "").values(); }
std::string print_program(const Program& p, const ProgramForm& form, const std::string& name,
                          const KernelTarget& target) {
  return Printer(p, form, name).print(target);
}

}  // namespace mlx::core::gpu
