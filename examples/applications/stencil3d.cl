/* Seven points of a volume, each plane by plane. */
#pragma OPENCL FP_CONTRACT OFF

kernel void stencil3d(global float *out, global const float *in, int width, int height, int depth, float centre,
                      float side) {
  int x = (int)get_global_id(0), y = (int)get_global_id(1);
  if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
  int plane = width * height;
  int at = plane + y * width + x;
  float below = in[at - plane], own = in[at];
  for (int z = 1; z < depth - 1; z++, at += plane) {
    float above = in[at + plane];
    out[at] = own * centre + (in[at - 1] + in[at + 1] + in[at - width] + in[at + width] + below + above) * side;
    below = own;
    own = above;
  }
}
