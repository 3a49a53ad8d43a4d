/* A sparse matrix in rows times a vector: a row for each work-item, or for each workgroup. */
#pragma OPENCL FP_CONTRACT OFF
#define GROUP 64

kernel void spmv_scalar(global float *out, global const int *starts, global const int *columns,
                        global const float *values, global const float *vector, int rows) {
  int row = (int)get_global_id(0);
  if (row >= rows) return;
  float sum = 0;
  for (int i = starts[row]; i < starts[row + 1]; i++) sum += values[i] * vector[columns[i]];
  out[row] = sum;
}

kernel void spmv_vector(global float *out, global const int *starts, global const int *columns,
                        global const float *values, global const float *vector) {
  local float sums[GROUP];
  int row = (int)get_group_id(0), lane = (int)get_local_id(0);
  float sum = 0;
  for (int i = starts[row] + lane; i < starts[row + 1]; i += GROUP) sum += values[i] * vector[columns[i]];
  sums[lane] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int active = GROUP / 2; active > 0; active /= 2) {
    if (lane < active) sums[lane] += sums[lane + active];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0) out[row] = sums[0];
}
