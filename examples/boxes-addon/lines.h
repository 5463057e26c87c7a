/*
 * Lines of text in a text map, found in place. Plain C: no Node, no DLPack, so that the algorithm can be read (and
 * tested) alone.
 */
#ifndef BOXES_ADDON_LINES_H
#define BOXES_ADDON_LINES_H

#include <stddef.h>
#include <stdint.h>

/* The probability, for each pixel, that it belongs to text. Strides count elements and may be anything, negative ones
 * included. */
struct text_map {
  float* data;
  int64_t height;
  int64_t width;
  int64_t row_stride;
  int64_t column_stride;
};

/*
 * One line of text, a parallelogram: its left and right edges are vertical, its upper edge runs through (0, top) with
 * `slope` (pixels down per pixel to the right), its lower edge is `height` below. `label` is the number that its pixels
 * bear in the map.
 */
struct text_line {
  float left, right, top, height, slope, score, label;
};
enum { TEXT_LINE_FIELDS = 7 };

struct line_options {
  float threshold; /* a pixel above it is text */
  float min_score; /* a line whose mean probability is below it is none */
  float min_size;  /* pixels; thinner or shorter lines are none */
  float expand;    /* how far a line's edges move outwards: expand * area / perimeter pixels */
};

struct line_list {
  struct text_line* items;
  size_t count;
  size_t capacity;
};

/*
 * Finds the connected components (8 neighbours) of the pixels above the threshold. **Writes into the map**: each text
 * pixel becomes minus the number of its component, which both marks it as visited and leaves a label image behind, with
 * no second array of the map's size. Returns 0 when memory ran out (the list is then incomplete, and still to be
 * freed).
 */
int find_lines(const struct text_map* map, const struct line_options* options, struct line_list* lines);
void free_lines(struct line_list* lines);

#endif
