// Compiled kernels in memory and in files, which belong to one user.
#include "mlx/backend/gpu/source_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "mlx/backend/gpu/devices.h"
#include "mlx/backend/gpu/threads.h"

namespace mlx::core::gpu {

namespace {

namespace fs = std::filesystem;

constexpr char kMagic[8] = {'m', 'l', 'x', 'c', 'u', 'b', '0', '1'};

uint64_t hash(std::string_view text, uint64_t seed) {
  uint64_t h = 0xcbf29ce484222325ull ^ seed;
  for (unsigned char c : text) h = (h ^ c) * 0x100000001b3ull;
  return h ^ (h >> 29);
}

/// The folder, to which this user alone writes; empty where there is none.
fs::path open_folder() {
  fs::path folder;
  if (const char* given = std::getenv("MLX_CUDA_CACHE_DIR"))
    folder = given;
  else if (const char* older = std::getenv("MLX_PTX_CACHE_DIR"))
    folder = older;
  else if (const char* caches = std::getenv("XDG_CACHE_HOME"))
    folder = fs::path(caches) / "mlx" / "cuda";
  else if (const char* home = std::getenv("HOME"))
    folder = fs::path(home) / ".cache" / "mlx" / "cuda";
  if (folder.empty()) return {};
  std::error_code error;
  if (fs::create_directories(folder, error)) fs::permissions(folder, fs::perms::owner_all, error);
  struct stat info;
  if (stat(folder.c_str(), &info) || !S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
      (info.st_mode & (S_IWGRP | S_IWOTH)) || access(folder.c_str(), W_OK))
    return {};
  return folder;
}
const fs::path& folder() {
  static const fs::path f = open_folder();
  return f;
}

/// A number that a variable of the environment gives.
size_t number_in(const char* variable, size_t otherwise) {
  const char* given = std::getenv(variable);
  return given ? std::strtoull(given, nullptr, 10) : otherwise;
}
size_t most_bytes() { return number_in("MLX_CUDA_CACHE_BYTES", size_t{256} << 20); }

fs::path file_of(const std::string& key) {
  char name[40];
  std::snprintf(name, sizeof(name), "%016llx%016llx", static_cast<unsigned long long>(hash(key, 0)),
                static_cast<unsigned long long>(hash(key, 0x9e3779b97f4a7c15ull)));
  return folder() / name;
}

/// Whether a file is one of these: two hashes, perhaps a process and a number, and the magic.
bool is_own(const fs::path& path) {
  const std::string name = path.filename().string();
  auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  auto rest = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  if (name.size() < 32 || !std::all_of(name.begin(), name.begin() + 32, hex) ||
      !std::all_of(name.begin() + 32, name.end(), rest))
    return false;
  char magic[sizeof(kMagic)] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof(magic));
  return !std::memcmp(magic, kMagic, sizeof(kMagic));
}

/// Own files beyond the limit go, those first that were used longest ago. Gives the bytes of the
/// others.
size_t trim() {
  struct File {
    fs::file_time_type used;
    size_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  size_t bytes = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder(), error)) {
    std::error_code gone;
    const size_t size = entry.file_size(gone);
    const auto used = entry.last_write_time(gone);
    if (gone || !entry.is_regular_file(gone) || entry.is_symlink(gone) || !is_own(entry.path()))
      continue;
    bytes += size;
    files.push_back({used, size, entry.path()});
  }
  std::ranges::sort(files, {}, &File::used);
  for (const File& f : files) {
    if (bytes <= most_bytes()) break;
    fs::remove(f.path, error);
    bytes -= f.bytes;
  }
  return bytes;
}

/// Adds to the bytes in the folder, which a file keeps: the folder is looked through where that is
/// missing or a day old, and when the bytes are too many. Processes that write at once may lose
/// each other's.
void count_bytes(size_t added) {
  const fs::path path = folder() / "mlx-cache-bytes";
  std::error_code error;
  const auto age = fs::file_time_type::clock::now() - fs::last_write_time(path, error);
  size_t known = 0;
  const bool counted = !error && age < std::chrono::hours(24) && std::ifstream(path) >> known;
  if (!counted || known + added > most_bytes()) {
    known = trim();
    fs::remove(path, error);  // the next one has another age
  } else {
    known += added;
  }
  // The age is that of the last look.
  const auto looked = fs::last_write_time(path, error);
  std::ofstream(path) << known;
  std::error_code ignored;
  if (!error) fs::last_write_time(path, looked, ignored);
}

template <class T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

