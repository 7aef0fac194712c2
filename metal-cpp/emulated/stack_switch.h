// A switch between stacks that costs a function call: devices of the tests run each thread of a
// block as a fiber. One file of a library includes this header, since it defines a function.
#pragma once

#include <cstddef>
#include <cstring>

// Stores the registers that a function must keep on the stack of the caller, the stack pointer in
// *from, and goes on at `to`, a stack pointer that was stored in the same way.
extern "C" void mlx_switch_stacks(void** from, void* to);
#if defined(__x86_64__)
__asm__(R"(
.text
.globl mlx_switch_stacks
.hidden mlx_switch_stacks
.type mlx_switch_stacks,@function
mlx_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size mlx_switch_stacks,.-mlx_switch_stacks
)");
#elif defined(__aarch64__)
__asm__(R"(
.text
.globl mlx_switch_stacks
.hidden mlx_switch_stacks
.type mlx_switch_stacks,%function
mlx_switch_stacks:
  sub sp, sp, #160
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size mlx_switch_stacks,.-mlx_switch_stacks
)");
#else
#error "Devices of the tests switch stacks on x86-64 and on 64-bit Arm."
#endif

namespace emulated {

/// The stack pointer with which a switch enters `function`, which never returns, on a stack whose
/// last bytes are before `top`, a multiple of 16.
inline void* stack_entering(void* top, void (*function)()) {
#if defined(__x86_64__)
  constexpr size_t kEntryWord = 6, kFrameWords = 8;
#else
  constexpr size_t kEntryWord = 11, kFrameWords = 20;  // x30 is the twelfth word
#endif
  void** const frame = static_cast<void**>(top) - kFrameWords;
  std::memset(static_cast<void*>(frame), 0, kFrameWords * sizeof(void*));
  frame[kEntryWord] = reinterpret_cast<void*>(function);
  return frame;
}

}  // namespace emulated
