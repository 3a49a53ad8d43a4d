/* Transforms of 512 points by 64 work-items of eight points each, which change places in local memory. */
#pragma OPENCL FP_CONTRACT OFF
#define POINTS 512
#define GROUP 64

static float2 times(float2 a, float2 b) { return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

static float2 turned(float2 a) { return (float2)(a.y, -a.x); }

static void four(float2 *a, float2 *b, float2 *c, float2 *d) {
  float2 e = *a + *c, f = *a - *c, g = *b + *d, h = turned(*b - *d);
  *a = e + g;
  *b = e - g;
  *c = f + h;
  *d = f - h;
}

/* In the order of reversed bits. */
static void eight(float2 v[8]) {
  const float half_root = 0.70710678118654752f;
  for (int i = 0; i < 4; i++) {
    float2 a = v[i], b = v[i + 4];
    v[i] = a + b;
    v[i + 4] = a - b;
  }
  v[5] = times(v[5], (float2)(half_root, -half_root));
  v[6] = turned(v[6]);
  v[7] = times(v[7], (float2)(-half_root, -half_root));
  four(v, v + 1, v + 2, v + 3);
  four(v + 4, v + 5, v + 6, v + 7);
}

static void turn(float2 v[8], int step, int of) {
  const int order[8] = {0, 4, 2, 6, 1, 5, 3, 7};
  for (int i = 1; i < 8; i++) {
    float angle = -6.2831853071795865f * (float)(order[i] * step) / (float)of;
    v[i] = times(v[i], (float2)(cos(angle), sin(angle)));
  }
}

kernel void fft512(global float2 *data) {
  local float2 shared[POINTS + POINTS / 8];
  const int order[8] = {0, 4, 2, 6, 1, 5, 3, 7};
  int lane = (int)get_local_id(0);
  global float2 *points = data + get_group_id(0) * POINTS;
  float2 v[8];
  for (int i = 0; i < 8; i++) v[i] = points[i * GROUP + lane];
  eight(v);
  turn(v, lane, 512);
  int high = lane >> 3, low = lane & 7;
  for (int i = 0; i < 8; i++) shared[order[i] * 66 + lane] = v[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < 8; i++) v[i] = shared[high * 66 + i * 8 + low];
  barrier(CLK_LOCAL_MEM_FENCE);
  eight(v);
  turn(v, low, 64);
  for (int i = 0; i < 8; i++) shared[high * 66 + order[i] * 8 + low] = v[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < 8; i++) v[i] = shared[high * 66 + low * 8 + i];
  eight(v);
  for (int i = 0; i < 8; i++) points[order[i] * GROUP + low * 8 + high] = v[i];
}
