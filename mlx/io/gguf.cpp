// The GGUF format (little-endian): a header, metadata by key, tensor descriptions, aligned data.
#include <algorithm>
#include <cstring>

#include "mlx/core/error.h"
#include "mlx/io/elements.h"
#include "mlx/io/gguf_blocks.h"
#include "mlx/io/io.h"
#include "mlx/runtime/evaluate.h"

namespace mlx::core {

namespace {

constexpr uint32_t kGgufMagic = 0x46554747;  // "GGUF"
constexpr size_t kAlignment = 32;            // where the metadata says no other
constexpr uint32_t kString = 8, kArray = 9;
constexpr uint64_t kMaxTensorAxes = 8;

struct Tag {
  uint32_t id;
  Dtype dtype;
};
constexpr Tag kValues[] = {{0, uint8},   {1, int8},   {2, uint16},  {3, int16},
                           {4, uint32},  {5, int32},  {6, float32}, {7, bool_},
                           {10, uint64}, {11, int64}, {12, float64}};
constexpr Tag kTensors[] = {{0, float32}, {1, float16}, {24, int8},    {25, int16},
                            {26, int32},  {27, int64},  {28, float64}, {30, bfloat16}};
/// Block formats of 32 elements that become packed matrices.
struct Blocks {
  uint32_t id;
  const char* name;
  size_t bytes;
  int bits;
};
constexpr Blocks kBlocks[] = {{2, "Q4_0", 18, 4}, {3, "Q4_1", 20, 4}, {8, "Q8_0", 34, 8}};

template <size_t N>
const Tag* find_tag(const Tag (&tags)[N], uint32_t id) {
  for (const Tag& t : tags)
    if (t.id == id) return &t;
  return nullptr;
}
template <size_t N>
const Tag* find_tag(const Tag (&tags)[N], Dtype dtype) {
  for (const Tag& t : tags)
    if (t.dtype == dtype) return &t;
  return nullptr;
}

using Metadata = std::unordered_map<std::string, GGUFMetaData>;

constexpr const char* kAlignments = "powers of two up to 2^30 are accepted";

/// Bytes of which the position of each tensor is a multiple: the metadata may say. Calls `refuse`
/// with the reason if it says something else than a length.
template <class Refuse>
size_t alignment_of(const Metadata& metadata, Refuse&& refuse) {
  auto it = metadata.find("general.alignment");
  const array* a = it == metadata.end() ? nullptr : std::get_if<array>(&it->second);
  if (!a || a->size() != 1) return kAlignment;
  const auto n = is_inexact(a->dtype()) ? 0 : a->item<int64_t>();
  if (n < 1 || n > 1 << 30) refuse("a general.alignment that is not in [1, 2^30]");
  return static_cast<size_t>(n);
}
/// Other readers take a number of uint32 alone, which is a power of two.
void settle_alignment(Metadata& metadata) {
  auto it = metadata.find("general.alignment");
  if (it == metadata.end() || std::holds_alternative<std::monostate>(it->second)) return;
  const array* a = std::get_if<array>(&it->second);
  if (!a || a->size() != 1 || is_inexact(a->dtype()) || a->dtype() == bool_)
    fail<ValueError>("save_gguf", "a general.alignment that is no integer; ", kAlignments);
  const auto n = a->item<int64_t>();
  if (n < 1 || n > 1 << 30 || (n & (n - 1)))
    fail<ValueError>("save_gguf", "a general.alignment of ", n, "; ", kAlignments);
  it->second = array(static_cast<uint32_t>(n), uint32);
}
size_t padding(size_t size, size_t alignment) { return (alignment - size % alignment) % alignment; }

// ---- reading -----------------------------------------------------------------------------------

/// Reads with bounds checks: rejects every length that exceeds the file.
class Source {
 public:
  explicit Source(io::Reader& in) : in_(in) {}
  template <class T>
  T number() {
    T v;
    bytes(&v, sizeof(T));
    return v;
  }
  void bytes(void* to, size_t n) {
    io::take(in_, static_cast<char*>(to), n);
    at_ += n;
  }
  std::string string() {
    std::string s(checked(number<uint64_t>(), 1), 0);
    bytes(s.data(), s.size());
    return s;
  }
  /// A count of items of at least `size` bytes each, checked against the bytes that are left.
  uint64_t checked(uint64_t n, size_t size) {
    if (n > in_.remaining() / size)
      reject("announces ", n, " items where ", in_.remaining(),
             " bytes are left; it may be truncated");
    return n;
  }
  void skip_to(size_t position) {
    in_.skip(position - at_);
    at_ = position;
  }
  /// The stream, of which the caller reads the next `n` bytes.
  io::Reader& take(size_t n) {
    at_ += n;
    return in_;
  }
  size_t at() const { return at_; }
  size_t left() { return in_.remaining(); }
  template <class... A>
  [[noreturn]] void reject(const A&... a) {
    fail<FileError>("load_gguf", in_.label(), " ", a..., " (at byte ", at_, ")");
  }

