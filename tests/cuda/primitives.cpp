// Primitives on the plugin: `mlx_cuda_primitives PLUGIN`, with the driver's library in
// MLX_CUDA_DRIVER. Their work on the device is copies, enqueued through the driver.
#include "mlx/primitives.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "mlx/mlx.h"
#include "mlx/runtime/debug.h"

using namespace mlx::core;

namespace {

int failures = 0;
#define CHECK(condition)                                         \
  do {                                                           \
    if (condition) break;                                        \
    std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
    ++failures;                                                  \
  } while (false)

using CopyWithin = int (*)(unsigned long long, unsigned long long, size_t, void*);
CopyWithin copy_within = nullptr;

void enqueue_copy(void* to, const void* from, size_t bytes, Stream s) {
  const int status = copy_within(reinterpret_cast<unsigned long long>(to),
                                 reinterpret_cast<unsigned long long>(from), bytes, cu::stream(s));
  if (status) throw ExecutionError("the copy fails");
}

/// The work of a primitive on its input and its output on the device.
using Body = void (*)(const Primitive&, const array& in, array& out);

class Does : public UnaryPrimitive {
 public:
  Does(Stream s, Body body) : UnaryPrimitive(s), body_(body) {}
  void eval_cpu(const Arrays&, array&) override { throw ExecutionError("on the CPU"); }
  void eval_gpu(const Arrays& in, array& out) override { body_(*this, in[0], out); }
  const char* name() const override { return "Does"; }

 private:
  const Body body_;
};

array apply(Body body, const array& x) {
  return array(x.shape(), x.dtype(), std::make_shared<Does>(default_stream(Device::gpu), body),
               {x});
}
/// The values 1, 2, 3, ... computed on the device.
array counted(int n) { return add(arange(n, float32, Device::gpu), array(1.0f), Device::gpu); }

bool holds(const array& a, std::initializer_list<float> values) {
  const array row = contiguous(a);
  const float* p = row.data<float>();
  return a.size() == values.size() && std::equal(values.begin(), values.end(), p);
}

/// Through temporary memory, which is still in use when it returns.
void through_temporary(const Primitive& p, const array& in, array& out) {
  void* const between = cu::temporary(in.nbytes());
  enqueue_copy(between, cu::data<float>(in), in.nbytes(), p.stream());
  enqueue_copy(cu::data<float>(out), between, in.nbytes(), p.stream());
}
void on_host(const Primitive&, const array& in, array& out) {
  for (size_t i = 0; i < in.size(); ++i) out.data<float>()[i] = in.data<float>()[i] + 1;
}
void given_memory(const Primitive&, const array& in, array& out) {
  out.set_data(allocator::malloc(out.nbytes()));
  for (size_t i = 0; i < in.size(); ++i) out.data<float>()[i] = 2 * in.data<float>()[i];
}
void shared(const Primitive&, const array& in, array& out) { out.copy_shared_buffer(in); }
void backwards(const Primitive&, const array& in, array& out) {
  out.copy_shared_buffer(in, {-1}, {}, in.size(), static_cast<int64_t>(in.size()) - 1);
}
void fails(const Primitive&, const array&, array&) { throw ValueError("as it likes"); }
void elsewhere(const Primitive&, const array&, array& out) {
  out.set_data(allocator::malloc(out.nbytes()));
  cu::address(out);
}

template <class F>
bool throws(F f, const char* text) {
  try {
    f();
  } catch (const std::exception& e) {
    if (std::string(e.what()).find(text) != std::string::npos) return true;
    std::fprintf(stderr, "%s\n", e.what());
  }
  return false;
}

void run() {
  const array x = counted(3);
  CHECK(holds(apply(through_temporary, x), {1, 2, 3}));
  CHECK(holds(multiply(apply(through_temporary, multiply(x, x)), x), {1, 8, 27}));
  CHECK(holds(apply(on_host, x), {2, 3, 4}));
  CHECK(holds(apply(given_memory, x), {2, 4, 6}));
  CHECK(holds(add(apply(shared, x), x), {2, 4, 6}));
  CHECK(holds(apply(backwards, x), {3, 2, 1}));
  const array part = slice(counted(9), {2}, {9}, {3});
  for (Body body : {through_temporary, shared}) CHECK(holds(apply(body, part), {3, 6, 9}));
  CHECK(holds(apply(through_temporary, array(7.0f)), {7}));
  CHECK(apply(through_temporary, zeros({0, 2})).size() == 0);
  // Rows of a loop op.
  auto mapped = vmap([](const Arrays& in) { return Arrays{apply(on_host, in[0])}; });
  CHECK(holds(mapped({reshape(counted(6), {3, 2})})[0], {2, 3, 4, 5, 6, 7}));
  for (Body body : {through_temporary, backwards})
    CHECK(holds(compile([body](const Arrays& in) {
                  return Arrays{apply(body, add(in[0], in[0]))};
                })({array({2.0f, 2.0f})})[0],
                {4, 4}));
  CHECK(throws([&] { eval({apply(fails, x)}); }, "as it likes"));
  CHECK(throws([&] { eval({apply(elsewhere, x)}); }, "not in the memory of"));
  CHECK(throws([] { cu::temporary(8); }, "outside of eval_gpu"));
  CHECK(throws([] { cu::stream(default_stream(Device::cpu)); }, "no stream of an NVIDIA GPU"));
  // Many in flight: temporaries are not used again too early.
  array y = counted(1000);
  for (int k = 0; k < 50; ++k) y = add(apply(through_temporary, y), array(1.0f), Device::gpu);
  CHECK(contiguous(y).data<float>()[999] == 1050.0f);
  synchronize();
}

}  // namespace

int main(int, char** arguments) {
  load_backend(arguments[1]);
  set_default_device(Device::gpu);
  void* driver = dlopen(std::getenv("MLX_CUDA_DRIVER"), RTLD_NOW);
  copy_within = reinterpret_cast<CopyWithin>(dlsym(driver, "cuMemcpyDtoDAsync_v2"));
  try {
    run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
  return failures != 0;
}
