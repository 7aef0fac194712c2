// A libFuzzer target for the readers of files: input that they accept is evaluated, the rest is
// FileError. MLX_FUZZ names the format: npy, safetensors, gguf or function; or a parser of texts:
// einsum, signature or handles.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mlx/core/error.h"
#include "mlx/io/io.h"
#include "mlx/runtime/evaluate.h"
#include "mlx/transforms/function_file.h"
#include "texts.h"

namespace {

using namespace mlx::core;

/// Input bytes as a file, which is read later, and as a stream, which is read at once.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (fd_ < 0 || ::write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      std::abort();
    path = "/proc/self/fd/" + std::to_string(fd_);
  }
  ~MemoryFile() { ::close(fd_); }
  std::string path;

 private:
  int fd_;
};

class Bytes final : public io::Reader {
 public:
  using Reader::read;
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  void read(char* data, size_t n) override {
    if (n > remaining()) throw FileError("[fuzz] the end");
    std::memcpy(data, bytes_.data() + at_, n);
    at_ += n;
  }
  size_t remaining() override { return bytes_.size() - at_; }
  size_t tell() override { return at_; }
  void seek(int64_t offset, std::ios_base::seekdir) override { at_ = static_cast<size_t>(offset); }
  std::string label() const override { return "bytes"; }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
};

/// Calls `f`, which may throw FileError only.
template <class F>
bool accepted(F&& f) {
  try {
    f();
    return true;
  } catch (const FileError&) {
    return false;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "Not a FileError: %s\n", e.what());
    std::abort();
  }
}

template <class Map>
void evaluate(const Map& arrays) {
  for (const auto& [name, a] : arrays) a.eval();
}

void read_arrays(std::string_view format, const std::shared_ptr<io::Reader>& in) {
  if (format == "npy")
    load(in).eval();
  else if (format == "safetensors")
    evaluate(load_safetensors(in).first);
  else
    evaluate(load_gguf(in).first);
}

void fuzz_arrays(std::string_view format, std::string_view bytes) {
  const MemoryFile file(bytes);
  const bool later = accepted([&] { read_arrays(format, io::open_reader(file.path)); });
  const bool now = accepted([&] { read_arrays(format, std::make_shared<Bytes>(bytes)); });
  if (later != now) {
    std::fprintf(stderr, "Accepted as a file: %d, as a stream: %d\n", later, now);
    std::abort();
  }
}

// ---- function files

uint64_t checksum_of(std::string_view bytes) {
  uint64_t sum = 0, word;
  for (size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    std::memcpy(&word, bytes.data() + i, 8);
    sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
    sum ^= sum >> 32;
  }
  return sum;
}

constexpr int64_t kMost = 1 << 12;  // elements, of what is evaluated

bool is_small(const std::vector<ArrayType>& types) {
  for (const ArrayType& t : types) {
    if (t.shape.size() > 8) return false;
    __int128 n = 1;
    for (int64_t length : t.shape) {
      if (length > kMost) return false;
      n *= length;
    }
    if (n > kMost) return false;
  }
  return true;
}

void run(const StoredTrace& t) {
  if (!is_small(t.inputs) || t.steps.size() > 64) return;
  for (const TraceStep& s : t.steps)
    if (!is_small(s.outputs)) return;
  Arrays given;
  for (const ArrayType& type : t.inputs) {
    array a = array::uninitialized(type.shape, type.dtype);
    if (a.nbytes()) std::memset(a.raw(Access::write), type.dtype == bool_ ? 1 : 0, a.nbytes());
    given.push_back(a);
  }
  try {
    for (const array& a : t.run(given)) a.eval();
  } catch (const std::exception&) {
    // An op may refuse the values.
  }
}

/// The checksum is corrected, or nothing would get past it.
void fuzz_function(std::string_view given) {
  std::string bytes(given.substr(0, given.size() / 8 * 8));
  if (bytes.size() < 8) return;
  const uint64_t sum = checksum_of(std::string_view(bytes).substr(0, bytes.size() - 8));
  std::memcpy(bytes.data() + bytes.size() - 8, &sum, 8);
  Bytes in(bytes);
  accepted([&] {
    for (const StoredTrace& t : read_function(in).traces) run(t);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* format = std::getenv("MLX_FUZZ");
  if (!format) std::abort();
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (std::strcmp(format, "function") == 0)
    fuzz_function(bytes);
  else if (std::strcmp(format, "einsum") == 0)
    fuzz_einsum(bytes);
  else if (std::strcmp(format, "handles") == 0)
    fuzz_handles(bytes);
  else if (std::strcmp(format, "signature") == 0)
    fuzz_signature(bytes);
  else if (std::strcmp(format, "ranks") == 0)
    fuzz_ranks(bytes);
  else
    fuzz_arrays(format, bytes);
  return 0;
}
