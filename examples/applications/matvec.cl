/* A matrix times a vector, and its columns times the result. Sums stand in memory, where other arrays might be, too. */
#pragma OPENCL FP_CONTRACT OFF

kernel void rows_times(global float *out, global const float *matrix, global const float *vector, int size) {
  int row = (int)get_global_id(0);
  if (row >= size) return;
  out[row] = 0;
  for (int i = 0; i < size; i++) out[row] += matrix[row * size + i] * vector[i];
}

kernel void columns_times(global float *out, global const float *matrix, global const float *vector, int size) {
  int column = (int)get_global_id(0);
  if (column >= size) return;
  out[column] = 0;
  for (int i = 0; i < size; i++) out[column] += matrix[i * size + column] * vector[i];
}
