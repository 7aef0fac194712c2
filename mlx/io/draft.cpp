// Saving: a draft in the directory of the target takes its place when it is complete.
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>

#include "mlx/core/error.h"
#include "mlx/io/file.h"
#include "mlx/io/stream.h"

namespace mlx::core::io {

namespace {

/// A file descriptor that is closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string draft_name() {
  // Not derived from the target's name, which may have the greatest length already.
  std::random_device random;
  return cat(".mlx-draft-", ::getpid(), "-", random(), "-", random());
}

std::string path_of_descriptor(int fd) { return cat("/proc/self/fd/", fd); }

#if defined(__APPLE__)
/// The disk writes its own cache too, which `fsync` leaves out there.
int write_through(int fd) { return ::fcntl(fd, F_FULLFSYNC) == 0 ? 0 : ::fsync(fd); }
void begin_writing(int, off_t, off_t) {}
/// Reserves space for a file that is to have so many bytes; an error number, or 0.
int reserve(int fd, off_t bytes) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return errno;
  fstore_t space{F_ALLOCATEALL, F_PEOFPOSMODE, 0, bytes - info.st_size, 0};
  return ::fcntl(fd, F_PREALLOCATE, &space) == 0 ? 0 : errno;
}
#else
int write_through(int fd) { return ::fsync(fd); }
void begin_writing(int fd, off_t at, off_t bytes) {
  [[maybe_unused]] const int ignored = ::sync_file_range(fd, at, bytes, SYNC_FILE_RANGE_WRITE);
}
/// Reserves space for a file that is to have so many bytes; an error number, or 0.
int reserve(int fd, off_t bytes) { return ::posix_fallocate(fd, 0, bytes); }
#endif

// A folder of which names alone are used need not be readable.
#if defined(O_PATH)
constexpr int kFolder = O_PATH | O_DIRECTORY | O_CLOEXEC;
#else
constexpr int kFolder = O_SEARCH | O_CLOEXEC;
#endif

/// The directory of a path, with the slash at its end; empty where the path has none.
std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

/// The path behind symbolic links at the end, of which the last may have no target yet.
std::string without_links(std::string path) {
  for (int depth = 0; depth < 40; ++depth) {
    char to[PATH_MAX];
    const ssize_t length = ::readlink(path.c_str(), to, sizeof(to));
    if (length <= 0 || length == ssize_t{sizeof(to)}) break;  // no link
    const std::string target(to, static_cast<size_t>(length));
    path = target[0] == '/' ? target : folder_of(path) + target;
  }
  return path;
}

