// What is copied, as recipes that both languages follow: a source of `shape` in row-major memory, and what is done to it
// without a copy. A quick run takes the same recipes in small.
//
// { what, dtype, shape, view: [[operation, ...arguments]], times, fresh?, torch? }
//
// times: how many times faster than the best peer the copy into existing memory must be; fresh: the same into fresh
// memory, beside NumPy; undefined where that is not a row. Operations: `transpose` axes; `slice` one spec an axis, as
// Tensor.slice takes them; `repeat` axis extent (of an axis of extent 1); `flip` axis.

const MIB = 1 << 20;
const TURNED = { times: 2, fresh: 1.7 };
const PLAIN = { times: 1, fresh: 1 };
/** A whole copy: nothing to gain but by writing past the caches, which pays for much more than they hold. */
const WHOLE = { times: 0.95, fresh: 1 };
const IN_CACHE = { times: 2 };

const TO_PLANES = [['transpose', 0, 3, 1, 2]];
const TO_PIXELS = [['transpose', 0, 2, 3, 1]];

const line = (what, count, marks) => ({ what, dtype: 'float32', shape: [count], view: [], ...marks });
const turned = (rows, columns, dtype, marks = TURNED) => ({
  what: `transpose ${rows === columns ? `${rows}^2` : `${rows}x${columns}`} ${dtype}`,
  dtype,
  shape: [rows, columns],
  view: [['transpose', 1, 0]],
  ...marks,
});
const of = (what, dtype, shape, view, marks) => ({ what: `${what} ${dtype}`, dtype, shape, view, ...marks });

export const COPIES = [
  line('contiguous, 64 MiB', 16 * MIB, PLAIN),
  line('contiguous, 8 MiB', 2 * MIB, WHOLE),
  line('contiguous, 1 MiB', MIB / 4, WHOLE),
  turned(4096, 4096, 'float32'),
  turned(8192, 8192, 'uint8'),
  turned(2896, 2896, 'float64'),
  turned(5792, 5792, 'int16'),
  turned(4093, 4099, 'float32'),
  turned(8191, 8193, 'uint8'),
  of('NHWC to NCHW, 16x1024^2x3', 'uint8', [16, 1024, 1024, 3], TO_PLANES, TURNED),
  of('NHWC to NCHW, 16x512^2x3', 'float32', [16, 512, 512, 3], TO_PLANES, TURNED),
  of('NCHW to NHWC, 16x3x1024^2', 'uint8', [16, 3, 1024, 1024], TO_PIXELS, TURNED),
  of('NCHW to NHWC, 16x3x512^2', 'float32', [16, 3, 512, 512], TO_PIXELS, TURNED),
  of('NHWC to NCHW, 16x1023x1021x3', 'uint8', [16, 1023, 1021, 3], TO_PLANES, TURNED),
  of('NCHW to NHWC, 16x3x511x509', 'float32', [16, 3, 511, 509], TO_PIXELS, TURNED),
  of('(0,3,1,2), 64 channels', 'float32', [16, 128, 128, 64], TO_PLANES, TURNED),
  of('(0,3,1,2), 128 channels', 'float32', [8, 128, 128, 128], TO_PLANES, TURNED),
  of('(0,2,3,1), 64 channels', 'float32', [16, 64, 128, 128], TO_PIXELS, TURNED),
  of('(3,1,4,0,2)', 'float32', [16, 32, 32, 32, 32], [['transpose', 3, 1, 4, 0, 2]], TURNED),
  of('(4,2,0,3,1)', 'float32', [16, 32, 32, 32, 32], [['transpose', 4, 2, 0, 3, 1]], TURNED),
  of('reverse the last axis', 'float32', [4096, 4096], [['flip', 1]], TURNED),
  of('every second', 'float32', [4096, 8192], [['slice', null, [null, null, 2]]], PLAIN),
  of('every second', 'uint8', [8192, 16384], [['slice', null, [null, null, 2]]], PLAIN),
  of('a column repeated', 'float32', [4096, 1], [['repeat', 1, 4096]], PLAIN),
  of('a row repeated', 'float32', [1, 4096], [['repeat', 0, 4096]], PLAIN),
  of('crop', 'float32', [4200, 4200], [['slice', [50, -54], [50, -54]]], { times: 0.95, fresh: 1 }),
  of(
    'a picture turned by 90 degrees',
    'uint8',
    [4096, 4096, 3],
    [
      ['transpose', 1, 0, 2],
      ['flip', 0],
    ],
    TURNED,
  ),
  ...[64, 128, 256, 512, 1024].map((side) => turned(side, side, 'float32', IN_CACHE)),
  of('224^2, HWC to CHW', 'uint8', [224, 224, 3], [['transpose', 2, 0, 1]], { times: 2, fresh: 1.7 }),
  of('224^2, HWC to CHW', 'float32', [224, 224, 3], [['transpose', 2, 0, 1]], IN_CACHE),
  of('224^2, CHW to HWC', 'float32', [3, 224, 224], [['transpose', 1, 2, 0]], IN_CACHE),
];

