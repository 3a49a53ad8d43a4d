/* What gpu-on-host.h declares; the stand-in calls gpu_on_host_begin in each thread before the kernel. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* The device library has headers of its own. */
size_t strspn(const char *, const char *);
char *strchr(const char *, int);
void *memcpy(void *, const void *, size_t);
int usleep(unsigned);

__thread uint32_t gpu_on_host_ids[12];
static __thread pthread_barrier_t *barrier;

void gpu_on_host_begin(const uint32_t *ids, pthread_barrier_t *of_block) {
  memcpy(gpu_on_host_ids, ids, sizeof gpu_on_host_ids);
  barrier = of_block;
}

void gpu_on_host_pause(void) { usleep(20); }
void gpu_on_host_barrier(void) { pthread_barrier_wait(barrier); }
_Noreturn void gpu_on_host_exit(void) { pthread_exit(NULL); }

uint32_t gpu_on_host_lane(void) {
  const uint32_t *id = gpu_on_host_ids;
  return ((id[2] * id[7] + id[1]) * id[6] + id[0]) % 32;
}

static char *put(char *to, const void *value, size_t size) {
  to = (char *)(((uintptr_t)to + size - 1) / size * size);
  memcpy(to, value, size);
  return to + size;
}

const char *gpu_on_host_pack(const char *format, __builtin_va_list arguments) {
  static __thread _Alignas(8) char packed[512];
  char *to = packed;
  for (const char *at = strchr(format, '%'); at != NULL; at = strchr(at + 1, '%')) {
    at++;
    at += strspn(at, "-+ #0123456789.");
    int is_long = strchr("lzjt", *at) != NULL;
    at += strspn(at, "lzjth");
    if (*at == '%') continue;
    if (strchr("fFeEgGaA", *at) != NULL) {
      double value = __builtin_va_arg(arguments, double);
      to = put(to, &value, 8);
    } else if (is_long || *at == 's' || *at == 'p') {
      uint64_t value = __builtin_va_arg(arguments, uint64_t);
      to = put(to, &value, 8);
    } else {
      uint32_t value = __builtin_va_arg(arguments, uint32_t);
      to = put(to, &value, 4);
    }
  }
  return packed;
}