/// The directory for temporary files.
std::string temporary_folder() {
  for (const char* name : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"})
    if (const char* folder = std::getenv(name); folder && *folder) return folder;
  return "/tmp";
}

class FileWriter final : public Writer {
 public:
  FileWriter(const std::string& path, const char* op) : op_(op), path_(path) {
    if (const size_t nul = path.find('\0'); nul != std::string::npos) {
      path_.resize(nul);
      refuse("the path goes on after a NUL character");
    }
    const std::string target = without_links(path), parent = folder_of(target);
    name_ = target.substr(parent.size());
    if (name_.empty()) refuse("the path names no file");
    const std::string folder = parent.empty() ? "." : parent;
    // The directory is kept by a descriptor: the process may change its working directory.
    folder_ = Descriptor(::open(folder.c_str(), kFolder));
    if (!folder_) refuse_errno();
    if (::fstatat(folder_.get(), name_.c_str(), &old_, 0) == 0) {
      exists_ = true;
      if (S_ISDIR(old_.st_mode)) refuse(std::strerror(EISDIR));
      if (!S_ISREG(old_.st_mode)) refuse("not a regular file; it is not replaced");
    } else if (errno != ENOENT) {
      refuse_errno();
    }
    open_draft();
  }
  ~FileWriter() override { remove_draft(); }

  size_t tell() override { return static_cast<size_t>(written_); }
  void seek(int64_t, std::ios_base::seekdir) override { refuse("a file is written in order"); }

  void write(const char* data, size_t n) override {
    constexpr size_t kPiece = size_t{16} << 20;
    for (size_t at = 0; at < n; at += kPiece) {
      const size_t piece = std::min(kPiece, n - at);
      write_to(draft_.get(), data + at, piece);
      written_ += static_cast<off_t>(piece);
      if (exists_ && written_ - begun_ >= static_cast<off_t>(kPiece)) begin_flush();
    }
  }

  void commit() override {
    if (!beside_) return overwrite();
    if (exists_) keep_attributes();
    flush();
    if (named_.empty()) give_name();
    if (!named_.empty() &&
        ::renameat(folder_.get(), named_.c_str(), folder_.get(), name_.c_str()) != 0) {
      // Files that something is mounted on, and those of others in a shared directory, can be
      // written but not replaced.
      if (!exists_ || (errno != EBUSY && errno != EPERM && errno != EACCES && errno != EXDEV))
        refuse_errno();
      overwrite();
      remove_draft();
    }
    named_.clear();
  }
  std::string label() const override { return path_; }
  int descriptor() const override { return draft_.get(); }

 private:
  [[noreturn]] void refuse(const std::string& why) const { fail<FileError>(op_, path_, ": ", why); }
  [[noreturn]] void refuse_errno() const { refuse(std::strerror(errno)); }

  /// A new file gets the usual permissions. One that replaces another gets those at the end, and
  /// none but its owner can read it before that.
  void open_draft() {
    const mode_t mode = exists_ ? 0600 : 0666;
#if defined(O_TMPFILE)
    // A file without a name goes with the process: nothing is left where that is killed.
    draft_ = Descriptor(::openat(folder_.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
    if (draft_ && ::access(path_of_descriptor(draft_.get()).c_str(), F_OK) != 0)
      draft_ = Descriptor();
    if (draft_) return;
#endif
    do {
      named_ = draft_name();
      draft_ = Descriptor(
          ::openat(folder_.get(), named_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    } while (!draft_ && errno == EEXIST);
    if (draft_) return;
    named_.clear();
    const int error = errno;
    if (exists_ && (error == EACCES || error == EPERM || error == EROFS)) open_draft_elsewhere();
    if (!draft_) {
      errno = error;
      refuse_errno();
    }
  }

  /// For a file that may be written, in a directory that may not.
  void open_draft_elsewhere() {
    if (!Descriptor(::openat(folder_.get(), name_.c_str(), O_WRONLY | O_CLOEXEC))) return;
    std::string name = temporary_folder() + "/mlx-draft-XXXXXX";
    draft_ = Descriptor(::mkostemp(name.data(), O_CLOEXEC));
    if (!draft_) return;
    ::unlink(name.c_str());
    beside_ = false;
  }

  void write_to(int fd, const char* data, size_t n) const {
    while (n > 0) {
      const ssize_t put = ::write(fd, data, n);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) refuse_errno();
      data += put;
      n -= static_cast<size_t>(put);
    }
  }

  /// The disk takes what was written while more is written: less is left for `flush`.
  void begin_flush() {
    begin_writing(draft_.get(), begun_, written_ - begun_);
    begun_ = written_;
  }

  /// Writes a draft that replaces a file to the disk first: a power failure could leave neither. A
  /// new file is left to the system, as the files of other programs are.
  void flush() const {
    struct stat info;
    if (exists_ || ::fstatat(folder_.get(), name_.c_str(), &info, 0) == 0) {
      if (write_through(draft_.get()) != 0) refuse_errno();
      return;
    }
    // Network file systems report failed writes when a descriptor is closed.
    const int copy = ::fcntl(draft_.get(), F_DUPFD_CLOEXEC, 0);
    if (copy < 0 || ::close(copy) != 0) refuse_errno();
  }

  void keep_attributes() const {
    if (old_.st_uid != ::geteuid() || old_.st_gid != ::getegid()) {
      // Not everybody may give files away; the permissions count more.
      [[maybe_unused]] const int ignored = ::fchown(draft_.get(), old_.st_uid, old_.st_gid);
    }
    if (::fchmod(draft_.get(), old_.st_mode & 07777) != 0) refuse_errno();
  }

  /// Gives the draft the name of the target if that is free, else another one.
  void give_name() {
    const std::string draft = path_of_descriptor(draft_.get());
    auto link = [&](const std::string& name) {
      return ::linkat(AT_FDCWD, draft.c_str(), folder_.get(), name.c_str(), AT_SYMLINK_FOLLOW) == 0;
    };
    if (link(name_)) return;
    while (errno == EEXIST) {
      named_ = draft_name();
      if (link(named_)) return;
    }
    named_.clear();
    refuse_errno();
  }

  void remove_draft() {
    if (!named_.empty()) ::unlinkat(folder_.get(), named_.c_str(), 0);
    named_.clear();
  }

  /// Copies the draft into the existing file. The space is reserved first, so that a full disk
  /// leaves the old content.
  void overwrite() {
    const Descriptor to(::openat(folder_.get(), name_.c_str(), O_WRONLY | O_CLOEXEC));
    if (!to) refuse_errno();
    if (File::is_unread(to.get()))
      refuse(
          "arrays are still to be read from this file, which can be written but not replaced; "
          "evaluate them first");
    struct stat info;
    if (::fstat(draft_.get(), &info) != 0) refuse_errno();
    if (info.st_size > old_.st_size)
      if (const int error = reserve(to.get(), info.st_size)) {
        [[maybe_unused]] const int ignored = ::ftruncate(to.get(), old_.st_size);
        refuse(std::strerror(error));
      }
    std::string few(1 << 20, 0);
    for (off_t at = 0; at < info.st_size;) {
      const ssize_t got = ::pread(draft_.get(), few.data(), few.size(), at);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) refuse_errno();
      write_to(to.get(), few.data(), static_cast<size_t>(got));
      at += got;
    }
    if (::ftruncate(to.get(), info.st_size) != 0 || write_through(to.get()) != 0) refuse_errno();
  }

  const char* op_;
  std::string path_, name_;
  std::string named_;  // of the draft in the directory; empty if it has no name
  Descriptor folder_, draft_;
  struct stat old_{};
  off_t written_ = 0, begun_ = 0;  // bytes in the draft, and those on their way to the disk
  bool exists_ = false;
  bool beside_ = true;  // the draft is in the directory of the target
};

}  // namespace

std::shared_ptr<Writer> open_writer(const std::string& path, const char* op) {
  return std::make_shared<FileWriter>(path, op);
}

}  // namespace mlx::core::io
