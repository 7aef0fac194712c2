// An open file that is read at any position, by any thread.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "mlx/core/api.h"

namespace mlx::core::io {

/// A file that stays open. Renaming or deleting it changes nothing, nor do other permissions or
/// links; a read after it was shortened or written to is a FileError, which names the time or size
/// that says so.
class MLX_API File {
 public:
  /// Throws FileError naming `op` unless the path names a regular file. Never waits for a writer.
  File(const char* op, std::string path);
  ~File();
  File(const File&) = delete;

  const std::string& path() const { return path_; }
  size_t size() const { return size_; }
  int descriptor() const { return fd_; }
  /// Reads exactly `n` bytes at `at`. `what` names them in errors.
  void read(char* to, size_t n, size_t at, const std::string& what = {}) const;

  /// A part of the file that arrays will be read from later, for its lifetime.
  class Unread {
   public:
    explicit Unread(std::shared_ptr<const File> file);
    ~Unread() { done(); }
    Unread(const Unread&) = delete;
    /// Says that it has been read.
    void done() const;
    const File& file() const { return *file_; }

   private:
    std::shared_ptr<const File> file_;
    mutable std::atomic<bool> open_{true};
  };
  /// Whether one more file may stay open: some of the descriptors that the process may have are
  /// left to others.
  static bool may_stay_open();
  /// Whether arrays of this process are still to be read from the file behind a descriptor.
  static bool is_unread(int descriptor);

 private:
  std::string change_since_opened() const;

  const char* op_;
  std::string path_;
  int fd_ = -1;
  size_t size_ = 0;
  struct Trace;
  std::unique_ptr<const Trace> opened_;  ///< the marks that writers leave, when it was opened
  mutable std::atomic<int> unread_{0};
};

}  // namespace mlx::core::io
