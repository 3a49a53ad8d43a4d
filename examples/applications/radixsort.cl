/* Four bits a pass: counts of each workgroup's digits, where each count begins, and every key to its place. */
#define GROUP 64
#define DIGITS 16
#define KEYS 4

kernel void count_digits(global uint *counts, global const uint *keys, int shift) {
  local uint bins[DIGITS];
  int lane = (int)get_local_id(0), group = (int)get_group_id(0), groups = (int)get_num_groups(0);
  if (lane < DIGITS) bins[lane] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < KEYS; i++) {
    uint key = keys[(group * KEYS + i) * GROUP + lane];
    atomic_inc(&bins[(key >> shift) & (DIGITS - 1)]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane < DIGITS) counts[lane * groups + group] = bins[lane];
}

/* One workgroup goes over all counts. */
kernel void place_counts(global uint *counts, int size) {
  local uint sums[GROUP];
  int lane = (int)get_local_id(0);
  uint before = 0;
  for (int first = 0; first < size; first += GROUP) {
    uint own = counts[first + lane];
    sums[lane] = own;
    for (int step = 1; step < GROUP; step *= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      uint other = lane >= step ? sums[lane - step] : 0;
      barrier(CLK_LOCAL_MEM_FENCE);
      sums[lane] += other;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    counts[first + lane] = before + sums[lane] - own;
    before += sums[GROUP - 1];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

kernel void scatter(global uint *out, global const uint *keys, global const uint *counts, int shift) {
  local uint digits[GROUP], places[DIGITS];
  int lane = (int)get_local_id(0), group = (int)get_group_id(0), groups = (int)get_num_groups(0);
  if (lane < DIGITS) places[lane] = counts[lane * groups + group];
  for (int i = 0; i < KEYS; i++) {
    uint key = keys[(group * KEYS + i) * GROUP + lane];
    uint digit = (key >> shift) & (DIGITS - 1);
    digits[lane] = digit;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint before = 0, all = 0;
    for (int other = 0; other < GROUP; other++) {
      uint isSame = digits[other] == digit;
      before += isSame & (other < lane);
      all += isSame;
    }
    uint place = places[digit];
    out[place + before] = key;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (before == 0) places[digit] = place + all;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
