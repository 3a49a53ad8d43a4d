/*
 * The way to the device process: a socket for requests, and the device's memory, which both map. This process maps it at
 * the addresses that kernels use, so that a pointer is the same number for both. The first page belongs to both runtimes
 * and to no kernel.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "runtime.h"

/* The high words of addresses that devices can have. */
enum { FIRST_WINDOW = 0x7f00, WINDOW_COUNT = 128 };

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static int connection = -1;
static int memory_file = -1;
static uint64_t base;
static hello_reply_t clocks;
static records_t records;
/* Held from a request to its reply. */
static pthread_mutex_t call_lock = PTHREAD_MUTEX_INITIALIZER;
/* Held while bytes of a message are sent. */
static pthread_mutex_t send_lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t arena_base(void) { return base; }

int arena_file(void) { return memory_file; }

bool is_in_arena(const void *pointer) { return base != 0 && (uintptr_t)pointer >> 32 == base >> 32; }

_Atomic uint32_t *control_word(uint32_t index) { return (_Atomic uint32_t *)(uintptr_t)base + index; }

records_t *known(void) { return &records; }

uint64_t system_time_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t system_time(uint64_t ticks) {
  __int128 since = (__int128)(int64_t)(ticks - clocks.ticks) * 1000000000 / (int64_t)clocks.ticks_per_second;
  return clocks.system_ns + (uint64_t)(int64_t)since;
}

uint64_t device_ticks_now(void) {
  __int128 since = (__int128)(int64_t)(system_time_now() - clocks.system_ns) * (int64_t)clocks.ticks_per_second / 1000000000;
  return clocks.ticks + (uint64_t)(int64_t)since;
}

