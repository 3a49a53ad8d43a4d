/*
 * quicksort [COUNT [up|down]]: sorts COUNT (default 1000) pseudo-random records in allocated memory by recursion and a
 * comparison function that is called through a pointer, and prints a checksum that depends on the order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

typedef struct {
  uint32_t key;
  uint32_t serial;
} Record;

typedef int Comparison(const Record *a, const Record *b);

static int ascending(const Record *a, const Record *b) {
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return a->serial < b->serial ? -1 : a->serial > b->serial;
}

static int descending(const Record *a, const Record *b) { return ascending(b, a); }

static const struct {
  const char *name;
  Comparison *compare;
} orders[] = {{"up", ascending}, {"down", descending}};

static void swap(Record *a, Record *b) {
  Record record = *a;
  *a = *b;
  *b = record;
}

static void quicksort(Record *records, int count, Comparison *compare) {
  if (count < 2) return;
  swap(&records[0], &records[count / 2]);
  int middle = 0;
  for (int i = 1; i < count; i++)
    if (compare(&records[i], &records[0]) < 0) swap(&records[++middle], &records[i]);
  swap(&records[0], &records[middle]);
  quicksort(records, middle, compare);
  quicksort(records + middle + 1, count - middle - 1, compare);
}

int main(int argc, char **argv) {
  if (global_id() != 0) return 0;
  int count = argc > 1 ? atoi(argv[1]) : 1000;
  const char *name = argc > 2 ? argv[2] : "up";
  Comparison *compare = NULL;
  for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
    if (strcmp(orders[i].name, name) == 0) compare = orders[i].compare;
  if (count < 1 || count > 1000000 || compare == NULL) {
    fputs("usage: quicksort [COUNT [up|down]]\n", stderr);
    return 2;
  }
  Record *records = malloc((size_t)count * sizeof(Record));
  if (records == NULL) return 1;
  uint32_t random = 12345;
  for (int i = 0; i < count; i++) {
    random = random * 1664525u + 1013904223u;
    records[i] = (Record){random >> 16, (uint32_t)i};
  }
  quicksort(records, count, compare);

  uint64_t checksum = 0;
  for (int i = 0; i < count; i++) {
    checksum = checksum * 31 + records[i].key;
    checksum = checksum * 31 + records[i].serial;
    if (i > 0 && compare(&records[i - 1], &records[i]) >= 0) {
      printf("records %d and %d are out of order\n", i - 1, i);
      return 1;
    }
  }
  printf("%d records %s: first %u, middle %u, last %u, checksum %016llx\n", count, name, records[0].key,
         records[count / 2].key, records[count - 1].key, (unsigned long long)checksum);
  free(records);
  return 0;
}
