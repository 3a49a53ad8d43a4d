/*
 * A grid on this machine: groups one after the other, the work-items of a group as coroutines. One goes on until it needs others: at
 * the group's barrier, or where the lanes of its wave exchange values. Lanes that wait at one line go on together; when all lanes of
 * a wave wait, the first line goes first, so lanes in a branch or loop go before those that wait behind it.
 */
#ifndef HOST_H
#define HOST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define kernel
#define local
#define WORKGROUP_ARRAY(T, name, size) static __attribute__((aligned(16))) T name[size]

/* An argument of any type of pointer. */
#ifdef __cplusplus
struct AnyPointer {
  void *pointer;
  template <typename T> operator T *() const { return (T *)pointer; }
};
#define POINTER(pointer) (AnyPointer{(void *)(pointer)})
#else
#define POINTER(pointer) ((void *)(pointer))
#endif

#define MAX_ITEMS 1024
#define STACK_BYTES (128 * 1024)
#define BARRIER 0x7FFFFFFF

typedef struct {
  ucontext_t context;
  uint id[3];
  /* Line where it waits; 0 if it can go on. */
  int site;
  int done;
  ulong value;
} Item;

/* What the lanes of a wave exchanged last. */
typedef struct {
  ulong mask, values[WAVE];
} Exchange;

static Item host_items[MAX_ITEMS], *host_item;
static Exchange host_exchanges[MAX_ITEMS / WAVE];
static ucontext_t host_scheduler;
static uint host_grid[3], host_full[3], host_size[3], host_group[3];
static void (*host_kernel)(void);
static char *host_stacks;

#define ITEM_AT(axis, at)                                               \
  static inline uint local_##axis(void) { return host_item->id[at]; }     \
  static inline uint group_##axis(void) { return host_group[at]; }        \
  static inline uint group_size_##axis(void) { return host_size[at]; }    \
  static inline uint full_size_##axis(void) { return host_full[at]; }     \
  static inline uint grid_size_##axis(void) { return host_grid[at]; }
ITEM_AT(x, 0)
ITEM_AT(y, 1)
ITEM_AT(z, 2)

static inline uint lane(void) { return (host_item - host_items) % WAVE; }

static inline void host_wait(int site) {
  host_item->site = site;
  swapcontext(&host_item->context, &host_scheduler);
}

static inline void workgroup_barrier(void) { host_wait(BARRIER); }

/* The values of the lanes that are here. */
static inline const Exchange *host_exchange(int site, ulong value) {
  host_item->value = value;
  host_wait(site);
  return &host_exchanges[(host_item - host_items) / WAVE];
}

static void host_entry(void) {
  host_kernel();
  host_item->done = 1;
}

/* Lets the lanes at the first line of a wave go on; whether there are any before the barrier. */
static int host_release(Item *items, uint count, Exchange *exchange) {
  int site = BARRIER;
  for (uint i = 0; i < count; i++)
    if (!items[i].done && items[i].site < site) site = items[i].site;
  if (site == BARRIER) return 0;
  *exchange = (Exchange){0};
  for (uint i = 0; i < count; i++) {
    if (items[i].done || items[i].site != site) continue;
    exchange->mask |= 1ul << i;
    exchange->values[i] = items[i].value;
    items[i].site = 0;
  }
  return 1;
}

static void host_run_group(void) {
  uint count = host_size[0] * host_size[1] * host_size[2];
  for (uint i = 0; i < count; i++) {
    Item *item = &host_items[i];
    *item = (Item){.id = {i % host_size[0], i / host_size[0] % host_size[1], i / host_size[0] / host_size[1]}};
    getcontext(&item->context);
    item->context.uc_stack.ss_sp = host_stacks + (size_t)i * STACK_BYTES;
    item->context.uc_stack.ss_size = STACK_BYTES;
    item->context.uc_link = &host_scheduler;
    makecontext(&item->context, host_entry, 0);
  }
  for (;;) {
    for (host_item = host_items; host_item != host_items + count; host_item++)
      if (!host_item->done && host_item->site == 0) swapcontext(&host_scheduler, &host_item->context);
    int released = 0;
    for (uint first = 0; first < count; first += WAVE) {
      uint lanes = count - first < WAVE ? count - first : WAVE;
      released |= host_release(host_items + first, lanes, &host_exchanges[first / WAVE]);
    }
    if (released) continue;
    int running = 0;
    for (uint i = 0; i < count; i++) {
      running |= !host_items[i].done;
      host_items[i].site = 0;
    }
    if (!running) return;
  }
}

static inline void host_launch(void (*call)(void), const uint grid[3], const uint group[3]) {
  host_kernel = call;
  if (host_stacks == NULL) host_stacks = (char *)malloc((size_t)MAX_ITEMS * STACK_BYTES);
  memcpy(host_grid, grid, sizeof host_grid);
  memcpy(host_full, group, sizeof host_full);
  uint at[3];
  for (at[2] = 0; at[2] < grid[2]; at[2] += group[2])
    for (at[1] = 0; at[1] < grid[1]; at[1] += group[1])
      for (at[0] = 0; at[0] < grid[0]; at[0] += group[0]) {
        for (int i = 0; i < 3; i++) {
          host_group[i] = at[i] / group[i];
          host_size[i] = grid[i] - at[i] < group[i] ? grid[i] - at[i] : group[i];
        }
        host_run_group();
      }
}

/* `size` bytes of standard input. */
static inline void *host_read(size_t size) {
  void *bytes = aligned_alloc(4096, (size + 4095) & -4096ul);
  if (fread(bytes, 1, size, stdin) != size) exit(2);
  return bytes;
}

static inline void host_write(const void *bytes, size_t size) { fwrite(bytes, 1, size, stdout); }

#endif
