// OpenCL kernels whose metadata has every kind of argument information. Without optimisation the compiler lists every hidden
// argument.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

__kernel __attribute__((reqd_work_group_size(8, 4, 2))) __attribute__((vec_type_hint(float4)))
void everything(__global const float *restrict input, __global volatile int *output, __local int *shared,
                __constant int *table, read_only image2d_t picture, sampler_t sampler, double scale) {
  output[0] = shared[0] + table[0] + (int)scale + (int)input[0];
}

__kernel __attribute__((work_group_size_hint(64, 1, 1))) void plain(__global int *output) { output[0] = 3; }
