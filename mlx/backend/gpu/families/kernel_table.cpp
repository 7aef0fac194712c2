// The instances of the table of kernels: its patterns, expanded.
#include "mlx/backend/gpu/families/kernel_table.h"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace mlx::core::gpu {

const char* element_type(Dtype t) {
  switch (t.val()) {
#define MLX_NAME(T, D) \
  case Dtype::Val::D:  \
    return #T;
    MLX_FOR_EACH_DTYPE(MLX_NAME)
#undef MLX_NAME
  }
  return "";
}
Accumulator sum_of(Dtype t) {
  if (t == float16 || t == bfloat16 || t == float32) return {"float", 4};
  if (is_inexact(t)) return {element_type(t), t.size()};
  return t.size() == 8 ? Accumulator{"uint64_t", 8} : Accumulator{"uint32_t", 4};
}
Accumulator value_of(Dtype t) {
  if (t == float16 || t == bfloat16) return {"float", 4};
  return {element_type(t), t.size()};
}

std::string KernelRow::name() const { return std::string(file) + "_kernel"; }

std::string KernelRow::text(const std::string& list, const char* type) const {
  constexpr const char* kMacros[] = {"MLX_KERNEL(", "MLX_IN_STEP_KERNEL(", "MLX_RESIDENT_KERNEL(",
                                     "MLX_GROUP_KERNEL("};
  const std::string instance = list.empty() ? "" : "<" + list + ">";
  std::string text = kMacros[threads] + name() + ", " + (type ? type : arguments) + ", p";
  if (threads == groups || threads == resident) {
    const char* count = threads == groups ? "_threads" : "_blocks";
    text += ", (device::" + std::string(function) + count + instance + ")";
  }
  return text + ") { device::" + function + instance + "(p); }\n";
}

namespace {

using Texts = std::vector<std::string>;

constexpr KernelRow kRows[] = {
#define K(file, Arguments, function, threads, instances) \
  {#file, #Arguments, #function, KernelRow::threads, instances},
#include "mlx/backend/gpu/families/kernels.def"
#undef K
};

struct Domain {
  const char *name, *instances;
};
constexpr Domain kDomains[] = {
#define K(...)
#define D(name, instances) {#name, instances},
#include "mlx/backend/gpu/families/kernels.def"
#undef K
};

Texts split(const std::string& text, char at) {
  Texts parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  if (parts.empty()) parts.emplace_back();
  return parts;
}

/// Whether a word of a pattern's dtypes has this one.
bool names(const std::string& word, Dtype t) {
  const bool complex = is_complex(t), inexact = is_inexact(t), truth = t == bool_;
  if (word == "all") return true;
  if (word == "real") return !complex;
  if (word == "integers") return !inexact && !truth;
  if (word == "inexact") return inexact;
  if (word == "floats") return inexact && !complex;
  if (word == "complex") return complex;
  if (word == "bits")
    return t == uint8 || t == uint16 || t == uint32 || t == uint64 || t == complex128;
  return word == element_type(t);
}

void replace_all(std::string& text, const std::string& part, const std::string& by) {
  for (size_t at; (at = text.find(part)) != std::string::npos;) text.replace(at, part.size(), by);
}

/// The dtype of a sum of elements.
Dtype summed(Dtype t) {
  if (t == bool_ || t == int8 || t == int16) return int32;
  return t == uint8 || t == uint16 ? uint32 : t;
}

/// A pattern without dtypes, with its first innermost choice made, until there is none.
void choose(const std::string& pattern, Texts& to) {
  const size_t end = pattern.find(']');
  if (end == std::string::npos) {
    if (std::ranges::find(to, pattern) == to.end()) to.push_back(pattern);
    return;
  }
  const size_t begin = pattern.rfind('[', end);
  if (begin == std::string::npos) throw std::logic_error("no [ in the pattern " + pattern);
  for (const std::string& one : split(pattern.substr(begin + 1, end - begin - 1), '|'))
    choose(pattern.substr(0, begin) + one + pattern.substr(end + 1), to);
}

Texts expand(const std::string& instances);

/// The pattern, with choices in the place of the names of domains.
std::string with_domains(std::string pattern) {
  for (size_t at; (at = pattern.find('%')) != std::string::npos;) {
    size_t end = at + 1;
    while (end < pattern.size() && std::isalpha(static_cast<unsigned char>(pattern[end]))) ++end;
    const std::string name = pattern.substr(at + 1, end - at - 1);
    const Domain* domain =
        std::ranges::find_if(kDomains, [&](const Domain& d) { return d.name == name; });
    if (domain == std::end(kDomains)) throw std::logic_error("no domain " + name);
    std::string choices;
    for (const std::string& one : expand(domain->instances))
      choices += (choices.empty() ? "[" : "|") + one;
    pattern.replace(at, end - at, choices + "]");
  }
  return pattern;
}

Texts expand(const std::string& instances) {
  Texts all;
  for (std::string part : split(instances, ';')) {
    part.erase(0, part.find_first_not_of(' '));
    const size_t colon = part.find(": ");
    if (colon == std::string::npos || part.find("{") == std::string::npos) {
      choose(with_domains(part), all);
      continue;
    }
    const std::string pattern = with_domains(part.substr(colon + 2));
    const Texts words = split(part.substr(0, colon), ' ');
    for (int v = 0; v < kNumDtypes; ++v) {
      const Dtype t(static_cast<Dtype::Val>(v));
      if (std::ranges::none_of(words, [&](const std::string& w) { return names(w, t); })) continue;
      std::string one = pattern;
      replace_all(one, "{T}", element_type(t));
      replace_all(one, "{S}", sum_of(t).type);
      replace_all(one, "{V}", value_of(t).type);
      replace_all(one, "{R}", element_type(summed(t)));
      choose(one, all);
    }
  }
  return all;
}

}  // namespace

std::vector<KernelInstance> kernel_instances() {
  std::vector<KernelInstance> all;
  for (const KernelRow& row : kRows)
    for (std::string& list : expand(row.instances)) {
      std::string text = row.text(list);
      all.push_back({&row, std::move(list), std::move(text)});
    }
  return all;
}

}  // namespace mlx::core::gpu
