#include "lines.h"

#include <math.h>
#include <stdlib.h>

/* A pixel by its row and column. Kept for the whole component: the second pass over them needs the slope that the first
 * one finds. */
struct place {
  int32_t row, column;
};

struct places {
  struct place* items;
  size_t count;
  size_t capacity;
};

/* Doubles an array that is full. Returns 0 when memory ran out; the array is then as before. */
static int make_room(void** items, size_t count, size_t* capacity, size_t item_size) {
  if (count < *capacity) return 1;
  const size_t wanted = *capacity == 0 ? 1024 : *capacity * 2;
  if (wanted > SIZE_MAX / item_size) return 0;
  void* grown = realloc(*items, wanted * item_size);
  if (grown == NULL) return 0;
  *items = grown;
  *capacity = wanted;
  return 1;
}

static float* at(const struct text_map* map, int64_t row, int64_t column) {
  return map->data + row * map->row_stride + column * map->column_stride;
}

/* Takes the pixel into the component if it is text that no component has yet. The mark is written at once: no pixel is
 * ever taken twice. */
static int take_pixel(const struct text_map* map, int64_t row, int64_t column, float threshold, float mark,
                      struct places* places, double* sum) {
  if (row < 0 || row >= map->height || column < 0 || column >= map->width) return 1;
  float* value = at(map, row, column);
  if (!(*value > threshold)) return 1; /* marks are negative, and a NaN is no text */
  void* items = places->items;
  if (!make_room(&items, places->count, &places->capacity, sizeof(struct place))) return 0;
  places->items = items;
  places->items[places->count++] = (struct place){(int32_t)row, (int32_t)column};
  *sum += *value;
  *value = mark;
  return 1;
}

/* The least-squares line through the component's pixels. A blob that is hardly wider than high has no direction worth
 * the name. */
static double slope_of(const struct places* places, double width, double height) {
  if (width < 2 * height) return 0;
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
  for (size_t i = 0; i < places->count; i++) {
    mean_x += places->items[i].column;
    mean_y += places->items[i].row;
  }
  mean_x /= (double)places->count;
  mean_y /= (double)places->count;
  for (size_t i = 0; i < places->count; i++) {
    const double x = places->items[i].column - mean_x, y = places->items[i].row - mean_y;
    xx += x * x;
    xy += x * y;
  }
  return xx > 0 ? xy / xx : 0;
}

static struct text_line describe(const struct places* places, double score, float label, double expand) {
  double left = INFINITY, right = -INFINITY, first = INFINITY, last = -INFINITY;
  for (size_t i = 0; i < places->count; i++) {
    left = fmin(left, places->items[i].column);
    right = fmax(right, places->items[i].column + 1.0);
    first = fmin(first, places->items[i].row);
    last = fmax(last, places->items[i].row + 1.0);
  }
  const double slope = slope_of(places, right - left, last - first);
  double top = INFINITY, bottom = -INFINITY;
  for (size_t i = 0; i < places->count; i++) {
    const double level = places->items[i].row - slope * places->items[i].column;
    top = fmin(top, level);
    bottom = fmax(bottom, level + 1);
  }
  /* The model draws the core of a line only; the letters reach further, in proportion to the line's size. */
  const double width = right - left, height = bottom - top;
  const double margin = expand * width * height / (2 * (width + height));
  return (struct text_line){(float)(left - margin),
                            (float)(right + margin),
                            (float)(top - margin),
                            (float)(height + 2 * margin),
                            (float)slope,
                            (float)score,
                            label};
}

static int keep(struct line_list* lines, struct text_line line) {
  void* items = lines->items;
  if (!make_room(&items, lines->count, &lines->capacity, sizeof(struct text_line))) return 0;
  lines->items = items;
  lines->items[lines->count++] = line;
  return 1;
}

/* All pixels connected with (row, column), breadth first: the list of places is its own queue. */
static int flood(const struct text_map* map, int64_t row, int64_t column, float threshold, float mark,
                 struct places* places, double* sum) {
  places->count = 0;
  *sum = 0;
  if (!take_pixel(map, row, column, threshold, mark, places, sum)) return 0;
  for (size_t next = 0; next < places->count; next++) {
    const struct place centre = places->items[next];
    for (int down = -1; down <= 1; down++) {
      for (int across = -1; across <= 1; across++) {
        if (!take_pixel(map, centre.row + down, centre.column + across, threshold, mark, places, sum)) return 0;
      }
    }
  }
  return 1;
}

int find_lines(const struct text_map* map, const struct line_options* options, struct line_list* lines) {
  struct places places = {NULL, 0, 0};
  double sum = 0;
  float label = 0;
  int ok = 1;
  for (int64_t row = 0; ok && row < map->height; row++) {
    for (int64_t column = 0; ok && column < map->width; column++) {
      if (!(*at(map, row, column) > options->threshold)) continue;
      label += 1;
      ok = flood(map, row, column, options->threshold, -label, &places, &sum);
      if (!ok) break;
      const double score = sum / (double)places.count;
      const struct text_line bare = describe(&places, score, label, 0);
      if (score < options->min_score || fminf(bare.right - bare.left, bare.height) < options->min_size) continue;
      ok = keep(lines, describe(&places, score, label, options->expand));
    }
  }
  free(places.items);
  return ok;
}

void free_lines(struct line_list* lines) {
  free(lines->items);
  *lines = (struct line_list){NULL, 0, 0};
}
