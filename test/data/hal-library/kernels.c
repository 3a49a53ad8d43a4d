/*
 * The device library of the HAL's amdgpu driver: kernels that fill and copy memory, that give a dispatch its workgroups
 * when they are known, and that collect the times of dispatches.
 *
 * Bare C: no device library, no hidden arguments. A workgroup is one wave and grids have one dimension. Waves go through
 * the elements in strides of the whole grid, so that any number of workgroups does any number of elements. Lanes
 * of a wave take elements that lie side by side.
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef u32 u32x4 __attribute__((ext_vector_type(4)));

#define GLOBAL __attribute__((address_space(1)))
#define PACKET __attribute__((address_space(4)))
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected"))) void

/* Sixteen bytes at any address. */
typedef struct __attribute__((packed, aligned(1))) {
  u32x4 value;
} u8x16;

/* Fields of hsa_kernel_dispatch_packet_t and amd_signal_t, by their offsets. */
enum { WORKGROUP_SIZES = 4, GRID_SIZES = 12, PACKET_BODY = 8, PACKET_BODY_END = 56, START_TICKS = 32, END_TICKS = 40 };
enum { TYPE_MASK = 0xff, BARRIER_AND = 3, HEADER_MASK = 0xffff };

static inline u64 wave_size(void) { return __builtin_amdgcn_wavefrontsize(); }
static inline u64 lane(void) { return __builtin_amdgcn_workitem_id_x(); }
static inline u64 group(void) { return __builtin_amdgcn_workgroup_id_x(); }

/* Work-items of the grid, from the packet, which is there without hidden arguments. */
static inline u64 grid_size(void) {
  return *(const PACKET u32 *)((const PACKET u8 *)__builtin_amdgcn_dispatch_ptr() + GRID_SIZES);
}

/* The elements of the lanes one by one: item i, then i + the size of the grid, and so on. */
#define FOR_EACH(index, count)                                                                                         \
  for (u64 index = group() * wave_size() + lane(), step = grid_size(); index < (count); index += step)

/*
 * The same for many: blocks in which each lane has four elements, so that four loads and stores are under way at once,
 * then the elements behind the last whole block.
 */
#define PER_LANE 4
#define FOR_MANY(index, count, action)                                                                                 \
  do {                                                                                                                 \
    u64 wave = wave_size(), step = grid_size(), whole = (count) & -(wave * PER_LANE);                                  \
    for (u64 block = group() * wave * PER_LANE + lane(); block < whole; block += step * PER_LANE) {                    \
      _Pragma("unroll") for (u64 part = 0; part < PER_LANE; part++) {                                                  \
        u64 index = block + part * wave;                                                                               \
        action;                                                                                                        \
      }                                                                                                                \
    }                                                                                                                  \
    for (u64 index = whole + group() * wave + lane(); index < (count); index += step) action;                          \
  } while (0)

KERNEL buffer_fill_x1(GLOBAL u8 *target, u64 count, u64 pattern) { FOR_EACH(i, count) target[i] = (u8)pattern; }
KERNEL buffer_fill_x2(GLOBAL u16 *target, u64 count, u64 pattern) { FOR_EACH(i, count) target[i] = (u16)pattern; }
KERNEL buffer_fill_x8(GLOBAL u64 *target, u64 count, u64 pattern) { FOR_EACH(i, count) target[i] = pattern; }

KERNEL buffer_fill_x4(GLOBAL u32 *target, u64 count, u64 pattern) {
  FOR_MANY(i, count, target[i] = (u32)pattern);
}

static inline u32x4 repeated(u64 pattern) {
  u32 low = (u32)pattern, high = (u32)(pattern >> 32);
  return (u32x4){low, high, low, high};
}

/* `count`: elements of 16 bytes. `pattern`: 8 bytes, in which a shorter one is repeated; so in what follows. */
KERNEL buffer_fill_block_x16(GLOBAL u32x4 *target, u64 count, u64 pattern) {
  u32x4 words = repeated(pattern);
  FOR_MANY(i, count, target[i] = words);
}

/* Bytes up to the first address that 16 divides, at most `count`. */
static inline u64 head_bytes(GLOBAL u8 *address, u64 count) {
  u64 head = -(u64)address & 15;
  return head < count ? head : count;
}

/*
 * `count`: bytes. A target is aligned as its pattern is, whose size divides 8: which byte of the pattern goes to an
 * address is said by the address alone.
 */
