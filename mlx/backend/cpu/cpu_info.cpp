// Detection of instruction sets (cpuid and the state the OS saves), caches, cores and memory.
#include "mlx/backend/cpu/cpu_info.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#endif
#if defined(__APPLE__)
#include <mach/mach.h>
#include <sys/sysctl.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace mlx::core::cpu {

namespace {

struct Features {
  /// The widest set of the processor by name; the library may lack its kernels.
  std::string_view isa;
  bool fast_bf16_pairs = false;
  bool prefetches_within_pages = false;
  bool amx = false;
};

#if defined(__x86_64__)
struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf) {
  Registers r;
  if (!__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d)) {
    return {};
  }
  return r;
}

uint64_t saved_state() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

bool is_intel() {
  const auto vendor = cpuid(0, 0);
  return vendor.b == 0x756e6547;  // "Genu" of GenuineIntel
}

// Linux keeps the state of tiles for a process that asked for it; other systems and older kernels
// refuse. Threads that exist and those to come may use tiles then.
bool tiles_permitted() {
#if defined(__linux__) && defined(SYS_arch_prctl)
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

Features detect() {
  constexpr auto all = [](unsigned reg, std::initializer_list<int> bits) {
    return std::all_of(bits.begin(), bits.end(), [reg](int bit) { return (reg >> bit) & 1u; });
  };
  Features f{.isa = "v2", .prefetches_within_pages = !is_intel()};
  const auto l1 = cpuid(1, 0);
  const auto l7 = cpuid(7, 0);
  const auto l7_1 = cpuid(7, 1);
  const auto ext = cpuid(0x80000001u, 0);
  // OSXSAVE, AVX, FMA, F16C, MOVBE; then AVX2, BMI, BMI2; then LZCNT.
  const bool haswell = all(l1.c, {27, 28, 12, 29, 22}) && all(l7.b, {5, 3, 8}) && all(ext.c, {5});
  if (!haswell || (saved_state() & 0x6) != 0x6) {
    return f;
  }
  f.isa = "avx2";
  // F, DQ, CD, BW, VL; also VNNI, because compilers use it automatically if its flag is given.
  if (all(l7.b, {16, 17, 28, 30, 31}) && all(l7.c, {11}) && (saved_state() & 0xe6) == 0xe6) {
    f.isa = "avx512";
    const bool bf16 = all(l7_1.a, {5});
    // Intel's processors take two cycles for VDPBF16PS: products of widened numbers are faster.
    f.fast_bf16_pairs = bf16 && !is_intel();
    // AMX-BF16 and AMX-TILE, and both parts of the tiles' state.
    f.amx = bf16 && all(l7.d, {22, 24}) && (saved_state() & 0x60000) == 0x60000;
  }
  return f;
}
#else
bool tiles_permitted() { return false; }

Features detect() {
  return {"neon"};
}  // the other architectures have one set, which is in all processors
#endif

struct IsaRow {
  Isa isa;
  const char* name;
  double rate;
};
constexpr IsaRow kIsas[] = {
#define MLX_ROW(ISA, RATE, ...) {Isa::ISA, #ISA, RATE},
    MLX_EACH_ISA(MLX_ROW)
#undef MLX_ROW
};

/// The sets of processors, each of which has those before it.
constexpr std::string_view kLevels[] = {"v2", "avx2", "avx512"};

size_t level_of(std::string_view isa) {
  return static_cast<size_t>(std::ranges::find(kLevels, isa) - kLevels);
}

const Features& features() {
  static const Features f = detect();
  return f;
}

/// Whether the processor has the unit for tiles, and the library the kernels beside it.
bool has_amx() { return features().amx && isa_name(supported_isa()) == features().isa; }

// An instruction set with a unit for tiles, or without.
struct Choice {
  Isa isa = supported_isa();
  TileArithmetic tiles = TileArithmetic::none;
};

constexpr const char* kAmx = "amx";
constexpr const char* kModel = "amx-model";

Choice read_choice() {
  const char* env = std::getenv("MLX_CPU_ISA");
  Choice choice;
  if (env == nullptr || *env == '\0') {
    if (has_amx() && tiles_permitted()) {
      choice.tiles = TileArithmetic::amx;
    }
    return choice;
  }
  if (std::string_view(env) == kModel) {
    choice.tiles = TileArithmetic::model;
    return choice;
  }
  if (std::string_view(env) == kAmx && has_amx() && tiles_permitted()) {
    choice.tiles = TileArithmetic::amx;
    return choice;
  }
  std::string names;
  for (const IsaRow& row : kIsas) {
    if (std::string_view(env) == row.name && row.isa <= supported_isa()) {
      choice.isa = row.isa;
      return choice;
    }
    names += std::string(row.name) + ", ";
  }
  throw std::runtime_error(std::string("[cpu] MLX_CPU_ISA=") + env + " given; accepted: " + names +
                           (has_amx() ? std::string(kAmx) + ", " : "") + kModel +
                           " (this machine supports up to " +
                           (has_amx() ? kAmx : isa_name(supported_isa())) + ").");
}

const Choice& choice() {
  static const Choice chosen = read_choice();
  return chosen;
}

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  return std::getline(in, line) ? std::optional(line) : std::nullopt;
}

