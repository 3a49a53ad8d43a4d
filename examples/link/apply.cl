/* Kernels whose functions are elsewhere: in filters.c, loaded beside this code object and linked when the executable is frozen. */
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
#include "../kernels/gpu.clh"

typedef uint pixel;
typedef pixel (*filter)(pixel);

pixel soften(pixel p);
extern const __constant filter filters[];
extern const __constant uint filter_count;

/* The library calls this one. */
pixel blend(pixel a, pixel b) { return ((a & 0xfefefe) >> 1) + ((b & 0xfefefe) >> 1); }

/* `address`: of a function that the host chose. */
kernel void apply(global pixel *out, global const pixel *in, ulong address, uint count) {
  uint i = global_id_x();
  if (i < count) out[i] = ((filter)address)(in[i]);
}

/* Calls a function of the library by its name. */
kernel void soften_all(global pixel *out, global const pixel *in, uint count) {
  uint i = global_id_x();
  if (i < count) out[i] = soften(in[i]);
}

/* Every work-item another function of the library's table. */
kernel void apply_each(global pixel *out, global const pixel *in, uint count) {
  uint i = global_id_x();
  if (i < count) out[i] = filters[i % filter_count](in[i]);
}
