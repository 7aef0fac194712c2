// File streams: checked reads, and writes to a temporary file that is renamed on commit.
#include "mlx/io/stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ios>
#include <random>

#include "mlx/core/error.h"

namespace mlx::core::io {

namespace {

[[noreturn]] void fail_errno(const char* op, const std::string& path) {
  fail<FileError>(op, path, ": ", std::strerror(errno));
}

class FileReader final : public Reader {
 public:
  explicit FileReader(std::string path) : path_(std::move(path)) {
    fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) fail_errno("load", path_);
    struct stat info;
    if (::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) {
      ::close(fd_);
      fail<FileError>("load", path_, " is not a regular file");
    }
    size_ = info.st_size;
  }
  ~FileReader() override { ::close(fd_); }

  void read(char* data, size_t n) override {
    if (n > remaining())
      fail<FileError>("load", path_, " ends after ", size_, " bytes; ", n,
                      " more were expected at ", at_);
    while (n > 0) {
      ssize_t got = ::pread(fd_, data, n, at_);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_errno("load", path_);
      if (got == 0) fail<FileError>("load", path_, " was shortened while it was read");
      data += got;
      at_ += got;
      n -= got;
    }
  }
  size_t remaining() override { return size_ - at_; }
  std::string label() const override { return path_; }

 private:
  std::string path_;
  int fd_;
  size_t size_ = 0, at_ = 0;
};

class FileWriter final : public Writer {
 public:
  explicit FileWriter(std::string path) : path_(std::move(path)) {
    // mkstemp is not used: the file must get the usual mode, which depends on the process's umask,
    // and reading the umask means changing it for other threads too.
    std::random_device random;
    do {
      temporary_ = cat(path_, ".", std::hex, random());
      fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd_ < 0 && errno == EEXIST);
    if (fd_ < 0) fail_errno("save", path_);
  }
  ~FileWriter() override {
    if (fd_ < 0) return;
    ::close(fd_);
    ::unlink(temporary_.c_str());
  }

  void write(const char* data, size_t n) override {
    while (n > 0) {
      ssize_t put = ::write(fd_, data, n);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) fail_errno("save", path_);
      data += put;
      n -= put;
    }
  }
  void commit() override {
    if (::fsync(fd_) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0)
      fail_errno("save", path_);
    ::close(fd_);
    fd_ = -1;
  }
  std::string label() const override { return path_; }

 private:
  std::string path_, temporary_;
  int fd_;
};

}  // namespace

std::shared_ptr<Reader> open_reader(const std::string& path) {
  return std::make_shared<FileReader>(path);
}
std::shared_ptr<Writer> open_writer(const std::string& path) {
  return std::make_shared<FileWriter>(path);
}

}  // namespace mlx::core::io
