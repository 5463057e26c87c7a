#include "resample.h"

#include <math.h>

enum { MAX_SAMPLES = 16 };

/* Two neighbours on one axis, as offsets in elements, and the weight of the second. */
struct pair {
  int64_t first, second;
  float weight;
};

static struct pair pair_at(double position, int64_t extent, int64_t stride) {
  const double last = (double)(extent - 1);
  const double clamped = position < 0 ? 0 : position > last ? last : position;
  const int64_t first = (int64_t)clamped;
  const int64_t second = first + 1 < extent ? first + 1 : first;
  return (struct pair){first * stride, second * stride, (float)(clamped - (double)first)};
}

static float sample(const uint8_t* channel, struct pair x, struct pair y) {
  const float upper =
      (float)channel[y.first + x.first] * (1 - x.weight) + (float)channel[y.first + x.second] * x.weight;
  const float lower =
      (float)channel[y.second + x.first] * (1 - x.weight) + (float)channel[y.second + x.second] * x.weight;
  return upper * (1 - y.weight) + lower * y.weight;
}

static int samples_for(double step) {
  const double wanted = ceil(fabs(step));
  return wanted < 1 ? 1 : wanted > MAX_SAMPLES ? MAX_SAMPLES : (int)wanted;
}

void resample(const struct pixels* source, const struct pixels* target, const struct placement* placement) {
  const int across = samples_for(placement->step_x), down = samples_for(placement->step_y);
  const float share = 1.0f / (float)(across * down);
  for (int64_t row = 0; row < target->shape[0]; row++) {
    for (int64_t column = 0; column < target->shape[1]; column++) {
      float sums[MAX_CHANNELS] = {0};
      for (int j = 0; j < down; j++) {
        for (int i = 0; i < across; i++) {
          const double x = placement->left + ((double)column + (i + 0.5) / across) * placement->step_x;
          const double y = placement->top + ((double)row + (j + 0.5) / down) * placement->step_y + placement->slope * x;
          /* Pixel k covers [k, k + 1): its value stands at its centre. */
          const struct pair columns = pair_at(x - 0.5, source->shape[1], source->strides[1]);
          const struct pair rows = pair_at(y - 0.5, source->shape[0], source->strides[0]);
          for (int64_t channel = 0; channel < target->shape[2]; channel++) {
            sums[channel] += sample(source->data + channel * source->strides[2], columns, rows);
          }
        }
      }
      uint8_t* out = target->data + row * target->strides[0] + column * target->strides[1];
      for (int64_t channel = 0; channel < target->shape[2]; channel++) {
        out[channel * target->strides[2]] = (uint8_t)(sums[channel] * share + 0.5f);
      }
    }
  }
}
