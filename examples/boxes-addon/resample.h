/*
 * A part of a picture at another size, along a sloping line: read in place through any strides, written in place
 * through any strides.
 */
#ifndef BOXES_ADDON_RESAMPLE_H
#define BOXES_ADDON_RESAMPLE_H

#include <stdint.h>

enum { MAX_CHANNELS = 4 };

/* [height, width, channels] bytes, at most MAX_CHANNELS. Strides count elements: 0 repeats a grey picture's one
 * channel, a negative one turns an axis round. */
struct pixels {
  uint8_t* data;
  int64_t shape[3];
  int64_t strides[3];
};

/* Target pixel (row, column) is centred on the source at x = left + (column + 0.5) * step_x, y = top + (row + 0.5) *
 * step_y + slope * x. */
struct placement {
  double left, top, step_x, step_y, slope;
};

/* Bilinear; where the picture shrinks, the mean of as many samples as keeps every source pixel in play. Outside, the
 * edge repeats. */
void resample(const struct pixels* source, const struct pixels* target, const struct placement* placement);

#endif
