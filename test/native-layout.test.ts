/** The scratch memory is shared by two languages: every constant must mean the same on both sides. */
import { expect, test } from '@jest/globals';
import { native, scratch, scratchBits, Config, Slot, TensorFlag } from '../dist/native.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

test('the scratch memory is as long as both sides say', () => {
  expect(scratch.length).toBe(Slot.Length);
  expect(scratchBits.length).toBe(Slot.Length);
});

test('the indices into the scratch memory agree', () => {
  expect(native.layout.slots).toEqual({
    Ndim: Slot.Ndim,
    Flags: Slot.Flags,
    DType: Slot.DType,
    DeviceType: Slot.DeviceType,
    DeviceId: Slot.DeviceId,
    Size: Slot.Size,
    ByteLength: Slot.ByteLength,
    SpanOffset: Slot.SpanOffset,
    SpanBytes: Slot.SpanBytes,
    Ring: Slot.Ring,
    FaultIndex: Slot.FaultIndex,
    FaultValue: Slot.FaultValue,
    FaultLimit: Slot.FaultLimit,
    Aliases: Slot.Aliases,
    Argument: Slot.Argument,
    Answer: Slot.Answer,
    Plan: Slot.Plan,
    Dims: Slot.Dims,
    Input: Slot.Input,
    Element: Slot.Element,
    Length: Slot.Length,
  });
});

test('the tensor flags agree', () => {
  expect(native.layout.tensorFlags).toEqual({
    ReadOnly: TensorFlag.ReadOnly,
    Contiguous: TensorFlag.Contiguous,
    MadeByCopy: TensorFlag.MadeByCopy,
    Owned: TensorFlag.Owned,
    Opaque: TensorFlag.Opaque,
    Protected: TensorFlag.Protected,
    Overlapping: TensorFlag.Overlapping,
    Loan: TensorFlag.Loan,
    Foreign: TensorFlag.Foreign,
    Legacy: TensorFlag.Legacy,
  });
});

test('the configuration bits agree', () => {
  expect(native.layout.config).toEqual({
    ProtectPages: Config.ProtectPages,
    NoExternalBuffers: Config.NoExternalBuffers,
  });
});

test('room for the dims of 64 axes lies before the arguments, and for four numbers an axis before the elements', () => {
  expect(Slot.Dims + 2 * 64).toBeLessThanOrEqual(Slot.Input);
  expect(Slot.Input + 4 * 64).toBeLessThanOrEqual(Slot.Element);
});

test('what the instance publishes cannot be changed', () => {
  expect(Object.isFrozen(native.faults)).toBe(true);
  expect(Object.isFrozen(native.layout)).toBe(true);
  expect(Object.isFrozen(native.layout.slots)).toBe(true);
});

test('no two faults share a code, and every code is above zero, since its negative is an answer', () => {
  const codes = Object.values(native.faults);
  expect(new Set(codes).size).toBe(codes.length);
  expect(codes.every((code) => Number.isInteger(code) && code > 0)).toBe(true);
});
