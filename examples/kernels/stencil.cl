/*
 * stencil(double *out, const double *in, int width, int height): out = in + 0.2 * ((left + right) + (up + down) - 4 * in) inside a row-major
 * grid, out = in on its border; f64, no fused operations.
 * Launch: two dimensions, any group size, at least width by height work-items.
 */
#include "gpu.clh"

kernel void stencil(global double *out, global const double *in, int width, int height) {
  int column = global_id_x(), row = global_id_y();
  if (column >= width || row >= height) return;
  int at = row * width + column;
  double value = in[at];
  if (column > 0 && column < width - 1 && row > 0 && row < height - 1)
    value += 0.2 * ((in[at - 1] + in[at + 1]) + (in[at - width] + in[at + width]) - 4 * value);
  out[at] = value;
}
