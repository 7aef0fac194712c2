// The functions of NVRTC, its options, and the text of the headers.
#include "mlx/backend/cuda/compiler.h"

#include <dlfcn.h>

#include <cstdlib>
#include <functional>
#include <vector>

#include "mlx/backend/cuda/libraries.h"
#include "mlx/backend/cuda/sources.h"
#include "mlx/core/error.h"

namespace mlx::core::cuda {

namespace {

/// NVRTC's functions. Declared here, so that no header of its package is needed.
struct Nvrtc {
  using Program = struct OpaqueProgram*;
  int (*version)(int*, int*) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  const char* (*error_text)(int) = nullptr;
  int major = 0, minor = 0;
};

Nvrtc open_nvrtc() {
  void* library = nullptr;
  if (const char* path = std::getenv("MLX_CUDA_NVRTC")) {
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail<ExecutionError>("cuda", "MLX_CUDA_NVRTC: ", dlerror());
  } else {
    library = open_library({"libnvrtc.so.13", "libnvrtc.so.12"}, "libnvrtc-builtins.so");
  }
  if (!library)
    fail<ExecutionError>("cuda", "the compiler NVRTC (libnvrtc.so.13) is not found; ",
                         "install nvidia-cuda-nvrtc or name its folder in MLX_CUDA_LIBRARY_PATH");
  Nvrtc n;
  auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    if (!function) fail<ExecutionError>("cuda", "NVRTC has no function ", name);
  };
  find(n.version, "nvrtcVersion");
  find(n.create, "nvrtcCreateProgram");
  find(n.compile, "nvrtcCompileProgram");
  find(n.log_size, "nvrtcGetProgramLogSize");
  find(n.log, "nvrtcGetProgramLog");
  find(n.cubin_size, "nvrtcGetCUBINSize");
  find(n.cubin, "nvrtcGetCUBIN");
  find(n.destroy, "nvrtcDestroyProgram");
  find(n.error_text, "nvrtcGetErrorString");
  n.version(&n.major, &n.minor);
  return n;
}
const Nvrtc& nvrtc() {
  static const Nvrtc n = open_nvrtc();
  return n;
}

// One rounding an operation, as everywhere: nothing is contracted, division and roots are exact.
constexpr const char* kOptions[] = {"--std=c++20",      "--fmad=false", "--prec-div=true",
                                    "--prec-sqrt=true", "--ftz=false",  "-default-device"};

}  // namespace

std::string compile(const std::string& source, const std::string& architecture) {
  const Nvrtc& n = nvrtc();
  std::vector<const char*> names, texts;
  for (int k = 0; k < embedded_count; ++k) {
    names.push_back(embedded_sources[k].name);
    texts.push_back(embedded_sources[k].text);
  }
  Nvrtc::Program program = nullptr;
  int status =
      n.create(&program, source.c_str(), "kernel.cu", embedded_count, texts.data(), names.data());
  if (status) fail<ExecutionError>("cuda", "NVRTC: ", n.error_text(status));
  struct Guard {
    const Nvrtc& n;
    Nvrtc::Program& program;
    ~Guard() { n.destroy(&program); }
  } guard{n, program};
  const std::string target = "--gpu-architecture=" + architecture;
  std::vector<const char*> options(std::begin(kOptions), std::end(kOptions));
  options.push_back(target.c_str());
  // Own kernels include none of NVIDIA's headers, those of programs may.
  std::vector<std::string> folders;
  if (source.find("#include <") != std::string::npos) folders = header_folders();
  for (std::string& folder : folders) options.push_back((folder = "-I" + folder).c_str());
  status = n.compile(program, static_cast<int>(options.size()), options.data());
  size_t size = 0;
  if (status) {
    n.log_size(program, &size);
    std::string log(size, '\0');
    n.log(program, log.data());
    fail<ExecutionError>("cuda", "a kernel does not compile: ", n.error_text(status), "\n", log);
  }
  n.cubin_size(program, &size);
  std::string code(size, '\0');
  n.cubin(program, code.data());
  return code;
}

const std::string& compiler_identity() {
  static const std::string identity = [] {
    std::string s = std::to_string(nvrtc().major) + "." + std::to_string(nvrtc().minor);
    for (const char* option : kOptions) s += std::string(" ") + option;
    std::hash<std::string_view> hash;
    for (int k = 0; k < embedded_count; ++k)
      s += " " + std::to_string(hash(embedded_sources[k].text));
    return s;
  }();
  return identity;
}

}  // namespace mlx::core::cuda
