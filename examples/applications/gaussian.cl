/* Gaussian elimination without pivots: two small launches for each column. */
#pragma OPENCL FP_CONTRACT OFF

kernel void multipliers(global float *factors, global const float *matrix, int size, int column) {
  int row = (int)get_global_id(0) + column + 1;
  if (row >= size) return;
  factors[row] = matrix[row * size + column] / matrix[column * size + column];
}

kernel void eliminate(global float *matrix, global float *right, global const float *factors, int size, int column) {
  int x = (int)get_global_id(0) + column, row = (int)get_global_id(1) + column + 1;
  if (x >= size || row >= size) return;
  matrix[row * size + x] -= factors[row] * matrix[column * size + x];
  if (x == column) right[row] -= factors[row] * right[column];
}
