// NVRTC's functions on the host: the plugin's kernels compiled as C++ into shared libraries.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "host_driver.h"

namespace {

namespace fs = std::filesystem;

std::atomic<int64_t> compiled{0};

struct Program {
  std::string source, log, code;
  std::vector<std::pair<std::string, std::string>> headers;
};

std::string read_all(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {(std::istreambuf_iterator<char>(file)), {}};
}

// Flags of kernels beside those; a sanitized driver has sanitized kernels.
#ifdef __SANITIZE_ADDRESS__
#define MLX_KERNEL_FLAGS "-g1 -fno-omit-frame-pointer -fsanitize=address,undefined"
constexpr int kVersion = 2;  // compiled code of another kind is not taken from a cache
#elif defined(__SANITIZE_THREAD__)
#define MLX_KERNEL_FLAGS "-g1 -fno-omit-frame-pointer -fsanitize=thread"
constexpr int kVersion = 3;
#else
#define MLX_KERNEL_FLAGS ""
constexpr int kVersion = 1;
#endif

/// The command that compiles, without source and target. Without contraction, as on the device; FMA
/// as the instruction sets have it.
std::string compiler(const std::string& folder) {
  const char* chosen = std::getenv("CXX");
  return std::string(chosen ? chosen : "c++") +
         " -std=c++20 -O1 -mfma -ffp-contract=off -fno-trapping-math -fno-math-errno -fwrapv -w"
         " -fPIC " MLX_KERNEL_FLAGS " -I" +
         folder;
}

constexpr const char* kCommonHeader = "/mlx/common.cuh";

/// Sources of headers as files of a folder, written once. The one that nearly all programs include
/// is precompiled, which halves the time of each.
std::string folder_of(const Program& p) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  static std::string folder;
  if (!folder.empty()) return folder;
  char name[] = "/tmp/mlx_host_driver_XXXXXX";
  if (!mkdtemp(name)) return {};
  folder = name;
  for (const auto& [file, text] : p.headers) {
    if (file.find('/') == std::string::npos) continue;  // the host has the standard library
    fs::path path = fs::path(folder) / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  const std::string common = folder + kCommonHeader;
  std::ofstream(common) << "#pragma once\n#include \"mlx/backend/cuda/device/target.cuh\"\n"
                           "#include \"mlx/backend/gpu/kernels/program.cuh\"\n";
  [[maybe_unused]]
  const int status = std::system(
      (compiler(folder) + " -x c++-header -o " + common + ".gch " + common + " 2>/dev/null")
          .c_str());
  std::atexit([] {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  });
  return folder;
}

bool compile(Program& p) {
  static std::atomic<int> next{0};
  const std::string folder = folder_of(p);
  if (folder.empty()) return false;
  const std::string base = folder + "/k" + std::to_string(next++);
  std::ofstream(base + ".cpp") << p.source;
  const bool own = p.source.find("device/user.cuh") == std::string::npos;
  const std::string command = compiler(folder) +
                              (own ? " -include " + folder + kCommonHeader : "") + " -shared -o " +
                              base + ".so " + base + ".cpp 2> " + base + ".log";
  const int status = std::system(command.c_str());
  const int number = ++compiled;
  if (const char* kept = std::getenv("MLX_HOST_DRIVER_SOURCES"))
    std::ofstream(std::string(kept) + "/" + std::to_string(getpid()) + "_" +
                  std::to_string(number) + ".cu")
        << p.source;
  p.log = read_all(base + ".log");
  if (status == 0) p.code = read_all(base + ".so");
  std::error_code ignored;
  for (const char* end : {".cpp", ".so", ".log"}) fs::remove(base + end, ignored);
  return status == 0;
}

}  // namespace

/// How many programs were compiled.
EXPORT int64_t mlx_host_compiled() { return compiled; }

EXPORT int nvrtcVersion(int* major, int* minor) { return *major = 0, *minor = kVersion, 0; }
EXPORT int nvrtcCreateProgram(Program** p, const char* source, const char*, int n,
                              const char* const* texts, const char* const* names) {
  *p = new Program{source, {}, {}, {}};
  for (int k = 0; k < n; ++k) (*p)->headers.emplace_back(names[k], texts[k]);
  return 0;
}
EXPORT int nvrtcCompileProgram(Program* p, int, const char* const*) {
  if (fails_now(kFailModule)) return 6;
  return compile(*p) ? 0 : 6;
}
EXPORT int nvrtcGetProgramLogSize(Program* p, size_t* n) { return *n = p->log.size() + 1, 0; }
EXPORT int nvrtcGetProgramLog(Program* p, char* log) {
  return std::memcpy(log, p->log.c_str(), p->log.size() + 1), 0;
}
EXPORT int nvrtcGetCUBINSize(Program* p, size_t* n) { return *n = p->code.size(), 0; }
EXPORT int nvrtcGetCUBIN(Program* p, char* code) {
  return std::memcpy(code, p->code.data(), p->code.size()), 0;
}
EXPORT int nvrtcDestroyProgram(Program** p) { return delete *p, *p = nullptr, 0; }
EXPORT const char* nvrtcGetErrorString(int) { return "compilation error"; }
