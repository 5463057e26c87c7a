/** What is known of Python's DLPack libraries, and asserted by python-libraries.ts. */
import type { DType } from '../../dist/index.js';
import type { Layout } from './python.js';

/** The name of a capsule: which struct is in it. */
export type StructName = 'dltensor' | 'dltensor_versioned';

/** What a library makes of ours. */
export interface Out {
  /** How often the elements are copied. */
  readonly copies: number;
  readonly writable: boolean;
}

export interface Consumer {
  readonly struct: StructName;
  readonly shared: Out;
  /** With the library's own `copy=True`; undefined where it has no such option, or ignores it. */
  readonly copied?: Out;
  readonly owned: Out;
  /** Does its `copy=False` refuse what it would have to copy itself? */
  readonly neverWithoutCopy?: boolean;
  readonly remarks: string;
}

export interface Producer {
  readonly struct: StructName;
  readonly writable: boolean;
  /** Copies when `offer(x, copy=True)` is asked for, or the exception with which the library refuses it. */
  readonly copies: number | 'BufferError' | 'RuntimeError';
  readonly layouts: readonly Layout[];
  readonly dtypes: readonly DType[];
  readonly remarks: string;
}

export interface LibraryFacts {
  readonly consumer: Consumer;
  readonly producer: Producer;
}

const REAL: readonly DType[] = ['int8', 'uint8', 'int16', 'int32', 'int64', 'uint64', 'float16', 'float32', 'float64'];

export const LIBRARIES: Readonly<Record<string, LibraryFacts>> = {
  numpy: {
    consumer: {
      struct: 'dltensor_versioned',
      shared: { copies: 0, writable: false },
      copied: { copies: 1, writable: true },
      owned: { copies: 0, writable: true },
      remarks: 'numpy.from_dlpack(claim(token))',
    },
    producer: {
      struct: 'dltensor_versioned',
      writable: true,
      copies: 1,
      layouts: ['plain', 'columns', 'offset', 'reversed', 'readonly'],
      dtypes: [...REAL, 'bool', 'complex64', 'complex128'],
      remarks: 'offer(array)',
    },
  },
  jax: {
    consumer: {
      struct: 'dltensor',
      shared: { copies: 1, writable: false },
      owned: { copies: 0, writable: false },
      remarks:
        'jax.dlpack.from_dlpack(claim(token)): it asks for no version, so a shared tensor is copied once and an OwnedTensor is not',
    },
    producer: {
      struct: 'dltensor',
      writable: false,
      copies: 2,
      layouts: ['plain'],
      dtypes: [...REAL, 'bool', 'complex64', 'bfloat16', 'float8_e4m3fn', 'float8_e5m2'],
      remarks: 'offer(array); bfloat16 and float8 too',
    },
  },
  mlx: {
    consumer: {
      struct: 'dltensor',
      shared: { copies: 2, writable: false },
      owned: { copies: 1, writable: false },
      neverWithoutCopy: true,
      remarks: 'mlx.core.from_dlpack(claim(token)): MLX always copies host memory, and asks for no version',
    },
    producer: {
      struct: 'dltensor',
      writable: false,
      copies: 2,
      layouts: ['plain', 'columns'],
      dtypes: [
        'int8',
        'uint8',
        'int16',
        'int32',
        'int64',
        'uint64',
        'float16',
        'float32',
        'bool',
        'complex64',
        'bfloat16',
      ],
      remarks: 'offer(array); bfloat16 too',
    },
  },
  pyarrow: {
    consumer: {
      struct: 'dltensor_versioned',
      shared: { copies: 0, writable: false },
      copied: { copies: 1, writable: true },
      owned: { copies: 0, writable: true },
      remarks: 'pyarrow.Array.from_dlpack for one axis, pyarrow.Tensor.from_dlpack for more',
    },
    producer: {
      struct: 'dltensor_versioned',
      writable: true,
      copies: 1,
      layouts: ['plain', 'columns', 'offset', 'readonly'],
      dtypes: REAL,
      remarks: 'offer(tensor) or offer(array)',
    },
  },
  'apache-tvm-ffi': {
    consumer: {
      struct: 'dltensor',
      shared: { copies: 1, writable: true },
      owned: { copies: 0, writable: true },
      remarks:
        'tvm_ffi.from_dlpack(claim(token)): it asks for no version, so a shared tensor is copied once and an OwnedTensor is not',
    },
    producer: {
      struct: 'dltensor_versioned',
      writable: true,
      copies: 'BufferError',
      layouts: ['plain', 'columns', 'offset', 'reversed'],
      dtypes: [...REAL, 'bool'],
      remarks: 'offer(tensor); no flags, no copy=True',
    },
  },
  zarrista: {
    consumer: {
      struct: 'dltensor_versioned',
      shared: { copies: 1, writable: false },
      owned: { copies: 1, writable: false },
      remarks: 'array.store_array_subset(selection, claim(token)): the copy is the one into the store',
    },
    producer: {
      struct: 'dltensor',
      writable: false,
      copies: 1,
      layouts: ['plain'],
      dtypes: [...REAL, 'bool'],
      remarks: 'offer(array.retrieve_array_subset(selection))',
    },
  },
};

/** Those that are not installed every time. */
export const HEAVY_LIBRARIES: Readonly<Record<string, LibraryFacts>> = {
  torch: {
    consumer: {
      struct: 'dltensor_versioned',
      shared: { copies: 0, writable: true },
      copied: { copies: 1, writable: true },
      owned: { copies: 0, writable: true },
      remarks: 'torch.from_dlpack(claim(token)); it ignores READ_ONLY, and ends the process on negative strides',
    },
    producer: {
      struct: 'dltensor_versioned',
      writable: true,
      copies: 2,
      layouts: ['plain', 'columns', 'offset'],
      dtypes: [...REAL, 'bool', 'complex64', 'bfloat16', 'float8_e4m3fn', 'float8_e5m2'],
      remarks: 'offer(tensor); bfloat16 and float8 too',
    },
  },
  'tensorflow-cpu': {
    consumer: {
      struct: 'dltensor',
      shared: { copies: 1, writable: false },
      owned: { copies: 0, writable: false },
      remarks: 'tf.experimental.dlpack.from_dlpack(claim(token).__dlpack__()): it takes legacy capsules alone',
    },
    producer: {
      struct: 'dltensor',
      writable: false,
      copies: 'RuntimeError',
      layouts: ['plain'],
      dtypes: [...REAL, 'bool', 'complex64'],
      remarks: 'offer(tensor); no copy=True',
    },
  },
  paddlepaddle: {
    consumer: {
      struct: 'dltensor_versioned',
      shared: { copies: 0, writable: true },
      copied: { copies: 1, writable: true },
      owned: { copies: 0, writable: true },
      remarks: 'paddle.utils.dlpack.from_dlpack(claim(token)); it ignores READ_ONLY',
    },
    producer: {
      struct: 'dltensor_versioned',
      writable: true,
      copies: 1,
      layouts: ['plain'],
      dtypes: [...REAL.filter((dtype) => dtype !== 'uint64'), 'bool', 'complex64', 'bfloat16'],
      remarks: 'offer(tensor); bfloat16 too',
    },
  },
};
