// The system's C++ compiler on translated kernels, with the language's header precompiled.
#include "compiler.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <stdexcept>

namespace emulated {

namespace {

namespace fs = std::filesystem;

std::string read_all(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A device with sanitizers has kernels with them. The compiler runs without their library.
#ifdef __SANITIZE_ADDRESS__
#define EMULATED_BEFORE "unset LD_PRELOAD; "
#define EMULATED_SANITIZERS \
  " -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize=vptr"
#else
#define EMULATED_BEFORE
#define EMULATED_SANITIZERS
#endif

/// The compiler, with the rounding that the language has. Its messages name files of the working
/// folder. EMULATED_ONE_SPACE: overloads by address spaces would be one function.
std::string command(const std::string& folder) {
  const char* chosen = std::getenv("CXX");
  return EMULATED_BEFORE "cd '" + folder + "' && " + (chosen ? chosen : "c++") +
         EMULATED_SANITIZERS
         " -std=c++14 -O1 -w -fPIC -fno-exceptions -fno-rtti -ffp-contract=off -fno-math-errno"
         " -fsingle-precision-constant -fwrapv -D__METAL_VERSION__=310 -DEMULATED_ONE_SPACE ";
}

uint64_t hash(const std::string& text, uint64_t seed) {
  uint64_t h = 0xcbf29ce484222325ull ^ seed;
  for (unsigned char c : text) h = (h ^ c) * 0x100000001b3ull;
  return h ^ (h >> 31);
}
/// A name for a text, the language's header and the compiler's options.
std::string name_of(const std::string& text) {
  static const std::string common = [] {
    const fs::path here = EMULATED_FOLDER;
    return command("") + read_all(here / "metal_stdlib") + read_all(here / "device.h");
  }();
  char name[40];
  std::snprintf(name, sizeof name, "%016llx%016llx",
                static_cast<unsigned long long>(hash(common + text, 0)),
                static_cast<unsigned long long>(hash(text + common, 0x9e3779b97f4a7c15ull)));
  return name;
}

/// Writes a file as a whole: other processes see it complete, or not at all.
template <class F>
void make_whole(const fs::path& path, F write) {
  static std::atomic<unsigned> next{0};
  const fs::path fresh =
      path.string() + "." + std::to_string(getpid()) + "." + std::to_string(next++);
  write(fresh);
  fs::rename(fresh, path);
}

/// The folder of compiled programs: that of MLX_EMULATION_CACHE, which serves later processes, or
/// one that is removed at the end of this one. It has the language's header, and empty headers of
/// all its names for the preprocessor.
class Folder {
 public:
  Folder() {
    const char* given = std::getenv("MLX_EMULATION_CACHE");
    if (given) {
      path_ = given;
      fs::create_directories(path_);
    } else {
      std::string name = (fs::temp_directory_path() / "metal_emulated_XXXXXX").string();
      if (!mkdtemp(name.data()))
        throw std::runtime_error("[metal] cannot make a folder in " + name);
      path_ = name;
    }
    kept_ = given != nullptr;
    // A version of the header has its own folder.
    path_ /= name_of("");
    fs::create_directories(path_ / "empty");
    const fs::path here = EMULATED_FOLDER;
    for (const char* file : {"metal_stdlib", "device.h"})
      make_whole(path_ / file, [&](const fs::path& to) { fs::copy_file(here / file, to); });
    for (const char* header : {"metal_stdlib", "metal_math", "metal_simdgroup",
                               "metal_simdgroup_matrix", "metal_atomic"})
      std::ofstream(path_ / "empty" / header);
  }
  ~Folder() {
    std::error_code ignored;
    if (!kept_) fs::remove_all(path_.parent_path(), ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  bool kept_ = false;
};

/// The files of one program in a folder.
class Files {
 public:
  explicit Files(const fs::path& folder) {
    static std::atomic<unsigned> next{0};
    folder_ = folder / ("k" + std::to_string(getpid()) + "_" + std::to_string(next++));
    fs::create_directory(folder_);
  }
  ~Files() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  fs::path at(const char* file) const { return folder_ / file; }
  /// Runs the compiler in the program's folder; its messages go to log.txt.
  bool run(const std::string& arguments) const {
    const std::string line = command(folder_.string()) + arguments + " 2> log.txt";
    return std::system(line.c_str()) == 0;
  }

 private:
  fs::path folder_;
};

/// Libraries of a kernel, without that of C++: the linker takes as long to read it as the compiler
/// for a small kernel. Sanitizers choose their own.
constexpr const char* kLibraries =
    sizeof("" EMULATED_SANITIZERS) > 1 ? "" : " -nostdlib -lm -lc -lgcc";

/// Ends the part of a source that many sources begin with, which is compiled once.
constexpr const char* kMark = "// The end of the common part.\n";

/// A refusal of the compiler, with its text.
struct Refused {
  std::string text;
};

/// The common part of sources, as a precompiled header and for the preprocessor.
class Common {
 public:
  Common(const fs::path& folder, const std::string& text) {
    const std::string name = name_of(text);
    header_ = folder / (name + ".h");
    source_ = folder / (name + ".metal");
    const fs::path compiled = header_.string() + ".gch";
    if (fs::exists(compiled)) return;
    const Files files(folder);
    std::ofstream(files.at("program.metal")) << text;
    const std::string expand = "-E -x c++ -I ../empty -o expanded.txt program.metal";
    if (!files.run(expand)) throw Refused{read_all(files.at("log.txt"))};
    const std::string translated = "#include \"" + (folder / "metal_stdlib").string() + "\"\n" +
                                   translate(read_all(files.at("expanded.txt")));
    auto put = [](const std::string& content) {
      return [&content](const fs::path& to) { std::ofstream(to) << content; };
    };
    make_whole(source_, put(text));
    make_whole(header_, put(translated));
    make_whole(compiled, [&](const fs::path& to) {
      if (!files.run("-x c++-header -o '" + to.string() + "' '" + header_.string() + "'"))
        throw Refused{read_all(files.at("log.txt"))};
    });
  }
  const fs::path& header() const { return header_; }
  const fs::path& source() const { return source_; }

 private:
  fs::path header_, source_;
};

/// The common parts of this process, each made once.
const Common& common_of(const fs::path& folder, const std::string& text) {
  static std::mutex mutex;
  static std::map<std::string, Common> made;
  std::lock_guard lock(mutex);
  auto found = made.find(text);
  if (found == made.end()) found = made.emplace(text, Common(folder, text)).first;
  return found->second;
}

/// Compiles a source to the file `to`.
void compile_to(const fs::path& to, const fs::path& folder, const std::string& source) {
  const size_t mark = source.find(kMark);
  const size_t begin = mark == source.npos ? 0 : mark + std::strlen(kMark);
  const Common& common = common_of(folder, source.substr(0, begin));
  const Files files(folder);
  const auto lines =
      std::count(source.begin(), source.begin() + static_cast<ptrdiff_t>(begin), '\n');
  std::ofstream(files.at("program.metal"))
      << std::string(static_cast<size_t>(lines), '\n') << source.substr(begin);
  if (!files.run("-E -x c++ -I ../empty -imacros '" + common.source().string() +
                 "' -o expanded.txt program.metal"))
    throw Refused{read_all(files.at("log.txt"))};
  std::ofstream(files.at("kernels.cpp"))
      << translate(read_all(files.at("expanded.txt")))
      << "extern \"C\" { const emulated::Hooks* emulated_hooks; }\n";
  if (!files.run("-include '" + common.header().string() + "' -shared -o kernels.so kernels.cpp" +
                 kLibraries))
    throw Refused{read_all(files.at("log.txt"))};
  fs::rename(files.at("kernels.so"), to);
}

/// The source with its first part A replaced by B, where MLX_EMULATION_CHANGE is A=>B, for tests.
std::string changed(std::string source) {
  const char* const given = std::getenv("MLX_EMULATION_CHANGE");
  const std::string change = given ? given : "";
  const size_t arrow = change.find("=>");
  if (arrow == change.npos) return source;
  const size_t at = source.find(change.substr(0, arrow));
  return at == source.npos ? source : source.replace(at, arrow, change.substr(arrow + 2));
}

/// Writes a source to a new file of the folder that MLX_EMULATION_SOURCES names, for tests.
void note_source(const std::string& source) {
  const char* const folder = std::getenv("MLX_EMULATION_SOURCES");
  if (!folder) return;
  static std::atomic<unsigned> next{0};
  std::ofstream(fs::path(folder) / (std::to_string(next++) + ".metal")) << source;
}

}  // namespace

Compiled::~Compiled() { dlclose(library_); }

const Kernel* Compiled::find(const std::string& name) const {
  return static_cast<const Kernel*>(dlsym(library_, (name + "_kernel").c_str()));
}

Code Compiled::code() const {
  link_map* loaded = nullptr;
  dlinfo(library_, RTLD_DI_LINKMAP, &loaded);
  // The file begins where the library does.
  const auto* const base = reinterpret_cast<const char*>(loaded->l_addr);
  const auto& head = *reinterpret_cast<const ElfW(Ehdr)*>(base);
  const auto* const parts = reinterpret_cast<const ElfW(Phdr)*>(base + head.e_phoff);
  for (int k = 0; k < head.e_phnum; ++k)
    if (parts[k].p_type == PT_LOAD && parts[k].p_flags & PF_X)
      return {base + parts[k].p_vaddr, base + parts[k].p_vaddr + parts[k].p_memsz};
  return {};
}

std::shared_ptr<Compiled> compile(const std::string& text, std::string& error) {
  const std::string source = changed(text);
  note_source(source);
  try {
    static const Folder folder;
    const fs::path path = folder.path() / (name_of(source) + ".so");
    if (!fs::exists(path)) compile_to(path, folder.path(), source);
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(std::string("[metal] ") + dlerror());
    *static_cast<const Hooks**>(dlsym(library, "emulated_hooks")) = &hooks;
    return std::make_shared<Compiled>(library);
  } catch (const Refused& refused) {
    error = "[metal] the source does not compile:\n" + refused.text;
    return nullptr;
  } catch (const std::exception& e) {
    error = e.what();
    return nullptr;
  }
}

}  // namespace emulated
