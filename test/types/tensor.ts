/**
 * What TypeScript knows of tensors. This file is compiled, never run: a line under `@ts-expect-error` must not compile,
 * every other must, against the declarations that are published and under each lib that is supported, with no other
 * types in the program.
 */
import {
  DLPACK_VERSION,
  fromDLPack,
  OwnedTensor,
  revokeToken,
  scope,
  stats,
  Tensor,
  type AnyOwnedTensor,
  type AnyTensor,
  type DataOptions,
  type DLPackCapsule,
  type DType,
  type ElementOf,
  type NestedArray,
  type ReadonlyBitsOf,
  type ReadonlyDataOf,
  type SliceSpec,
} from '../../dist/index.js';
import { readNpy, readSafetensors, toNpy, writeNpy } from '../../dist/files/index.js';

/** Compiles when the two types are the same. */
declare function same<Expected>(): <Actual>(
  actual: Actual,
  ...different: Same<Expected, Actual> extends true ? [] : ['the types differ']
) => void;
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

// --- the dtype follows from the data ---------------------------------------------------------------------------------

same<Tensor<'float32'>>()(Tensor.from(new Float32Array(6), { shape: [2, 3] }));
same<Tensor<'uint8'>>()(Tensor.from(new Uint8ClampedArray(6)));
same<Tensor<'int64'>>()(Tensor.from(new BigInt64Array(6)));
same<Tensor<'float64'>>()(
  Tensor.from([
    [1, 2],
    [3, 4],
  ]),
);
same<Tensor<'int64'>>()(Tensor.from([1n]));
same<Tensor<'bool'>>()(Tensor.from([[[true]]]));
same<Tensor<'bfloat16'>>()(Tensor.from(new Uint16Array(6), { dtype: 'bfloat16' }));
same<Tensor<'float16'>>()(Tensor.from(new DataView(new ArrayBuffer(4)), { dtype: 'float16' }));
same<OwnedTensor<'int8'>>()(OwnedTensor.from(new Int8Array(6)));
same<OwnedTensor<'float32'>>()(OwnedTensor.allocate([2, 3], 'float32'));

const fromBytes: AnyTensor = Tensor.from(new Uint8Array(4));
// @ts-expect-error: the dtype follows from the data, not from what is hoped for
const hoped: Tensor<'float32'> = Tensor.from(new Uint8Array(4));
// @ts-expect-error: nor for an owner
const hopedOwner: OwnedTensor<'float32'> = OwnedTensor.from(new Uint8Array(4));
declare const options: DataOptions;
same<Tensor>()(Tensor.from(new Uint8Array(4), options));

// @ts-expect-error: no such dtype
OwnedTensor.allocate([2, 3], 'float31');
// @ts-expect-error: a shape is an array
OwnedTensor.allocate(6, 'float32');
// @ts-expect-error: no such dtype
Tensor.from([1, 2], { dtype: 'double' });
// @ts-expect-error: a string is no data
Tensor.from('abc');
// @ts-expect-error: an ArrayBuffer says nothing of its elements
Tensor.from(new ArrayBuffer(8));
// @ts-expect-error: tensors are not constructed
const constructed = new Tensor();
// @ts-expect-error: neither are owners
const constructedOwner = new OwnedTensor();

declare const f32: Tensor<'float32'>;
declare const i64: Tensor<'int64'>;
declare const flags: Tensor<'bool'>;
declare const bf16: Tensor<'bfloat16'>;
declare const c64: Tensor<'complex64'>;
declare const anyTensor: AnyTensor;
declare const wide: Tensor;
declare const owned: OwnedTensor<'float32'>;

// --- elements --------------------------------------------------------------------------------------------------------

same<number>()(f32.at(0, 1));
same<bigint>()(i64.at(0));
same<boolean>()(flags.at(0));
same<number>()(bf16.at(0));
same<readonly [re: number, im: number]>()(c64.at(0));
same<NestedArray<number>>()(f32.toArray());
same<NestedArray<bigint>>()(i64.toArray());
// @ts-expect-error: an index is a number
f32.at('0');
// @ts-expect-error: not a bigint tensor
const wrong: bigint = f32.at(0);

// --- metadata --------------------------------------------------------------------------------------------------------

