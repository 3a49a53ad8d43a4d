/**
 * Loads and stores of formatted buffer elements: components of 8, 16 and 32 bits and packed ones, as
 * integers, floats and fractions. CDNA2 ISA 9.1.3 and 9.1.4, RDNA3 ISA 9.3: integers stay integers, all else
 * is f32 in registers, or f16 in the d16 forms; a component that the format lacks is 0.
 */
import { WavewrightError } from '../../../../base/errors.ts';
import { NEAREST_EVEN, TOWARD_ZERO } from '../../../../ir/float-bits.ts';
import type { Value } from '../../../../ir/types.ts';
import type { RowFlags } from '../../encoding/row.ts';
import type { InstructionBuilder, Semantics } from '../instruction-builder.ts';
import { refuse } from '../memory.ts';
import { type BufferPort, bufferPort } from './buffer-address.ts';
import { type BufferFormat, type Kind, type NumberedFormat, numberedFormats } from './buffer-formats.ts';

/** AMD publishes neither how fractions are rounded nor what happens to numbers that do not fit. */
export const CONVERTS: RowFlags = {
  approximate: 'conversions round to nearest even and saturate; AMD does not publish more than the formats',
};

const isInteger = (kind: Kind): boolean => kind === 'UINT' || kind === 'SINT';
const isSigned = (kind: Kind): boolean => kind === 'SINT' || kind === 'SNORM' || kind === 'SSCALED';
const sizeBytesOf = ({ bits }: BufferFormat): number => bits.reduce((sum, width) => sum + width, 0) / 8;

/** A format and whether it is the one: undefined where that is known. */
interface Candidate {
  readonly format: BufferFormat;
  readonly isMeant: Value | undefined;
}

/** Position and width of component `index`; components stand in memory from the last one of the name on. */
function placeOf({ bits }: BufferFormat, index: number): { dword: number; low: number; width: number } | undefined {
  const widths = [...bits].reverse();
  const width = widths[index];
  if (width === undefined) return undefined;
  const at = widths.slice(0, index).reduce((sum, each) => sum + each, 0);
  return { dword: at >> 5, low: at & 31, width };
}

/** Of signed and unsigned fractions: the number that stands for 1. */
const oneOf = (kind: Kind, width: number): number => 2 ** (kind === 'SNORM' ? width - 1 : width) - 1;

/** The bits of a float of 16, 11 or 10 bits; the small ones have f16's exponent and no sign. */
const smallFloat = (b: InstructionBuilder, raw: Value, width: number): Value =>
  b.op('f32.fromF16', width === 16 ? raw : b.shl(raw, 15 - width));

/** Component in a register, 32 bits. */
function toRegister(b: InstructionBuilder, kind: Kind, width: number, raw: Value): Value {
  if (kind === 'FLOAT') return width === 32 ? raw : smallFloat(b, raw, width);
  const number = isSigned(kind) && width < 32 ? b.shrS(b.shl(raw, 32 - width), 32 - width) : raw;
  if (isInteger(kind)) return number;
  if (kind === 'USCALED') return b.op('f32.fromI32U', number);
  if (kind === 'SSCALED') return b.op('f32.fromI32S', number);
  const fraction = b.op('f64.div', b.op('f64.fromI32S', number), b.f64.constant(oneOf(kind, width)));
  const nearest = b.rounding(NEAREST_EVEN).f32.fromF64(fraction);
  const least = b.f32.constant(-1);
  return kind === 'SNORM' ? b.select(b.op('f32.lt', nearest, least), least, nearest) : nearest;
}

/** f32 or integer `value` as a component of the format. */
function fromRegister(b: InstructionBuilder, kind: Kind, width: number, value: Value): Value {
  const [low, high] = isSigned(kind) ? [-(2 ** (width - 1)), 2 ** (width - 1) - 1] : [0, 2 ** width - 1];
  if (kind === 'FLOAT') {
    if (width === 32) return value;
    if (width === 16) return b.rounding(NEAREST_EVEN).f16.fromF32(value);
    const half = b.rounding(TOWARD_ZERO).f16.fromF32(value);
    return b.select(
      b.op('i1.and', b.f32.isNegative(value), b.not(b.f32.isNan(value))),
      b.i32(0),
      b.bits(half, 15 - width, width),
    );
  }
  if (isInteger(kind)) {
    if (width === 32) return value;
    return isSigned(kind) ? b.minS(b.maxS(value, b.i32(low)), b.i32(high)) : b.minU(value, b.i32(high));
  }
  const isScaled = kind === 'USCALED' || kind === 'SSCALED';
  const scaled = isScaled
    ? b.op('f64.fromF32', value)
    : b.op('f64.mul', b.op('f64.fromF32', value), b.f64.constant(oneOf(kind, width)));
  const integer = b.op('f64.toI32S', isScaled ? b.op('f64.trunc', scaled) : b.op('f64.nearest', scaled));
  const least = kind === 'SNORM' ? -oneOf(kind, width) : low;
  return b.minS(b.maxS(integer, b.i32(least)), b.i32(high));
}