KERNEL buffer_fill_block_unaligned_x16(GLOBAL u8 *target, u64 count, u64 pattern) {
  u64 head = head_bytes(target, count);
  u64 body = (count - head) / 16;
  u64 tail = head + body * 16;
  u32x4 words = repeated(pattern);
  GLOBAL u32x4 *aligned = (GLOBAL u32x4 *)(target + head);
  FOR_MANY(i, body, aligned[i] = words);
  if (group() != 0) return;
  u64 rest = head + count - tail;
  for (u64 i = lane(); i < rest; i += wave_size()) {
    u64 at = i < head ? i : tail + i - head;
    target[at] = (u8)(pattern >> (((u64)target + at) % 8 * 8));
  }
}

KERNEL buffer_copy_x1(const GLOBAL u8 *restrict source, GLOBAL u8 *restrict target, u64 count) {
  FOR_EACH(i, count) target[i] = source[i];
}

KERNEL buffer_copy_block_x4(const GLOBAL u32 *restrict source, GLOBAL u32 *restrict target, u64 count) {
  FOR_MANY(i, count, target[i] = source[i]);
}

KERNEL buffer_copy_block_x8(const GLOBAL u64 *restrict source, GLOBAL u64 *restrict target, u64 count) {
  FOR_MANY(i, count, target[i] = source[i]);
}

KERNEL buffer_copy_block_x16(const GLOBAL u32x4 *restrict source, GLOBAL u32x4 *restrict target, u64 count) {
  FOR_MANY(i, count, target[i] = source[i]);
}

/* `count`: bytes. Stores of the body are aligned, its loads are where they are. */
KERNEL buffer_copy_block_unaligned_x16(const GLOBAL u8 *restrict source, GLOBAL u8 *restrict target, u64 count) {
  u64 head = head_bytes(target, count);
  u64 body = (count - head) / 16;
  u64 tail = head + body * 16;
  const GLOBAL u8x16 *restrict from = (const GLOBAL u8x16 *)(source + head);
  GLOBAL u32x4 *restrict to = (GLOBAL u32x4 *)(target + head);
  FOR_MANY(i, body, to[i] = from[i].value);
  if (group() != 0) return;
  u64 rest = head + count - tail;
  for (u64 i = lane(); i < rest; i += wave_size()) {
    u64 at = i < head ? i : tail + i - head;
    target[at] = source[at];
  }
}

/*
 * Hands a dispatch packet over that lacks its grid: `counts` are its workgroups, the first word of `packet` is invalid
 * until the end of this. Without workgroups the packet becomes a barrier that waits for nothing. A grid that 32
 * bits do not hold becomes one of 0, which a packet processor refuses. `implicit`: the hidden arguments of the
 * dispatch, which begin with its workgroups; null where it has none.
 */
KERNEL dispatch_patch_indirect_params(const GLOBAL u32 *counts, GLOBAL u8 *packet, GLOBAL u32 *implicit,
                                      u32 header_setup) {
  if (lane() != 0) return;
  GLOBAL u32 *grid = (GLOBAL u32 *)(packet + GRID_SIZES);
  const GLOBAL u16 *sizes = (const GLOBAL u16 *)(packet + WORKGROUP_SIZES);
  u32 first = header_setup;
  if (counts[0] == 0 || counts[1] == 0 || counts[2] == 0) {
    for (u32 at = PACKET_BODY; at < PACKET_BODY_END; at += 8) *(GLOBAL u64 *)(packet + at) = 0;
    *(GLOBAL u32 *)(packet + WORKGROUP_SIZES) = 0;
    first = (header_setup & HEADER_MASK & ~TYPE_MASK) | BARRIER_AND;
  } else {
    for (u32 i = 0; i < 3; i++) {
      u64 size = (u64)counts[i] * sizes[i];
      grid[i] = size >> 32 == 0 ? (u32)size : 0;
      if (implicit) implicit[i] = counts[i];
    }
  }
  __scoped_atomic_store_n((GLOBAL u32 *)packet, first, __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
}

struct harvest_source {
  const GLOBAL u8 *signal;
  GLOBAL u64 *ticks;
};

/* Start and end of dispatches, from their completion signals to where they are wanted. */
KERNEL timestamp_harvest_dispatch_records(const GLOBAL struct harvest_source *sources, u32 count) {
  FOR_EACH(i, count) {
    GLOBAL u64 *ticks = sources[i].ticks;
    ticks[0] = *(const GLOBAL u64 *)(sources[i].signal + START_TICKS);
    ticks[1] = *(const GLOBAL u64 *)(sources[i].signal + END_TICKS);
  }
}