same<'float32'>()(f32.dtype);
same<readonly number[]>()(f32.shape);
same<readonly [type: number, id: number]>()(f32.device);
same<readonly [major: number, minor: number]>()(DLPACK_VERSION);
same<number>()(stats().tensors);
// @ts-expect-error: metadata is read-only
f32.shape = [1];
// @ts-expect-error: so are its arrays
f32.shape[0] = 1;
// @ts-expect-error: so is the state
f32.disposed = true;

// --- views are read-only ---------------------------------------------------------------------------------------------

const view = f32.view();
same<number | undefined>()(view[0]);
same<number>()(view.length);
same<number>()(view.reduce((sum, x) => sum + x, 0));
for (const x of view) same<number>()(x);
// @ts-expect-error: a write to a read-only view
view[0] = 1;
// @ts-expect-error: none of the methods that write
view.set([1]);
// @ts-expect-error
view.fill(0);
// @ts-expect-error
view.sort();
// @ts-expect-error
view.reverse();
// @ts-expect-error
view.copyWithin(0, 1);
// @ts-expect-error: a part of it is read-only too
view.subarray(1)[0] = 1;
f32.view({ writable: true })[0] = 1;
f32.view({ writable: true, bits: true })[0] = 0x3f800000;
same<Uint32Array<ArrayBuffer>>()(f32.view({ writable: true, bits: true }));
same<BigInt64Array<ArrayBuffer>>()(i64.view({ writable: true }));
same<Float32Array<ArrayBuffer>>()(c64.view({ writable: true, bits: true }));
// @ts-expect-error: bits are read-only too
f32.view({ bits: true })[0] = 1;
// @ts-expect-error: no such option
f32.view({ write: true });
// @ts-expect-error: bfloat16 has no typed array, only bits
const bfloat16s: number = bf16.view().length;
same<number | undefined>()(bf16.view({ bits: true })[0]);
same<Float32Array<ArrayBuffer>>()(f32.toTypedArray());
same<Uint16Array<ArrayBuffer>>()(bf16.toTypedArray({ bits: true }));
// @ts-expect-error: the span is read-only
f32.strided().data[0] = 1;
same<readonly number[]>()(f32.strided().strides);
same<number>()(f32.withView((data) => data.length));
same<Promise<string>>()(f32.withView((data) => Promise.resolve(String(data.length))));
f32.withView((data) => {
  // @ts-expect-error: a window is read-only unless it was asked for writable
  data[0] = 1;
});
f32.withView((data) => (data[0] = 1), { writable: true });

// What is decided at run time gives either, without a cast.
declare const perhapsBits: boolean;
same<ReturnType<typeof readEither>>()(f32.view({ bits: perhapsBits }));
same<Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>>()(f32.toTypedArray({ bits: perhapsBits }));
same<ReturnType<typeof readEither>>()(f32.strided({ bits: perhapsBits }).data);
same<number>()(f32.withView((array) => array.length, { bits: perhapsBits }));
same<number>()(owned.withView((array) => (array[0] = 1), { bits: perhapsBits }));
declare function readEither(): ReadonlyDataOf<'float32'> | ReadonlyBitsOf<'float32'>;
same<Tensor<'float32'> | OwnedTensor<'float32'>>()(fromDLPack(f32, { copy: perhapsBits }));
// What code that is generic over the dtype makes is known by its name.
function zerosLike<D extends DType>(tensor: Tensor<D>): OwnedTensor<D> {
  return OwnedTensor.allocate(tensor.shape, tensor.dtype);
}
function firstOf<D extends DType>(tensor: Tensor<D>): ElementOf<D> {
  return tensor.at(0);
}
same<OwnedTensor<'int64'>>()(zerosLike(i64));
same<bigint>()(firstOf(i64));

// --- narrowing -------------------------------------------------------------------------------------------------------

