/** The smallest ONNX model there is: y = Identity(x), of one dtype and shape, written as the protobuf that it is. */
import type { DType } from '../../dist/index.js';

/** TensorProto.DataType. */
const ELEMENT_TYPES: { readonly [D in DType]?: number } = {
  float32: 1,
  uint8: 2,
  int8: 3,
  uint16: 4,
  int16: 5,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
  float64: 11,
  uint32: 12,
  uint64: 13,
};

/** Field numbers of onnx.proto. All lengths and numbers here are below 128, so a varint is one byte. */
export function identityModel(dtype: DType, dims: readonly number[]): Uint8Array {
  const elementType = ELEMENT_TYPES[dtype];
  if (elementType === undefined) throw new Error(`ONNX has no ${dtype}`);
  const shape = dims.flatMap((extent) => message(1, number(1, extent)));
  const valueInfo = (name: string): number[] => [
    ...text(1, name),
    ...message(2, message(1, [...number(1, elementType), ...message(2, shape)])),
  ];
  const node = [...text(1, 'x'), ...text(2, 'y'), ...text(4, 'Identity')];
  const graph = [...message(1, node), ...text(2, 'g'), ...message(11, valueInfo('x')), ...message(12, valueInfo('y'))];
  const opset = [...text(1, ''), ...number(2, 13)];
  return Uint8Array.from([...number(1, 8), ...message(7, graph), ...message(8, opset)]);
}

function number(field: number, value: number): number[] {
  return [field << 3, value];
}

function message(field: number, bytes: readonly number[]): number[] {
  if (bytes.length > 127) throw new Error('a length of two bytes');
  return [(field << 3) | 2, bytes.length, ...bytes];
}

function text(field: number, value: string): number[] {
  return message(field, [...Buffer.from(value)]);
}
