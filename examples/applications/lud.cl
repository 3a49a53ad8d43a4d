/* LU factors in place, by blocks: the one on the diagonal, those beside and below it, all others. */
#pragma OPENCL FP_CONTRACT OFF
#define BLOCK 16

kernel void diagonal(global float *matrix, int size, int first) {
  local float tile[BLOCK][BLOCK + 1];
  int lane = (int)get_local_id(0);
  global float *corner = matrix + first * size + first;
  for (int i = 0; i < BLOCK; i++) tile[i][lane] = corner[i * size + lane];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < BLOCK - 1; k++) {
    if (lane > k) {
      tile[lane][k] /= tile[k][k];
      for (int j = k + 1; j < BLOCK; j++) tile[lane][j] -= tile[lane][k] * tile[k][j];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 1; i < BLOCK; i++) corner[i * size + lane] = tile[i][lane];
}

kernel void perimeter(global float *matrix, int size, int first) {
  local float corner[BLOCK][BLOCK + 1], row[BLOCK][BLOCK + 1], column[BLOCK][BLOCK + 1];
  int lane = (int)get_local_id(0) % BLOCK;
  int isColumn = (int)get_local_id(0) / BLOCK;
  int block = first + ((int)get_group_id(0) + 1) * BLOCK;
  for (int i = isColumn; i < BLOCK; i += 2) {
    corner[i][lane] = matrix[(first + i) * size + first + lane];
    row[i][lane] = matrix[(first + i) * size + block + lane];
    column[i][lane] = matrix[(block + i) * size + first + lane];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (isColumn) {
    for (int k = 0; k < BLOCK; k++) {
      float value = column[lane][k];
      for (int j = 0; j < k; j++) value -= column[lane][j] * corner[j][k];
      column[lane][k] = value / corner[k][k];
    }
  } else {
    for (int k = 1; k < BLOCK; k++)
      for (int j = 0; j < k; j++) row[k][lane] -= corner[k][j] * row[j][lane];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = isColumn; i < BLOCK; i += 2) {
    matrix[(first + i) * size + block + lane] = row[i][lane];
    matrix[(block + i) * size + first + lane] = column[i][lane];
  }
}

kernel void interior(global float *matrix, int size, int first) {
  local float row[BLOCK][BLOCK], column[BLOCK][BLOCK];
  int x = (int)get_local_id(0), y = (int)get_local_id(1);
  int blockX = first + ((int)get_group_id(0) + 1) * BLOCK, blockY = first + ((int)get_group_id(1) + 1) * BLOCK;
  row[y][x] = matrix[(first + y) * size + blockX + x];
  column[y][x] = matrix[(blockY + y) * size + first + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0;
  for (int k = 0; k < BLOCK; k++) sum += column[y][k] * row[k][x];
  matrix[(blockY + y) * size + blockX + x] -= sum;
}
