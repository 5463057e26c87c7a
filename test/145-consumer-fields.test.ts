/** What `fromDLPack` reads in the fields of a struct: offsets, strides, versions, axes, devices, dtypes. */
import { describe, expect, test } from '@jest/globals';
import { fromDLPack, OwnedTensor, releaseCapsule, stats, Tensor } from '../dist/index.js';
import { dataAddress } from '../dist/unsafe.js';
import { expectCountersAtZero } from './support/counters.js';
import { expectMalformed, expectStructsDeletedOnce, withImport } from './support/fixtures.js';
import {
  bytesOf,
  DTYPES,
  Holder,
  IS_COPIED,
  lab,
  makeStruct,
  PLAIN_DTYPES,
  ramp,
  READ_ONLY,
  SUBBYTE_PADDED,
} from './support/lab.js';
import { expectBufferError, leavingNothing } from './support/refusals.js';
import { callWith, flat } from './support/values.js';

expectCountersAtZero();
expectStructsDeletedOnce();

test('C072 byte_offset is honoured: the first element is at data + byte_offset', () => {
  for (const [byteOffset, first] of [
    [4, 1],
    [8, 2],
    [12, 3],
  ] as const) {
    withImport({ byteOffset, shape: [3], bytes: bytesOf(ramp(6)) }, (tensor, struct) => {
      expect(tensor.toArray()).toEqual([first, first + 1, first + 2]);
      expect(dataAddress(tensor)).toBe(struct.data + BigInt(byteOffset));
      const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
      expect(holder.picture()).toMatchObject({ byteOffset: 0n, data: struct.data + BigInt(byteOffset) });
      holder.release();
    });
  }
  // data may point below the memory that is used, with byte_offset leading into it
  withImport({ dataShift: -4096, byteOffset: 4096 + 4, shape: [2], bytes: bytesOf(ramp(3)) }, (tensor) =>
    expect(tensor.toArray()).toEqual([1, 2]),
  );
});

test('C073 strides NULL with axes means row-major', () => {
  for (const [shape, strides] of [
    [
      [2, 3],
      [3, 1],
    ],
    [[6], [1]],
    [
      [1, 6],
      [6, 1],
    ],
    [
      [1, 2, 3],
      [6, 3, 1],
    ],
  ] as const) {
    for (const minor of [0, 1, 2, 3]) {
      withImport({ shape, strides: null, minor, bytes: bytesOf(ramp(6)) }, (tensor) => {
        expect(tensor.strides).toEqual(strides);
        expect(tensor.isContiguous).toBe(true);
        expect(flat(tensor.toArray())).toEqual([0, 1, 2, 3, 4, 5]);
        const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
        expect(holder.picture().strides).toEqual(strides);
        holder.release();
      });
    }
  }
});

test('C074 no elements: data NULL or not, any strides: an empty tensor that reads nothing', () => {
  const untouchable = lab.mapMemory(4096, true);
  for (const shape of [[0], [2, 0], [0, 7], [1, 8, 0, 128]]) {
    for (const strides of [
      undefined,
      null,
      shape.map(() => 7),
      shape.map(() => -9),
      shape.map(() => 0),
      shape.map(() => 2n ** 62n),
    ]) {
      for (const data of [null, untouchable, 1n]) {
        withImport(
          { shape, data, bytes: new Uint8Array(0), ...(strides === undefined ? {} : { strides }) },
          (tensor) => {
            expect([tensor.size, tensor.byteLength, tensor.isContiguous]).toEqual([0, 0, true]);
            expect(tensor.shape).toEqual(shape);
            expect(tensor.toTypedArray()).toHaveLength(0);
            using copy = tensor.copy();
            expect(copy.shape).toEqual(shape);
            using back = fromDLPack(tensor);
            expect(back.shape).toEqual(shape);
          },
        );
      }
    }
  }
  lab.unmapMemory(untouchable, 4096);
});

test('C075 an axis of extent 1 takes any stride', () => {
  for (const stride of [0, 1, 77, -5, 2n ** 40n, -(2n ** 40n)]) {
    withImport({ shape: [1, 6], strides: [stride, 1] }, (tensor) => {
      expect([...tensor.toTypedArray()]).toEqual([0, 1, 2, 3, 4, 5]);
      expect(tensor.isContiguous).toBe(true);
      expect(tensor.strides[0]).toBe(Number(stride));
    });
    withImport({ shape: [6, 1], strides: [1, stride] }, (tensor) => expect(tensor.at(5, 0)).toBe(5));
  }
});

