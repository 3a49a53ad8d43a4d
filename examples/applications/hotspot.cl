/* Heat on a chip: a step of a stencil of five points over tiles in local memory. */
#pragma OPENCL FP_CONTRACT OFF
#define TILE 16

kernel void hotspot(global float *next, global const float *heat, global const float *power, int width, int height,
                    float spread_x, float spread_y, float cooling, float ambient) {
  local float tile[TILE + 2][TILE + 2];
  int x = (int)get_global_id(0), y = (int)get_global_id(1);
  int i = (int)get_local_id(0) + 1, j = (int)get_local_id(1) + 1;
  int at = y * width + x;
  int left = max(x - 1, 0), right = min(x + 1, width - 1);
  int above = max(y - 1, 0), below = min(y + 1, height - 1);
  tile[j][i] = heat[at];
  if (i == 1) tile[j][0] = heat[y * width + left];
  if (i == TILE) tile[j][TILE + 1] = heat[y * width + right];
  if (j == 1) tile[0][i] = heat[above * width + x];
  if (j == TILE) tile[TILE + 1][i] = heat[below * width + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  float own = tile[j][i];
  float across = (tile[j][i - 1] + tile[j][i + 1] - 2.0f * own) * spread_x;
  float along = (tile[j - 1][i] + tile[j + 1][i] - 2.0f * own) * spread_y;
  next[at] = own + (power[at] + across + along + (ambient - own) * cooling);
}