std::optional<double> leading_number(const std::optional<std::string>& text) {
  if (!text) {
    return std::nullopt;
  }
  char* end = nullptr;
  const double value = std::strtod(text->c_str(), &end);
  return end == text->c_str() ? std::nullopt : std::optional(value);
}

#if defined(__APPLE__)
// An integer of the system by name, 0 when there is none.
size_t system_value(const char* name) {
  uint64_t value = 0;  // the system writes 4 or 8 bytes
  size_t size = sizeof(value);
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 ? static_cast<size_t>(value) : 0;
}

// The second-level cache, which the fast cores share, is the last one that has a size.
size_t cache_size(int, int, size_t otherwise) {
  for (const char* name : {"hw.perflevel0.l2cachesize", "hw.l2cachesize"}) {
    if (const size_t size = system_value(name)) {
      return size;
    }
  }
  return otherwise;
}
#else
// Size such as "32768K" of the highest-level cache in [lowest, highest].
size_t cache_size(int lowest, int highest, size_t otherwise) {
  size_t best = 0;
  int best_level = 0;
  for (int index = 0; index < 8; ++index) {
    const auto dir = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    const auto level = leading_number(first_line(dir + "level"));
    const auto size = first_line(dir + "size");
    const auto amount = leading_number(size);
    if (!level || !amount || *level < lowest || *level > highest || *level < best_level) {
      continue;
    }
    const char unit = size->back();
    best_level = static_cast<int>(*level);
    best = static_cast<size_t>(*amount) << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
  }
  return best ? best : otherwise;
}
#endif

// Calls `visit(directory)` for this process's control group of a v1 controller and for the unified
// (v2) one, from the group up to the root of the hierarchy.
void for_each_cgroup(const std::string& controller,
                     const std::function<void(const std::string&)>& visit) {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      continue;
    }
    const auto names = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool unified = names == ",,";
    if (!unified && names.find("," + controller + ",") == std::string::npos) {
      continue;
    }
    const std::string mount = "/sys/fs/cgroup" + (unified ? "" : "/" + controller);
    auto path = line.substr(second + 1);
    while (true) {
      visit(mount + path + "/");
      const auto slash = path.rfind('/');
      if (slash == std::string::npos || path == "/") {
        break;
      }
      path.resize(slash);
    }
  }
}

double cpu_quota() {
  double cores = std::numeric_limits<double>::infinity();
  for_each_cgroup("cpu", [&](const std::string& dir) {
    if (const auto line = first_line(dir + "cpu.max")) {
      std::istringstream in(*line);
      double quota, period;
      if (in >> quota >> period && period > 0) {
        cores = std::min(cores, quota / period);
      }
    }
    const auto quota = leading_number(first_line(dir + "cpu.cfs_quota_us"));
    const auto period = leading_number(first_line(dir + "cpu.cfs_period_us"));
    if (quota && period && *quota > 0 && *period > 0) {
      cores = std::min(cores, *quota / *period);
    }
  });
  return cores;
}

int count_cores() {
  int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    cores = std::max(1, CPU_COUNT(&set));
  }
#endif
  const double quota = cpu_quota();
  return quota < cores ? std::max(1, static_cast<int>(std::ceil(quota))) : cores;
}

size_t physical_memory() {
#if defined(__APPLE__)
  return system_value("hw.memsize");
#else
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
#endif
}

