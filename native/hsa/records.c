/* What is known of system, agents, pools and symbols: the device process says it once, and it is looked up here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

enum { UUID_BYTES = 32, MIN_UUID_LENGTH = 5, MAX_AGENTS = 64 };

typedef struct {
  uint64_t subject, attribute, size_bytes;
} head_t;
_Static_assert(sizeof(head_t) == RECORD_HEAD_BYTES, "the head of a record");

/* Returns whether the bytes, which are the records' from now on, are records. */
bool records_parse(records_t *records, uint8_t *bytes, size_t size_bytes) {
  size_t count = 0;
  *records = (records_t){bytes, size_bytes, NULL, 0};
  records->places = malloc((size_bytes / RECORD_HEAD_BYTES + 1) * sizeof *records->places);
  if (records->places == NULL) return false;
  for (size_t at = 0; at < size_bytes; count++) {
    if (size_bytes - at < RECORD_HEAD_BYTES) return false;
    head_t head;
    memcpy(&head, bytes + at, sizeof head);
    records->places[count] = at;
    at += RECORD_HEAD_BYTES;
    if (head.size_bytes > size_bytes - at) return false;
    at += (head.size_bytes + 7) & ~(size_t)7;
  }
  records->count = count;
  return true;
}

void records_free(records_t *records) {
  free(records->bytes);
  free(records->places);
  *records = (records_t){0};
}

const void *records_find(const records_t *records, uint64_t subject, uint64_t attribute, size_t *size_bytes) {
  size_t low = 0, high = records->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const uint8_t *place = records->bytes + records->places[middle];
    head_t head;
    memcpy(&head, place, sizeof head);
    if (head.subject == subject && head.attribute == attribute) {
      *size_bytes = head.size_bytes;
      return place + RECORD_HEAD_BYTES;
    }
    if (head.subject < subject || (head.subject == subject && head.attribute < attribute)) low = middle + 1;
    else high = middle;
  }
  return NULL;
}

status_t records_answer(const records_t *records, uint64_t subject, uint64_t attribute, void *value) {
  size_t size_bytes;
  const void *found = records_find(records, subject, attribute, &size_bytes);
  if (found == NULL) return INVALID_ARGUMENT;
  memcpy(value, found, size_bytes);
  return SUCCESS;
}

const uint64_t *records_list(const records_t *records, uint64_t subject, uint64_t list, size_t *count) {
  size_t size_bytes = 0;
  const uint64_t *found = records_find(records, subject, list, &size_bytes);
  *count = size_bytes / sizeof(uint64_t);
  return found;
}

/* Which of the GPUs a token of ROCR_VISIBLE_DEVICES names, as its place in the list; `count` for none. */
static size_t named_gpu(const records_t *records, const uint64_t *gpus, size_t count, const char *token, size_t length) {
  char *end;
  errno = 0;
  unsigned long index = strtoul(token, &end, 10);
  if (*token >= '0' && *token <= '9' && end == token + length && errno == 0) return index < count ? index : count;
  for (size_t i = 0; i < count; i++) {
    char id[UUID_BYTES] = {0};
    size_t id_bytes = 0;
    const char *found = records_find(records, gpus[i], AGENT_INFO_UUID, &id_bytes);
    if (found != NULL && id_bytes <= sizeof id) memcpy(id, found, id_bytes);
    if (length >= MIN_UUID_LENGTH && length < sizeof id && memcmp(id, token, length) == 0) return i;
  }
  return count;
}

/*
 * As ROCm's runtime reads ROCR_VISIBLE_DEVICES: indices and UUIDs, or what UUIDs begin with, separated by commas. What follows the first
 * token that names no GPU, or one that was named before, does not count.
 */
void records_choose_gpus(records_t *records, const char *visible) {
  size_t size_bytes = 0;
  uint8_t *place = (uint8_t *)(uintptr_t)records_find(records, SUBJECT_SYSTEM, LIST_AGENTS, &size_bytes);
  size_t all = size_bytes / sizeof(uint64_t), cpus = 0, chosen = 0;
  uint64_t agents[MAX_AGENTS], result[MAX_AGENTS];
  if (visible == NULL || place == NULL || all > MAX_AGENTS) return;
  memcpy(agents, place, size_bytes);
  for (uint32_t kind = 0; cpus < all && records_answer(records, agents[cpus], AGENT_INFO_DEVICE, &kind) == SUCCESS && kind == DEVICE_CPU;) cpus++;
  size_t gpus = all - cpus;
  while (*visible != 0) {
    size_t length = strcspn(visible, ",");
    size_t index = named_gpu(records, agents + cpus, gpus, visible, length);
    bool is_new = index < gpus;
    for (size_t i = 0; i < chosen; i++) is_new = is_new && result[i] != agents[cpus + index];
    if (!is_new) break;
    result[chosen++] = agents[cpus + index];
    visible += length + (visible[length] == ',');
  }
  uint64_t left_bytes = (cpus + chosen) * sizeof(uint64_t);
  memcpy(place + cpus * sizeof(uint64_t), result, chosen * sizeof(uint64_t));
  memcpy(place - sizeof left_bytes, &left_bytes, sizeof left_bytes);
}

bool is_subject(uint64_t handle, uint32_t kind) {
  if (handle >> 12 != kind >> 12) return false;
  size_t low = 0, high = known()->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    head_t head;
    memcpy(&head, known()->bytes + known()->places[middle], sizeof head);
    if (head.subject == handle) return true;
    if (head.subject < handle) low = middle + 1;
    else high = middle;
  }
  return false;
}

status_t iterate(uint64_t subject, uint64_t list, handle_callback_t callback, void *data) {
  size_t count;
  const uint64_t *handles = records_list(known(), subject, list, &count);
  for (size_t i = 0; i < count; i++) {
    status_t status = callback(handles[i], data);
    if (status != SUCCESS) return status;
  }
  return SUCCESS;
}
