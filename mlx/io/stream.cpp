// Sequential reading of files.
#include "mlx/io/stream.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "mlx/core/error.h"
#include "mlx/io/file.h"

namespace mlx::core::io {

namespace {

class FileReader final : public Reader {
 public:
  using Reader::read;
  FileReader(std::shared_ptr<const File> file, size_t begin, size_t end, std::string label)
      : file_(std::move(file)), label_(std::move(label)), at_(begin), end_(end) {}

  void read(char* data, size_t n) override {
    if (n > remaining())
      fail<FileError>("load", label_, ": expected ", n, " bytes at offset ", at_, ", found ",
                      remaining());
    if (n >= kBuffer) {
      file_->read(data, n, at_);
    } else {
      if (at_ < buffered_ || at_ + n > buffered_ + buffer_.size()) {
        buffer_.resize(std::min(kBuffer, end_ - at_));
        file_->read(buffer_.data(), buffer_.size(), at_);
        buffered_ = at_;
      }
      std::memcpy(data, buffer_.data() + (at_ - buffered_), n);
    }
    at_ += n;
  }
  size_t remaining() override { return end_ - at_; }
  std::string label() const override { return label_; }
  std::shared_ptr<const File> file() const override {
    return File::may_stay_open() ? file_ : nullptr;
  }
  size_t tell() override { return at_; }
  void seek(int64_t offset, std::ios_base::seekdir from) override {
    const int64_t base = from == std::ios_base::beg   ? 0
                         : from == std::ios_base::cur ? static_cast<int64_t>(at_)
                                                      : static_cast<int64_t>(end_);
    if (offset < -base || base + offset > static_cast<int64_t>(end_))
      fail<FileError>("load", label_, ": byte ", base + offset, " is not there");
    at_ = static_cast<size_t>(base + offset);
  }
  void skip(size_t n) override {
    if (n > remaining()) fail<FileError>("load", label_, " ends before byte ", at_ + n);
    at_ += n;
  }

 private:
  static constexpr size_t kBuffer = 1 << 15;
  std::shared_ptr<const File> file_;
  std::string label_;
  size_t at_, end_;
  std::vector<char> buffer_;  // the bytes from `buffered_` on
  size_t buffered_ = 0;
};

}  // namespace

void Reader::skip(size_t n) {
  char few[4096];
  for (; n > 0; n -= std::min(n, sizeof(few))) take(*this, few, std::min(n, sizeof(few)));
}

void Reader::read(char* data, size_t n, size_t offset) {
  const auto here = static_cast<int64_t>(tell());
  seek(static_cast<int64_t>(offset));
  read(data, n);
  seek(here);
}

size_t Reader::remaining() {
  const size_t here = tell();
  seek(0, std::ios_base::end);
  const size_t end = tell();
  seek(static_cast<int64_t>(here));
  return end > here ? end - here : 0;
}

void take(Reader& in, char* data, size_t n) {
  if (!in.is_open()) fail<FileError>("load", in.label(), " is not open");
  in.read(data, n);
  if (!in.good()) fail<FileError>("load", in.label(), ": a read of ", n, " bytes failed");
}

void put(Writer& out, const char* data, size_t n) {
  if (!out.is_open()) fail<FileError>("save", out.label(), " is not open");
  out.write(data, n);
  if (!out.good()) fail<FileError>("save", out.label(), ": a write of ", n, " bytes failed");
}

std::shared_ptr<Reader> part_of(std::shared_ptr<const File> file, size_t begin, size_t end,
                                std::string label) {
  if (begin > end || end > file->size())
    fail<FileError>("load", label, ": the bytes from ", begin, " to ", end, " are not all there");
  return std::make_shared<FileReader>(std::move(file), begin, end, std::move(label));
}

std::shared_ptr<Reader> open_reader(const std::string& path, const char* op) {
  auto file = std::make_shared<const File>(op, path);
  const size_t size = file->size();
  return part_of(std::move(file), 0, size, path);
}

}  // namespace mlx::core::io
