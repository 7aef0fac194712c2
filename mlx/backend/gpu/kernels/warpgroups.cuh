// Products of 16-bit matrices by groups of four warps, whose operands lie in shared memory in tiles
// that the device copies by itself: NVIDIA's wgmma, cp.async.bulk.tensor and mbarrier, of compute
// capability 9.0. A tile has rows of 64 elements, 128 bytes, of which the eight 16-byte parts are
// permuted by the row's number modulo 8; wider matrices are several tiles, one behind the other.
// There is no version for other compilers.
#pragma once

#include "mlx/backend/gpu/kernels/fragments.cuh"
#include "mlx/backend/gpu/kernels/group_arguments.h"

namespace mlx::core::device {

//--- barriers in shared memory

/// A barrier of which phases are counted: even ones and odd ones are waited for.
using Barrier = uint64_t;

MLX_FN void start_barrier(Barrier& b, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&b)), "r"(arrivals));
}
/// Makes new barriers known to the copies; `__syncthreads` follows.
MLX_FN void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
MLX_FN void arrive(Barrier& b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&b)) : "memory");
}
/// Arrives, and lets the phase wait for so many bytes of copies.
MLX_FN void expect_bytes(Barrier& b, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&b)),
               "r"(bytes)
               : "memory");
}
/// Waits for the end of a phase, by its number modulo 2.
MLX_FN void wait_for(Barrier& b, int phase) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra ended;\n"
      "bra again;\n"
      "ended:\n"
      "}\n" ::"r"(shared_address(&b)),
      "r"(phase)
      : "memory");
}

