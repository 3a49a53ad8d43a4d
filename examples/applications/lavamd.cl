/* Particles in cells: each meets those of its own cell and of the cells around it. */
#pragma OPENCL FP_CONTRACT OFF
#define PARTICLES 64

kernel void potential(global float4 *out, global const float4 *position, global const float *charge, int cells,
                      float alpha) {
  local float4 places[PARTICLES];
  local float charges[PARTICLES];
  int lane = (int)get_local_id(0), cell = (int)get_group_id(0);
  int x = cell % cells, y = cell / cells % cells, z = cell / cells / cells;
  float4 own = position[cell * PARTICLES + lane];
  float4 sum = (float4)(0);
  for (int dz = -1; dz <= 1; dz++)
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++) {
        int i = x + dx, j = y + dy, k = z + dz;
        if (i < 0 || j < 0 || k < 0 || i >= cells || j >= cells || k >= cells) continue;
        int other = ((k * cells + j) * cells + i) * PARTICLES + lane;
        barrier(CLK_LOCAL_MEM_FENCE);
        places[lane] = position[other];
        charges[lane] = charge[other];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int p = 0; p < PARTICLES; p++) {
          float4 there = places[p];
          float r2 = own.w + there.w - (own.x * there.x + own.y * there.y + own.z * there.z);
          float u = alpha * r2;
          float v = exp(-u);
          float pull = 2.0f * v;
          sum.x += charges[p] * (pull * (own.x - there.x));
          sum.y += charges[p] * (pull * (own.y - there.y));
          sum.z += charges[p] * (pull * (own.z - there.z));
          sum.w += charges[p] * v;
        }
      }
  out[cell * PARTICLES + lane] = sum;
}