// A file: the magic, the lengths of key and code, their hash, key, code.
bool read_cached(const std::string& key, std::string& code) {
  if (folder().empty()) return false;
  const fs::path path = file_of(key);
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  std::string text((std::istreambuf_iterator<char>(file)), {});
  constexpr size_t kHead = sizeof(kMagic) + 3 * sizeof(uint64_t);
  uint64_t head[3];
  if (text.size() < kHead || std::memcmp(text.data(), kMagic, sizeof(kMagic))) return false;
  std::memcpy(head, text.data() + sizeof(kMagic), sizeof(head));
  if (head[0] != key.size() || head[1] > text.size() || text.size() != kHead + head[0] + head[1])
    return false;
  const std::string_view body(text.data() + kHead, head[0] + head[1]);
  if (hash(body, 1) != head[2] || body.substr(0, head[0]) != key) return false;
  code = body.substr(head[0]);
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return true;
}

void write_cached(const std::string& key, const std::string& code) {
  if (folder().empty()) return;
  static std::atomic<unsigned> next{0};
  const fs::path path = file_of(key);
  const fs::path fresh =
      path.string() + "." + std::to_string(getpid()) + "." + std::to_string(next++);
  std::string text(kMagic, sizeof(kMagic));
  append(text, static_cast<uint64_t>(key.size()));
  append(text, static_cast<uint64_t>(code.size()));
  append(text, hash(key + code, 1));
  text += key;
  text += code;
  std::error_code error;
  {
    std::ofstream file(fresh, std::ios::binary);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();
    if (!file) {
      fs::remove(fresh, error);
      return;
    }
  }
  fs::rename(fresh, path, error);
  if (error) fs::remove(fresh, error);
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  count_bytes(text.size());
}

std::string KernelCache::code_of(const std::string& source) {
  const std::string identity = hardware_.identity();
  if (identity.empty()) return hardware_.compile(source);
  const std::string key = identity + "\n" + source;
  std::string code;
  if (read_cached(key, code)) return code;
  code = hardware_.compile(source);
  write_cached(key, code);
  return code;
}

KernelCache::KernelCache(Hardware& hardware)
    : hardware_(hardware), most_(number_in("MLX_CUDA_MODULES", 1024)) {}

Function KernelCache::find(const std::string& source, const char* name) {
  return find(source, name, false);
}
Function KernelCache::load(const std::string& code, const char* name) {
  return find(code, name, true);
}

void KernelCache::trim() {
  if (modules_.size() <= most_) return;
  std::vector<Modules::iterator> idle;  // held by nothing but this table
  for (auto it = modules_.begin(); it != modules_.end(); ++it)
    if (it->second.use_count() == 1 && it->second->ready) idle.push_back(it);
  std::ranges::sort(idle, {}, [](Modules::iterator it) { return it->second->used; });
  // A quarter more than needed goes, so that not every new module sorts them.
  const size_t wanted = modules_.size() - most_ + most_ / 4;
  for (size_t k = 0; k < std::min(wanted, idle.size()); ++k) {
    hardware_.unload(idle[k]->second->module);
    modules_.erase(idle[k]);
  }
}

Function KernelCache::find(const std::string& source, const char* name, bool compiled) {
  std::shared_ptr<Entry> entry;
  bool fresh;
  {
    std::unique_lock lock(mutex_);
    auto [it, added] = modules_.try_emplace(source);
    if ((fresh = added)) it->second = std::make_shared<Entry>();
    entry = it->second;
    entry->used = ++uses_;
    if (!fresh) changed_.wait(lock, [&] { return entry->ready; });
  }
  if (fresh) {
    try {
      on_own_stack([&] {
        hardware_.enter();
        const std::string code = compiled ? source : code_of(source);
        entry->function = hardware_.load(code, name, entry->module);
        entry->name = name;
      });
    } catch (...) {
      entry->error = std::current_exception();
    }
    drain_at_exit();  // before libraries that were opened for it end
    std::lock_guard lock(mutex_);
    entry->ready = true;
    if (entry->error)
      modules_.erase(source);  // the next one tries again
    else
      trim();
    changed_.notify_all();
  }
  if (entry->error) std::rethrow_exception(entry->error);
  if (entry->name == name) return {entry->function, entry};
  return {hardware_.load({}, name, entry->module), entry};
}

Function KernelCache::find(const std::string& brief, const std::function<std::string()>& source,
                           const char* name) {
  {
    std::lock_guard lock(mutex_);
    if (auto known = briefs_.find(brief); known != briefs_.end())
      if (const std::shared_ptr<const Entry> entry = known->second.lock()) {
        entry->used = ++uses_;
        return {entry->function, entry};
      }
  }
  Function found = find(source(), name);
  std::lock_guard lock(mutex_);
  if (briefs_.size() > 4 * most_)
    std::erase_if(briefs_, [](const auto& b) { return b.second.expired(); });
  briefs_[brief] = std::static_pointer_cast<const Entry>(found.module);
  return found;
}

}  // namespace mlx::core::gpu
