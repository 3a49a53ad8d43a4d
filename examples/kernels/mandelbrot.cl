/*
 * mandelbrot(int *out, int width, int height, int iterations): out[row * width + column] = number of steps of z = z * z + c
 * (f32, no fused operations) until |z| > 2, at most `iterations`; c is column * (3 / width) - 2.25, row * (2.25 / height) - 1.125.
 * Launch: one or two dimensions, any group size, at least width by height work-items.
 */
#include "gpu.clh"

kernel void mandelbrot(global int *out, int width, int height, int iterations) {
  int column = global_id_x(), row = global_id_y();
  if (column >= width || row >= height) return;
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
