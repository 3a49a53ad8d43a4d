/* A library of device functions: each takes a pixel, 0xRRGGBB, and returns another. Host and kernels find them by name. */
typedef unsigned int pixel;
typedef pixel (*filter)(pixel);

/* Defined by whoever loads the library: the other code object of this example does. */
pixel blend(pixel a, pixel b);

pixel invert(pixel p) { return ~p & 0xffffff; }

pixel gray(pixel p) {
  unsigned luminance = ((p >> 16 & 255) * 77 + (p >> 8 & 255) * 150 + (p & 255) * 29) >> 8;
  return luminance * 0x010101;
}

/* Needs 1 KiB of stack, far more than any kernel here knows of. */
pixel posterize(pixel p) {
  volatile unsigned char levels[1024];
  for (int i = 0; i < 256; i++) levels[4 * i] = (unsigned char)(i & 0xc0);
  return (pixel)levels[4 * (p >> 16 & 255)] << 16 | (pixel)levels[4 * (p >> 8 & 255)] << 8 | levels[4 * (p & 255)];
}

/* Calls back into the other code object. */
pixel soften(pixel p) { return blend(p, gray(p)); }

/* Calls itself: how deep depends on the pixel. */
pixel digits(pixel p) { return p < 10 ? p : p % 10 + 0x100 * digits(p / 10); }

/* Addresses that the loader fills in. */
const filter filters[] = {invert, gray, posterize, soften, digits};
const unsigned filter_count = sizeof filters / sizeof *filters;
