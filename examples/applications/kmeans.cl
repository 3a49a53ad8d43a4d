/* The nearest of several centres, for points whose coordinates lie column by column. */
#pragma OPENCL FP_CONTRACT OFF

kernel void nearest(global int *membership, global const float *points, global const float *centres, int count,
                    int centreCount, int dimensions) {
  int i = (int)get_global_id(0);
  if (i >= count) return;
  int best = 0;
  float least = MAXFLOAT;
  for (int c = 0; c < centreCount; c++) {
    float distance = 0;
    for (int d = 0; d < dimensions; d++) {
      float off = points[d * count + i] - centres[c * dimensions + d];
      distance += off * off;
    }
    if (distance < least) {
      least = distance;
      best = c;
    }
  }
  membership[i] = best;
}
