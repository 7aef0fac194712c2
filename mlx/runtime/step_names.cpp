// Names of steps where plans are shown.
#include "mlx/core/error.h"
#include "mlx/runtime/plan.h"

namespace mlx::core {

namespace {

const char* op_name(OpId op) {
  static const char* const names[] = {
#define E(name, ...) #name,
#include "mlx/ops/elementwise.def"
#undef E
      "cast", "copy", "position", "random_bits"};
  return names[static_cast<int>(op)];
}

}  // namespace

std::string Step::name() const {
  if (unit) {
    std::string s = "rows(";
    for (const Step& step : unit->steps) s += (s.back() == '(' ? "" : ",") + step.name();
    return s + ")";
  }
  if (!routines.empty()) {
    std::string s = cat(op->name, "(");
    for (size_t r = 0; r < routines.size(); ++r) {
      if (r > 0) s += "; ";
      for (const Step& step : routines[r]->steps)
        s += (s.back() == '(' || s.back() == ' ' ? "" : ",") + step.name();
    }
    return s + ")";
  }
  if (op && program.code.empty()) return op->name;
  std::string s = "fused(";
  s.reserve(16 * (program.code.size() + 2));
  auto add = [&](const char* name) {
    if (s.back() != '(') s += ",";
    s += name;
  };
  if (op && epilogue >= 0) add(op->name);
  for (const Instr& i : program.code) add(op_name(i.op));
  if (op && epilogue < 0) add(op->name);
  s += ')';
  return s;
}

std::vector<std::string> Plan::step_names(bool transfers) const {
  std::vector<std::string> names;
  if (!segments.empty()) names.reserve(segments.front().steps.size() + 1);
  for (const Segment& s : segments) {
    if (transfers && !s.transfers.empty())
      names.push_back(cat("transfer(", s.transfers.size(), ") to ", to_string(s.stream)));
    for (const Step& step : s.steps) names.push_back(step.name());
  }
  return names;
}

}  // namespace mlx::core
