/* Diffusion that keeps edges in an image of speckles, in double precision: coefficients, then the step. */
#pragma OPENCL FP_CONTRACT OFF

kernel void coefficients(global double *c, global double4 *gradients, global const double *image, int width, int height,
                         double q0) {
  int x = (int)get_global_id(0), y = (int)get_global_id(1), at = y * width + x;
  if (x >= width || y >= height) return;
  double own = image[at];
  double north = image[max(y - 1, 0) * width + x] - own, south = image[min(y + 1, height - 1) * width + x] - own;
  double west = image[y * width + max(x - 1, 0)] - own, east = image[y * width + min(x + 1, width - 1)] - own;
  double g2 = (north * north + south * south + west * west + east * east) / (own * own);
  double l = (north + south + west + east) / own;
  double num = 0.5 * g2 - (1.0 / 16.0) * (l * l);
  double den = 1.0 + 0.25 * l;
  double q = num / (den * den);
  den = (q - q0) / (q0 * (1.0 + q0));
  c[at] = clamp(1.0 / (1.0 + den), 0.0, 1.0);
  gradients[at] = (double4)(north, south, west, east);
}

kernel void diffuse(global double *image, global const double *c, global const double4 *gradients, int width, int height,
                    double lambda) {
  int x = (int)get_global_id(0), y = (int)get_global_id(1), at = y * width + x;
  if (x >= width || y >= height) return;
  double own = c[at], south = c[min(y + 1, height - 1) * width + x], east = c[y * width + min(x + 1, width - 1)];
  double4 g = gradients[at];
  image[at] += 0.25 * lambda * (own * g.x + south * g.y + own * g.z + east * g.w);
}