static bool send_all(const void *bytes, size_t size_bytes) {
  const char *at = bytes;
  while (size_bytes > 0) {
    ssize_t sent = send(connection, at, size_bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    size_bytes -= (size_t)sent;
  }
  return true;
}

static bool receive_all(void *bytes, size_t size_bytes) {
  char *at = bytes;
  while (size_bytes > 0) {
    ssize_t got = recv(connection, at, size_bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size_bytes -= (size_t)got;
  }
  return true;
}

static bool send_message(uint32_t operation, request_t request) {
  uint32_t head[2] = {operation, (uint32_t)(request.words_bytes + request.tail_bytes)};
  pthread_mutex_lock(&send_lock);
  bool sent = send_all(head, sizeof head) && send_all(request.words, request.words_bytes) &&
              send_all(request.tail, request.tail_bytes);
  pthread_mutex_unlock(&send_lock);
  return sent;
}

/* The text of an error: for who wants to know, or all. */
static bool receive_error(uint32_t size_bytes, bool is_for_all) {
  char *text = malloc((size_t)size_bytes + 1);
  if (text == NULL || !receive_all(text, size_bytes)) {
    free(text);
    return false;
  }
  text[size_bytes] = 0;
  if (is_for_all || getenv("WAVEWRIGHT_TRACE") != NULL) fprintf(stderr, "wavewright: %s\n", text);
  free(text);
  return true;
}

static bool receive_reply(uint32_t size_bytes, void *words, size_t words_bytes, void **tail, size_t *tail_bytes) {
  if (size_bytes < words_bytes || (tail == NULL && size_bytes != words_bytes)) return false;
  if (!receive_all(words, words_bytes)) return false;
  if (tail == NULL) return true;
  *tail_bytes = size_bytes - words_bytes;
  *tail = malloc(*tail_bytes + 1);
  return *tail != NULL && receive_all(*tail, *tail_bytes);
}

/* The byte before a reply that brings a file; -1 where it brings none: a refusal, or no descriptor for it. */
static bool receive_file(int *file) {
  char byte;
  struct iovec part = {&byte, 1};
  union {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t got;
  do got = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  *file = -1;
  if (got != 1) return false;
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  if (head != NULL && head->cmsg_type == SCM_RIGHTS) memcpy(file, CMSG_DATA(head), sizeof *file);
  return true;
}

/* `file`, where it is not NULL, gets what comes before the reply. */
static status_t exchange(uint32_t operation, request_t request, int *file, void *words, size_t words_bytes, void **tail,
                         size_t *tail_bytes) {
  if (request.words_bytes + request.tail_bytes > MAX_REQUEST_BYTES) return OUT_OF_RESOURCES;
  uint32_t head[2];
  pthread_mutex_lock(&call_lock);
  bool done = send_message(operation, request) && (file == NULL || receive_file(file)) && receive_all(head, sizeof head);
  if (done) {
    done = head[0] == SUCCESS ? receive_reply(head[1], words, words_bytes, tail, tail_bytes)
                              : receive_error(head[1], operation == OP_HELLO);
  }
  pthread_mutex_unlock(&call_lock);
  if (!done && operation != OP_HELLO) runtime_lost("the device process ended");
  return done ? head[0] : OUT_OF_RESOURCES;
}

status_t call(uint32_t operation, request_t request, void *words, size_t words_bytes, void **tail, size_t *tail_bytes) {
  return exchange(operation, request, NULL, words, words_bytes, tail, tail_bytes);
}

status_t call_words(uint32_t operation, const void *words, size_t words_bytes, void *reply, size_t reply_bytes) {
  return call(operation, (request_t){words, words_bytes, NULL, 0}, reply, reply_bytes, NULL, NULL);
}

status_t call_for_file(uint32_t operation, const void *words, size_t words_bytes, int *file, void *reply, size_t reply_bytes) {
  return exchange(operation, (request_t){words, words_bytes, NULL, 0}, file, reply, reply_bytes, NULL, NULL);
}

void notify(uint32_t concerns) {
  /* Full barriers on both sides: who sleeps has said so before it looked at memory for the last time. */
  atomic_thread_fence(memory_order_seq_cst);
  if (concerns == CONCERNS_ALL || (concerns != 0 && *control_word(CONTROL_WAITERS) != 0)) {
    atomic_fetch_add(control_word(CONTROL_EPOCH), 1);
    syscall(SYS_futex, control_word(CONTROL_EPOCH), FUTEX_WAKE_BITSET, INT32_MAX, NULL, NULL, concerns);
  }
  if (*control_word(CONTROL_SLEEPING) != 0 && atomic_exchange(control_word(CONTROL_SLEEPING), 0) != 0) {
    send_message(OP_WAKE, (request_t){NULL, 0, NULL, 0});
  }
}

bool connection_is_lost(void) {
  struct pollfd ready = {connection, POLLRDHUP, 0};
  return poll(&ready, 1, 0) > 0 && (ready.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

static bool connect_to(const char *name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(name);
  if (length + 1 > sizeof address.sun_path) return false;
  memcpy(address.sun_path + 1, name, length);
  connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return false;
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
  while (connect(connection, (struct sockaddr *)&address, size) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

/* Room for 4 GiB of addresses that nothing else is at, where devices can be. */
static bool reserve_window(uint64_t *window) {
  for (uint64_t high = FIRST_WINDOW; high < FIRST_WINDOW + WINDOW_COUNT; high++) {
    void *wanted = (void *)(uintptr_t)(high << 32);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    void *got = mmap(wanted, ARENA_BYTES, PROT_NONE, flags, -1, 0);
    if (got == wanted) {
      *window = high;
      return true;
    }
    /* A kernel before 4.17 takes the address as a hint. */
    if (got != MAP_FAILED) munmap(got, ARENA_BYTES);
  }
  return false;
}

static status_t fail(const char *what) {
  fprintf(stderr, "wavewright: %s: %s\n", what, strerror(errno));
  return OUT_OF_RESOURCES;
}

status_t connection_open(void) {
  const char *name = getenv(SOCKET_VARIABLE);
  if (name == NULL || *name == 0) {
    fprintf(stderr, "wavewright: there is no device process: start the program with `wavewright exec`\n");
    return OUT_OF_RESOURCES;
  }
  if (!connect_to(name)) return fail("cannot reach the device process");
  uint64_t window;
  if (!reserve_window(&window)) return fail("there are no 4 GiB of addresses for the device");
  base = window << 32;
  hello_request_t hello = {PROTOCOL_VERSION, window};
  void *tail = NULL;
  size_t tail_bytes = 0;
  request_t request = {&hello, sizeof hello, NULL, 0};
  status_t status = exchange(OP_HELLO, request, &memory_file, &clocks, sizeof clocks, &tail, &tail_bytes);
  if (status != SUCCESS || memory_file < 0) {
    if (status == SUCCESS) fprintf(stderr, "wavewright: the file of the device's memory did not come: is there a descriptor for it?\n");
    else fprintf(stderr, "wavewright: the device process refused this program (status 0x%x)\n", status);
    free(tail);
    return status == SUCCESS ? OUT_OF_RESOURCES : status;
  }
  void *at = (void *)(uintptr_t)base;
  if (mmap(at, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, memory_file, 0) != at) {
    free(tail);
    return fail("cannot map the device's memory");
  }
  if (!records_parse(&records, tail, tail_bytes)) return ERROR;
  records_choose_gpus(&records, getenv("ROCR_VISIBLE_DEVICES"));
  return SUCCESS;
}

void connection_close(void) {
  records_free(&records);
  if (base != 0) munmap((void *)(uintptr_t)base, ARENA_BYTES);
  base = 0;
  connection_forget();
}

void connection_forget(void) {
  if (connection >= 0) close(connection);
  if (memory_file >= 0) close(memory_file);
  connection = memory_file = -1;
}