test('C076 a higher minor version and flags that nobody knows yet are fine, and such flags do not leave again', () => {
  for (const minor of [0, 1, 4, 10, 0xffffffff]) {
    withImport({ minor }, (tensor) => expect(tensor.at(1, 2)).toBe(5), [{ versioned: true }]);
  }
  for (const unknown of [8n, 16n, 1n << 31n, 1n << 32n, 1n << 63n, 0xfffffffffffffff8n]) {
    withImport(
      { flags: unknown },
      (tensor) => {
        expect(tensor.readOnly).toBe(false);
        const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
        expect(holder.picture().flags).toBe(0n);
        holder.release();
      },
      [{ versioned: true }],
    );
    withImport(
      { flags: unknown | READ_ONLY },
      (tensor) => {
        const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
        expect(holder.picture().flags).toBe(READ_ONLY);
        holder.release();
      },
      [{ versioned: true }],
    );
  }
});

test('C077 64 axes work, more are refused', () => {
  const shape = Array.from({ length: 64 }, (_, axis) => (axis === 10 ? 2 : axis === 63 ? 3 : 1));
  withImport({ shape, bytes: bytesOf(ramp(6)) }, (tensor) => {
    expect(tensor.ndim).toBe(64);
    expect([...tensor.toTypedArray()]).toEqual([0, 1, 2, 3, 4, 5]);
    const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
    expect(holder.picture().shape).toEqual(shape);
    holder.release();
  });
  for (const count of [65, 66, 100]) expectMalformed({ shape: Array.from({ length: count }, () => 1) }, /ndim.*64/);
  for (const ndim of [65, 1000, 2 ** 31 - 1]) expectMalformed({ ndim, shape: null, strides: null }, /ndim.*64/);
});

describe('C078 devices', () => {
  const OPAQUE = [
    [2, 'cuda'],
    [4, 'opencl'],
    [7, 'vulkan'],
    [8, 'metal'],
    [9, 'vpi'],
    [10, 'rocm'],
    [12, 'ext_dev'],
    [13, 'cuda_managed'],
    [14, 'oneapi'],
    [15, 'webgpu'],
    [16, 'hexagon'],
    [17, 'maia'],
    [18, 'trn'],
  ] as const;
  test.each(OPAQUE)(
    'C078 type %d (%s) is not readable here: metadata, pass-through and dispose; every read is a BufferError',
    (type, name) => {
      for (const [flags, both] of [
        [0n, { versioned: true }],
        [READ_ONLY, { versioned: true }],
        [0n, { versioned: false }],
      ] as const) {
        const data = lab.mapMemory(4096, true); // whoever reads it faults
        const struct = makeStruct({ device: [type, 3], data, flags, ...both });
        using tensor = fromDLPack(struct.producer());
        expect(tensor.__dlpack_device__()).toEqual([type, 3]);
        expect([tensor.shape, tensor.strides, tensor.dtype, tensor.size, tensor.isUnique]).toEqual([
          [2, 3],
          [3, 1],
          'float32',
          6,
          false,
        ]);
        leavingNothing(() => {
          const reads: (() => unknown)[] = [
            () => tensor.at(0, 0),
            () => tensor.view(),
            () => tensor.toTypedArray(),
            () => tensor.toArray(),
            () => tensor.copy(),
            () => callWith(tensor, 'withView', () => 1),
            () => callWith(tensor, 'to', 'float64'),
            () => tensor.strided(),
            () => tensor.intoDLPack(),
            () => tensor.__dlpack__({ max_version: [1, 0], copy: true }),
            () => tensor.__dlpack__({ max_version: [1, 0], dl_device: [1, 0] }),
            () => fromDLPack(tensor, { copy: true }),
            () => fromDLPack(tensor, { device: 'cpu' }),
          ];
          for (const read of reads)
            expectBufferError(read, new RegExp(`${name}:3|on a device that the host cannot read`));
        });
        for (const dl_device of [null, [type, 3]] as const) {
          const holder = new Holder(tensor.__dlpack__({ max_version: [1, 3], dl_device }));
          expect(holder.picture()).toMatchObject({
            device: [type, 3],
            data,
            flags: both.versioned ? flags : READ_ONLY,
            shape: [2, 3],
          });
          holder.release();
        }
        if (!both.versioned) {
          for (const copy of [null, false]) {
            const holder = new Holder(tensor.__dlpack__({ copy }));
            expect(holder.picture()).toMatchObject({ versioned: false, device: [type, 3], data });
            holder.release();
          }
        }
        using slice = tensor.slice(1);
        expect(slice.shape).toEqual([3]);
        expectBufferError(
          () => slice.at(0),
          `at needs the bytes, and the host cannot read ${name}:3; hand the tensor on with __dlpack__() to a library that can`,
        );
        slice.dispose();
        tensor.dispose();
        expect(struct.deleterCalls).toBe(1);
        lab.unmapMemory(data, 4096);
      }
    },
  );

  test.each([3, 11])('C078 type %d is host memory: read in place, the device kept', (type) => {
    withImport({ device: [type, 0], flags: 0 }, (tensor, struct) => {
      expect(tensor.at(1, 2)).toBe(5);
      expect(dataAddress(tensor)).toBe(struct.data);
      expect(tensor.__dlpack_device__()).toEqual([type, 0]);
    });
  });

  test.each([0, 5, 6, 19, 20, 21, 99, -1, 2 ** 31 - 1, -(2 ** 31)])('C078 type %d is unknown: BufferError', (type) => {
    expectMalformed({ device: [type, 0] }, /device/);
  });
});

