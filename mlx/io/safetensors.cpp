// The safetensors format: the length of a JSON header, the header, the elements.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "mlx/core/error.h"
#include "mlx/io/elements.h"
#include "mlx/io/io.h"
#include "mlx/runtime/evaluate.h"

namespace mlx::core {

namespace {

using nlohmann::json;

struct Name {
  const char* name;
  Dtype dtype;
};
constexpr Name kNames[] = {
    {"BOOL", bool_},    {"U8", uint8},    {"U16", uint16},  {"U32", uint32},   {"U64", uint64},
    {"I8", int8},       {"I16", int16},   {"I32", int32},   {"I64", int64},    {"F16", float16},
    {"BF16", bfloat16}, {"F32", float32}, {"F64", float64}, {"C64", complex64}};

constexpr size_t kMaxJsonHeader = 100 << 20;
/// The name that is not one of an array.
constexpr const char* kMetadata = "__metadata__";

const char* name_of(Dtype t) {
  for (const Name& n : kNames)
    if (n.dtype == t) return n.name;
  fail<FileError>("save_safetensors", "dtype ", dtype_name(t),
                  " has no name in the format; "
                  "accepted are bool, integers, float16 to float64, bfloat16 and complex64");
}

Dtype dtype_of(const std::string& name, const std::string& label) {
  for (const Name& n : kNames)
    if (name == n.name) return n.dtype;
  // 8-bit floats are read as uint8.
  if (name == "F8_E4M3" || name == "F8_E5M2" || name == "F8_E8M0") return uint8;
  fail<FileError>("load_safetensors", label, " has an array of the unknown dtype ", name);
}

struct Entry {
  std::string name;
  Dtype dtype;
  Shape shape;
  size_t begin, end;
};

/// Reads the header from the events of a JSON parser, so that memory is used for what a header may
/// contain only: an object of flat objects.
class HeaderReader final : public nlohmann::json_sax<json> {
 public:
  explicit HeaderReader(const std::string& label) : label_(label) {}
  std::vector<Entry> entries;
  std::unordered_map<std::string, std::string> metadata;

  bool null() override {
    if (depth_ != 1 || !in_metadata_) bad("null");
    return true;
  }
  bool boolean(bool) override { bad("a bool"); }
  bool number_integer(int64_t v) override { bad(cat("the number ", v)); }
  bool number_float(double, const std::string& text) override { bad("the number " + text); }
  bool binary(json::binary_t&) override { bad("binary data"); }
  bool number_unsigned(uint64_t v) override {
    if (!list_) bad(cat("the number ", v));
    if (v > static_cast<uint64_t>(INT64_MAX)) bad(cat("the number ", v));
    if (field_ == "shape") {
      if (entry().shape.size() == kMaxAxes) bad(cat("more than ", kMaxAxes, " axes"));
      entry().shape.push_back(static_cast<int64_t>(v));
    } else {
      if (n_offsets_ == 2) bad("more than two numbers");
      (n_offsets_++ ? entry().end : entry().begin) = v;
    }
    return true;
  }
  bool string(std::string& v) override {
    if (in_metadata_ && depth_ == 2) {
      metadata.emplace(field_, std::move(v));
    } else {
      if (depth_ != 2 || list_ || field_ != "dtype") bad("a string");
      entry().dtype = dtype_of(v, label_);
    }
    return true;
  }
  bool start_object(size_t) override {
    if (depth_ == 2 || list_) bad("an object");
    ++depth_;
    return true;
  }
  bool key(std::string& name) override {
    if (depth_ == 1) return start_entry(name);
    field_ = name;
    if (in_metadata_) {
      if (metadata.contains(name)) bad("a second value");
      return true;
    }
    const int bit = name == "dtype" ? 1 : name == "shape" ? 2 : name == "data_offsets" ? 4 : 0;
    if (!bit) bad("an unknown field");
    if (fields_ & bit) bad("a second value");
    fields_ |= bit;
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1 && !in_metadata_ && (fields_ != 7 || n_offsets_ != 2)) {
      field_.clear();
      bad("no dtype, shape and two data_offsets");
    }
    in_metadata_ = false;
    return true;
  }
  bool start_array(size_t) override {
    if (depth_ != 2 || list_ || in_metadata_ || field_ == "dtype") bad("a list");
    list_ = true;
    return true;
  }
  bool end_array() override {
    list_ = false;
    return true;
  }
  bool parse_error(size_t at, const std::string&, const json::exception& e) override {
    fail<FileError>("load_safetensors", label_, ": malformed header at byte ", 8 + at, ": ",
                    e.what());
  }

 private:
  Entry& entry() { return entries.back(); }
  bool start_entry(std::string& name) {
    field_.clear();
    name_ = name;
    in_metadata_ = name == kMetadata;
    if (!names_.insert(name).second) bad("a second description");
    fields_ = n_offsets_ = 0;
    if (!in_metadata_) entries.push_back({std::move(name), float32, {}, 0, 0});
    return true;
  }
  [[noreturn]] void bad(const std::string& what) const {
    fail<FileError>("load_safetensors", label_, ": the header has ", what,
                    name_.empty() ? "" : " for " + name_, field_.empty() ? "" : "." + field_,
                    "; accepted are a dtype, a shape and two data_offsets for each array, and "
                    "strings in ",
                    kMetadata);
  }

