// Open files, and which of them arrays are still to be read from.
#include "mlx/io/file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>

#include "mlx/core/error.h"

namespace mlx::core::io {

namespace {

/// When a file was last written to.
timespec change_time(const struct stat& info) {
#if defined(__APPLE__)
  return info.st_mtimespec;
#else
  return info.st_mtim;
#endif
}

/// The open files of the process.
struct OpenFiles {
  std::mutex mutex;
  std::set<const File*> files;
};
OpenFiles& open_files() {
  static auto& all = *new OpenFiles;  // never destroyed: arrays may outlive static objects
  return all;
}

}  // namespace

File::File(const char* op, std::string path) : op_(op), path_(std::move(path)) {
  auto refuse = [&](const std::string& why) {
    if (fd_ >= 0) ::close(fd_);
    fail<FileError>(op_, path_, why);
  };
  if (const size_t nul = path_.find('\0'); nul != std::string::npos) {
    path_.resize(nul);
    refuse(": the path goes on after a NUL character");
  }
  // Without O_NONBLOCK a FIFO would be waited for until somebody writes to it.
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  if (fd_ < 0 || ::fstat(fd_, &info) != 0) refuse(cat(": ", std::strerror(errno)));
  if (!S_ISREG(info.st_mode)) refuse(" is not a regular file");
  size_ = static_cast<size_t>(info.st_size);
  changed_seconds_ = change_time(info).tv_sec;
  changed_nanoseconds_ = change_time(info).tv_nsec;
  std::lock_guard lock(open_files().mutex);
  open_files().files.insert(this);
}

File::~File() {
  {
    std::lock_guard lock(open_files().mutex);
    open_files().files.erase(this);
  }
  ::close(fd_);
}

void File::read(char* to, size_t n, size_t at, const std::string& what) const {
  auto refuse = [&](const auto&... why) {
    fail<FileError>(op_, path_, ": ", n, " bytes ", what.empty() ? "" : "of " + what + " ", "at ",
                    at, ": ", why...);
  };
  if (at > size_ || n > size_ - at) refuse("the file ends after ", size_, " bytes");
  for (size_t have = 0; have < n;) {
    const ssize_t got = ::pread(fd_, to + have, n - have, static_cast<off_t>(at + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(std::strerror(errno));
    if (got == 0) refuse("the file was shortened after it was opened");
    have += static_cast<size_t>(got);
  }
  struct stat info;
  if (::fstat(fd_, &info) != 0) refuse(std::strerror(errno));
  const timespec now = change_time(info);
  if (now.tv_sec != changed_seconds_ || now.tv_nsec != changed_nanoseconds_)
    refuse(
        "the file was written to after it was opened; replace files by renaming, or evaluate "
        "arrays before their file is changed");
}

File::Unread::Unread(std::shared_ptr<const File> file) : file_(std::move(file)) {
  file_->unread_.fetch_add(1);
}
void File::Unread::done() const {
  if (open_.exchange(false)) file_->unread_.fetch_sub(1);
}

bool File::may_stay_open() {
  rlimit limit{};
  size_t all = 1024;
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    all = limit.rlim_cur;
  std::lock_guard lock(open_files().mutex);
  return open_files().files.size() <= std::max<size_t>(16, all / 4);
}

bool File::is_unread(int descriptor) {
  struct stat one, other;
  if (::fstat(descriptor, &one) != 0) return false;
  std::lock_guard lock(open_files().mutex);
  return std::ranges::any_of(open_files().files, [&](const File* f) {
    return f->unread_ > 0 && ::fstat(f->fd_, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
  });
}

}  // namespace mlx::core::io