/// Barriers of the block by numbers, of some of its warps: one that waits, one that does not.
MLX_FN void meet(int number, int threads) {
  asm volatile("barrier.cta.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}
MLX_FN void pass(int number, int threads) {
  asm volatile("barrier.cta.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

/// Registers of each thread of a warpgroup from here on: a multiple of 8.
template <int N>
MLX_FN void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}
template <int N>
MLX_FN void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

//--- copies

/// Copies a tile that begins at a column of a row of a matrix; elements outside of it are 0. One
/// thread asks for it, and the barrier counts its bytes.
MLX_FN void copy_tile(uint32_t to, const TileMap& map, Barrier& b, int column, int row, int matrix,
                      int batch) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
      "l"(&map), "r"(shared_address(&b)), "r"(column), "r"(row), "r"(matrix), "r"(batch)
      : "memory");
}
/// Copies neighbouring bytes, a multiple of 16 from a multiple of 16 on.
MLX_FN void copy_bytes(uint32_t to, const void* from, int bytes, Barrier& b) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(to),
      "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(&b))
      : "memory");
}
MLX_FN void prefetch_map(const TileMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

//--- products

/// A tile as products read it, and how many tiles follow it: `next` bytes lie between tiles.
MLX_FN uint64_t tile_operand(uint32_t address, int next) {
  const uint32_t low = (address & 0x3ffffu) >> 4 | static_cast<uint32_t>(next) >> 4 << 16;
  constexpr uint32_t kEightRows = 8 * kTileRowBytes >> 4, kPermuted = 1u << 30;
  return static_cast<uint64_t>(kEightRows | kPermuted) << 32 | low;
}
/// The operand `bytes` bytes further on.
MLX_FN uint64_t operand_at(uint64_t operand, int bytes) {
  return operand + (static_cast<uint32_t>(bytes) >> 4);
}

/// Products may begin: registers and shared memory are as they shall be read.
MLX_FN void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
MLX_FN void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits for all products but those of the last N commits.
template <int N>
MLX_FN void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
/// Keeps the compiler from moving reads and writes of registers of products across this place.
template <int N>
MLX_FN void pin(Sums (&x)[N]) {
#pragma unroll
  for (int j = 0; j < N; ++j)
    asm volatile("" : "+f"(x[j][0]), "+f"(x[j][1]), "+f"(x[j][2]), "+f"(x[j][3])::"memory");
}
template <int N>
MLX_FN void pin(FactorA (&x)[N]) {
#pragma unroll
  for (int j = 0; j < N; ++j)
    asm volatile("" : "+r"(x[j][0]), "+r"(x[j][1]), "+r"(x[j][2]), "+r"(x[j][3])::"memory");
}

// Operands of the instructions: results are four registers for each eight columns.
#define MLX_D1(i) "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
#define MLX_D2(i) MLX_D1(i), MLX_D1(i + 1)
#define MLX_D4(i) MLX_D2(i), MLX_D2(i + 2)
#define MLX_D8(i) MLX_D4(i), MLX_D4(i + 4)
#define MLX_D16(i) MLX_D8(i), MLX_D8(i + 8)
#define MLX_NAMES_32                                                                       \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23," \
  "%24,%25,%26,%27,%28,%29,%30,%31"
#define MLX_NAMES_40 MLX_NAMES_32 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define MLX_NAMES_48 MLX_NAMES_40 ",%40,%41,%42,%43,%44,%45,%46,%47"
#define MLX_NAMES_64 MLX_NAMES_48 ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define MLX_NAMES_88                                                                  \
  MLX_NAMES_64                                                                        \
  ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83," \
  "%84,%85,%86,%87"

#define MLX_ROWS_PRODUCT(columns, type, names, a, b, add)                                 \
  "{\n.reg .pred more;\nsetp.ne.b32 more, " add                                           \
  ", 0;\n"                                                                                \
  "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." type "." type " {" names "}, " a \
  ","                                                                                     \
  " " b ", more, 1, 1, 0, 0;\n}\n"
#define MLX_COLUMNS_PRODUCT(columns, type, names, a0, a1, a2, a3, b)                               \
  "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." type "." type " {" names "}, {" a0 "," a1 \
  "," a2 "," a3 "}, " b ", 1, 1, 1, 1;\n"

#define MLX_HELD_PRODUCT(columns, type, names, a0, a1, a2, a3, b)                                  \
  "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." type "." type " {" names "}, {" a0 "," a1 \
  "," a2 "," a3 "}, " b ", 1, 1, 1, 0;\n"

// Products with N columns, which are `eights` eights: names of the registers of results, and of the
// six operands that follow.
#define MLX_GROUP_PRODUCTS(N, names, results, p0, p1, p2, p3, p4)                     \
  template <class T>                                                                  \
  MLX_FN void multiply_rows_async(Sums(&d)[N / 8], uint64_t a, uint64_t b, int add) { \
    if constexpr (std::is_same_v<T, bfloat16_t>) {                                    \
      asm volatile(MLX_ROWS_PRODUCT(#N, "bf16", names, p0, p1, p2)                    \
                   : results                                                          \
                   : "l"(a), "l"(b), "r"(add));                                       \
    } else {                                                                          \
      asm volatile(MLX_ROWS_PRODUCT(#N, "f16", names, p0, p1, p2)                     \
                   : results                                                          \
                   : "l"(a), "l"(b), "r"(add));                                       \
    }                                                                                 \
  }                                                                                   \
  template <class T>                                                                  \
  MLX_FN void multiply_columns_async(Sums(&d)[N / 8], const FactorA& a, uint64_t b) { \
    if constexpr (std::is_same_v<T, bfloat16_t>) {                                    \
      asm volatile(MLX_COLUMNS_PRODUCT(#N, "bf16", names, p0, p1, p2, p3, p4)         \
                   : results                                                          \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));             \
    } else {                                                                          \
      asm volatile(MLX_COLUMNS_PRODUCT(#N, "f16", names, p0, p1, p2, p3, p4)          \
                   : results                                                          \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));             \
    }                                                                                 \
  }                                                                                   \
  template <class T>                                                                  \
  MLX_FN void multiply_held_async(Sums(&d)[N / 8], const FactorA& a, uint64_t b) {    \
    if constexpr (std::is_same_v<T, bfloat16_t>) {                                    \
      asm volatile(MLX_HELD_PRODUCT(#N, "bf16", names, p0, p1, p2, p3, p4)            \
                   : results                                                          \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));             \
    } else {                                                                          \
      asm volatile(MLX_HELD_PRODUCT(#N, "f16", names, p0, p1, p2, p3, p4)             \
                   : results                                                          \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));             \
    }                                                                                 \
  }

#define MLX_COMMA ,
MLX_GROUP_PRODUCTS(64, MLX_NAMES_32, MLX_D8(0), "%32", "%33", "%34", "%35", "%36")
MLX_GROUP_PRODUCTS(80, MLX_NAMES_40, MLX_D8(0) MLX_COMMA MLX_D2(8), "%40", "%41", "%42", "%43",
                   "%44")
MLX_GROUP_PRODUCTS(96, MLX_NAMES_48, MLX_D8(0) MLX_COMMA MLX_D4(8), "%48", "%49", "%50", "%51",
                   "%52")
MLX_GROUP_PRODUCTS(128, MLX_NAMES_64, MLX_D16(0), "%64", "%65", "%66", "%67", "%68")
MLX_GROUP_PRODUCTS(176, MLX_NAMES_88, MLX_D16(0) MLX_COMMA MLX_D4(16) MLX_COMMA MLX_D2(20), "%88",
                   "%89", "%90", "%91", "%92")

}  // namespace mlx::core::device