const choose = (b: InstructionBuilder, isMeant: Value | undefined, value: Value, other: Value): Value =>
  isMeant ? b.select(isMeant, value, other) : value;

/** By the candidates: 0 when it is none of them. */
const ofMeant = (
  b: InstructionBuilder,
  candidates: readonly Candidate[],
  resultOf: (format: BufferFormat) => Value,
): Value => candidates.reduce((other, { format, isMeant }) => choose(b, isMeant, resultOf(format), other), b.i32(0));

const SIZES = [1, 2, 4, 8, 12, 16];

/** Of each size that a candidate has: whether it is the element's. */
function sizesOf(b: InstructionBuilder, candidates: readonly Candidate[]): Map<number, Value> {
  const size = ofMeant(b, candidates, (format) => b.i32(sizeBytesOf(format)));
  const present = SIZES.filter((each) => candidates.some(({ format }) => sizeBytesOf(format) === each));
  return new Map(present.map((each) => [each, b.eq(size, b.i32(each))]));
}

/** The dwords of the element; those that it lacks are 0. */
function elementDwords(b: InstructionBuilder, port: BufferPort, candidates: readonly Candidate[]): Value[] {
  const dwords: Value[] = [0, 1, 2, 3].map(() => b.i32(0));
  for (const [size, isMeant] of sizesOf(b, candidates)) {
    for (let i = 0; i < Math.max(size / 4, 1); i++) {
      dwords[i] = b.select(isMeant, port.loadPart(i, Math.min(size, 4), isMeant), dwords[i]!);
    }
  }
  return dwords;
}

function storeElement(
  b: InstructionBuilder,
  port: BufferPort,
  candidates: readonly Candidate[],
  dwords: readonly Value[],
): void {
  for (const [size, isMeant] of sizesOf(b, candidates)) {
    for (let i = 0; i < Math.max(size / 4, 1); i++) port.storePart(i, Math.min(size, 4), dwords[i]!, isMeant);
  }
}

const isIntegerFormat = (b: InstructionBuilder, candidates: readonly Candidate[]): Value =>
  b.ne(
    ofMeant(b, candidates, ({ kind }) => b.i32(isInteger(kind) ? 1 : 0)),
    b.i32(0),
  );

const toHalf = (b: InstructionBuilder, value: Value): Value => b.rounding(NEAREST_EVEN).f16.fromF32(value);

/** The format that the instruction names. Throws UNSUPPORTED for one that is reserved. */
function ofInstruction(b: InstructionBuilder): Candidate[] {
  const number = b.field('format');
  const format = numberedFormats(b.instruction.target).find((each) => each.number === number);
  if (format) return [{ format, isMeant: undefined }];
  throw new WavewrightError('UNSUPPORTED', `unsupported instruction '${b.instruction.name}' with format ${number}`);
}

/**
 * The format in the resource: number format in bits 14:12 and data format in 18:15, or one number from bit 12
 * on.
 */
function ofResource(b: InstructionBuilder): Candidate[] {
  const { target } = b.instruction;
  const { bufferResources } = target;
  const word = b.dword(b.index('srsrc'), 3);
  const isMeant = ({ number }: NumberedFormat): Value => {
    if (bufferResources !== 'split') return b.eq(b.bits(word, 12, bufferResources === 'wide' ? 6 : 7), b.i32(number));
    return b.eq(b.bits(word, 12, 7), b.i32(((number & 15) << 3) | (number >> 4)));
  };
  return numberedFormats(target).map((format) => ({ format, isMeant: isMeant(format) }));
}

const CHANNEL_ONE = 1;
const FIRST_COMPONENT = 4;
const CHANNELS = [0, 1, 2, 3];

