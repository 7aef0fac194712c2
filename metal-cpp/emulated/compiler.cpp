// The system's C++ compiler on translated kernels, with the language's header precompiled.
#include "compiler.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "threads.h"

namespace emulated {

namespace {

namespace fs = std::filesystem;

std::string read_all(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The compiler, with the rounding that the language has. Its messages name files of the working
/// folder.
std::string command(const std::string& folder) {
  const char* chosen = std::getenv("CXX");
  return "cd '" + folder + "' && " + (chosen ? chosen : "c++") +
         " -std=c++14 -O1 -w -fPIC -fno-exceptions -fno-rtti -ffp-contract=off -fno-math-errno"
         " -fwrapv -D__METAL_VERSION__=310 ";
}

/// A folder with the language's header, precompiled, and empty headers of all its names for the
/// preprocessor. Removed at the end of the process.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "metal_emulated_XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("[metal] cannot make a folder in " + name);
    path_ = name;
    const fs::path here = EMULATED_FOLDER;
    for (const char* file : {"metal_stdlib", "device.h"}) fs::copy_file(here / file, path_ / file);
    fs::create_directory(path_ / "empty");
    for (const char* header : {"metal_stdlib", "metal_math", "metal_simdgroup",
                               "metal_simdgroup_matrix", "metal_atomic"})
      std::ofstream(path_ / "empty" / header);
    const std::string make =
        command(path_) + "-x c++-header -o metal_stdlib.gch metal_stdlib 2> log.txt";
    if (std::system(make.c_str()) != 0)
      throw std::runtime_error("[metal] the language's header does not compile: " +
                               read_all(path_ / "log.txt"));
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// The files of one program in the folder.
class Files {
 public:
  explicit Files(const fs::path& folder) : folder_(folder) {
    static std::atomic<unsigned> next{0};
    name_ = "k" + std::to_string(next++);
    fs::create_directory(folder_ / name_);
  }
  ~Files() {
    std::error_code ignored;
    fs::remove_all(folder_ / name_, ignored);
  }
  fs::path at(const char* file) const { return folder_ / name_ / file; }
  /// Runs the compiler in the program's folder; its messages go to log.txt.
  bool run(const std::string& arguments) const {
    const std::string line = command((folder_ / name_).string()) + arguments + " 2> log.txt";
    return std::system(line.c_str()) == 0;
  }

 private:
  fs::path folder_;
  std::string name_;
};

}  // namespace

Compiled::~Compiled() { dlclose(library_); }

const Kernel* Compiled::find(const std::string& name) const {
  return static_cast<const Kernel*>(dlsym(library_, (name + "_kernel").c_str()));
}

std::shared_ptr<Compiled> compile(const std::string& source, std::string& error) {
  try {
    static const Folder folder;
    const Files files(folder.path());
    std::ofstream(files.at("program.metal")) << source;
    const char* const expand = "-E -x c++ -I ../empty -o expanded.txt program.metal";
    bool done = files.run(expand);
    if (done) {
      std::ofstream(files.at("kernels.cpp"))
          << translate(read_all(files.at("expanded.txt")))
          << "extern \"C\" { const emulated::Hooks* emulated_hooks; }\n";
      done = files.run("-include ../metal_stdlib -shared -o kernels.so kernels.cpp");
    }
    if (!done) {
      error = "[metal] the source does not compile:\n" + read_all(files.at("log.txt"));
      return nullptr;
    }
    void* const library = dlopen(files.at("kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(std::string("[metal] ") + dlerror());
    *static_cast<const Hooks**>(dlsym(library, "emulated_hooks")) = &hooks;
    return std::make_shared<Compiled>(library);
  } catch (const std::exception& e) {
    error = e.what();
    return nullptr;
  }
}

}  // namespace emulated
