/* Counts of bytes: a histogram of bytes for each work-item in local memory, added up by the workgroup. */
#define GROUP 64
#define BINS 256

kernel void count_bytes(global uint *counts, global const uint4 *data, int perItem) {
  local uchar bins[GROUP * BINS];
  int lane = (int)get_local_id(0), first = (int)get_group_id(0) * perItem * GROUP + lane;
  local uint *words = (local uint *)bins;
  for (int i = lane; i < GROUP * BINS / 4; i += GROUP) words[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < perItem; i++) {
    uint4 each = data[first + i * GROUP];
    uint word[4] = {each.x, each.y, each.z, each.w};
    for (int k = 0; k < 4; k++)
      for (int byte = 0; byte < 4; byte++) bins[((word[k] >> (8 * byte)) & 0xff) * GROUP + lane]++;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int bin = lane; bin < BINS; bin += GROUP) {
    uint sum = 0;
    for (int i = 0; i < GROUP; i++) sum += bins[bin * GROUP + i];
    counts[get_group_id(0) * BINS + bin] = sum;
  }
}

kernel void add_counts(global uint *total, global const uint *counts, int groups) {
  int bin = (int)get_global_id(0);
  uint sum = 0;
  for (int i = 0; i < groups; i++) sum += counts[i * BINS + bin];
  total[bin] = sum;
}