// The value in bytes of a "Name:  123 kB" or "name 123" line, 0 when there is none.
size_t labelled_value(const std::string& path, std::string_view label) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (std::string_view(line).starts_with(label)) {
      const auto value = leading_number(line.substr(label.size()));
      return value ? static_cast<size_t>(*value) << (line.ends_with("kB") ? 10 : 0) : 0;
    }
  }
  return 0;
}

// Limit and use of the most restrictive memory control group, for both cgroup versions.
size_t cgroup_memory(bool still_free) {
  size_t best = std::numeric_limits<size_t>::max();
  for_each_cgroup("memory", [&](const std::string& dir) {
    for (const auto& [limit_file, use_file] :
         {std::pair("memory.max", "memory.current"),
          std::pair("memory.limit_in_bytes", "memory.usage_in_bytes")}) {
      const auto limit = leading_number(first_line(dir + limit_file));
      if (!limit || *limit > 9e18) {
        continue;
      }
      double free_bytes = *limit;
      if (still_free) {
        const auto stat = dir + "memory.stat";
        free_bytes -= leading_number(first_line(dir + use_file)).value_or(0);
        free_bytes += static_cast<double>(labelled_value(stat, "inactive_file ") +
                                          labelled_value(stat, "active_file "));
      }
      best = std::min(best, static_cast<size_t>(std::max(0.0, free_bytes)));
    }
  });
  return best;
}

}  // namespace

const char* isa_name(Isa isa) { return kIsas[static_cast<int>(isa)].name; }

Isa supported_isa() {
  std::optional<Isa> best;
  for (const IsaRow& row : kIsas) {
    if (level_of(row.name) <= level_of(features().isa)) {
      best = row.isa;
    }
  }
  if (!best) {
    throw std::runtime_error(std::string("[cpu] this build has kernels for ") + kIsas[0].name +
                             " alone, and the processor has " + std::string(features().isa) +
                             "; a build of the package on this machine has others.");
  }
  return *best;
}

Isa isa() { return choice().isa; }

TileArithmetic tile_arithmetic() { return choice().tiles; }

const char* tile_arithmetic_name() {
  constexpr const char* names[] = {"none", kAmx, kModel};
  return names[static_cast<int>(tile_arithmetic())];
}

double isa_rate() { return kIsas[static_cast<int>(isa())].rate; }

bool has_fast_bf16_pairs() { return features().fast_bf16_pairs; }

bool prefetches_within_pages() { return features().prefetches_within_pages; }

size_t l2_size() {
  static const size_t size = cache_size(2, 2, size_t{512} << 10);
  return size;
}

size_t l3_size() {
  static const size_t size = cache_size(3, 4, size_t{16} << 20);
  return size;
}

int usable_cores() {
  static const int cores = count_cores();
  return cores;
}

int default_num_threads() {
  const char* env = std::getenv("MLX_NUM_THREADS");
  if (env == nullptr || *env == '\0') {
    return usable_cores();
  }
  char* end = nullptr;
  const long threads = std::strtol(env, &end, 10);
  if (*end != '\0' || threads < 1 || threads > 1024) {
    throw std::runtime_error(std::string("[cpu] MLX_NUM_THREADS=") + env +
                             " given; accepted: a whole number from 1 to 1024.");
  }
  return static_cast<int>(threads);
}

size_t total_memory() {
  static const size_t bytes = std::min(physical_memory(), cgroup_memory(false));
  return bytes;
}

size_t available_memory() {
#if defined(__APPLE__)
  vm_statistics64_data_t pages;
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  const auto found = reinterpret_cast<host_info64_t>(&pages);
  if (host_statistics64(mach_host_self(), HOST_VM_INFO64, found, &count) != KERN_SUCCESS) {
    return total_memory();
  }
  const size_t unused = size_t{pages.free_count} + pages.inactive_count + pages.purgeable_count;
  return std::min(total_memory(), unused * static_cast<size_t>(sysconf(_SC_PAGESIZE)));
#else
  const size_t host = labelled_value("/proc/meminfo", "MemAvailable:") +
                      labelled_value("/proc/meminfo", "SwapFree:");
  return std::min(host ? host : total_memory(), cgroup_memory(true));
#endif
}

}  // namespace mlx::core::cpu
