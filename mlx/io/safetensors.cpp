// The safetensors format: the length of a JSON header, the header, the elements.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "mlx/core/error.h"
#include "mlx/io/io.h"

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

constexpr size_t kMaxHeader = 100 << 20;

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

/// The arrays ordered by offset; throws FileError unless they cover the rest of the file exactly.
std::vector<Entry> entries_of(const json& header, size_t bytes, const std::string& label) {
  std::vector<Entry> out;
  for (auto& [name, info] : header.items()) {
    if (name == "__metadata__") continue;
    Entry e{name, dtype_of(info.at("dtype").get<std::string>(), label), {}, 0, 0};
    for (auto& d : info.at("shape")) {
      e.shape.push_back(d.get<int64_t>());
      if (e.shape.back() < 0)
        fail<FileError>("load_safetensors", label, ": ", name, " has a negative length");
    }
    e.begin = info.at("data_offsets").at(0).get<size_t>();
    e.end = info.at("data_offsets").at(1).get<size_t>();
    size_t size;
    bool bad = __builtin_mul_overflow(num_elements(e.shape), size_t{e.dtype.size()}, &size);
    if (bad || e.begin > e.end || e.end > bytes || e.end - e.begin != size)
      fail<FileError>("load_safetensors", label, ": the bytes ", e.begin, " to ", e.end, " of ",
                      name, " do not hold shape ", to_string(e.shape), " of ", dtype_name(e.dtype),
                      "; the file may be truncated");
    out.push_back(std::move(e));
  }
  std::sort(out.begin(), out.end(),
            [](auto& a, auto& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  size_t at = 0;
  for (const Entry& e : out) {
    if (e.begin != at)
      fail<FileError>("load_safetensors", label, ": the arrays overlap or leave gaps");
    at = e.end;
  }
  return out;
}

}  // namespace

SafetensorsLoad load_safetensors(std::shared_ptr<io::Reader> in, StreamOrDevice) {
  const std::string label = in->label();
  unsigned char raw[8];
  in->read(reinterpret_cast<char*>(raw), 8);
  uint64_t length = 0;
  for (int i = 0; i < 8; ++i) length |= uint64_t{raw[i]} << (8 * i);
  if (length > in->remaining() || length > kMaxHeader)
    fail<FileError>("load_safetensors", label, ": a header of ", length, " bytes is announced, ",
                    in->remaining(), " bytes follow; the file may be truncated");
  std::string text(length, 0);
  in->read(text.data(), length);
  SafetensorsLoad out;
  try {
    json header = json::parse(text);
    if (!header.is_object())
      fail<FileError>("load_safetensors", label, ": the header is not a JSON object");
    for (const Entry& e : entries_of(header, in->remaining(), label))
      out.first.insert_or_assign(e.name, io::read_elements(*in, e.shape, e.dtype));
    if (header.contains("__metadata__"))
      for (auto& [key, value] : header["__metadata__"].items())
        out.second[key] = value.get<std::string>();
  } catch (const json::exception& e) {
    fail<FileError>("load_safetensors", label, ": malformed header: ", e.what());
  }
  return out;
}

SafetensorsLoad load_safetensors(const std::string& file, StreamOrDevice s) {
  return load_safetensors(io::open_reader(file), s);
}

void save_safetensors(std::shared_ptr<io::Writer> out,
                      std::unordered_map<std::string, array> arrays,
                      std::unordered_map<std::string, std::string> metadata) {
  std::vector<std::pair<std::string, array>> sorted;
  for (auto& [name, a] : arrays) sorted.emplace_back(name, io::row_contiguous(a));
  // Wider elements first, so that every array is aligned to its element size.
  std::sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) {
    return std::pair(-int{a.second.dtype().size()}, a.first) <
           std::pair(-int{b.second.dtype().size()}, b.first);
  });
  json header = json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  size_t at = 0;
  for (auto& [name, a] : sorted) {
    std::vector<int64_t> shape(a.shape().begin(), a.shape().end());
    header[name] = {
        {"dtype", name_of(a.dtype())}, {"shape", shape}, {"data_offsets", {at, at + a.nbytes()}}};
    at += a.nbytes();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(uint64_t{text.size()} >> (8 * i));
  out->write(length, 8);
  out->write(text.data(), text.size());
  for (auto& [name, a] : sorted)
    if (a.nbytes()) out->write(static_cast<const char*>(a.raw(Access::read)), a.nbytes());
  out->commit();
}

void save_safetensors(std::string file, std::unordered_map<std::string, array> arrays,
                      std::unordered_map<std::string, std::string> metadata) {
  const std::string extension = ".safetensors";
  if (file.size() < extension.size() || file.substr(file.size() - extension.size()) != extension)
    file += extension;
  // Evaluated first: a failing computation must not leave a temporary file open.
  Arrays all;
  for (auto& [name, a] : arrays) all.push_back(a);
  for (const array& a : all) a.eval();
  save_safetensors(io::open_writer(file), std::move(arrays), std::move(metadata));
}

}  // namespace mlx::core
