// Reading of elements, now or later.
#include "mlx/io/elements.h"

#include <algorithm>
#include <cstring>

#include "mlx/core/error.h"
#include "mlx/io/file.h"
#include "mlx/ops/file_read.h"

namespace mlx::core::io {

namespace {

/// Elements whose bytes in the file are those in memory, or are corrected there.
class PlainElements final : public ElementSource {
 public:
  PlainElements(std::shared_ptr<const File> file, size_t at, std::string name, int64_t n,
                Dtype dtype, bool swapped)
      : unread_(std::move(file)),
        at_(at),
        name_(std::move(name)),
        n_(n),
        dtype_(dtype),
        swapped_(swapped) {}
  void read(int64_t begin, int64_t end, std::span<char* const> to) const override;
  void finish() const override { unread_.done(); }
  int64_t units() const override { return n_; }
  int64_t unit_bytes() const override { return dtype_.size(); }

 private:
  File::Unread unread_;
  size_t at_;
  std::string name_;
  int64_t n_;
  Dtype dtype_;
  bool swapped_;
};

/// Makes bytes that were read the elements of an array.
void correct(char* p, size_t bytes, Dtype dtype, bool swapped) {
  if (dtype == bool_) make_bools(p, bytes);
  if (!swapped) return;
  const size_t unit = is_complex(dtype) ? dtype.size() / 2 : dtype.size();
  for (size_t i = 0; i < bytes; i += unit) std::reverse(p + i, p + i + unit);
}

void PlainElements::read(int64_t begin, int64_t end, std::span<char* const> to) const {
  // In pieces, so that the correction finds the bytes in the cache.
  const size_t size = dtype_.size(), step = (size_t{1} << 20) / size;
  for (size_t i = static_cast<size_t>(begin); i < static_cast<size_t>(end); i += step) {
    const size_t n = std::min(step, static_cast<size_t>(end) - i);
    char* p = to[0] + i * size;
    unread_.file().read(p, n * size, at_ + i * size, name_);
    correct(p, n * size, dtype_, swapped_);
  }
}

/// Elements that are decoded.
class DecodedElements final : public ElementSource {
 public:
  DecodedElements(std::shared_ptr<const File> file, size_t at, std::string name, int64_t n,
                  Encoding encoding)
      : unread_(std::move(file)),
        at_(at),
        name_(std::move(name)),
        n_(n),
        encoding_(std::move(encoding)) {}
  void read(int64_t begin, int64_t end, std::span<char* const> to) const override;
  void finish() const override { unread_.done(); }
  int64_t units() const override { return n_; }
  int64_t unit_bytes() const override { return static_cast<int64_t>(encoding_.unit_bytes); }

 private:
  File::Unread unread_;
  size_t at_;
  std::string name_;
  int64_t n_;
  Encoding encoding_;
};

/// Decodes the units from `begin` to `end`, a few at a time. `fetch` reads some.
template <class Fetch>
void decode(const Encoding& e, int64_t begin, int64_t end, std::span<char* const> to,
            const Fetch& fetch) {
  std::vector<char> bytes(std::max(e.unit_bytes, size_t{1} << 16));
  const auto step = static_cast<int64_t>(bytes.size() / e.unit_bytes);
  std::vector<char*> at(to.size());
  for (int64_t i = begin; i < end; i += step) {
    const int64_t n = std::min(step, end - i);
    fetch(bytes.data(), n * e.unit_bytes, i * e.unit_bytes);
    for (size_t k = 0; k < to.size(); ++k) at[k] = to[k] + i * e.to_bytes[k];
    e.decode(bytes.data(), n, at);
  }
}

void DecodedElements::read(int64_t begin, int64_t end, std::span<char* const> to) const {
  decode(encoding_, begin, end, to,
         [&](char* p, size_t n, size_t from) { unread_.file().read(p, n, at_ + from, name_); });
}

/// Throws FileError unless the units are there.
void check(Reader& in, const std::string& name, int64_t units, size_t unit_bytes,
           const Shape& shape, Dtype dtype) {
  if (units < 0 || static_cast<uint64_t>(units) > in.remaining() / unit_bytes)
    fail<FileError>("load", in.label(), " has ", in.remaining(), " bytes left at ", in.tell(),
                    " for ", name.empty() ? "an array" : name, " of shape ", to_string(shape),
                    " and dtype ", dtype_name(dtype));
}

int64_t checked_count(Reader& in, const std::string& name, const Shape& shape, Dtype dtype) {
  if (shape.size() > kMaxAxes)
    fail<FileError>("load", in.label(), ": ", name.empty() ? "the array" : name, " has ",
                    shape.size(), " axes; up to ", kMaxAxes, " are accepted");
  int64_t n = -1;
  try {
    n = num_elements(shape);
  } catch (const SizeError&) {
    // More than a file can have: refused like every shape that the file has no bytes for.
  }
  check(in, name, n, dtype.size(), shape, dtype);
  return n;
}

}  // namespace

Arrays read_units(Reader& in, const std::string& name, int64_t units, Encoding encoding,
                  std::vector<std::pair<Shape, Dtype>> results, StreamOrDevice s) {
  check(in, name, units, encoding.unit_bytes, results.at(0).first, results[0].second);
  if (auto file = units ? in.file() : nullptr) {
    const size_t at = in.tell(), bytes = units * encoding.unit_bytes;
    in.skip(bytes);
    return read_later(
        std::make_shared<DecodedElements>(std::move(file), at, name, units, std::move(encoding)),
        std::move(results), s);
  }
  Arrays out;
  std::vector<char*> to;
  for (auto& [shape, dtype] : results) {
    out.push_back(array::uninitialized(shape, dtype));
    to.push_back(units ? static_cast<char*>(out.back().raw(Access::write)) : nullptr);
  }
  decode(encoding, 0, units, to, [&](char* p, size_t n, size_t) { take(in, p, n); });
  return out;
}

array read_now(Reader& in, const std::string& name, Shape shape, Dtype dtype) {
  checked_count(in, name, shape, dtype);
  array out = array::uninitialized(std::move(shape), dtype);
  if (!out.nbytes()) return out;
  auto* to = static_cast<char*>(out.raw(Access::write));
  take(in, to, out.nbytes());
  return out;
}

array read_elements(Reader& in, const std::string& name, Shape shape, Dtype dtype, bool swapped,
                    StreamOrDevice s) {
  const int64_t n = checked_count(in, name, shape, dtype);
  if (auto file = n ? in.file() : nullptr) {
    const size_t at = in.tell();
    in.skip(n * dtype.size());
    return read_later(std::make_shared<PlainElements>(std::move(file), at, name, n, dtype, swapped),
                      {{std::move(shape), dtype}}, s)[0];
  }
  array out = read_now(in, name, std::move(shape), dtype);
  if (n) correct(static_cast<char*>(out.raw(Access::write)), out.nbytes(), dtype, swapped);
  return out;
}

}  // namespace mlx::core::io
