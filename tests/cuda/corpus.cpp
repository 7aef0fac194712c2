// Compiles kernels with NVRTC, which needs no GPU: mlx_cuda_corpus [ARCHITECTURE [THREADS [PART]]].
// Without PART, a corpus of printed programs: every row of ops/elementwise.def on every dtype that
// it takes, casts between all dtypes, instructions that read where an element is, walks of each
// kind. PART is a part of the names of those that are wanted; %PART %PART .. parts of the names of
// kernels that the table of the families lists; @FOLDER the kernels that the plugin has kept there
// (MLX_CUDA_CACHE_DIR). Three forms compile nothing: mlx_cuda_corpus --list [PART] prints the names
// of the kernels of the table, --unlisted FOLDER kernels kept there that the table lacks, and
// --briefs looks for programs of different sources that are kept by the same bytes.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "mlx/backend/cuda/compiler.h"
#include "mlx/backend/cuda/target.h"
#include "mlx/backend/gpu/families/kernel_table.h"
#include "mlx/backend/gpu/families/print_program.h"

using namespace mlx::core;
using namespace mlx::core::gpu;
using Val = Dtype::Val;

namespace {

struct Case {
  std::string name, source;
  std::string architecture = {};  ///< the only one that has its instructions; or empty
};

struct Row {
  const char *name, *domain, *result;
  int arity;
};
const Row rows[] = {
#define E(name, arity, domain, result, ...) {#name, #domain, #result, arity},
#include "mlx/ops/elementwise.def"
#undef E
};

bool takes(const std::string& domain, Val v) {
  if (domain == "real") return v < Val::complex64;
  if (domain == "numeric") return v != Val::bool_;
  if (domain == "integral") return v < Val::float16;
  if (domain == "inexact") return v >= Val::float16;
  if (domain == "floating") return v >= Val::float16 && v < Val::complex64;
  if (domain == "boolean") return v == Val::bool_;
  return true;
}
Val result_of(const std::string& result, Val v) {
  if (result == "boolean") return Val::bool_;
  if (result == "part" && v == Val::complex64) return Val::float32;
  if (result == "part" && v == Val::complex128) return Val::float64;
  return v;
}

/// All rows on one dtype in one program, or one row where there are many instructions in it.
void add_rows(std::vector<Case>& cases) {
  for (int t = 0; t < kNumDtypes; ++t) {
    const Val v = static_cast<Val>(t);
    for (int r = 0; r < kElementwiseCount; ++r) {
      const Row& row = rows[r];
      if (!takes(row.domain, v)) continue;
      Program p;
      for (int k = 0; k < row.arity; ++k) p.inputs.push_back(row.arity == 3 && !k ? Val::bool_ : v);
      p.code.push_back({static_cast<OpId>(r), v, result_of(row.result, v), 0, 1, 2});
      p.outputs.push_back(static_cast<uint16_t>(row.arity));
      ProgramForm form;
      for (int k = 0; k <= row.arity; ++k) form.operands.push_back(Walk::dense);
      form.vector = widest_vector(p, form);
      cases.push_back({std::string(row.name) + " " + std::string(dtype_name(Dtype(v))),
                       print_program(p, form, "kernel", cuda::cuda_target)});
    }
  }
}

/// From one dtype to all others.
void add_casts(std::vector<Case>& cases) {
  for (int from = 0; from < kNumDtypes; ++from) {
    Program p;
    ProgramForm form;
    p.inputs.push_back(static_cast<Val>(from));
    form.operands.push_back(Walk::strided);
    form.rank = 3;
    for (int to = 0; to < kNumDtypes; ++to) {
      const OpId op = from == to ? OpId::copy : OpId::cast;
      p.outputs.push_back(static_cast<uint16_t>(1 + p.code.size()));
      p.code.push_back({op, static_cast<Val>(from), static_cast<Val>(to), 0, 0, 0});
      form.operands.push_back(to % 2 ? Walk::strided : Walk::dense);
    }
    cases.push_back({"casts from " + std::string(dtype_name(Dtype(static_cast<Val>(from)))),
                     print_program(p, form, "kernel", cuda::cuda_target)});
  }
}

/// Positions and random words, constants, wide numbers, many axes.
void add_positions(std::vector<Case>& cases) {
  for (bool wide : {false, true}) {
    Program p;
    ProgramForm form;
    form.wide = wide;
    form.rank = wide ? 7 : 1;
    const Walk walk = wide ? Walk::strided : Walk::dense;
    p.inputs = {Val::uint32, Val::uint32};
    p.constants = {Val::bool_, Val::float16, Val::float32, Val::int64, Val::complex128};
    p.numberings.resize(1);
    form.numberings.push_back(walk);
    form.operands = {Walk::scalar, Walk::scalar};
    auto add = [&](Instr i) {
      p.outputs.push_back(static_cast<uint16_t>(p.first_instr() + p.code.size()));
      p.code.push_back(i);
      form.operands.push_back(walk);
    };
    add({OpId::random_bits, Val::uint32, Val::uint32, 0, 0, 1});
    for (Val v : {Val::int8, Val::uint16, Val::int32, Val::int64})
      add({OpId::position, Val::int64, v, 0});
    for (Val v : {Val::float16, Val::bfloat16, Val::float32, Val::float64})
      add({OpId::position, Val::float64, v, 0});
    for (uint16_t c = 0; c < p.constants.size(); ++c)
      add({OpId::copy, p.constants[c], p.constants[c], static_cast<uint16_t>(2 + c)});
    cases.push_back({wide ? "positions, wide" : "positions",
                     print_program(p, form, "kernel", cuda::cuda_target)});
  }
}

/// Programs with their forms that differ in one field from another, whose sources differ though
/// their briefs do not.
size_t vague_briefs() {
  std::mt19937 random(5);
  auto below = [&](auto n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  auto dtype = [&] { return static_cast<Val>(below(kNumDtypes)); };
  auto walk = [&] { return static_cast<Walk>(below(6)); };
  size_t vague = 0;
  for (int repeat = 0; repeat < 20'000; ++repeat) {
    Program p;
    ProgramForm f;
    for (int k = 1 + below(3); k > 0; --k) p.inputs.push_back(dtype());
    for (int k = below(3); k > 0; --k) p.constants.push_back(dtype());
    p.numberings.resize(static_cast<size_t>(below(2)));
    for (int k = 1 + below(3); k > 0; --k) {
      const auto last = static_cast<unsigned>(p.first_instr()) + p.code.size();
      auto value = [&] { return static_cast<uint16_t>(below(last)); };
      p.code.push_back({static_cast<OpId>(below(kElementwiseCount)), dtype(), dtype(), value(),
                        value(), value()});
    }
    if (!p.numberings.empty()) p.code.push_back({OpId::position, Val::int64, dtype(), 0});
    p.outputs.push_back(static_cast<uint16_t>(p.first_instr()));
    for (size_t k = 0; k <= p.inputs.size(); ++k) f.operands.push_back(walk());
    for (size_t k = 0; k < p.numberings.size(); ++k) f.numberings.push_back(walk());
    f.rank = 2 + below(2);
    f.vector = 1 << below(3);
    f.tile = below(2) * 32;
    auto text = [&] { return print_program(p, f, "kernel", cuda::cuda_target); };
    const std::string source = text(), brief = brief_of(p, f);
    auto number = [&] { return p.numberings.empty() ? Numbering() : p.numberings[0]; };
    const Program old_program = p;
    const ProgramForm old_form = f;
    const std::function<void()> changes[] = {
        [&] { p.inputs[0] = dtype(); },
        [&] { p.inputs.push_back(dtype()), f.operands.push_back(walk()); },
        [&] { p.constants.push_back(dtype()); },
        [&] {
          if (!p.constants.empty()) p.constants.back() = dtype();
        },
        [&] { p.numberings.push_back(number()), f.numberings.push_back(walk()); },
        [&] {
          if (!p.numberings.empty()) p.numberings[0].count = 7, p.numberings[0].start = 2;
        },
        [&] { p.code[0].op = static_cast<OpId>(below(kElementwiseCount)); },
        [&] { p.code.back().type = dtype(); },
        [&] { p.code.back().out = dtype(); },
        [&] { p.code[0].a = static_cast<uint16_t>(below(p.first_instr())); },
        [&] { p.code[0].b = static_cast<uint16_t>(below(p.first_instr())); },
        [&] { p.code[0].c = static_cast<uint16_t>(below(p.first_instr())); },
        [&] { p.code.push_back({OpId::cast, dtype(), dtype(), 0}); },
        [&] { p.outputs[0] = static_cast<uint16_t>(p.first_instr() + below(p.code.size())); },
        [&] { f.operands[below(f.operands.size())] = walk(); },
        [&] {
          if (!f.numberings.empty()) f.numberings[0] = walk();
        },
        [&] { f.rank = 1 + below(4); },
        [&] { f.wide = true; },
        [&] { f.vector = 8; },
        [&] { f.tile = 64 - f.tile; },
        [&] { f.tile_axis = 1; },
        [&] { f.table = ProgramForm::Table::write; },
        [&] { f.table = ProgramForm::Table::read; },
    };
    for (const auto& change : changes) {
      change();
      if (text() != source && brief_of(p, f) == brief && ++vague <= 3)
        std::printf("one brief for two sources:\n%s\n%s\n", source.c_str(), text().c_str());
      p = old_program;
      f = old_form;
    }
  }
  return vague;
}

/// The kernels of the table whose names have a part.
void add_kernels(std::vector<Case>& cases, const std::string& part) {
  for (const KernelInstance& k : kernel_instances()) {
    const std::string name = std::string(k.row->file) + ": " + k.row->function +
                             (k.list.empty() ? "" : "<" + k.list + ">");
    if (name.find(part) != std::string::npos)
      cases.push_back({name, cuda::cuda_target.source(k.row->file, k.text),
                       k.row->threads == KernelRow::groups ? "sm_90a" : ""});
  }
}

/// Kernels of warpgroups, one for each function and size: none of them runs on the host.
void add_groups(std::vector<Case>& cases) {
  std::vector<Case> all;
  add_kernels(all, "groups");
  for (Case& c : all)
    if (c.name.find("<bfloat16_t, void") != std::string::npos) cases.push_back(std::move(c));
}

/// The number of those that call a function of the table with arguments that it does not list.
size_t unlisted(const std::vector<Case>& cases) {
  std::set<std::string> listed;
  std::vector<Case> all;
  add_kernels(all, "");
  for (const Case& c : all) listed.insert(c.source);
  size_t missing = 0;
  for (const Case& c : cases) {
    const std::string before = ", p) { device::";
    const size_t call = c.source.find(before);
    if (call == std::string::npos || c.source.find("struct Source {") != std::string::npos)
      continue;
    if (listed.contains(c.source)) continue;
    ++missing;
    std::printf("kernels.def does not list %s", c.source.substr(call + before.size()).c_str());
  }
  return missing;
}

void add_files(std::vector<Case>& cases, const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    if (!text.starts_with("mlxcub")) continue;  // no kernel: the count of the folder's bytes
    // The magic and three numbers (source_cache.cpp), the first of them the length of the key that
    // follows: architecture, compiler, source.
    uint64_t length = 0;
    std::memcpy(&length, text.data() + 8, sizeof(length));
    const std::string key = text.substr(8 + 3 * sizeof(length), length);
    const size_t source = key.find('\n', key.find('\n') + 1) + 1;
    cases.push_back({entry.path(), key.substr(source)});
  }
}

/// Compiles the cases on threads; the number of those that do not compile.
size_t compile_all(const std::vector<Case>& cases, const std::string& architecture, int n_threads) {
  std::atomic<size_t> next{0}, failed{0};
  std::mutex mutex;
  auto work = [&] {
    for (size_t k; (k = next++) < cases.size();) {
      try {
        const std::string& only = cases[k].architecture;
        cuda::compile(cases[k].source, only.empty() ? architecture : only);
      } catch (const std::exception& e) {
        ++failed;
        std::lock_guard lock(mutex);
        std::printf("%s: %s\n%s\n", cases[k].name.c_str(), e.what(), cases[k].source.c_str());
      }
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < n_threads; ++t) threads.emplace_back(work);
  for (auto& t : threads) t.join();
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string architecture = argc > 1 ? argv[1] : "sm_90";
  std::vector<Case> wanted;
  if (architecture == "--list") {
    add_kernels(wanted, argc > 2 ? argv[2] : "");
    for (const Case& c : wanted) std::printf("%s\n", c.name.c_str());
    return wanted.empty();
  }
  if (architecture == "--briefs") {
    const size_t vague = vague_briefs();
    std::printf("%zu briefs stand for two sources\n", vague);
    return vague > 0;
  }
  if (architecture == "--unlisted" && argc > 2) {
    add_files(wanted, argv[2]);
    return wanted.empty() || unlisted(wanted) > 0;
  }
  const int n_threads = argc > 2 ? std::atoi(argv[2]) : 1;
  const std::string part = argc > 3 ? argv[3] : "";
  size_t failed = 0;
  if (part.starts_with("@")) {
    add_files(wanted, part.substr(1));
  } else if (part.starts_with("%")) {
    for (int k = 3; k < argc; ++k) add_kernels(wanted, argv[k] + 1);
  } else {
    std::vector<Case> cases;
    add_positions(cases);
    add_casts(cases);
    add_rows(cases);
    add_groups(cases);
    for (Case& c : cases)
      if (c.name.find(part) != std::string::npos) wanted.push_back(std::move(c));
  }
  failed += compile_all(wanted, architecture, n_threads);
  std::printf("%zu of %zu programs compile for %s\n", wanted.size() - failed, wanted.size(),
              architecture.c_str());
  return failed || wanted.empty();
}
