/* The work of the kernels in examples/kernels as plain C, in the order in which a C programmer would write the loops. */
#include "baseline.h"

#include <math.h>
#include <string.h>

#ifdef __FMA__
#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#else
#define FMA(a, b, c) ((a) * (b) + (c))
#endif

#define BUFFER(type, i) ((type *)launch->arguments[i].buffer)
#define INTEGER(i) (launch->arguments[i].value)

/* Work-items in the inner loop: LANES 1 is the loop as one writes it, more is what gcc can make vectors of. */
#ifdef VECTORISED
#define LANES 64
#else
#define LANES 1
#endif

static void fma8(const struct launch *launch) {
  float *out = BUFFER(float, 0);
  int n = INTEGER(1), items = (int)launch->grid[0];
  for (int i = 0; i < items; i += LANES) {
    float x[8][LANES];
    for (int lane = 0; lane < LANES; lane++)
      for (int k = 0; k < 8; k++) x[k][lane] = (float)(i + lane) * 0.001f + (float)k;
    for (int round = 0; round < n; round++)
      for (int lane = 0; lane < LANES; lane++) {
        x[0][lane] = FMA(x[0][lane], 0.75f, 1);
        x[1][lane] = FMA(x[1][lane], 0.75f, 2);
        x[2][lane] = FMA(x[2][lane], 0.75f, 3);
        x[3][lane] = FMA(x[3][lane], 0.75f, 4);
        x[4][lane] = FMA(x[4][lane], 0.75f, 5);
        x[5][lane] = FMA(x[5][lane], 0.75f, 6);
        x[6][lane] = FMA(x[6][lane], 0.75f, 7);
        x[7][lane] = FMA(x[7][lane], 0.75f, 8);
      }
    for (int lane = 0; lane < LANES; lane++)
      out[i + lane] = ((x[0][lane] + x[1][lane]) + (x[2][lane] + x[3][lane])) +
                      ((x[4][lane] + x[5][lane]) + (x[6][lane] + x[7][lane]));
  }
}

static void ihash(const struct launch *launch) {
  uint32_t *out = BUFFER(uint32_t, 0);
  int n = INTEGER(1), items = (int)launch->grid[0];
  for (int i = 0; i < items; i += LANES) {
    uint32_t hashes[LANES];
    for (int lane = 0; lane < LANES; lane++) hashes[lane] = (uint32_t)(i + lane);
    for (int round = 0; round < n; round++)
      for (int lane = 0; lane < LANES; lane++) {
        uint32_t h = hashes[lane] + (uint32_t)round;
        h ^= h >> 16;
        h *= 0x85ebca6bu;
        h ^= h >> 13;
        h += h << 5;
        h ^= (uint32_t)(i + lane);
        hashes[lane] = h << 7 | h >> 25;
      }
    memcpy(out + i, hashes, sizeof hashes);
  }
}

#ifndef VECTORISED

static void saxpy(const struct launch *launch) {
  float *y = BUFFER(float, 0);
  const float *x = BUFFER(float, 1);
  float a = (float)INTEGER(2);
  int n = INTEGER(3);
  for (int i = 0; i < n; i++) y[i] = FMA(a, x[i], y[i]);
}

static void vadd(const struct launch *launch) {
  float *out = BUFFER(float, 0);
  const float *a = BUFFER(float, 1), *b = BUFFER(float, 2);
  int n = INTEGER(3);
  for (int i = 0; i < n; i++) out[i] = a[i] + b[i];
}

static void gather(const struct launch *launch) {
  float *out = BUFFER(float, 0);
  const float *a = BUFFER(float, 1);
  const int32_t *index = BUFFER(int32_t, 2);
  int n = INTEGER(3);
  for (int i = 0; i < n; i++) out[i] = a[index[i]];
}

#endif

static void multiply(const struct launch *launch) {
  float *c = BUFFER(float, 0);
  const float *a = BUFFER(float, 1), *b = BUFFER(float, 2);
  int n = INTEGER(3);
#ifdef VECTORISED
  memset(c, 0, launch->arguments[0].size);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++)
      for (int j = 0; j < n; j++) c[i * n + j] = FMA(a[i * n + k], b[k * n + j], c[i * n + j]);
#else
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      float sum = 0;
      for (int k = 0; k < n; k++) sum = FMA(a[i * n + k], b[k * n + j], sum);
      c[i * n + j] = sum;
    }
#endif
}

#ifndef VECTORISED

static void mandelbrot(const struct launch *launch) {
  int32_t *out = BUFFER(int32_t, 0);
  int width = INTEGER(1), height = INTEGER(2), iterations = INTEGER(3);
  for (int row = 0; row < height; row++)
    for (int column = 0; column < width; column++) {
      float cx = (float)column * (3.0f / (float)width) - 2.25f;
      float cy = (float)row * (2.25f / (float)height) - 1.125f;
      float x = 0, y = 0;
      int count = 0;
      for (; count < iterations && x * x + y * y <= 4; count++) {
        float next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
      }
      out[row * width + column] = count;
    }
}

static void collatz(const struct launch *launch) {
  int32_t *out = BUFFER(int32_t, 0);
  int first = INTEGER(1), limit = INTEGER(2), items = (int)launch->grid[0];
  for (int i = 0; i < items; i++) {
    uint32_t x = (uint32_t)(first + i);
    int steps = 0;
    for (; x != 1 && steps < limit; steps++) {
      if (x % 2 == 0)
        x = x / 2;
      else
        x = 3 * x + 1;
    }
    out[i] = steps;
  }
}

