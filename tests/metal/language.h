// Metal's language for clang, which takes it as C++ for OpenCL: address spaces by their names, and
// declarations of what texts of kernels use. Nothing here runs.
#pragma once

#define device __global
#define threadgroup __local
#define constant __constant
#define thread __private
#define global mlx_global  // a word of that language alone
#define kernel
#define INFINITY __builtin_huge_valf()
#define NAN __builtin_nanf("")
#define atomic_uint metal::atomic<uint>
#define memory_order_relaxed 0

typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;

namespace metal {

template <class To, class From>
To as_type(From);
float sqrt(float);
float fabs(float);
float rint(float);
float floor(float);
float ceil(float);
float trunc(float);
float fma(float, float, float);
uint clz(uint);
uint ctz(uint);
uint popcount(uint);

enum class mem_flags { mem_none, mem_device, mem_threadgroup };
constexpr mem_flags operator|(mem_flags a, mem_flags) { return a; }
void threadgroup_barrier(mem_flags);
void simdgroup_barrier(mem_flags);
template <class T>
T simd_shuffle(T, ushort);
class simd_vote {
 public:
  typedef ulong vote_t;
  explicit operator vote_t() const;
};
simd_vote simd_ballot(bool);

template <class T>
struct atomic {
  T value;
};
#define MLX_ATOMIC(name)             \
  template <class T, class V>        \
  T name(device atomic<T>*, V, int); \
  template <class T, class V>        \
  T name(threadgroup atomic<T>*, V, int);
MLX_ATOMIC(atomic_fetch_add_explicit)
MLX_ATOMIC(atomic_fetch_max_explicit)
MLX_ATOMIC(atomic_exchange_explicit)
#undef MLX_ATOMIC
template <class T>
bool atomic_compare_exchange_weak_explicit(device atomic<T>*, thread T*, T, int, int);

}  // namespace metal