 private:
  io::Reader& in_;
  size_t at_ = 0;
};

array read_values(Source& in, const Tag& tag, Shape shape) {
  array out = array::uninitialized(std::move(shape), tag.dtype);
  if (const size_t n = out.nbytes()) {
    void* to = out.raw(Access::write);
    in.bytes(to, n);
    if (tag.dtype == bool_) make_bools(to, n);
  }
  return out;
}

GGUFMetaData read_value(Source& in, const std::string& key) {
  auto type = in.number<uint32_t>();
  if (type == kString) return in.string();
  if (const Tag* tag = find_tag(kValues, type)) return read_values(in, *tag, {});
  if (type != kArray) in.reject("gives ", key, " the unknown type ", type);
  type = in.number<uint32_t>();
  auto n = in.number<uint64_t>();
  if (type == kString) {
    std::vector<std::string> list;
    for (in.checked(n, 8); n > 0; --n) list.push_back(in.string());
    return list;
  }
  const Tag* tag = find_tag(kValues, type);
  if (!tag) in.reject("gives the items of ", key, " the unknown type ", type);
  return read_values(in, *tag, {static_cast<int64_t>(in.checked(n, tag->dtype.size()))});
}

struct Tensor {
  std::string name;
  Shape shape;
  uint32_t type;
  uint64_t offset;
  size_t bytes = 0;
  const Tag* plain = nullptr;
  const Blocks* blocks = nullptr;
  const io::GgufBlocks* wide = nullptr;
};

Tensor read_description(Source& in) {
  Tensor t;
  t.name = in.string();
  const auto rank = in.number<uint32_t>();
  if (rank > kMaxTensorAxes) in.reject("gives ", t.name, " ", rank, " axes");
  for (uint32_t i = 0; i < rank; ++i) {
    const auto length = in.number<uint64_t>();
    if (length > uint64_t{1} << 62) in.reject("gives ", t.name, " an axis of length ", length);
    t.shape.insert(t.shape.begin(), static_cast<int64_t>(length));
  }
  t.type = in.number<uint32_t>();
  t.offset = in.number<uint64_t>();
  t.plain = find_tag(kTensors, t.type);
  for (const Blocks& b : kBlocks)
    if (b.id == t.type) t.blocks = &b;
  t.wide = io::find_gguf_blocks(t.type);
  if (!t.plain && !t.blocks && !t.wide)
    in.reject("holds ", t.name, " in the type ", t.type,
              "; accepted are F32, F16, BF16, F64, I8 to I64, Q4_0 to Q5_1, Q8_0, Q2_K to Q6_K");
  uint64_t n = 1;
  for (int64_t length : t.shape)
    if (__builtin_mul_overflow(n, static_cast<uint64_t>(length), &n) || n >> 59)
      in.reject("gives ", t.name, " the shape ", to_string(t.shape),
                ", which has too many elements");
  const int block = t.blocks ? 32 : t.wide ? t.wide->elements : 1;
  if (block > 1 && (rank == 0 || t.shape.back() % block != 0))
    in.reject("holds ", t.name, " of shape ", to_string(t.shape), " in blocks of ", block);
  const uint64_t unit = t.blocks ? t.blocks->bytes : t.wide ? t.wide->bytes : t.plain->dtype.size();
  n /= block;
  if (__builtin_mul_overflow(n, unit, &t.bytes)) in.reject("gives ", t.name, " too many elements");
  return t;
}

void unpack_packed(const Blocks& b, const uint8_t* block, uint8_t* to, float16_t* scale,
                   float16_t* bias) {
  std::memcpy(scale, block, 2);
  const uint8_t* codes = block + 2;
  if (b.id == 3) {
    std::memcpy(bias, block + 2, 2);
    codes = block + 4;
  } else {
    *bias = float16_t(static_cast<float>(*scale) * (b.bits == 4 ? -8.0f : -128.0f));
  }
  for (int j = 0; j < 4 * b.bits; ++j)
    if (b.bits == 8)
      to[j] = codes[j] ^ 0x80;  // signed to unsigned
    else                        // low nibbles: first half of a block, high nibbles: second half
      to[j] = j < 8 ? (codes[2 * j] & 15) | (codes[2 * j + 1] & 15) << 4
                    : codes[2 * j - 16] >> 4 | (codes[2 * j - 15] & 0xf0);
}

/// Blocks as words, scales and biases.
Arrays read_packed(Source& in, const Tensor& t, StreamOrDevice s) {
  const Blocks& b = *t.blocks;
  Shape words = t.shape, units = t.shape;
  words.back() = t.shape.back() / 32 * b.bits;
  units.back() = t.shape.back() / 32;
  const size_t word_bytes = 4 * b.bits;
  auto decode = [&b, word_bytes](const char* bytes, int64_t n, std::span<char* const> to) {
    for (int64_t i = 0; i < n; ++i)
      unpack_packed(b, reinterpret_cast<const uint8_t*>(bytes) + i * b.bytes,
                    reinterpret_cast<uint8_t*>(to[0]) + i * word_bytes,
                    reinterpret_cast<float16_t*>(to[1]) + i,
                    reinterpret_cast<float16_t*>(to[2]) + i);
  };
  return io::read_units(in.take(t.bytes), t.name, num_elements(units),
                        {b.bytes, decode, {word_bytes, 2, 2}},
                        {{words, uint32}, {units, float16}, {units, float16}}, s);
}

/// Blocks as float16 elements.
array read_wide(Source& in, const Tensor& t, StreamOrDevice s) {
  const io::GgufBlocks& b = *t.wide;
  auto decode = [&b](const char* bytes, int64_t n, std::span<char* const> to) {
    float elements[256];
    auto* out = reinterpret_cast<float16_t*>(to[0]);
    for (int64_t i = 0; i < n; ++i) {
      b.unpack(reinterpret_cast<const uint8_t*>(bytes) + i * b.bytes, elements);
      for (int j = 0; j < b.elements; ++j) *out++ = float16_t(elements[j]);
    }
  };
  const size_t bytes = sizeof(float16_t) * b.elements;
  return io::read_units(in.take(t.bytes), t.name, num_elements(t.shape) / b.elements,
                        {b.bytes, decode, {bytes}}, {{t.shape, float16}}, s)[0];
}

void read_tensor(Source& in, const Tensor& t, StreamOrDevice s,
                 std::unordered_map<std::string, array>& out) {
  auto add = [&](const std::string& name, const array& a) {
    if (!out.emplace(name, a).second) in.reject("has two tensors of the name ", name);
  };
  if (t.wide) return add(t.name, read_wide(in, t, s));
  if (t.plain)
    return add(t.name,
               io::read_elements(in.take(t.bytes), t.name, t.shape, t.plain->dtype, false, s));
  Arrays parts = read_packed(in, t, s);
  std::string stem = t.name;
  if (stem.ends_with(".weight")) stem.resize(stem.size() - 7);
  add(t.name, parts[0]);
  add(stem + ".scales", parts[1]);
  add(stem + ".biases", parts[2]);
}

// ---- writing -----------------------------------------------------------------------------------

template <class T>
void put(std::string& to, T v) {
  to.append(reinterpret_cast<const char*>(&v), sizeof(T));
}
void put(std::string& to, const std::string& s) {
  put(to, static_cast<uint64_t>(s.size()));
  to += s;
}

void put_value(std::string& to, const std::string& key, const array& given) {
  const Tag* tag = find_tag(kValues, given.dtype());
  if (!tag)
    fail<ValueError>("save_gguf", "metadata ", key, " of dtype ", dtype_name(given.dtype()),
                     "; bool, integers, float32 and float64 are accepted");
  if (given.ndim() > 1)
    fail<ValueError>("save_gguf", "metadata ", key, " of shape ", to_string(given.shape()),
                     "; scalars and vectors are accepted");
  const array a = io::row_contiguous(given);
  if (a.ndim() == 1) {
    put(to, kArray);
    put(to, tag->id);
    put(to, static_cast<uint64_t>(a.size()));
  } else {
    put(to, tag->id);
  }
  if (a.nbytes()) to.append(static_cast<const char*>(a.raw(Access::read)), a.nbytes());
}

void put_value(std::string& to, const std::string& key, const GGUFMetaData& value) {
  put(to, key);
  if (auto* a = std::get_if<array>(&value)) return put_value(to, key, *a);
  if (auto* text = std::get_if<std::string>(&value)) {
    put(to, kString);
    return put(to, *text);
  }
  put(to, kArray);
  put(to, kString);
  const auto& list = std::get<std::vector<std::string>>(value);
  put(to, static_cast<uint64_t>(list.size()));
  for (const std::string& s : list) put(to, s);
}

}  // namespace

GGUFLoad load_gguf(std::shared_ptr<io::Reader> reader, StreamOrDevice s) {
  Source in(*reader);
  if (in.number<uint32_t>() != kGgufMagic) in.reject("is not a GGUF file");
  const auto version = in.number<uint32_t>();
  if (version != 2 && version != 3) in.reject("has version ", version, "; 2 and 3 are accepted");
  auto tensors = in.number<uint64_t>(), values = in.number<uint64_t>();
  GGUFLoad out;
  for (in.checked(values, 12); values > 0; --values) {
    std::string key = in.string();
    if (out.second.contains(key)) in.reject("has two values for ", key);
    GGUFMetaData value = read_value(in, key);
    out.second.emplace(std::move(key), std::move(value));
  }
  std::vector<Tensor> list;
  for (in.checked(tensors, 24); tensors > 0; --tensors) list.push_back(read_description(in));
  const size_t alignment =
      alignment_of(out.second, [&](const char* why) { in.reject("has ", why); });
  const size_t start = in.at() + padding(in.at(), alignment), end = in.at() + in.left();
  std::sort(list.begin(), list.end(), [](auto& a, auto& b) { return a.offset < b.offset; });
  for (const Tensor& t : list) {
    if (start > end || t.offset > end - start || t.bytes > end - start - t.offset)
      in.reject("ends before the data of ", t.name, "; it may be truncated");
    if (start + t.offset < in.at()) in.reject("has overlapping tensors, ", t.name, " among them");
    in.skip_to(start + t.offset);
    read_tensor(in, t, s, out.first);
  }
  return out;
}

GGUFLoad load_gguf(const std::string& file, StreamOrDevice s) {
  return load_gguf(io::open_reader(file, "load_gguf"), s);
}

void save_gguf(std::string file, std::unordered_map<std::string, array> arrays,
               std::unordered_map<std::string, GGUFMetaData> metadata) {
  if (!file.ends_with(".gguf")) file += ".gguf";
  std::vector<std::pair<std::string, array>> list;
  for (auto& [name, a] : arrays) {
    if (!find_tag(kTensors, a.dtype()))
      fail<ValueError>("save_gguf", name, " of dtype ", dtype_name(a.dtype()),
                       "; float16 to float64, bfloat16 and signed integers are accepted");
    if (a.ndim() > kMaxTensorAxes)
      fail<ValueError>("save_gguf", name, " with ", a.ndim(), " axes; at most ", kMaxTensorAxes,
                       " are accepted");
    list.emplace_back(name, a);
  }
  std::sort(list.begin(), list.end(), [](auto& a, auto& b) { return a.first < b.first; });
  settle_alignment(metadata);
  const size_t alignment = alignment_of(metadata, [](const char*) {});
  std::string head;
  put(head, kGgufMagic);
  put(head, uint32_t{3});
  put(head, static_cast<uint64_t>(list.size()));
  size_t values = 0;
  for (auto& [key, value] : metadata) values += !std::holds_alternative<std::monostate>(value);
  put(head, static_cast<uint64_t>(values));
  for (auto& [key, value] : metadata)
    if (!std::holds_alternative<std::monostate>(value)) put_value(head, key, value);
  uint64_t offset = 0;
  for (auto& [name, a] : list) {
    put(head, name);
    put(head, static_cast<uint32_t>(a.ndim()));
    for (size_t i = a.ndim(); i-- > 0;) put(head, static_cast<uint64_t>(a.shape()[i]));
    put(head, find_tag(kTensors, a.dtype())->id);
    put(head, offset);
    offset += a.nbytes() + padding(a.nbytes(), alignment);
  }
  head.append(padding(head.size(), alignment), 0);
  Arrays all;
  for (auto& [name, a] : list) all.push_back(a);
  eval(std::move(all));  // a failing computation must not leave a draft
  auto out = io::open_writer(file, "save_gguf");
  io::put(*out, head.data(), head.size());
  for (auto& [name, a] : list) {
    const array dense = io::row_contiguous(a);  // one at a time: it may be a copy
    if (a.nbytes()) io::put(*out, static_cast<const char*>(dense.raw(Access::read)), a.nbytes());
    const std::string zeros(padding(a.nbytes(), alignment), 0);
    io::put(*out, zeros.data(), zeros.size());
  }
  out->commit();
}

}  // namespace mlx::core
