/*
 * Kernels of the HAL's conformance suite. Bindings come first, constants behind them, as compilers for the HAL lay
 * arguments out; whoever has no work-item fixes the size of the workgroup, because launches count workgroups.
 */
#define ONE __attribute__((reqd_work_group_size(1, 1, 1)))
#define GROUP_ID __builtin_amdgcn_workgroup_id_x()
#define LOCAL_ID __builtin_amdgcn_workitem_id_x()

/* Absolute value of each float, one for each workgroup. */
ONE kernel void absolute(global const float *in, global float *out) { out[GROUP_ID] = __builtin_fabsf(in[GROUP_ID]); }

ONE kernel void write_constants(global uint *out, uint a, uint b, uint c, uint d) {
  out[0] = a;
  out[1] = b;
  out[2] = c;
  out[3] = d;
}

/* out[i] = in[i] * scale + offset for four integers. */
__attribute__((reqd_work_group_size(4, 1, 1))) kernel void scale_and_offset(global const int *in, global int *out,
                                                                             int scale, int offset) {
  out[LOCAL_ID] = in[LOCAL_ID] * scale + offset;
}

ONE kernel void write_workgroup_ids(global uint *out) { out[GROUP_ID] = GROUP_ID; }

__attribute__((reqd_work_group_size(4, 1, 1))) kernel void negate(global const float *in, global float *out) {
  out[LOCAL_ID] = -in[LOCAL_ID];
}

__attribute__((reqd_work_group_size(4, 1, 1))) kernel void double_it(global const float *in, global float *out) {
  out[LOCAL_ID] = in[LOCAL_ID] * 2.0f;
}

/* Workgroups of a later dispatch. */
ONE kernel void write_dispatch_params(global uint *params, uint x, uint y, uint z) {
  params[0] = x;
  params[1] = y;
  params[2] = z;
}

/* Adds one to out[0] for each workgroup. */
ONE kernel void count_workgroups(global uint *out) {
  __opencl_atomic_fetch_add((global atomic_uint *)out, 1, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
}

/* Two bindings and two constants, for reflection; the size of the workgroup is open. */
kernel void export0(global const int *in, global int *out, uint a, uint b) {
  out[LOCAL_ID] = in[LOCAL_ID] + (int)(a ^ b);
}

/* Stores to an address that a program chooses: for faults. */
ONE kernel void store_at(ulong address) { *(global uint *)address = 1; }

/* out[i] = in[i] * factor + out[i] for integers, the size of the workgroup is open: for random programs. */
kernel void mix(global const uint *in, global uint *out, uint factor, uint count) {
  uint size = ((const __constant ushort *)__builtin_amdgcn_implicitarg_ptr())[6];
  uint i = GROUP_ID * size + LOCAL_ID;
  if (i < count) out[i] = in[i] * factor + (out[i] ^ (out[i] >> 7));
}
