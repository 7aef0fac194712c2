// The text of a fused program: loads, instructions, stores, and the walk over elements, in vectors
// of neighbours or in tiles of operands that lie across.
#include "mlx/backend/gpu/families/print_program.h"

#include <algorithm>
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

constexpr int64_t kAnyCount = -1;

/// The parts of a kernel that do not depend on the walk.
class ProgramText {
 public:
  ProgramText(const Program& p, const ProgramForm& form, const std::string& name)
      : p_(p), form_(form), at_(p, form), name_(name), unroll_(unrolled(p, form)) {}

  std::string values() {
    instructions();
    return out_.str();
  }

 protected:
  int inputs() const { return static_cast<int>(p_.inputs.size()); }
  Dtype::Val type_of(int v) const {
    if (v < inputs()) return p_.inputs[v];
    if (v < p_.first_instr()) return p_.constants[v - inputs()];
    return p_.code[v - p_.first_instr()].out;
  }

  /// Addresses of the operands, and constants.
  void pointers() {
    for (int k = 0; k < inputs(); ++k)
      out_ << "  const auto in" << k << " = memory<const " << type_name(p_.inputs[k]) << ">(p.w["
           << at_.operands[k] << "]);\n";
    for (size_t o = 0; o < p_.outputs.size(); ++o) {
      const char* type = type_name(type_of(p_.outputs[o]));
      out_ << "  const auto out" << o << " = memory<" << type << ">(p.w["
           << at_.operands[inputs() + o] << "]);\n";
    }
    for (size_t c = 0; c < p_.constants.size(); ++c) {
      const char* type = type_name(p_.constants[c]);
      out_ << "  const " << type << " v" << inputs() + c << " = constant<" << type << ">(p.w["
           << at_.constants[c] << "], p.w[" << at_.constants[c] + 1 << "]);\n";
    }
    if (form_.table == ProgramForm::Table::read)
      out_ << "  const auto table = memory<const " << type_name(type_of(p_.outputs[0])) << ">(p.w["
           << at_.table << "]);\n";
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
          at_.numberings[i.a] + (ProgramForm::has_strides(form_.numberings[i.a]) ? form_.rank : 0);
      if (i.op == OpId::random_bits && form_.pairs) {
        out_ << "words[u][k]";
      } else if (i.op == OpId::random_bits) {
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

/// The kernel of a program: the walk over elements around its instructions.
class Printer : public ProgramText {
 public:
  using ProgramText::ProgramText;

  std::string print(const KernelTarget& target) {
    out_ << target.head << "#include \"" << target.folder
         << "program.cuh\"\nusing namespace mlx::core;\nusing namespace mlx::core::device;\n"
         << (form_.tile ? "MLX_IN_STEP_KERNEL" : target.declaration) << "(" << name_ << ", Words<"
         << at_.words << ">, p) {\n  using I = " << (form_.wide ? "uint64_t" : "uint32_t")
         << ";\n  constexpr int U = " << unroll_ << ", V = " << form_.vector << ";\n";
    pointers();
    if (form_.tile) {
      tiles(target);
    } else {
      const char* const some = form_.pairs ? "kThreads" : "kThreads * U";
      out_ << "  const I n = static_cast<I>(p.w[0]), half = n / 2, end = "
           << (form_.pairs ? "half" : "n") << ";\n  for (I first = (static_cast<I>(" << target.first
           << ") * (" << some << ") + " << target.thread
           << ") * V; first < end;\n       first += static_cast<I>(" << target.step << ") * ("
           << some << " * V)) {\n";
      load();
      compute();
      out_ << "  }\n";
    }
    out_ << "}\n";
    return out_.str();
  }

 private:
  using Table = ProgramForm::Table;

  void begin_vectors() {
    out_ << "#pragma unroll\n    for (int u = 0; u < U; ++u) {\n      const I i = first + "
         << (form_.pairs ? "static_cast<I>(u) * half, left = half - first;\n"
                         : "static_cast<I>(u * (kThreads * V)), left = n - i;\n")
         << "      if (i >= n) break;\n";
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
  std::string operand_offset(size_t k) const {
    return offset(form_.operands[k], at_.operands[k] + 1);
  }
  static bool has_neighbours(Walk w) { return w == Walk::dense || w == Walk::rows; }

  void load() {
    if (form_.table == Table::write) return number_entries();
    if (inputs() == 0) return;
    bool strided = false;
    for (int k = 0; k < inputs(); ++k) {
      out_ << "    " << type_name(p_.inputs[k]) << " a" << k << "[U]["
           << (has_neighbours(form_.operands[k]) ? "V" : "1") << "];\n";
      strided = strided || ProgramForm::has_strides(form_.operands[k]);
    }
    begin_vectors();
    if (strided) indices();
    for (int k = 0; k < inputs(); ++k)
      out_ << "      load_some(a" << k << "[u], in" << k << " + (" << operand_offset(k)
           << "), left);\n";
    out_ << "    }\n";
  }

  //--- tables

  /// The numbers of all entries in the place of an operand.
  void number_entries() {
    const char* type = type_name(p_.inputs[0]);
    out_ << "    " << type << " a0[U][V];\n";
    begin_vectors();
    out_ << "#pragma unroll\n      for (int k = 0; k < V; ++k) a0[u][k] = table_number<" << type
         << ">(i + k);\n    }\n";
  }
  void look_up() {
    out_ << "#pragma unroll\n      for (int k = 0; k < V; ++k) r0[k] = "
            "table[table_entry(a0[u][k])];\n";
  }

  void compute() {
    if (form_.pairs) {
      const Instr& i = *paired_words(p_, form_, kAnyCount);
      out_ << "    uint32_t words[2][V];\n    random_pairs(words, first, half, a" << i.b
           << "[0][0], a" << i.c << "[0][0]);\n";
    }
    begin_vectors();
    bool strided = false;
    for (size_t k = inputs(); k < form_.operands.size(); ++k)
      strided = strided || ProgramForm::has_strides(form_.operands[k]);
    for (Walk w : form_.numberings) strided = strided || ProgramForm::has_strides(w);
    if (strided) indices();
    for (size_t k = 0; k < form_.numberings.size(); ++k)
      out_ << "      const int64_t begin" << k << " = static_cast<int64_t>("
           << offset(form_.numberings[k], at_.numberings[k]) << ");\n";
    for (size_t o = 0; o < p_.outputs.size(); ++o)
      out_ << "      " << type_name(type_of(p_.outputs[o])) << " r" << o << "[V];\n";
    if (form_.table == Table::read)
      look_up();
    else
      compute_elements();
    for (size_t o = 0; o < p_.outputs.size(); ++o)
      out_ << "      store_some(out" << o << " + (" << operand_offset(inputs() + o) << "), r" << o
           << ", left);\n";
    out_ << "    }\n";
  }
  void compute_elements() {
    out_ << "#pragma unroll\n      for (int k = 0; k < V; ++k) {\n";
    for (size_t k = 0; k < form_.numberings.size(); ++k)
      out_ << "      const int64_t number" << k << " = begin" << k
           << (has_neighbours(form_.numberings[k]) ? " + k" : "") << ";\n";
    for (int k = 0; k < inputs(); ++k)
      out_ << "      const " << type_name(p_.inputs[k]) << " v" << k << " = a" << k
           << (has_neighbours(form_.operands[k]) ? "[u][k];\n" : "[u][0];\n");
    instructions();
    for (size_t o = 0; o < p_.outputs.size(); ++o)
      out_ << "      r" << o << "[k] = v" << p_.outputs[o] << ";\n";
    out_ << "      }\n";
  }

  //--- tiles

  std::string length(int d) const {
    return "p.w[" + std::to_string(ProgramArguments::kShape + d) + "]";
  }
  std::string stride(int strides, int d) const {
    return "p.w[" + std::to_string(strides + d) + "]";
  }
  /// The offset of an element of the tile whose first element is at `begin`.
  std::string tile_offset(Walk walk, const std::string& begin, int strides) const {
    if (!ProgramForm::has_strides(walk)) return "0";
    return begin + " + static_cast<int64_t>(y) * " + stride(strides, form_.tile_axis) +
           " + static_cast<int64_t>(x) * " + stride(strides, form_.rank - 1);
  }
  /// Where operands and numberings have the first element of a tile, and its size.
  void tile_begins() {
    const int last = form_.rank - 1;
    out_ << "    int64_t rest = b;\n    const int64_t x0 = rest % wide * kSide; rest /= wide;\n"
            "    const int64_t y0 = rest % high * kSide; rest /= high;\n    const int nx = "
            "part_of_side<kSide>("
         << length(last) << " - x0), ny = part_of_side<kSide>(" << length(form_.tile_axis)
         << " - y0);\n";
    for (int d = last - 1; d >= 0; --d)
      if (d != form_.tile_axis)
        out_ << "    const int64_t z" << d << " = rest % " << length(d) << "; rest /= " << length(d)
             << ";\n";
    auto begin = [&](const std::string& name, Walk walk, int strides) {
      if (!ProgramForm::has_strides(walk)) return;
      out_ << "    const int64_t " << name << " = y0 * " << stride(strides, form_.tile_axis)
           << " + x0 * " << stride(strides, last);
      for (int d = 0; d < last; ++d)
        if (d != form_.tile_axis) out_ << " + z" << d << " * " << stride(strides, d);
      out_ << ";\n";
    };
    for (size_t k = 0; k < form_.operands.size(); ++k)
      begin("at" + std::to_string(k), form_.operands[k], at_.operands[k] + 1);
    for (size_t k = 0; k < form_.numberings.size(); ++k)
      begin("begin" + std::to_string(k), form_.numberings[k], at_.numberings[k]);
  }
  std::string operand_tile_offset(size_t k) const {
    return tile_offset(form_.operands[k], "at" + std::to_string(k), at_.operands[k] + 1);
  }
  /// A loop over elements of a tile in which neighbouring threads differ in `inner`.
  void begin_tile_elements(const char* inner, const char* outer) {
    out_ << "#pragma unroll\n      for (int u = 0; u < U; ++u) {\n      const int " << inner
         << " = own, " << outer
         << " = line + u * kRows;\n      if (x >= nx || y >= ny) continue;\n";
  }
  void tiles(const KernelTarget& target) {
    const int last = form_.rank - 1;
    out_ << "  constexpr int kSide = " << form_.tile
         << ", kRows = kThreads / kSide;\n  const int own = static_cast<int>(" << target.thread
         << ") % kSide, first = static_cast<int>(" << target.thread << ") / kSide;\n"
         << "  const int64_t wide = (" << length(last) << " + kSide - 1) / kSide, high = ("
         << length(form_.tile_axis)
         << " + kSide - 1) / kSide;\n  const int64_t tiles = wide * high";
    for (int d = 0; d < last; ++d)
      if (d != form_.tile_axis) out_ << " * " << length(d);
    out_ << ";\n";
    for (int k = 0; k < inputs(); ++k)
      if (form_.operands[k] == Walk::across)
        out_ << "  MLX_SHARED uint64_t tile" << k << "_memory[(kSide * (kSide + 1) * sizeof("
             << type_name(p_.inputs[k]) << ") + 7) / 8];\n  const auto tile" << k
             << " = reinterpret_cast<SharedPointer<" << type_name(p_.inputs[k]) << ">>(tile" << k
             << "_memory);\n";
    out_ << "  for (int64_t b = " << target.first << "; b < tiles; b += " << target.step << ") {\n";
    tile_begins();
    const char* const rows = "    for (int line = first; line < kSide; line += kRows * U) {\n";
    out_ << rows;
    load_across();
    out_ << "    }\n    __syncthreads();\n" << rows;
    load_along();
    compute_tile();
    out_ << "    }\n    __syncthreads();\n  }\n";
  }
  void load_across() {
    for (int k = 0; k < inputs(); ++k)
      if (form_.operands[k] == Walk::across)
        out_ << "      " << type_name(p_.inputs[k]) << " a" << k << "[U];\n";
    for (bool stores : {false, true}) {
      begin_tile_elements("y", "x");
      for (int k = 0; k < inputs(); ++k) {
        if (form_.operands[k] != Walk::across) continue;
        if (stores)
          out_ << "      tile" << k << "[x * (kSide + 1) + y] = a" << k << "[u];\n";
        else
          out_ << "      a" << k << "[u] = in" << k << "[" << operand_tile_offset(k) << "];\n";
      }
      out_ << "      }\n";
    }
  }
  /// The inputs that lie as the result does.
  void load_along() {
    bool any = false;
    for (int k = 0; k < inputs(); ++k) {
      if (form_.operands[k] == Walk::across) continue;
      out_ << "      " << type_name(p_.inputs[k]) << " a" << k << "[U];\n";
      any = true;
    }
    if (!any) return;
    begin_tile_elements("x", "y");
    for (int k = 0; k < inputs(); ++k)
      if (form_.operands[k] != Walk::across)
        out_ << "      a" << k << "[u] = in" << k << "[" << operand_tile_offset(k) << "];\n";
    out_ << "      }\n";
  }
  void compute_tile() {
    begin_tile_elements("x", "y");
    for (size_t k = 0; k < form_.numberings.size(); ++k)
      out_ << "      const int64_t number" << k << " = "
           << tile_offset(form_.numberings[k], "begin" + std::to_string(k), at_.numberings[k])
           << ";\n";
    for (int k = 0; k < inputs(); ++k) {
      out_ << "      const " << type_name(p_.inputs[k]) << " v" << k << " = ";
      if (form_.operands[k] == Walk::across)
        out_ << "tile" << k << "[x * (kSide + 1) + y];\n";
      else
        out_ << "a" << k << "[u];\n";
    }
    instructions();
    for (size_t o = 0; o < p_.outputs.size(); ++o)
      out_ << "      out" << o << "[" << operand_tile_offset(inputs() + o) << "] = v"
           << p_.outputs[o] << ";\n";
    out_ << "      }\n";
  }
};

}  // namespace

bool ProgramForm::all_dense() const {
  for (Walk w : operands)
    if (has_strides(w)) return false;
  for (Walk w : numberings)
    if (has_strides(w)) return false;
  return true;
}

ProgramArguments::ProgramArguments(const Program& p, const ProgramForm& form) {
  int next = kShape + form.rank;
  for (Walk w : form.operands) {
    operands.push_back(next);
    next += 1 + (ProgramForm::has_strides(w) ? form.rank : 0);
  }
  for (size_t c = 0; c < p.constants.size(); ++c, next += 2) constants.push_back(next);
  for (Walk w : form.numberings) {
    numberings.push_back(next);
    next += 5 + (ProgramForm::has_strides(w) ? form.rank : 0);
  }
  table = next;
  words = next + (form.table == ProgramForm::Table::read ? 1 : 0);
}

int widest_vector(const Program& p, const ProgramForm& form) {
  int64_t least = 16;
  auto see = [&](Dtype::Val v) { least = std::min<int64_t>(least, Dtype(v).size()); };
  for (Dtype::Val v : p.inputs) see(v);
  for (uint16_t o : p.outputs)
    if (o >= p.first_instr()) see(p.code[o - p.first_instr()].out);
  // The instructions are printed once, and compiled for each element.
  const int64_t most = p.code.size() > 32 ? 4 : 8;
  return static_cast<int>(std::min(16 / least, most));
}
static bool is_cheap(const Instr& i) {
  static constexpr OpId ops[] = {OpId::copy,     OpId::cast,     OpId::where,   OpId::add,
                                 OpId::subtract, OpId::multiply, OpId::maximum, OpId::minimum,
                                 OpId::negative, OpId::abs,      OpId::square,  OpId::equal,
                                 OpId::less,     OpId::greater,  OpId::exp};
  return std::ranges::find(ops, i.op) != std::end(ops);
}
/// Whether an instruction takes about as long as a look-up in a table, and more.
static bool is_costly(const Instr& i) {
  static constexpr OpId quick[] = {OpId::sqrt,  OpId::rsqrt, OpId::reciprocal, OpId::divide,
                                   OpId::floor, OpId::ceil,  OpId::rint,       OpId::trunc,
                                   OpId::sign,  OpId::isnan, OpId::not_equal,  OpId::logical_not};
  return !is_cheap(i) && std::ranges::find(quick, i.op) == std::end(quick);
}
const Instr* paired_words(const Program& p, const ProgramForm& form, int64_t count) {
  const Instr* found = nullptr;
  for (const Instr& i : p.code) {
    if (i.op != OpId::random_bits) continue;
    if (found || i.b >= p.inputs.size() || i.c >= p.inputs.size()) return nullptr;
    found = &i;
  }
  if (!found || p.numberings.size() != 1 || !form.all_dense() ||
      form.numberings[0] != Walk::dense || form.operands[found->b] != Walk::scalar ||
      form.operands[found->c] != Walk::scalar)
    return nullptr;
  return count == kAnyCount || (count % 2 == 0 && p.numberings[0].count == count) ? found : nullptr;
}
bool takes_table(const Program& p, const ProgramForm& form, int64_t count) {
  constexpr int64_t kMany = int64_t{1} << 24;  // elements, for one more kernel in front
  auto has_bytes = [](Dtype::Val v, size_t bytes) { return Dtype(v).size() == bytes; };
  return count >= kMany && p.inputs.size() == 1 && has_bytes(p.inputs[0], 2) &&
         p.outputs.size() == 1 && p.outputs[0] >= p.first_instr() &&
         has_bytes(p.code[p.outputs[0] - p.first_instr()].out, 2) && form.all_dense() &&
         form.operands[0] == Walk::dense && p.numberings.empty() &&
         std::ranges::any_of(p.code, is_costly);
}
int unrolled(const Program& p, const ProgramForm& form) {
  if (form.table != ProgramForm::Table::none) return form.table == ProgramForm::Table::read ? 2 : 1;
  if (form.pairs) return 2;
  if (form.tile) return form.tile == 64 && p.code.size() <= 4 ? 8 : 4;
  if (!form.all_dense()) return 1;
  if (form.vector == 1) return 4;
  // More is in flight where that costs the compiler little.
  return std::ranges::all_of(p.code, is_cheap) &&
                 p.inputs.size() * static_cast<size_t>(form.vector) <= 16
             ? 2
             : 1;
}

std::string print_values(const Program& p) { return Printer(p, {}, "").values(); }
std::string brief_of(const Program& p, const ProgramForm& form) {
  std::string brief;
  brief.reserve(64 + 16 * p.code.size());
  auto put = [&](auto... words) {
    (brief.append(reinterpret_cast<const char*>(&words), sizeof(words)), ...);
  };
  auto put_list = [&](const auto& list) {
    put(list.size());
    for (const auto& item : list) put(item);
  };
  put_list(p.inputs);
  put_list(p.constants);
  put_list(p.outputs);
  put(p.code.size());
  for (const Instr& i : p.code) put(i.op, i.type, i.out, i.a, i.b, i.c);
  put_list(form.operands);
  put_list(form.numberings);
  put(form.rank, form.wide, form.vector, form.pairs, form.table, form.tile, form.tile_axis);
  return brief;
}
std::string print_program(const Program& p, const ProgramForm& form, const std::string& name,
                          const KernelTarget& target) {
  return Printer(p, form, name).print(target);
}

}  // namespace mlx::core::gpu
