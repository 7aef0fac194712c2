// The registry of ops by name.
#include "mlx/core/op.h"

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "mlx/core/array.h"
#include "mlx/core/error.h"

namespace mlx::core {

namespace {
std::mutex registry_mutex;
std::map<std::string, const OpDef*, std::less<>>& ops_by_name() {
  static auto& ops = *new std::map<std::string, const OpDef*, std::less<>>;
  return ops;
}
}  // namespace

uint64_t next_order() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

const OpDef& register_op(const OpDef& op) {
  std::lock_guard lock(registry_mutex);
  auto [it, fresh] = ops_by_name().emplace(op.name, &op);
  if (!fresh && it->second != &op)
    fail<ValueError>("register_op", "the name ", op.name, " is taken; op names are unique");
  return op;
}

const OpDef* find_op(std::string_view name) {
  std::lock_guard lock(registry_mutex);
  auto it = ops_by_name().find(name);
  return it == ops_by_name().end() ? nullptr : it->second;
}

}  // namespace mlx::core
