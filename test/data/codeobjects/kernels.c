// Kernels and device functions for the tests of the ELF and code-object readers: exported and hidden kernels, LDS, scratch,
// recursion, data pointers that need relocations, explicit arguments of several kinds.
#define GLOBAL __attribute__((address_space(1)))
#define LDS __attribute__((address_space(3)))
#define KERNEL __attribute__((amdgpu_kernel))
#define EXPORT __attribute__((visibility("protected")))
#define PREEMPTIBLE __attribute__((visibility("default")))

struct triple {
  int a;
  short b;
  double c;
};

EXPORT GLOBAL int counter = 7;
EXPORT GLOBAL const char greeting[] = "hello";
PREEMPTIBLE int step(int x) { return x + 1; }
EXPORT __attribute__((noinline)) int twice(int x) { return 2 * x; }
static __attribute__((noinline)) int recurse(int n) { return n < 2 ? n : recurse(n - 1) + recurse(n - 2); }

// One relocation against the load base, two against symbols that another code object may replace.
typedef int function(int);
EXPORT function *GLOBAL const functions[3] = {twice, step, step};

KERNEL EXPORT void store(GLOBAL int *out, int value) { out[__builtin_amdgcn_workitem_id_x()] = value; }

KERNEL EXPORT void mixed(GLOBAL double *out, struct triple t, char c,
                                                                               float f, LDS int *scratchpad) {
  int id = __builtin_amdgcn_workitem_id_x() + __builtin_amdgcn_workitem_id_y() * 8;
  scratchpad[id] = t.a + c;
  __builtin_amdgcn_s_barrier();
  out[__builtin_amdgcn_workgroup_id_z()] = t.c + f + scratchpad[id ^ 1] + t.b;
}

KERNEL EXPORT void stacky(GLOBAL int *out, int n) {
  volatile int local[20];
  for (int i = 0; i < 20; i++) local[i] = i * n;
  out[0] = recurse(n) + local[n] + functions[n & 1](n) + counter;
}

// Hidden visibility: the descriptor is only in .symtab.
KERNEL void internal(GLOBAL int *out) { out[0] = 1; }