/** What does not come out even, beside what does: at least 0.7 of its bytes a second. */
export const UNEVEN = [
  { what: 'transpose 4093x4099 float32', uneven: turned(4093, 4099, 'float32'), even: turned(4096, 4096, 'float32') },
  { what: 'transpose 8191x8193 uint8', uneven: turned(8191, 8193, 'uint8'), even: turned(8192, 8192, 'uint8') },
  {
    what: 'NHWC to NCHW, 1023x1021 uint8',
    uneven: of('', 'uint8', [16, 1023, 1021, 3], TO_PLANES),
    even: of('', 'uint8', [16, 1024, 1024, 3], TO_PLANES),
  },
  {
    what: 'NCHW to NHWC, 511x509 float32',
    uneven: of('', 'float32', [16, 3, 511, 509], TO_PIXELS),
    even: of('', 'float32', [16, 3, 512, 512], TO_PIXELS),
  },
  {
    what: 'contiguous rows of 1021 float32, one element into wider rows',
    uneven: { ...of('', 'float32', [16384, 1021], []), into: { width: 1023, column: 1 } },
    even: { ...of('', 'float32', [16384, 1024], []), into: { width: 1088, column: 0 } },
  },
  {
    what: 'transpose, one element into wider rows, float32',
    uneven: { ...of('', 'float32', [4000, 4000], [['transpose', 1, 0]]), into: { width: 4003, column: 1 } },
    even: { ...of('', 'float32', [4000, 4000], [['transpose', 1, 0]]), into: { width: 4032, column: 0 } },
  },
];

const SCALING = { scale: [1 / 58.395, 1 / 57.12, 1 / 57.375], offset: [-2.1179, -2.0357, -1.8044] };
const BACK = { scale: [0.9, 1.1, 1.2], offset: [-3, 4, 5.5] };
const picture = (count, side, to) => ({
  what: `uint8 HWC to ${to} CHW with scale and offset, ${count}x${side}^2`,
  dtype: 'uint8',
  shape: [count, side, side, 3],
  view: TO_PLANES,
  to,
  scaling: { ...SCALING, axis: 1 },
  times: 3,
});
const between = (dtype, to, marks) => ({
  what: `${dtype} to ${to}`,
  dtype,
  shape: [16 * MIB],
  view: [],
  to,
  ...marks,
});

/** numpyTimes: a mark beside NumPy alone, whose loops for the small floats are plain ones. */
export const CONVERSIONS = [
  picture(16, 1024, 'float32'),
  picture(16, 1024, 'float16'),
  picture(1, 224, 'float32'),
  picture(1, 224, 'float16'),
  {
    what: 'float32 CHW to uint8 HWC with scale and offset, saturating',
    dtype: 'float32',
    shape: [16, 3, 512, 512],
    view: TO_PIXELS,
    to: 'uint8',
    scaling: { ...BACK, axis: 3 },
    times: 3,
  },
  between('float32', 'float16', { numpyTimes: 5, torchTimes: 1 }),
  between('float32', 'bfloat16', { numpyTimes: 5, torchTimes: 1 }),
  between('float16', 'float32', { times: 1 }),
  between('bfloat16', 'float32', { times: 1 }),
  between('uint8', 'float32', { times: 1 }),
];

/** Enough of each axis for every loop to be entered. */
const MOST_OF_AN_AXIS = [65536, 300, 128, 64, 16];

/** The recipe in small, for a run that only shows that all is right. */
export function inSmall(recipe) {
  const most = MOST_OF_AN_AXIS[recipe.shape.length - 1];
  const view = recipe.view.map((step) => (step[0] === 'repeat' ? ['repeat', step[1], Math.min(step[2], most)] : step));
  const into = recipe.into && { ...recipe.into, width: most + recipe.into.column + 2 };
  return { ...recipe, shape: recipe.shape.map((extent) => Math.min(extent, most)), view, ...(into && { into }) };
}