/** Destination channel select of the resource: constants 0 and 1, components from 4 on. */
const channelSelect = (b: InstructionBuilder, channel: number): Value =>
  b.bits(b.dword(b.index('srsrc'), 3), channel * 3, 3);

export interface Formatted {
  /** Channels in registers, 1 to 4. */
  readonly channels: number;
  readonly d16?: 'packed' | 'high';
  /** Where the format stands; a resource chooses the channels too. */
  readonly format: 'instruction' | 'resource';
}

const candidatesOf = (b: InstructionBuilder, { format }: Formatted): Candidate[] =>
  format === 'instruction' ? ofInstruction(b) : ofResource(b);

export const loadFormatted =
  (access: Formatted): Semantics =>
  (b) => {
    refuse(b, 'lds');
    const candidates = candidatesOf(b, access);
    const element = elementDwords(b, bufferPort(b), candidates);
    const integer = isIntegerFormat(b, candidates);
    const component = (index: number): Value =>
      ofMeant(b, candidates, (format) => {
        const place = placeOf(format, index);
        if (!place) return b.i32(0);
        const { dword, low, width } = place;
        return toRegister(b, format.kind, width, width === 32 ? element[dword]! : b.bits(element[dword]!, low, width));
      });
    let values = CHANNELS.slice(0, access.channels).map(component);
    if (access.format === 'resource') {
      const all = CHANNELS.map(component);
      const one = b.select(integer, b.i32(1), b.f32.constant(1));
      values = values.map((_, channel) => {
        const select = channelSelect(b, channel);
        const constant = b.select(b.eq(select, b.i32(CHANNEL_ONE)), one, b.i32(0));
        return all.reduce(
          (other, value, i) => b.select(b.eq(select, b.i32(FIRST_COMPONENT + i)), value, other),
          constant,
        );
      });
    }
    const data = b.index('vdata');
    if (!access.d16) return b.setDwords(data, values);
    const halves = values.map((value) => b.select(integer, b.bits(value, 0, 16), toHalf(b, value)));
    const old = b.dword(data, 0);
    if (access.d16 === 'high') return b.setDword(data, 0, b.or(b.bits(old, 0, 16), b.shl(halves[0]!, 16)));
    for (let i = 0; i < halves.length; i += 2) {
      const high = halves[i + 1] ? b.shl(halves[i + 1]!, 16) : i > 0 ? b.i32(0) : b.and(old, b.i32(0xffff0000));
      b.setDword(data, i / 2, b.or(high, halves[i]!));
    }
  };

export const storeFormatted =
  (access: Formatted): Semantics =>
  (b) => {
    refuse(b, 'lds');
    const candidates = candidatesOf(b, access);
    const integer = isIntegerFormat(b, candidates);
    const registers = b.dwords(b.index('vdata'));
    const halfOf = (channel: number): Value =>
      b.bits(registers[channel >> 1]!, access.d16 === 'high' || channel & 1 ? 16 : 0, 16);
    const channels = CHANNELS.slice(0, access.channels).map((channel) => {
      if (!access.d16) return registers[channel]!;
      const half = halfOf(channel);
      return b.select(integer, half, b.op('f32.fromF16', half));
    });
    /** d16 integers are extended as the format says. */
    const extended = (kind: Kind, value: Value): Value => (access.d16 && kind === 'SINT' ? b.sext16(value) : value);
    const componentOf = (index: number): Value => {
      const own = channels[index] ?? b.i32(0);
      if (access.format === 'instruction') return own;
      return channels.reduce(
        (other, value, channel) =>
          b.select(b.eq(channelSelect(b, channel), b.i32(FIRST_COMPONENT + index)), value, other),
        b.i32(0),
      );
    };
    const components = CHANNELS.map(componentOf);
    const dwords = CHANNELS.map((dword) =>
      ofMeant(b, candidates, (format) =>
        CHANNELS.reduce((sum, index) => {
          const place = placeOf(format, index);
          if (!place || place.dword !== dword) return sum;
          const raw = fromRegister(b, format.kind, place.width, extended(format.kind, components[index]!));
          return place.width === 32 ? raw : b.or(sum, b.shl(b.bits(raw, 0, place.width), place.low));
        }, b.i32(0)),
      ),
    );
    storeElement(b, bufferPort(b), candidates, dwords);
  };
