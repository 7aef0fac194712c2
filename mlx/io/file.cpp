// Open files, and which of them arrays are still to be read from.
#include "mlx/io/file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <mutex>
#include <set>

#include "mlx/core/error.h"

namespace mlx::core::io {

namespace {

#if defined(__APPLE__)
timespec written_at(const struct stat& info) { return info.st_mtimespec; }
timespec altered_at(const struct stat& info) { return info.st_ctimespec; }
#else
timespec written_at(const struct stat& info) { return info.st_mtim; }
timespec altered_at(const struct stat& info) { return info.st_ctim; }
#endif

bool is_same(timespec a, timespec b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }
bool is_same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// The path from the root; the path itself where the working directory is not known.
std::string absolute(const std::string& path) {
  if (path.starts_with('/')) return path;
  char folder[PATH_MAX];
  return ::getcwd(folder, sizeof(folder)) ? cat(folder, "/", path) : path;
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

struct File::Trace {
  struct stat info;
  std::string path;  // absolute
};

File::File(const char* op, std::string path) : op_(op), path_(std::move(path)) {
  auto refuse = [&](const std::string& why) {
    if (fd_ >= 0) ::close(fd_);
    fail<FileError>(op_, path_, why);
  };
  if (const size_t nul = path_.find('\0'); nul != std::string::npos) {
    path_.resize(nul);
    refuse(": the path goes on after a NUL character");
  }
  // Without O_NONBLOCK, opening a FIFO waits until a program writes to it.
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  if (fd_ < 0 || ::fstat(fd_, &info) != 0) refuse(cat(": ", std::strerror(errno)));
  if (!S_ISREG(info.st_mode)) refuse(" is not a regular file");
  size_ = static_cast<size_t>(info.st_size);
  opened_ = std::make_unique<const Trace>(Trace{info, absolute(path_)});
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
  if (const std::string change = change_since_opened(); !change.empty())
    refuse("the file may have been written to after it was opened: ", change,
           "; load it again, replace files by renaming, or evaluate arrays before their file is "
           "changed");
}

/// How it can be seen that the content may be another than it was; empty where it is the same. The
/// time of alteration (ctime) of a file that is not written to changes with its owner, permissions,
/// links and name. No program can set it, as it can the time of writing (mtime).
std::string File::change_since_opened() const {
  const struct stat& then = opened_->info;
  struct stat now, named;
  if (::fstat(fd_, &now) != 0) return cat("its state is not known: ", std::strerror(errno));
  if (now.st_size != then.st_size)
    return cat("its size changed from ", then.st_size, " to ", now.st_size);
  if (!is_same(written_at(now), written_at(then)))
    return "its time of writing (mtime) changed, which `touch` sets too";
  if (is_same(altered_at(now), altered_at(then))) return {};
  if (now.st_mode != then.st_mode || now.st_uid != then.st_uid || now.st_gid != then.st_gid ||
      now.st_nlink != then.st_nlink)
    return {};
  if (::fstatat(AT_FDCWD, opened_->path.c_str(), &named, 0) != 0 || !is_same_file(named, now))
    return {};
  return "its time of alteration (ctime) changed, but no name, owner, permission or count of "
         "links: "
         "its time of writing may have been put back";
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
    return f->unread_ > 0 && ::fstat(f->fd_, &other) == 0 && is_same_file(one, other);
  });
}

}  // namespace mlx::core::io