static void nbody(const struct launch *launch) {
  float *out = BUFFER(float, 0);
  const float *bodies = BUFFER(float, 1);
  int n = INTEGER(2);
  for (int i = 0; i < n; i++) {
    const float *body = bodies + 4 * i;
    float sum[4] = {0};
    for (int j = 0; j < n; j++) {
      const float *other = bodies + 4 * j;
      float dx = other[0] - body[0], dy = other[1] - body[1], dz = other[2] - body[2];
      float inverse = 1 / sqrtf(FMA(dx, dx, FMA(dy, dy, FMA(dz, dz, 0.01f))));
      float potential = other[3] * inverse, pull = potential * inverse * inverse;
      sum[0] = FMA(dx, pull, sum[0]);
      sum[1] = FMA(dy, pull, sum[1]);
      sum[2] = FMA(dz, pull, sum[2]);
      sum[3] += potential;
    }
    memcpy(out + 4 * i, sum, sizeof sum);
  }
}

static void reduction(const struct launch *launch) {
  uint32_t *sum = BUFFER(uint32_t, 0);
  const uint32_t *in = BUFFER(uint32_t, 1);
  int n = INTEGER(2);
  for (int i = 0; i < n; i++) *sum += in[i];
}

static void histogram(const struct launch *launch) {
  uint32_t *bins = BUFFER(uint32_t, 0);
  const uint32_t *in = BUFFER(uint32_t, 1);
  int n = INTEGER(2);
  for (int i = 0; i < n; i++) bins[in[i] & 255]++;
}

/* The same network; a C programmer would call qsort, which compares less. */
static void bitonic(const struct launch *launch) {
  enum { RUN = 512 };
  uint32_t *data = BUFFER(uint32_t, 0), *end = data + launch->arguments[0].size / sizeof *data;
  for (uint32_t *run = data; run < end; run += RUN)
    for (int size = 2; size <= RUN; size *= 2)
      for (int distance = size / 2; distance > 0; distance /= 2)
        for (int pair = 0; pair < RUN / 2; pair++) {
          int low = 2 * pair - (pair & (distance - 1)), high = low + distance;
          uint32_t a = run[low], b = run[high];
          if ((a > b) == ((low & size) == 0)) {
            run[low] = b;
            run[high] = a;
          }
        }
}

static uint32_t rotated(uint32_t x, int by) { return x >> by | x << (32 - by); }

static const uint32_t ROUND[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static void sha256(const struct launch *launch) {
  uint32_t *digests = BUFFER(uint32_t, 0);
  const uint32_t *words = BUFFER(uint32_t, 1);
  int items = INTEGER(2), blocks = INTEGER(3);
  for (int i = 0; i < items; i++) {
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    for (int block = 0; block < blocks; block++) {
      uint32_t w[64], s[8];
      for (int t = 0; t < 16; t++) w[t] = words[(block * 16 + t) * items + i];
      for (int t = 16; t < 64; t++) {
        uint32_t x = w[t - 15], y = w[t - 2];
        w[t] = w[t - 16] + w[t - 7] + (rotated(x, 7) ^ rotated(x, 18) ^ x >> 3) + (rotated(y, 17) ^ rotated(y, 19) ^ y >> 10);
      }
      memcpy(s, state, sizeof s);
      for (int t = 0; t < 64; t++) {
        uint32_t a = s[0], e = s[4];
        uint32_t first = s[7] + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + ROUND[t] + w[t];
        uint32_t second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += first;
        s[0] = first + second;
      }
      for (int word = 0; word < 8; word++) state[word] += s[word];
    }
    for (int word = 0; word < 8; word++) digests[word * items + i] = state[word];
  }
}

static void stencil(const struct launch *launch) {
  double *out = BUFFER(double, 0);
  const double *in = BUFFER(double, 1);
  int width = INTEGER(2), height = INTEGER(3);
  for (int row = 0; row < height; row++)
    for (int column = 0; column < width; column++) {
      int at = row * width + column;
      double value = in[at];
      if (column > 0 && column < width - 1 && row > 0 && row < height - 1)
        value += 0.2 * ((in[at - 1] + in[at + 1]) + (in[at - width] + in[at + width]) - 4 * value);
      out[at] = value;
    }
}

#endif

static const struct {
  const char *kernel;
  void (*run)(const struct launch *launch);
} ROWS[] = {
    {"fma8", fma8},
    {"ihash", ihash},
    {"matmul16", multiply},
    {"matmul4x4", multiply},
    {"mfma16", multiply},
#ifndef VECTORISED
    {"saxpy", saxpy},
    {"vadd", vadd},
    {"gather", gather},
    {"stencil", stencil},
    {"mandelbrot", mandelbrot},
    {"collatz", collatz},
    {"nbody", nbody},
    {"reduction", reduction},
    {"histogram", histogram},
    {"bitonic", bitonic},
    {"sha256", sha256},
#endif
};

static const struct launch *current;
static void (*run)(const struct launch *launch);

const char *baseline_prepare(const struct plan *plan) {
  for (size_t i = 0; plan->launch_count == 1 && i < sizeof ROWS / sizeof *ROWS; i++) {
    if (strcmp(ROWS[i].kernel, plan->launches->kernel) == 0) {
      current = plan->launches;
      run = ROWS[i].run;
      return NULL;
    }
  }
  return "not written in C";
}

void baseline_restore(int buffer) { (void)buffer; }

void baseline_run(void) { run(current); }

void baseline_read(int buffer) { (void)buffer; }
