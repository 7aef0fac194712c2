// Reading, writing and validating function files.
#include "mlx/transforms/function_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "mlx/core/error.h"
#include "mlx/core/trace.h"
#include "mlx/io/elements.h"
#include "mlx/ops/loop.h"
#include "mlx/transforms/closed.h"

namespace mlx::core {

namespace {

using nlohmann::json;
static_assert(std::endian::native == std::endian::little, "elements are stored as they are");

constexpr char kMagic[] = "MLXFUNC\n";
constexpr uint32_t kVersion = 1;
constexpr size_t kPrefix = 24, kAlign = 64, kTrailer = 8;
constexpr size_t kMaxLoopDepth = 32;
constexpr const char* kName = "import_function";

size_t padding(size_t n) { return (kAlign - n % kAlign) % kAlign; }

/// A checksum over words of 8 bytes; the last word is padded with zeros.
class Checksum {
 public:
  void add(const char* data, size_t n) {
    while (n > 0 && filled_ > 0) take_byte(data, n);
    for (; n >= 8; data += 8, n -= 8) {
      uint64_t word;
      std::memcpy(&word, data, 8);
      mix(word);
    }
    while (n > 0) take_byte(data, n);
  }
  uint64_t value() const { return sum_; }

 private:
  void take_byte(const char*& data, size_t& n) {
    word_ |= uint64_t{static_cast<unsigned char>(*data++)} << (8 * filled_);
    --n;
    if (++filled_ < 8) return;
    mix(word_);
    word_ = 0;
    filled_ = 0;
  }
  void mix(uint64_t word) {
    sum_ = (sum_ ^ word) * 0x9e3779b97f4a7c15ull;
    sum_ ^= sum_ >> 32;
  }
  uint64_t sum_ = 0, word_ = 0;
  int filled_ = 0;
};

// --- JSON ----------------------------------------------------------------------------------------

json to_json(const Shape& s) { return std::vector<int64_t>(s.begin(), s.end()); }
json to_json(const ArrayType& t) {
  return json::array({std::string(dtype_name(t.dtype)), to_json(t.shape)});
}
json to_json(const std::vector<ArrayType>& types) {
  json out = json::array();
  for (const ArrayType& t : types) out.push_back(to_json(t));
  return out;
}
/// JSON cannot represent infinities and NaN.
json to_json(double v) {
  return std::isfinite(v) ? json(v) : json(std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
}

[[noreturn]] void reject(const std::string& what) { throw ValueError(what); }
void require(bool holds, const char* what) {
  if (!holds) reject(what);
}
const json& list(const json& j) {
  require(j.is_array(), "a list is missing");
  return j;
}
int64_t integer_of(const json& j) {
  require(j.is_number_integer(), "an integer is missing");
  return j.get<int64_t>();
}
double real_of(const json& j) {
  if (j.is_string()) return j == "inf" ? INFINITY : j == "-inf" ? -INFINITY : std::nan("");
  require(j.is_number(), "a number is missing");
  return j.get<double>();
}
Shape shape_of(const json& j) {
  Shape out;
  for (const json& n : list(j)) out.push_back(integer_of(n));
  return out;
}
ArrayType type_from(const json& j) {
  ArrayType t{dtype_from_name(list(j).at(0).get<std::string>()), shape_of(j.at(1))};
  for (int64_t n : t.shape) require(n >= 0, "a negative length");
  int64_t bytes;
  require(!__builtin_mul_overflow(num_elements(t.shape), int64_t{t.dtype.size()}, &bytes),
          "a shape beyond 64 bits");
  return t;
}
std::vector<ArrayType> types_from(const json& j) {
  std::vector<ArrayType> out;
  for (const json& t : list(j)) out.push_back(type_from(t));
  return out;
}
/// Value numbers below `known`.
std::vector<uint32_t> values_from(const json& j, size_t known) {
  std::vector<uint32_t> out;
  for (const json& v : list(j)) {
    int64_t i = integer_of(v);
    require(i >= 0 && i < static_cast<int64_t>(known), "a value that is not there yet");
    out.push_back(static_cast<uint32_t>(i));
  }
  return out;
}

/// The precision of a product is not in files: the program that imports it has one.
bool is_stored(std::string_view name) { return name != "precision"; }

struct AttrWriter final : AttrVisitor {
  json out = json::object();
  void visit(const char* name, int64_t& v) override {
    if (is_stored(name)) out[name] = v;
  }
  void visit(const char* name, double& v) override { out[name] = to_json(v); }
  void visit(const char* name, std::string& v) override { out[name] = v; }
  void visit(const char* name, Shape& v) override { out[name] = to_json(v); }
  void visit(const char* name, std::vector<double>& v) override {
    json values = json::array();
    for (double x : v) values.push_back(to_json(x));
    out[name] = values;
  }
};
struct AttrReader final : AttrVisitor {
  const json& in;
  explicit AttrReader(const json& j) : in(j) {}
  void visit(const char* name, int64_t& v) override {
    if (is_stored(name)) v = integer_of(in.at(name));
  }
  void visit(const char* name, double& v) override { v = real_of(in.at(name)); }
  void visit(const char* name, std::string& v) override { v = in.at(name).get<std::string>(); }
  void visit(const char* name, Shape& v) override { v = shape_of(in.at(name)); }
  void visit(const char* name, std::vector<double>& v) override {
    v.clear();
    for (const json& x : list(in.at(name))) v.push_back(real_of(x));
  }
};

json attrs_to_json(const Attrs& attrs) {
  AttrWriter w;
  Ref<Attrs> copy(attrs.clone());
  copy->visit(w);
  return std::move(w.out);
}
Ref<const Attrs> attrs_from(const ExportOp& op, const json& step) {
  if (!op.attrs) return {};
  AttrReader r(step.at("attrs"));
  Ref<Attrs> made(op.attrs->clone());
  made->visit(r);
  return Ref<const Attrs>(made);
}

std::string bits_of(const Scalar& s, Dtype t) {
  std::string out;
  for (int i = 0; i < t.size(); ++i) {
    out += "0123456789abcdef"[s.bytes[i] >> 4];
    out += "0123456789abcdef"[s.bytes[i] & 15];
  }
  return out;
}
array scalar_from(const json& j) {
  Dtype t = dtype_from_name(list(j).at(0).get<std::string>());
  const std::string bits = j.at(1).get<std::string>();
  require(bits.size() == size_t{t.size()} * 2, "a scalar of another size than its dtype");
  Scalar s;
  for (size_t i = 0; i < bits.size(); ++i) {
    size_t digit = std::string_view("0123456789abcdef").find(bits[i]);
    require(digit < 16, "a character that is not a hexadecimal digit");
    s.bytes[i / 2] = static_cast<unsigned char>(s.bytes[i / 2] << 4 | digit);
  }
  require(t != bool_ || s.bytes[0] <= 1, "a bool that is not 0 or 1");
  return constant(s, t);
}

// --- traces --------------------------------------------------------------------------------------

json trace_to_json(const StoredTrace& t, std::unordered_map<const Node*, size_t>& place,
                   Arrays& arrays) {
  json constants = json::array(), steps = json::array();
  for (const array& a : t.constants) {
    if (is_constant(a)) {
      constants.push_back(
          {std::string(dtype_name(a.dtype())), bits_of(a.node()->scalar(), a.dtype())});
      continue;
    }
    auto [it, fresh] = place.emplace(a.node(), arrays.size());
    if (fresh) arrays.push_back(a);
    constants.push_back(it->second);
  }
  for (const TraceStep& s : t.steps) {
    json step{{"op", s.op->op->name}, {"in", s.inputs}, {"out", to_json(s.outputs)}};
    if (s.attrs) step["attrs"] = attrs_to_json(*s.attrs);
    if (!s.mapped.empty()) step["map"] = s.mapped;
    for (const auto& f : s.functions) step["functions"].push_back(trace_to_json(*f, place, arrays));
    steps.push_back(std::move(step));
  }
  return {{"shapeless", t.shapeless}, {"bound", t.bound},       {"inputs", to_json(t.inputs)},
          {"keywords", t.keywords},   {"constants", constants}, {"steps", std::move(steps)},
          {"outputs", t.outputs}};
}

/// The graph of a function of a control-flow op.
Ref<const Subgraph> function_of(const StoredTrace& t) {
  t.check();
  Arrays like;
  for (const ArrayType& type : t.inputs) like.push_back(placeholder(type.shape, type.dtype));
  ShapeWatch within;
  const Graph g = trace([&](const Arrays& in) { return t.run(in); }, like, kName);
  ClosedFunction closed = close(kName, g, &within);
  require(closed.captured.empty(), "a function that reads arrays besides its arguments");
  return closed.function;
}

StoredTrace trace_from(const json& j, const Arrays& arrays) {
  StoredTrace t;
  t.shapeless = j.at("shapeless").get<bool>();
  t.bound = j.at("bound").get<std::string>();
  t.inputs = types_from(j.at("inputs"));
  for (const json& name : list(j.at("keywords"))) t.keywords.push_back(name.get<std::string>());
  std::set<std::string> names(t.keywords.begin(), t.keywords.end());
  require(names.size() == t.keywords.size() && names.size() <= t.inputs.size() &&
              std::is_sorted(t.keywords.begin(), t.keywords.end()),
          "keywords that do not fit the inputs");
  for (const json& c : list(j.at("constants"))) {
    if (c.is_array()) {
      t.constants.push_back(scalar_from(c));
      continue;
    }
    int64_t i = integer_of(c);
    require(i >= 0 && i < static_cast<int64_t>(arrays.size()), "an array that is not there");
    t.constants.push_back(arrays[i]);
  }
  size_t known = t.inputs.size() + t.constants.size();
  for (const json& s : list(j.at("steps"))) {
    const std::string name = s.at("op").get<std::string>();
    TraceStep step;
    step.op = find_export_op(name);
    if (!step.op) reject("the op " + name + " is not known here");
    step.attrs = attrs_from(*step.op, s);
    step.inputs = values_from(s.at("in"), known);
    if (s.contains("map")) step.mapped = s.at("map").get<std::vector<std::vector<bool>>>();
    step.outputs = types_from(s.at("out"));
    if (functions_of(step.attrs.get())) {
      Ref<ControlAttrs> attrs(new ControlAttrs(control_of(step.attrs.get())));
      for (const json& f : list(s.at("functions"))) {
        step.functions.push_back(std::make_shared<StoredTrace>(trace_from(f, arrays)));
        attrs->functions.push_back(function_of(*step.functions.back()));
      }
      step.attrs = attrs;
    }
    known += step.outputs.size();
    t.steps.push_back(std::move(step));
  }
  t.outputs = values_from(j.at("outputs"), known);
  return t;
}

/// The results of a step's op, at `depth` of its mapped axes. With `strict`, the inputs and
/// attributes are validated: they may come from a damaged file.
Arrays build(const TraceStep& step, const Arrays& in, Stream s, bool strict, size_t depth = 0) {
  if (depth < step.mapped.size())
    return loop_built(in, step.mapped[depth], s, [&](const Arrays& slices) {
      return build(step, slices, s, strict, depth + 1);
    });
  if (strict && step.op->check) step.op->check(in, step.attrs.get());
  return step.op->op->build(in, step.attrs.get(), s);
}

Arrays inputs_of(const TraceStep& step, const Arrays& values) {
  Arrays in;
  in.reserve(step.inputs.size());
  for (uint32_t i : step.inputs) in.push_back(values[i]);
  return in;
}

void check_form(const TraceStep& step) {
  const size_t n = step.inputs.size();
  if (static_cast<int>(n) < step.op->min_inputs ||
      (step.op->max_inputs >= 0 && static_cast<int>(n) > step.op->max_inputs))
    reject(cat("the op ", step.op->op->name, " has ", n, " inputs"));
  if (step.mapped.size() > kMaxLoopDepth)
    reject(cat("the op ", step.op->op->name, " is mapped over ", step.mapped.size(), " axes"));
  for (const auto& mapped : step.mapped)
    if (mapped.size() != n)
      reject(cat("the op ", step.op->op->name, " is mapped over ", mapped.size(), " inputs"));
}

}  // namespace

bool StoredTrace::accepts(const Arrays& given, const std::vector<std::string>& names) const {
  if (given.size() != inputs.size() || names != keywords) return false;
  for (size_t i = 0; i < given.size(); ++i) {
    const array& a = given[i];
    if (a.dtype() != inputs[i].dtype || a.ndim() != inputs[i].shape.size()) return false;
    if (!shapeless && a.shape() != inputs[i].shape) return false;
  }
  return true;
}

Arrays StoredTrace::run(const Arrays& given) const {
  Arrays values = given, out;
  values.insert(values.end(), constants.begin(), constants.end());
  const Stream s = to_stream({});
  for (const TraceStep& step : steps)
    for (array& a : build(step, inputs_of(step, values), s, shapeless))
      values.push_back(std::move(a));
  for (uint32_t i : outputs) out.push_back(values[i]);
  return out;
}

void StoredTrace::check() const {
  TraceScope scope;
  const Stream s = to_stream({});
  Arrays values;
  for (const ArrayType& t : inputs) values.push_back(placeholder(t.shape, t.dtype));
  values.insert(values.end(), constants.begin(), constants.end());
  for (const TraceStep& step : steps) {
    const char* name = step.op->op->name;
    check_form(step);
    Arrays made;
    try {
      made = build(step, inputs_of(step, values), s, true);
    } catch (const std::exception& e) {
      reject(cat("the op ", name, ": ", e.what()));
    }
    if (made.size() != step.outputs.size())
      reject(cat("the op ", name, " has ", made.size(), " results"));
    for (size_t k = 0; k < made.size(); ++k) {
      if (type_of(made[k]) == step.outputs[k]) continue;
      reject(cat("the op ", name, " gives shape ", to_string(made[k].shape()), " and dtype ",
                 dtype_name(made[k].dtype()), " where ", to_string(step.outputs[k].shape), " and ",
                 dtype_name(step.outputs[k].dtype), " are stated"));
    }
    values.insert(values.end(), made.begin(), made.end());
  }
}

// --- files ---------------------------------------------------------------------------------------

void write_function(io::Writer& out, const StoredFunction& f) {
  std::unordered_map<const Node*, size_t> place;
  Arrays arrays;
  json header{{"metadata", f.metadata}, {"arrays", json::array()}, {"traces", json::array()}};
  for (const StoredTrace& t : f.traces) header["traces"].push_back(trace_to_json(t, place, arrays));
  for (const array& a : arrays) header["arrays"].push_back(to_json(type_of(a)));
  std::string text;
  try {
    text = header.dump();
  } catch (const json::exception& e) {
    fail<ValueError>("export_function", "metadata or keywords that are not UTF-8: ", e.what());
  }
  text.append(padding(kPrefix + text.size()), ' ');

  Checksum sum;
  auto put = [&](const char* data, size_t n) {
    sum.add(data, n);
    io::put(out, data, n);
  };
  char prefix[kPrefix] = {};
  const uint64_t length = text.size();
  std::memcpy(prefix, kMagic, 8);
  std::memcpy(prefix + 8, &kVersion, 4);
  std::memcpy(prefix + 16, &length, 8);
  put(prefix, kPrefix);
  put(text.data(), text.size());
  for (const array& a : arrays) {
    if (a.nbytes()) put(static_cast<const char*>(a.raw(Access::read)), a.nbytes());
    const char zeros[kAlign] = {};
    put(zeros, padding(a.nbytes()));
  }
  const uint64_t value = sum.value();
  io::put(out, reinterpret_cast<const char*>(&value), kTrailer);
  out.commit();
}

namespace {

/// Reads the header and the arrays of a file with a correct checksum.
json read_parts(io::Reader& in, Arrays& arrays) {
  Checksum sum;
  char prefix[kPrefix];
  auto get = [&](char* to, size_t n) {
    io::take(in, to, n);
    sum.add(to, n);
  };
  if (in.remaining() < kPrefix + kTrailer) reject("it is not a function file");
  get(prefix, kPrefix);
  uint32_t version;
  uint64_t length;
  std::memcpy(&version, prefix + 8, 4);
  std::memcpy(&length, prefix + 16, 8);
  if (std::memcmp(prefix, kMagic, 8) != 0) reject("it is not a function file of this library");
  if (version != kVersion)
    reject(cat("its format has version ", version, "; ", kVersion, " is accepted"));
  if (length > in.remaining() - kTrailer)
    reject(cat("its header of ", length, " bytes is not all there"));
  std::string text(length, 0);
  get(text.data(), length);
  // The parser takes NUL for the end of its input.
  if (text.find('\0') != std::string::npos) reject("its header has a NUL character");
  json header = json::parse(text, [](int depth, json::parse_event_t, json&) {
    constexpr int kDeepest = 100;  // functions in functions; the format has 10 without them
    require(depth <= kDeepest, "a header of too many levels");
    return true;
  });
  for (const ArrayType& t : types_from(header.at("arrays"))) {
    array a = io::read_now(in, "", t.shape, t.dtype);
    if (a.nbytes()) sum.add(static_cast<const char*>(a.raw(Access::read)), a.nbytes());
    char zeros[kAlign];
    get(zeros, padding(a.nbytes()));
    arrays.push_back(std::move(a));
  }
  if (in.remaining() != kTrailer) reject("it has another length than its header says");
  uint64_t value;
  io::take(in, reinterpret_cast<char*>(&value), kTrailer);
  if (value != sum.value()) reject("its checksum is wrong");
  return header;
}

/// Validates that the bytes of a bool array are 0 or 1: kernels rely on it.
void check_bools(const array& a) {
  if (a.dtype() != bool_ || a.size() == 0) return;
  auto* p = static_cast<const unsigned char*>(a.raw(Access::read));
  require(std::all_of(p, p + a.size(), [](unsigned char b) { return b <= 1; }),
          "a bool that is not 0 or 1");
}

}  // namespace

StoredFunction read_function(io::Reader& in) {
  try {
    Arrays arrays;
    const json header = read_parts(in, arrays);
    for (const array& a : arrays) check_bools(a);
    StoredFunction f;
    f.metadata = header.at("metadata").get<std::string>();
    for (const json& t : list(header.at("traces"))) {
      f.traces.push_back(trace_from(t, arrays));
      f.traces.back().check();
    }
    return f;
  } catch (const FileError&) {
    throw;
  } catch (const MemoryError&) {
    throw;
  } catch (const std::exception& e) {
    // The parser's message may quote invalid bytes.
    std::string what = e.what();
    std::replace_if(
        what.begin(), what.end(), [](unsigned char c) { return c < 32 || c > 126; }, '?');
    fail<FileError>(kName, in.label(), " cannot be read: ", what);
  }
}

}  // namespace mlx::core
