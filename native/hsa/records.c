/* What is known of system, agents, pools and symbols: the device process says it once, and it is looked up here. */
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

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
