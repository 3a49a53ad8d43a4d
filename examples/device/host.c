/*
 * Runs a GPU program's main on the host, once per work-item of the grid that the environment variable GRID gives as
 * "blocks_x blocks_y blocks_z threads_x threads_y threads_z" (default: one work-item). The status is the OR of all results.
 *
 * The blocks run one after the other, the work-items of a block as coroutines that change at barriers: the output is the same
 * in every run.
 */
#undef main
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

typedef struct {
  uint32_t x, y, z;
} HostDimensions;
HostDimensions host_thread_id, host_num_threads = {1, 1, 1}, host_block_id, host_num_blocks = {1, 1, 1};

int gpu_main(int argc, char **argv, char **envp);

#define MAX_THREADS 1024
#define STACK_BYTES (256 * 1024)

typedef struct {
  ucontext_t context;
  HostDimensions id;
  int done;
} WorkItem;

static WorkItem items[MAX_THREADS], *current;
static ucontext_t scheduler;
static int program_argc, program_status;
static char **program_argv, **program_envp;

void workgroup_barrier(void) { swapcontext(&current->context, &scheduler); }

static void run_item(void) {
  program_status |= gpu_main(program_argc, program_argv, program_envp);
  current->done = 1;
}

static HostDimensions unflatten(uint32_t index, HostDimensions size) {
  return (HostDimensions){index % size.x, index / size.x % size.y, index / size.x / size.y};
}

static void run_block(uint32_t threads, char *stacks) {
  for (uint32_t i = 0; i < threads; i++) {
    WorkItem *item = &items[i];
    item->id = unflatten(i, host_num_threads);
    item->done = 0;
    getcontext(&item->context);
    item->context.uc_stack.ss_sp = stacks + (size_t)i * STACK_BYTES;
    item->context.uc_stack.ss_size = STACK_BYTES;
    item->context.uc_link = &scheduler;
    makecontext(&item->context, run_item, 0);
  }
  for (int running = 1; running;) {
    running = 0;
    for (current = items; current != items + threads; current++) {
      if (current->done) continue;
      host_thread_id = current->id;
      swapcontext(&scheduler, &current->context);
      running |= !current->done;
    }
  }
}

int main(int argc, char **argv, char **envp) {
  HostDimensions *b = &host_num_blocks, *t = &host_num_threads;
  const char *grid = getenv("GRID");
  if (grid != NULL && sscanf(grid, "%u %u %u %u %u %u", &b->x, &b->y, &b->z, &t->x, &t->y, &t->z) != 6) {
    fputs("GRID: expected six numbers\n", stderr);
    return 2;
  }
  uint32_t threads = t->x * t->y * t->z, blocks = b->x * b->y * b->z;
  if (threads > MAX_THREADS) {
    fputs("GRID: at most 1024 work-items per block\n", stderr);
    return 2;
  }
  char *stacks = malloc((size_t)threads * STACK_BYTES);
  if (stacks == NULL) return 2;
  program_argc = argc;
  program_argv = argv;
  program_envp = envp;
  for (uint32_t i = 0; i < blocks; i++) {
    host_block_id = unflatten(i, host_num_blocks);
    run_block(threads, stacks);
  }
  return program_status & 0xFF;
}
