/* The three kernels that a loader launches, in this order, and the symbol through which it installs the RPC client. */
#include "rpc.h"
#include "runtime.h"
#include <stdlib.h>

#define USED __attribute__((used))
#ifdef __NVPTX__
#define KERNEL EXPORTED USED __attribute__((nvptx_kernel)) void
#else
#define KERNEL EXPORTED USED __attribute__((amdgpu_kernel)) void
#endif

USED RpcClient rpc_client;
#if RPC_GENERATION == 19
EXPORTED USED RpcClient *const __llvm_libc_rpc_client = &rpc_client;
#endif

typedef void Constructor(int argc, char **argv, char **envp);
typedef void Destructor(void);

#ifdef __NVPTX__
/* PTX has no sections: the loader makes the arrays. */
USED Constructor *const *__init_array_start, *const *__init_array_end;
USED Destructor *const *__fini_array_start, *const *__fini_array_end;
#else
/* Defined by the linker around the sections. */
#define SECTION_BOUND extern __attribute__((visibility("hidden")))
SECTION_BOUND Constructor *const __init_array_start[], *const __init_array_end[];
SECTION_BOUND Destructor *const __fini_array_start[], *const __fini_array_end[];
#endif

/* The program's, which may leave out parameters. */
int program_main(int argc, char **argv, char **envp) __asm__("main");

void run_destructors(void) {
  static uint32_t claimed;
  if (__scoped_atomic_exchange_n(&claimed, 1, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE) != 0) return;
  for (Destructor *const *each = __fini_array_end; each != __fini_array_start;) (*--each)();
}

KERNEL _begin(int argc, char **argv, char **envp) {
  for (Constructor *const *each = __init_array_start; each != __init_array_end; each++) (*each)(argc, argv, envp);
}

KERNEL _start(int argc, char **argv, char **envp, int *result) {
  __scoped_atomic_fetch_or(result, program_main(argc, argv, envp), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

#if RPC_GENERATION == 22
KERNEL _end(void) { run_destructors(); }
#else
KERNEL _end(int status) { exit(status); }
#endif
