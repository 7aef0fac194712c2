// Includes of the families' sources, and names that Metal's language has other uses for.
#include "mlx/backend/metal/library.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>

#include "mlx/backend/metal/sources.h"

namespace mlx::core::metal {

// The emulated device compiles what stands above the second line once.
const gpu::KernelTarget metal_target = {
    .head = "#include \"mlx/backend/metal/device/prelude.h\"\n// The end of the common part.\n",
    .folder = "mlx/backend/gpu/kernels/",
    .declaration = "MLX_KERNEL",
    .first = "mlx_block",
    .step = "mlx_blocks",
    .thread = "mlx_thread"};

namespace {

/// Words of Metal's language that the families' sources have as names.
constexpr std::string_view kWords[] = {"constant", "device", "fragment", "half",
                                       "kernel",   "std",    "thread"};

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// A line with other names in the place of these words.
void append_renamed(std::string& to, std::string_view line) {
  for (size_t at = 0; at < line.size();) {
    size_t end = at;
    while (end < line.size() && in_word(line[end])) ++end;
    if (end == at) {
      to += line[at++];
      continue;
    }
    const std::string_view word = line.substr(at, end - at);
    if (std::ranges::find(kWords, word) != std::end(kWords)) to += "mlx_";
    to += word == "double" ? "Double" : word;
    at = end;
  }
  to += '\n';
}

/// The first line of kernels that programs bring, which keep their words.
constexpr std::string_view kOfProgram = "#include \"mlx/backend/metal/device/user.h\"";

constexpr std::string_view kInStep = "MLX_IN_STEP_KERNEL(";
// Declarations of kernels whose threads may share memory.
constexpr std::string_view kSharing = "MLX_SHARING_KERNEL(", kResident = "MLX_RESIDENT_KERNEL(";

/// The kernel of a family, which calls one function, with the place of its thread.
std::string with_place(std::string line) {
  constexpr std::string_view kCall = "(p); }";
  const size_t call = line.rfind(kCall);
  const bool alone = line.starts_with("MLX_KERNEL("), in_step = line.starts_with(kInStep);
  if (call == line.npos || (!alone && !in_step)) return line;
  line.insert(call + 1, alone ? "MLX_PLACE, " : "MLX_PLACE_IN_STEP, ");
  return in_step ? std::string(kSharing) + line.substr(kInStep.size()) : line;
}

const Source* find_source(std::string_view name) {
  for (int k = 0; k < source_count; ++k)
    if (name == sources[k].name) return &sources[k];
  return nullptr;
}

class Text {
 public:
  void append(std::string_view text, bool own) {
    constexpr std::string_view kInclude = "#include \"";
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = text.substr(at, end - at);
      at = end + 1;
      if (line.starts_with(kInclude) && (!of_program_ || line == kOfProgram))
        include(line.substr(kInclude.size(), line.rfind('"') - kInclude.size()));
      else if (line.starts_with("//") || own || of_program_)
        whole_.append(line) += '\n';
      else
        append_renamed(whole_, with_place(std::string(line)));
    }
  }
  std::string whole() { return std::move(whole_); }
  /// Takes lines as they are.
  void keep_words() { of_program_ = true; }

 private:
  /// A header without a text here is one of the host's that the kernels' own stand for.
  void include(std::string_view name) {
    const Source* source = find_source(name);
    if (!source) return;
    // The table of elementwise ops is included with different macros.
    if (!name.ends_with(".def") && !included_.insert(source).second) return;
    append(source->text, true);
  }

  std::string whole_;
  std::set<const Source*> included_;
  bool of_program_ = false;
};

}  // namespace

bool shares_memory(const std::string& code) {
  return std::ranges::any_of(std::array{kSharing, kResident}, [&](std::string_view declaration) {
    return code.find(std::string("\n").append(declaration)) != code.npos;
  });
}

std::string whole_source(const std::string& source) {
  Text text;
  if (source.starts_with(kOfProgram)) text.keep_words();
  text.append(source, false);
  return text.whole();
}

}  // namespace mlx::core::metal