if (anyTensor.is('int64')) {
  same<Tensor<'int64'>>()(anyTensor);
  same<bigint>()(anyTensor.at(0));
} else {
  // @ts-expect-error: the int64 arm is gone
  same<Tensor<'int64'>>()(anyTensor);
}
if (wide.is('float32')) same<number>()(wide.at(0));
if (anyTensor.dtype === 'bool') same<boolean>()(anyTensor.at(0));
// @ts-expect-error: no such dtype
anyTensor.is('float31');
const asWide: Tensor = f32;
const asAny: AnyTensor = f32;
const ownerAsWide: OwnedTensor = owned;
const ownerAsAny: AnyOwnedTensor = owned;
// @ts-expect-error: a wrong dtype
const asInt: Tensor<'int32'> = f32;
// @ts-expect-error: a tensor of any dtype is not one of this dtype
const narrowed: Tensor<'float32'> = wide;

// --- layout and conversion keep or change the dtype ------------------------------------------------------------------

const spec: SliceSpec = [null, null, -1];
same<Tensor<'float32'>>()(f32.slice(0, null, spec, [1, 2]));
same<Tensor<'float32'>>()(f32.transpose().reshape([-1]).squeeze().expandDims(0));
same<Tensor<'float32'>>()(f32.broadcastTo([2, 6]).flip(0).contiguous());
same<OwnedTensor<'float32'>>()(f32.copy());
same<OwnedTensor<'uint8'>>()(f32.to('uint8', { scale: [1, 2], offset: new Float32Array(2), axis: 0 }));
// @ts-expect-error: nothing converts to complex
f32.to('complex64');
// @ts-expect-error: not a slice spec
f32.slice('0');
// @ts-expect-error: axes are numbers
f32.transpose(['x']);

// --- owners ----------------------------------------------------------------------------------------------------------

owned.data[0] = 1;
same<Uint32Array<ArrayBuffer>>()(owned.bits);
same<Tensor<'float32'>>()(owned.freeze());
same<OwnedTensor<'float32'>>()(f32.intoDLPack());
same<OwnedTensor<'float32'>>()(owned.set(i64, { at: [0, [1, 2]], scale: 2 }));
same<OwnedTensor<'float32'>>()(
  owned
    .set([[1, 2]])
    .set(new Uint8Array(6))
    .set(1)
    .fill(0),
);
same<number>()(owned.lend((loan) => loan.at(0)));
same<Promise<number>>()(owned.lend(async (loan) => loan.at(0), { writable: true }));
same<false>()(owned.readOnly);
// @ts-expect-error: an owner is written through data, not seen through view()
owned.view();
// @ts-expect-error: it is frozen before it is sliced
owned.slice(0);
// @ts-expect-error: it is no Tensor
const notATensor: Tensor<'float32'> = owned;
// @ts-expect-error: and a Tensor is no owner
const notAnOwner: OwnedTensor<'float32'> = f32;
// @ts-expect-error: data itself is not replaced
owned.data = new Float32Array(6);
// @ts-expect-error: a string is no element
owned.fill('1');
// @ts-expect-error: no such option
owned.set([1], { where: 0 });
// @ts-expect-error: lend takes a function
owned.lend(f32);
declare const anyOwned: AnyOwnedTensor;
if (anyOwned.is('float64')) anyOwned.data[0] = 1;
// @ts-expect-error: bfloat16 has only bits
const bfloat16Data: number = OwnedTensor.allocate([1], 'bfloat16').data.length;

// --- exchange --------------------------------------------------------------------------------------------------------

const capsule: DLPackCapsule = f32.__dlpack__({ max_version: [1, 3], copy: null, dl_device: [1, 0], stream: null });
same<AnyTensor>()(fromDLPack(capsule));
same<AnyOwnedTensor>()(fromDLPack(capsule, { copy: true }));
same<Tensor<'float32'>>()(fromDLPack(f32));
same<Tensor<'float32'>>()(fromDLPack(owned, { copy: false, device: 'cpu' }));
same<OwnedTensor<'float32'>>()(fromDLPack(f32, { copy: true }));
declare const perhaps: boolean;
same<AnyTensor | AnyOwnedTensor>()(fromDLPack(capsule, { copy: perhaps }));
// @ts-expect-error: versions have two numbers
f32.__dlpack__({ max_version: [1] });
// @ts-expect-error: there are no streams
f32.__dlpack__({ stream: 1 });
// @ts-expect-error: no such device
fromDLPack(capsule, { device: 'gpu' });
// @ts-expect-error: a number is no producer
fromDLPack(1);

