/**
 * The adapters against the types of the real packages: each call must compile under `strict`, and each `//
 * @ts-expect-error` must be an error. Nothing here is run.
 */
import * as canvas from '@napi-rs/canvas';
import stdlib from '@stdlib/ndarray';
import * as tf from '@tensorflow/tfjs-core';
import * as arrow from 'apache-arrow';
import jpeg from 'jpeg-js';
import ndarray from 'ndarray';
import type { AnyTensor, OwnedTensor, Tensor } from 'node-dlpack';
import {
  fromArrow,
  fromBuffer,
  fromDataView,
  fromImageData,
  fromNdarray,
  fromOrt,
  fromSharp,
  fromStdlib,
  fromTfjs,
  fromWasm,
  fromZarrita,
  toArrow,
  toBuffer,
  toImageData,
  toNdarray,
  toOrt,
  toSharp,
  toStdlib,
  toTfjs,
  toWasm,
  toZarrita,
  withOrt,
  withSharp,
} from 'node-dlpack/interop';
import * as ort from 'onnxruntime-common';
import { PNG } from 'pngjs';
import sharp, { type Sharp } from 'sharp';
import * as zarr from 'zarrita';

/** Compiles only when the two types are one. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>): void => undefined;

declare const floats: Tensor<'float32'>;
declare const owned: OwnedTensor<'uint8'>;
declare const any: AnyTensor;

export async function compiles(session: ort.InferenceSession): Promise<void> {
  const input = new ort.Tensor('float32', new Float32Array(6), [2, 3]);
  const fromInput = fromOrt(input);
  same<typeof fromInput, Tensor<'float32'>>(true);
  const ownInput = fromOrt(input, { copy: true });
  same<typeof ownInput, OwnedTensor<'float32'>>(true);
  const made: ort.Tensor = toOrt(floats, ort);
  const results = await withOrt({ x: floats, y: any }, ort, (feeds) => session.run(feeds));
  const result = results['y'];
  if (result !== undefined) {
    const t = fromOrt(result);
    if (t.is('int64')) same<ReturnType<typeof t.at>, bigint>(true);
  }
  await withOrt({ x: floats }, ort, (feeds) => withOrt({ y: owned }, ort, (fetches) => session.run(feeds, fetches)));

  const output = await sharp('picture.png').raw().toBuffer({ resolveWithObject: true });
  const pixels = fromSharp(output, { dtype: 'uint8' });
  same<typeof pixels, Tensor<'uint8'>>(true);
  const image: Sharp = toSharp(pixels, sharp);
  const png = await withSharp(owned, sharp, (pipeline) => pipeline.png().toBuffer());
  same<typeof png extends Uint8Array ? true : false, true>(true);
  // @ts-expect-error bfloat16 is no dtype of sharp
  fromSharp(output, { dtype: 'bfloat16' });

  const nd = ndarray(new Float64Array(6), [2, 3]);
  const fromNd = fromNdarray(nd);
  same<typeof fromNd, Tensor<'float64'>>(true);
  const backNd = toNdarray(fromNd, ndarray);
  same<typeof backNd, ndarray.NdArray<Float64Array<ArrayBuffer>>>(true);
  backNd.transpose(1, 0);
  toNdarray(owned, ndarray, { copy: true });

  const std = toStdlib(floats, stdlib);
  const fromStd = fromStdlib(std, { copy: false });
  if (fromStd.is('complex64')) same<ReturnType<typeof fromStd.at>, readonly [re: number, im: number]>(true);

  const store = zarr.root(new Map<string, Uint8Array>());
  const array = await zarr.create(store, { shape: [4, 4], chunkShape: [2, 2], dtype: 'float32' });
  const region = await zarr.get(array, [zarr.slice(2), null]);
  const fromRegion = fromZarrita(region);
  same<typeof fromRegion, Tensor<'float32'>>(true);
  await zarr.set(array, [zarr.slice(2), null], toZarrita(fromRegion, zarr));
  const bools = await zarr.create(store, { shape: [4], chunkShape: [2], dtype: 'bool' });
  const fromBools = fromZarrita(await zarr.get(bools));
  same<typeof fromBools, Tensor<'bool'>>(true);
  await zarr.set(bools, null, toZarrita(fromBools, zarr));

  const column = arrow.vectorFromArray([1, 2, 3], new arrow.Float32());
  const fromColumn = fromArrow(column);
  same<typeof fromColumn, Tensor<'float32'>>(true);
  const vector: arrow.Vector = toArrow(floats, arrow);
  const table = new arrow.Table({ column });
  const child = table.getChild('column');
  if (child !== null) fromArrow(child);

  const decoded = fromImageData(jpeg.decode(new Uint8Array(0), { useTArray: true }));
  same<typeof decoded, Tensor<'uint8'>>(true);
  jpeg.encode(toImageData(decoded), 90);
  const picture = fromImageData(PNG.sync.read(Buffer.alloc(0)));
  same<typeof picture, Tensor<'uint8'>>(true);
  const context = canvas.createCanvas(2, 2).getContext('2d');
  fromImageData(context.getImageData(0, 0, 2, 2));
  context.putImageData(toImageData(owned, canvas), 0, 0);

  const tfTensor: tf.Tensor = toTfjs(floats, tf);
  const fromTf = fromTfjs(tfTensor);
  if (fromTf.is('int32')) same<ReturnType<typeof fromTf.at>, number>(true);

  const bytes = fromBuffer(Buffer.alloc(8), { dtype: 'float32' });
  same<typeof bytes, Tensor<'float32'>>(true);
  const viewed = fromDataView(new DataView(new ArrayBuffer(8)), { dtype: 'int64', copy: true });
  same<typeof viewed, OwnedTensor<'int64'>>(true);
  const memory = new WebAssembly.Memory({ initial: 1 });
  fromWasm(memory, { dtype: 'uint8', shape: [4] });
  toWasm(toBuffer(owned).length > 0 ? owned : any, memory, { byteOffset: 8 });
  // @ts-expect-error bytes do not say what they are
  fromBuffer(Buffer.alloc(8));
  void [made, image, vector];
}