  const std::string& label_;
  std::unordered_set<std::string> names_;
  std::string name_, field_;
  int depth_ = 0, fields_ = 0, n_offsets_ = 0;
  bool list_ = false, in_metadata_ = false;
};

/// Orders the arrays by offset; throws FileError unless they cover the rest of the file exactly.
void check_entries(std::vector<Entry>& entries, size_t bytes, const std::string& label) {
  for (const Entry& e : entries) {
    size_t size = e.dtype.size();
    bool bad = false;
    for (int64_t n : e.shape) bad |= __builtin_mul_overflow(size, static_cast<size_t>(n), &size);
    if (bad || e.begin > e.end || e.end > bytes || e.end - e.begin != size)
      fail<FileError>("load_safetensors", label, ": the bytes ", e.begin, " to ", e.end, " of ",
                      e.name, " do not hold shape ", to_string(e.shape), " of ",
                      dtype_name(e.dtype), "; the file may be truncated");
  }
  std::sort(entries.begin(), entries.end(),
            [](auto& a, auto& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  size_t at = 0;
  for (const Entry& e : entries) {
    if (e.begin != at)
      fail<FileError>("load_safetensors", label, ": ", e.name, " starts at byte ", e.begin,
                      " of the data instead of ", at,
                      "; arrays may neither overlap nor leave gaps");
    at = e.end;
  }
  if (at != bytes)
    fail<FileError>("load_safetensors", label, ": ", bytes - at, " bytes after the last array");
}

}  // namespace

SafetensorsLoad load_safetensors(std::shared_ptr<io::Reader> in, StreamOrDevice s) {
  const std::string label = in->label();
  unsigned char raw[8];
  io::take(*in, reinterpret_cast<char*>(raw), 8);
  uint64_t length = 0;
  for (int i = 0; i < 8; ++i) length |= uint64_t{raw[i]} << (8 * i);
  if (length > in->remaining() || length > kMaxJsonHeader)
    fail<FileError>("load_safetensors", label, ": a header of ", length, " bytes is announced, ",
                    in->remaining(), " bytes follow; the file may be truncated");
  std::string text(length, 0);
  io::take(*in, text.data(), length);
  // The parser takes NUL for the end of its input.
  if (!text.starts_with('{') || text.find('\0') != std::string::npos)
    fail<FileError>("load_safetensors", label, ": the header is not a JSON object");
  HeaderReader header(label);
  json::sax_parse(text, &header);
  std::string().swap(text);
  check_entries(header.entries, in->remaining(), label);
  SafetensorsLoad out;
  for (const Entry& e : header.entries)
    out.first.emplace(e.name, io::read_elements(*in, e.name, e.shape, e.dtype, false, s));
  out.second = std::move(header.metadata);
  return out;
}

SafetensorsLoad load_safetensors(const std::string& file, StreamOrDevice s) {
  return load_safetensors(io::open_reader(file, "load_safetensors"), s);
}

namespace {

/// Computes all at once, and their common inputs once.
void evaluate(const std::unordered_map<std::string, array>& arrays) {
  Arrays all;
  for (auto& [name, a] : arrays) all.push_back(a);
  eval(std::move(all));
}

}  // namespace

void save_safetensors(std::shared_ptr<io::Writer> out,
                      std::unordered_map<std::string, array> arrays,
                      std::unordered_map<std::string, std::string> metadata) {
  if (arrays.contains(kMetadata))
    fail<ValueError>("save_safetensors", "an array of the name ", kMetadata,
                     "; the format keeps this name for metadata");
  evaluate(arrays);
  std::vector<std::pair<std::string, array>> sorted(arrays.begin(), arrays.end());
  arrays.clear();
  // Wider elements first, so that every array is aligned to its element size.
  std::sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) {
    return std::pair(-int{a.second.dtype().size()}, a.first) <
           std::pair(-int{b.second.dtype().size()}, b.first);
  });
  json header = json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  size_t at = 0;
  for (auto& [name, a] : sorted) {
    std::vector<int64_t> shape(a.shape().begin(), a.shape().end());
    header[name] = {
        {"dtype", name_of(a.dtype())}, {"shape", shape}, {"data_offsets", {at, at + a.nbytes()}}};
    at += a.nbytes();
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const json::exception& e) {
    fail<ValueError>("save_safetensors", "names or metadata that are not UTF-8: ", e.what());
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(uint64_t{text.size()} >> (8 * i));
  io::put(*out, length, 8);
  io::put(*out, text.data(), text.size());
  for (auto& [name, a] : sorted) {
    const array dense = io::row_contiguous(a);  // one at a time: it may be a copy
    if (a.nbytes()) io::put(*out, static_cast<const char*>(dense.raw(Access::read)), a.nbytes());
  }
  out->commit();
}

void save_safetensors(std::string file, std::unordered_map<std::string, array> arrays,
                      std::unordered_map<std::string, std::string> metadata) {
  const std::string extension = ".safetensors";
  if (file.size() < extension.size() || file.substr(file.size() - extension.size()) != extension)
    file += extension;
  // Evaluated first: a failing computation must not leave a temporary file open.
  evaluate(arrays);
  save_safetensors(io::open_writer(file, "save_safetensors"), std::move(arrays),
                   std::move(metadata));
}

}  // namespace mlx::core
