/**
 * node-dlpack: tensors exchanged with native code without copying a byte. The public names, and nothing else.
 * @module node-dlpack
 */
export { capsuleName, releaseCapsule, type CapsuleName } from './capsule';
export type { DataOptions, DTypeOfData, TensorData } from './data-source';
export type { DeviceName, DLPackDevice } from './device';
export { copyThreads } from './copy-threads';
export type { CollectionMessage, CopyMessage } from './diagnostics';
export type {
  BitsOf,
  Complex,
  DataOf,
  DType,
  ElementOf,
  NestedArray,
  ReadonlyBitsOf,
  ReadonlyDataOf,
  ReadonlyTypedArray,
  RealDType,
  ScalarOf,
} from './dtype';
export { DLPackBufferError, DLPackStateError, type AliasCounts, type CodedError, type StateCode } from './errors';
export { fromDLPack, type ImportOptions } from './from-dlpack';
export { includeDir } from './include-dir';
export type { LendOptions } from './lend';
export { OwnedTensor, type AnyOwnedTensor } from './owned-tensor';
export type { SetOptions } from './assign';
export {
  DLPACK_VERSION,
  type DLPackCapsule,
  type DLPackExportOptions,
  type DLPackProducer,
  type DLPackVersion,
} from './protocol';
export type { ScaleFactors, ScalingOptions } from './scaling';
export { scope } from './scope';
export type { SliceSpec } from './slicing';
export { stats, type Stats } from './stats';
export type { StridedView } from './strided';
export { Tensor, type AnyTensor } from './tensor';
export type { Settled } from './thenable';
export { revokeToken, type TokenOptions } from './token';
export type { AnyTypedArray } from './typed-arrays';
export type { ViewOptions } from './view';
