/* A sorting network over global memory: a launch for each stage. */
kernel void exchange(global uint *keys, int stage, int step) {
  uint i = (uint)get_global_id(0);
  uint low = ((i >> step) << (step + 1)) | (i & ((1u << step) - 1));
  uint high = low + (1u << step);
  uint a = keys[low], b = keys[high];
  int isDescending = (low >> stage) & 1;
  if ((a > b) != isDescending) {
    keys[low] = b;
    keys[high] = a;
  }
}
