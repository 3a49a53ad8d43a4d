/* Sums of all elements before each: trees in local memory, then the sums of whole workgroups. */
#define GROUP 256

kernel void scan_blocks(global uint *out, global uint *sums, global const uint *in) {
  local uint tree[2 * GROUP];
  int lane = (int)get_local_id(0), first = 2 * GROUP * (int)get_group_id(0);
  tree[2 * lane] = in[first + 2 * lane];
  tree[2 * lane + 1] = in[first + 2 * lane + 1];
  int stride = 1;
  for (int active = GROUP; active > 0; active /= 2, stride *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < active) tree[stride * (2 * lane + 2) - 1] += tree[stride * (2 * lane + 1) - 1];
  }
  if (lane == 0) {
    sums[get_group_id(0)] = tree[2 * GROUP - 1];
    tree[2 * GROUP - 1] = 0;
  }
  for (int active = 1; active <= GROUP; active *= 2) {
    stride /= 2;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < active) {
      int low = stride * (2 * lane + 1) - 1, high = stride * (2 * lane + 2) - 1;
      uint below = tree[low];
      tree[low] = tree[high];
      tree[high] += below;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[first + 2 * lane] = tree[2 * lane];
  out[first + 2 * lane + 1] = tree[2 * lane + 1];
}

kernel void add_sums(global uint *out, global const uint *sums) {
  int first = 2 * GROUP * (int)get_group_id(0) + (int)get_local_id(0);
  uint before = sums[get_group_id(0)];
  out[first] += before;
  out[first + GROUP] += before;
}
