// Allocation and destruction of nodes: a free list per thread, and destruction without recursion.
#include "mlx/core/node.h"

#include <vector>

#include "mlx/core/array.h"

namespace mlx::core {

constinit const OpDef op_data{.name = "data", .kind = OpKind::leaf};
constinit const OpDef op_constant{.name = "constant", .kind = OpKind::leaf};
constinit const OpDef op_placeholder{.name = "placeholder", .kind = OpKind::leaf};
constinit const OpDef op_part{.name = "part", .kind = OpKind::part};

namespace {

/// Memory of destroyed nodes, kept for reuse. Trivially destructible thread-local objects outlive
/// the others, so nodes may be destroyed while the thread ends.
struct FreeList {
  static constexpr int kMax = 8192;
  void* head = nullptr;
  int count = 0;
  bool closed = false;
  uint16_t watch = 0;                        // of the nodes that are made
  SmallVector<Node*, 16>* doomed = nullptr;  // nodes with a zero count, during destruction
};
thread_local constinit FreeList free_list;

/// Not inlined: the compiler would repeat the thread-local lookup for each use of the result.
[[gnu::noinline]] FreeList& list_of_thread() { return free_list; }

struct FreeListCloser {
  ~FreeListCloser() {
    free_list.closed = true;
    while (free_list.head)
      ::operator delete(std::exchange(free_list.head, *static_cast<void**>(free_list.head)));
  }
  void touch() {}
};
thread_local FreeListCloser free_list_closer;

void* take_memory(FreeList& list) {
  if (!list.head) {
    free_list_closer.touch();
    return ::operator new(sizeof(Node));
  }
  --list.count;
  return std::exchange(list.head, *static_cast<void**>(list.head));
}

void give_memory(FreeList& list, void* p) {
  if (list.closed || list.count >= FreeList::kMax) {
    ::operator delete(p);
    return;
  }
  *static_cast<void**>(p) = list.head;
  list.head = p;
  ++list.count;
}

void tell_listener(const Node* n) {
  if (auto listener = node_listener.load(std::memory_order_relaxed)) listener(n);
}

}  // namespace

std::atomic<uint32_t (*)()> node_origin{nullptr};
std::atomic<void (*)(const Node*)> node_listener{nullptr};

uint16_t set_node_watch(uint16_t number) { return std::exchange(free_list.watch, number); }

Node* Node::make(const OpDef& op, Dtype dtype) {
  FreeList& list = list_of_thread();
  Node* n = new (take_memory(list)) Node(op, dtype);
  n->watch = list.watch;
  if (auto origin = node_origin.load(std::memory_order_relaxed)) n->origin = origin();
  return n;
}

void Node::set_inputs(std::span<Node* const> inputs) {
  n_inputs_ = static_cast<uint32_t>(inputs.size());
  if (n_inputs_ > kFew) many_ = new Node*[n_inputs_];
  Node** to = n_inputs_ > kFew ? many_ : few_;
  for (Node* n : inputs) {
    retain(n);
    *to++ = n;
  }
}

void Node::detach() {
  tell_listener(this);
  uint32_t n = std::exchange(n_inputs_, 0);
  Node* few[kFew];
  std::copy_n(few_, kFew, few);
  Node** inputs = n > kFew ? many_ : few;
  // Other threads that evaluate the same array may read it at this moment.
  std::atomic_ref(op).store(&op_data, std::memory_order_relaxed);
  attrs = {};
  for (uint32_t i = 0; i < n; ++i) release(inputs[i]);
  if (n > kFew) delete[] inputs;
}

void Node::destroy(Node* n) {
  FreeList& list = list_of_thread();
  if (list.doomed) {
    list.doomed->push_back(n);
    return;
  }
  SmallVector<Node*, 16> doomed{n};
  list.doomed = &doomed;
  while (!doomed.empty()) {
    Node* d = doomed.back();
    doomed.pop_back();
    if (d->n_inputs_)
      d->detach();
    else
      tell_listener(d);  // an op without inputs has nothing else to let go of
    delete d->parts;
    d->~Node();
    give_memory(list, d);
  }
  list.doomed = nullptr;
}

Scalar Scalar::from(double v, Dtype t) { return from(std::complex<double>(v), t); }

Scalar Scalar::from(int64_t v, Dtype t) {
  return dispatch(t, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_arithmetic_v<T>)
      return of(static_cast<T>(v));
    else
      return of(T(static_cast<float>(v)));
  });
}

Scalar Scalar::from(std::complex<double> v, Dtype t) {
  return dispatch(t, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, complex64_t> || std::is_same_v<T, complex128_t>) {
      return of(T(v));
    } else if constexpr (std::is_same_v<T, bool>) {
      return of(v != 0.0);
    } else if constexpr (std::is_integral_v<T>) {
      // Converted through int64, as vector instructions do; values out of range become the lowest
      // value.
      double d = v.real();
      bool fits = d >= -0x1p63 && d < 0x1p63;
      if (std::is_same_v<T, uint64_t> && d >= 0x1p63 && d < 0x1p64) return of(static_cast<T>(d));
      return of(static_cast<T>(fits ? static_cast<int64_t>(d) : INT64_MIN));
    } else if constexpr (std::is_same_v<T, double>) {
      return of(v.real());
    } else {
      return of(T(static_cast<float>(v.real())));
    }
  });
}

Scalar Scalar::convert(const Scalar& v, Dtype source, Dtype to) {
  if (source == to) return v;
  if (source == uint64 && !is_inexact(to)) return from(static_cast<int64_t>(v.as<uint64_t>()), to);
  return dispatch(source, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T x = v.as<T>();
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, uint64_t>) {
      return from(static_cast<int64_t>(x), to);
    } else if constexpr (std::is_same_v<T, complex64_t> || std::is_same_v<T, complex128_t>) {
      return from(std::complex<double>(x), to);
    } else if constexpr (std::is_arithmetic_v<T>) {
      return from(static_cast<double>(x), to);
    } else {
      return from(static_cast<double>(static_cast<float>(x)), to);
    }
  });
}

double Scalar::to_double(Dtype t) const { return convert(*this, t, float64).as<double>(); }

}  // namespace mlx::core