test('C079 a device id on host memory is ignored', () => {
  for (const id of [1, -1, 7, 2 ** 31 - 1]) {
    withImport({ device: [1, id], flags: 0 }, (tensor) => {
      expect(tensor.at(1, 2)).toBe(5);
      expect(tensor.__dlpack_device__()).toEqual([1, 0]);
      const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
      expect(holder.picture().device).toEqual([1, 0]);
      holder.release();
    });
  }
});

describe('C080 dtypes', () => {
  test.each(PLAIN_DTYPES)('C080 %s is understood', (dtype) => {
    const [code, bits] = DTYPES[dtype];
    withImport({ dtype: [code, bits], shape: [2], bytes: new Uint8Array((bits / 8) * 2) }, (tensor) =>
      expect(tensor.dtype).toBe(dtype),
    );
  });

  test.each([0, 2, 3, 4, 255, 256, 65535])('C080 %d lanes: BufferError', (lanes) =>
    expectMalformed({ dtype: [2, 32, lanes] }, /lanes/),
  );

  test.each([3, 18, 19, 50, 128, 255])('C080 type code %d: BufferError', (code) => {
    for (const bits of [8, 32, 64]) expectMalformed({ dtype: [code, bits] }, /code|dtype/);
  });

  test('C080 widths that no type has: BufferError', () => {
    const unfit: [number, number[]][] = [
      [0, [0, 1, 7, 9, 24, 128, 255]],
      [1, [0, 1, 4, 12, 48, 128]],
      [2, [0, 8, 24, 80, 96, 128]],
      [4, [8, 32, 64]],
      [5, [16, 32, 96, 192, 255]],
      [6, [0, 1, 16, 32]],
      [7, [4, 16]],
      [10, [0, 16]],
      [14, [4]],
    ];
    for (const [code, widths] of unfit) {
      for (const bits of widths) expectMalformed({ dtype: [code, bits] }, /bits|dtype/);
    }
  });
});

describe('C081 sub-byte types', () => {
  test('C081 with another width than their own: BufferError', () => {
    for (const code of [15, 16])
      for (const bits of [0, 4, 8, 16]) expectMalformed({ dtype: [code, bits] }, /bits|dtype/);
    for (const bits of [0, 2, 6, 8, 16]) {
      expectMalformed({ dtype: [17, bits] }, /bits|dtype/);
      expectMalformed({ dtype: [17, bits], flags: SUBBYTE_PADDED }, /bits|dtype/, [{ versioned: true }]);
    }
  });

  test('C081 packed and padded elements are both read right', () => {
    // float4_e2m1fn: codes 0 to 7 are 0, 0.5, 1, 1.5, 2, 3, 4, 6
    withImport({ dtype: [17, 4], shape: [4], bytes: Uint8Array.of(0x21, 0x73) }, (tensor) => {
      expect(tensor.dtype).toBe('float4_e2m1fn');
      expect(tensor.toArray()).toEqual([0.5, 1, 1.5, 6]);
    });
    withImport(
      { dtype: [17, 4], shape: [4], bytes: Uint8Array.of(1, 2, 3, 7), flags: SUBBYTE_PADDED },
      (tensor) => {
        expect(tensor.dtype).toBe('float4_e2m1fn_padded');
        expect(tensor.toArray()).toEqual([0.5, 1, 1.5, 6]);
      },
      [{ versioned: true }],
    );
  });

  test('C081 the flag on whole-byte types means nothing', () => {
    withImport(
      { flags: SUBBYTE_PADDED },
      (tensor) => {
        expect(tensor.toArray()).toEqual([
          [0, 1, 2],
          [3, 4, 5],
        ]);
        const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
        expect(holder.picture().flags).toBe(0n);
        holder.release();
      },
      [{ versioned: true }],
    );
  });
});

test('the second native addon exchanges with us both ways: it doubles in place what Door 2 gave it, and hands the same memory back', () => {
  const before = stats();
  const owned = OwnedTensor.from(ramp(6), { shape: [2, 3] });
  const address = dataAddress(owned);
  const capsule = owned.__dlpack__({ max_version: [1, 3] });
  const holder = new Holder(capsule);
  expect(holder.picture()).toMatchObject({ flags: IS_COPIED, data: address });
  holder.elements().forEach((value, position) => holder.write(position, bytesOf(Float32Array.of(Number(value) * 2))));
  const back = fromDLPack(holder.intoCapsule());
  expect(dataAddress(back)).toBe(address);
  expect(back.toArray()).toEqual([
    [0, 2, 4],
    [6, 8, 10],
  ]);
  back.dispose();
  expect(stats()).toEqual(before);
  const dropped = Tensor.from(ramp(1));
  releaseCapsule(dropped.__dlpack__());
  dropped.dispose();
});
