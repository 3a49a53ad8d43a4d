/* Alignment of two sequences (Needleman and Wunsch): diagonals of blocks, each by a workgroup of 16. */
#define BLOCK 16

kernel void align(global int *scores, global const int *similarity, int width, int diagonal, int first, int penalty) {
  local int tile[BLOCK + 1][BLOCK + 1], own[BLOCK][BLOCK];
  int lane = (int)get_local_id(0);
  int blockX = first + (int)get_group_id(0), blockY = diagonal - blockX;
  int corner = blockY * BLOCK * width + blockX * BLOCK;
  for (int i = 0; i < BLOCK; i++) own[i][lane] = similarity[corner + (i + 1) * width + lane + 1];
  if (lane == 0) tile[0][0] = scores[corner];
  tile[0][lane + 1] = scores[corner + lane + 1];
  tile[lane + 1][0] = scores[corner + (lane + 1) * width];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = 0; step < 2 * BLOCK - 1; step++) {
    int x = step - lane;
    if (x >= 0 && x < BLOCK) {
      int match = tile[lane][x] + own[lane][x];
      int gap = max(tile[lane][x + 1], tile[lane + 1][x]) - penalty;
      tile[lane + 1][x + 1] = max(match, gap);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 0; i < BLOCK; i++) scores[corner + (i + 1) * width + lane + 1] = tile[i + 1][lane + 1];
}
