/* The work of the kernels in examples/kernels as plain C, in the order in which a C programmer would write the loops. */
#include "baseline.h"

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

static const struct {
  const char *kernel;
  void (*run)(const struct launch *launch);
} ROWS[] = {
    {"fma8", fma8},         {"ihash", ihash},       {"saxpy", saxpy},   {"vadd", vadd},
    {"gather", gather},     {"matmul16", multiply}, {"matmul4x4", multiply},
    {"mfma16", multiply},   {"wmma16", multiply},   {"mandelbrot", mandelbrot}, {"collatz", collatz},
};

static const struct launch *current;
static void (*run)(const struct launch *launch);

const char *baseline_prepare(const struct launch *launch) {
  for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
    if (strcmp(ROWS[i].kernel, launch->kernel) == 0) {
      current = launch;
      run = ROWS[i].run;
      return NULL;
    }
  }
  return "not written in C";
}

void baseline_run(void) { run(current); }

void baseline_read(int argument) { (void)argument; }
