// The model of the stream: y = GlobalAveragePool(x), float32, written as the protobuf that it is. It reads all that it is
// given and answers with three numbers, so that what the time goes into is the way there.

const number = (field, value) => [field << 3, value];
// All lengths here are below 128, so one byte says them.
const message = (field, bytes) => [(field << 3) | 2, bytes.length, ...bytes];
const text = (field, value) => message(field, [...Buffer.from(value)]);

/** Field numbers of onnx.proto; the shape of x and y is left open. */
export function poolingModel() {
  const float = message(2, message(1, number(1, 1)));
  const value = (name) => [...text(1, name), ...float];
  const node = [...text(1, 'x'), ...text(2, 'y'), ...text(4, 'GlobalAveragePool')];
  const graph = [...message(1, node), ...text(2, 'g'), ...message(11, value('x')), ...message(12, value('y'))];
  const opset = [...text(1, ''), ...number(2, 13)];
  return Uint8Array.from([...number(1, 8), ...message(7, graph), ...message(8, opset)]);
}
