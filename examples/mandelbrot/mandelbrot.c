/*
 * mandelbrot FILE [WIDTH HEIGHT [ITERATIONS]]: writes the Mandelbrot set as a binary PPM image (default 128 by 96 pixels,
 * 64 iterations).
 *
 * The work-items of a grid of any one- or two-dimensional shape share the pixels. The first one that arrives allocates the
 * image and publishes it, the last one that is through writes the file.
 */
#include <stdio.h>
#include <stdlib.h>

#include "gpu.h"

#define MAX_SIDE 8192

static uint32_t arrived, finished;
static uint8_t *image;
static int32_t allocated; /* 0 not yet, 1 done, -1 failed */

static uint8_t *shared_image(size_t size) {
  if (atomic_add(&arrived, 1) == 0) {
    image = malloc(size);
    atomic_store(&allocated, image == NULL ? -1 : 1);
  }
  int32_t state;
  while ((state = atomic_load(&allocated)) == 0) wave_pause();
  return state < 0 ? NULL : image;
}

static uint32_t escape_time(float cx, float cy, uint32_t iterations) {
  float x = 0, y = 0;
  uint32_t count = 0;
  for (; count < iterations && x * x + y * y <= 4; count++) {
    float next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
  }
  return count;
}

static int write_image(const char *path, const uint8_t *pixels, int width, int height) {
  FILE *file = fopen(path, "wb");
  if (file == NULL) {
    fprintf(stderr, "mandelbrot: cannot write %s\n", path);
    return 1;
  }
  size_t size = (size_t)width * (size_t)height * 3;
  fprintf(file, "P6\n%d %d\n255\n", width, height);
  int complete = fwrite(pixels, 1, size, file) == size;
  complete &= fclose(file) == 0;
  uint32_t checksum = 2166136261u;
  for (size_t i = 0; i < size; i++) checksum = (checksum ^ pixels[i]) * 16777619u;
  printf("%d x %d pixels, checksum %08x\n", width, height, checksum);
  return complete ? 0 : 1;
}

int main(int argc, char **argv) {
  int width = argc > 3 ? atoi(argv[2]) : 128, height = argc > 3 ? atoi(argv[3]) : 96;
  int iterations = argc > 4 ? atoi(argv[4]) : 64;
  if (argc < 2 || width < 1 || height < 1 || width > MAX_SIDE || height > MAX_SIDE || iterations < 1) {
    if (global_id() == 0) fputs("usage: mandelbrot FILE [WIDTH HEIGHT [ITERATIONS]]\n", stderr);
    return 2;
  }
  uint8_t *pixels = shared_image((size_t)width * (size_t)height * 3);
  if (pixels == NULL) return 1;

  uint32_t first_x = block_id_x() * num_threads_x() + thread_id_x(), step_x = num_blocks_x() * num_threads_x();
  uint32_t first_y = block_id_y() * num_threads_y() + thread_id_y(), step_y = num_blocks_y() * num_threads_y();
  for (uint32_t row = first_y; row < (uint32_t)height; row += step_y)
    for (uint32_t column = first_x; column < (uint32_t)width; column += step_x) {
      float cx = -2.25f + 3.0f * (float)column / (float)width;
      float cy = -1.125f + 2.25f * (float)row / (float)height;
      uint32_t count = escape_time(cx, cy, (uint32_t)iterations);
      uint8_t *pixel = pixels + ((size_t)row * (uint32_t)width + column) * 3;
      bool inside = count == (uint32_t)iterations;
      pixel[0] = inside ? 0 : (uint8_t)(count * 9);
      pixel[1] = inside ? 0 : (uint8_t)(count * 5 + 40);
      pixel[2] = inside ? 0 : (uint8_t)(255 - count * 3);
    }

  int status = 0;
  if (atomic_add(&finished, 1) == global_size() - 1) {
    status = write_image(argv[1], pixels, width, height);
    free(pixels);
  }
  return status;
}