/** A class implements the protocol without native code by delegating to a tensor. */
class Image {
  readonly #pixels = Tensor.from(new Uint8Array(12), { shape: [2, 2, 3] });

  __dlpack__(options?: object): DLPackCapsule {
    return this.#pixels.__dlpack__(options);
  }

  __dlpack_device__(): readonly number[] {
    return this.#pixels.__dlpack_device__();
  }
}
same<AnyTensor>()(fromDLPack(new Image()));

// --- scope and using -------------------------------------------------------------------------------------------------

same<Tensor<'float32'>>()(scope(() => f32.slice(0)));
same<void>()(scope(() => {}));
same<{ a: number }>()(scope(() => ({ a: 1 })));
// @ts-expect-error: an async function has no scope
scope(async () => f32.slice(0));
// @ts-expect-error: nor has one that returns a promise
scope(() => Promise.resolve(1));
// @ts-expect-error: nor one that returns one sometimes
scope(() => (perhaps ? 1 : Promise.resolve(1)));

function withUsing(): number {
  using part = f32.slice(0);
  using mine = part.copy();
  return mine.at(0);
}

declare function generic<D extends DType>(tensor: Tensor<D>): D;
same<'float32'>()(generic(f32));

export { fromBytes, hoped, hopedOwner, ownerAsAny, ownerAsWide };
export { asAny, asInt, asWide, bfloat16Data, bfloat16s, constructed, constructedOwner, generic };
export { narrowed, notAnOwner, notATensor, withUsing, wrong };

// --- tokens ----------------------------------------------------------------------------------------------------------

same<string>()(Tensor.from(new Int8Array(2)).share({ ttl: 1_000 }));
same<string>()(OwnedTensor.allocate([2], 'int8').transfer());
same<AnyTensor>()(Tensor.fromShared('token'));
same<AnyOwnedTensor>()(OwnedTensor.fromTransfer('token'));
revokeToken('token');
// @ts-expect-error a token is a string
Tensor.fromShared(5);
// @ts-expect-error a time to live is a number of milliseconds
Tensor.from(new Int8Array(2)).share({ ttl: '1s' });
// @ts-expect-error what is owned is transferred, not shared
OwnedTensor.allocate([2], 'int8').share();

// --- files

{
  const any = readNpy('x.npy');
  same<AnyTensor>()(any);
  if (any.is('float32')) same<Float32Array<ArrayBuffer>>()(any.toTypedArray());
  const known = readNpy('x.npy', { dtype: 'bfloat16' });
  same<Tensor<'bfloat16'>>()(known);
  same<OwnedTensor<'bfloat16'>>()(known.intoDLPack());
  // @ts-expect-error: no such dtype
  readNpy('x.npy', { dtype: 'f4' });
  // @ts-expect-error: not the bytes of a file
  readNpy(new Float32Array(4));
  const { tensors, metadata } = readSafetensors(new Uint8Array(8), { names: ['a'] });
  same<Readonly<Record<string, AnyTensor>>>()(tensors);
  same<Readonly<Record<string, string>>>()(metadata);
  same<Uint8Array<ArrayBuffer>>()(toNpy(known));
  // @ts-expect-error: the file comes first
  writeNpy(known, 'x.npy');
}

// --- one dtype through every operation

{
  const half = Tensor.from(new Uint16Array(6), { shape: [2, 3], dtype: 'float16' });
  const through = half
    .slice(0)
    .expandDims(0)
    .transpose()
    .reshape([-1])
    .squeeze()
    .broadcastTo([2, 3])
    .flip(0)
    .contiguous();
  same<Tensor<'float16'>>()(through);
  same<OwnedTensor<'float16'>>()(through.copy());
  same<OwnedTensor<'int8'>>()(through.to('int8'));
  same<Tensor<'int8'>>()(through.to('int8').freeze());
  same<OwnedTensor<'float16'>>()(half.intoDLPack());
  same<number>()(
    through.copy().lend((loan) => {
      same<Tensor<'float16'>>()(loan);
      return loan.at(0);
    }),
  );
  same<[OwnedTensor<'float16'>, Tensor<'float16'>]>()(
    scope((): [OwnedTensor<'float16'>, Tensor<'float16'>] => [half.copy(), half.slice()]),
  );
}
