/**
 * Addresses and range checks of buffer accesses: resource descriptor (V#), index and offset. CDNA2 ISA 9.1.3
 * to 9.1.8; RDNA2 ISA 8.1.5, RDNA3 ISA 9.4 and 9.6.
 */
import type { Value } from '../../../../ir/types.ts';
import type { InstructionBuilder } from '../instruction-builder.ts';
import { type AtomicOfBuilder, type MemoryPort, refuse } from '../memory.ts';

/** Bits of the descriptor's dwords. Dword 0 is the low part of the base address, dword 2 is num_records. */
const BASE_HIGH_BITS = 16;
const STRIDE_BITS = 14;
const SWIZZLE_ENABLE_BIT = 31;
/** gfx11 has two bits: 1 enables elements of 4 bytes, 3 elements of 16 bytes. */
const SWIZZLE_ENABLE_BIT_GFX11 = 30;
const WIDE_ELEMENT_BIT = 31;
const DATA_FORMAT_BIT = 15;
const INDEX_STRIDE_BIT = 21;
const ADD_TID_ENABLE_BIT = 23;
/** From gfx10 on. */
const OOB_SELECT_BIT = 28;

interface Descriptor {
  readonly base: Value;
  /** Bytes; on gfx9 18 bits with add_tid_enable. */
  readonly stride: Value;
  readonly recordCount: Value;
  /** log2 of the indices in a swizzled group; 0 for a linear buffer. */
  readonly groupShift: Value;
  /** log2 of the contiguous bytes of a swizzled record. */
  readonly elementShift: Value;
  /** Whether these may be more than 4. */
  readonly hasWideElements: boolean;
  /** All ones with swizzle_enable, else 0. */
  readonly swizzled: Value;
  readonly addsLaneId: Value;
  readonly oobSelect: Value;
}

const hasSplitFormat = (b: InstructionBuilder): boolean => b.instruction.target.bufferResources === 'split';

function descriptor(b: InstructionBuilder): Descriptor {
  const [word0, word1, word2, word3] = b.dwords(b.index('srsrc')) as [Value, Value, Value, Value];
  const addsLaneId = b.ne(b.bits(word3, ADD_TID_ENABLE_BIT, 1), b.i32(0));
  const stride = b.bits(word1, BASE_HIGH_BITS, STRIDE_BITS);
  const strideHigh = b.shl(b.bits(word3, DATA_FORMAT_BIT, 4), STRIDE_BITS);
  const hasWideElements = b.instruction.target.bufferResources === 'wide';
  const enabled = b.bits(word1, hasWideElements ? SWIZZLE_ENABLE_BIT_GFX11 : SWIZZLE_ENABLE_BIT, 1);
  const swizzled = b.neg(enabled);
  const wide = hasWideElements ? b.bits(word1, WIDE_ELEMENT_BIT, 1) : b.i32(0);
  return {
    base: b.pack(word0, b.bits(word1, 0, BASE_HIGH_BITS)),
    stride: hasSplitFormat(b) ? b.select(addsLaneId, b.or(stride, strideHigh), stride) : stride,
    recordCount: word2,
    groupShift: b.and(b.add(b.bits(word3, INDEX_STRIDE_BIT, 2), b.i32(3)), swizzled),
    hasWideElements,
    elementShift: b.add(b.i32(2), b.shl(wide, 1)),
    swizzled,
    addsLaneId,
    oobSelect: b.bits(word3, OOB_SELECT_BIT, 2),
  };
}

interface Components {
  readonly index: Value | undefined;
  readonly offset: Value | undefined;
}

/**
 * Index and offset registers: the index comes first when there are both. An access between LDS and memory has
 * none.
 */
function components(b: InstructionBuilder): Components {
  const vaddr = b.instruction.row.operands.findIndex(({ field }) => field === 'vaddr');
  const registers = vaddr < 0 ? [] : b.dwords(vaddr);
  const index = b.field('idxen') ? registers.shift() : undefined;
  return { index, offset: registers[0] };
}

/** Accesses to one dword, or what there is of it, that are made where a condition holds. */
export interface BufferPort extends MemoryPort {
  loadPart(dword: number, sizeBytes: number, condition: Value): Value;
  storePart(dword: number, sizeBytes: number, value: Value, condition: Value): void;
}

/** Whether `sizeBytes` at `offset` of a record are inside the buffer. */
type RangeCheck = (offset: Value, sizeBytes: number) => Value;

/** gfx9: the index of a structured buffer, the offset of a raw one, nothing of a private one. */
function rangeCheckGfx9(b: InstructionBuilder, v: Descriptor, vector: Components): RangeCheck {
  return (offset) => {
    const raw = b.ltU(offset, v.recordCount);
    if (!vector.index) return b.op('i1.or', v.addsLaneId, raw);
    return b.select(b.isZero(v.stride), raw, b.ltU(vector.index, v.recordCount));
  };
}

/**
 * From gfx10 on the descriptor chooses (RDNA3 ISA 9.4.1, table 46). Sums of offsets are compared in 64 bits.
 */
function rangeCheckGfx10(b: InstructionBuilder, v: Descriptor, index: Value): RangeCheck {
  const indexInside = b.ltU(index, v.recordCount);
  const soffset = b.zext64(b.dword(b.index('soffset'), 0));
  return (offset, sizeBytes) => {
    const end = b.add(b.zext64(offset), b.i64(BigInt(sizeBytes)));
    const notAbove = (value: Value, limit: Value): Value => b.not(b.ltU(b.zext64(limit), value));
    const structured = b.op('i1.and', indexInside, notAbove(end, v.stride));
    const raw = notAbove(b.add(end, soffset), v.recordCount);
    const isStructured = b.op('i1.and', b.not(b.isZero(v.swizzled)), b.not(b.isZero(v.stride)));
    const chosen = (select: number): Value => b.eq(v.oobSelect, b.i32(select));
    const bySize = b.select(isStructured, structured, raw);
    const notEmpty = b.not(b.isZero(v.recordCount));
    return b.select(chosen(0), structured, b.select(chosen(1), indexInside, b.select(chosen(2), notEmpty, bySize)));
  };
}

/** Where the dwords of a record are. */
interface RecordPlaces {
  readonly addressOf: (dword: number) => Value;
  /** Of an offset: what is within an element; 0 for a linear buffer. */
  readonly offsetMask: Value;
}

/**
 * A linear buffer is the swizzled one with groups of one index and elements as long as the record: address =
 * base + soffset + ((index / group * stride + element) * group) + index % group * elementSize + offset %
 * elementSize.
 */
function recordPlaces(
  b: InstructionBuilder,
  v: Descriptor,
  vector: Components,
  { index, offsetOf }: { readonly index: Value; readonly offsetOf: (dword: number) => Value },
): RecordPlaces {
  const groupMask = b.sub(b.shl(b.i32(1), v.groupShift), b.i32(1));
  const offsetMask = b.and(v.swizzled, b.sub(b.shl(b.i32(1), v.elementShift), b.i32(1)));
  const group = b.shrU(index, v.groupShift);
  // A lane number times the stride fits in 32 bits; an index from a register may not.
  const record = vector.index ? b.mul(b.zext64(group), b.zext64(v.stride)) : b.zext64(b.mul(group, v.stride));
  const start = b.add(v.base, b.zext64(b.dword(b.index('soffset'), 0)));
  const withinGroup = b.shl(b.and(index, groupMask), v.elementShift);

  const isByLaneOnly = !vector.index && !vector.offset;
  const addressAt = (at: Value): Value => {
    if (isByLaneOnly) {
      // What differs from lane to lane is at most 63 records, far below 2^32.
      const element = b.shl(b.zext64(b.and(at, b.not(offsetMask))), v.groupShift);
      const base = b.add(b.add(start, element), b.zext64(b.and(at, offsetMask)));
      return b.add(base, b.zext64(b.add(b.shl(b.mul(group, v.stride), v.groupShift), withinGroup)));
    }
    const elements = b.add(record, b.zext64(b.and(at, b.not(offsetMask))));
    const within = b.add(withinGroup, b.and(at, offsetMask));
    return b.add(b.add(start, b.shl(elements, v.groupShift)), b.zext64(within));
  };
  const first = addressAt(offsetOf(0));
  /** Elements of 4 bytes are a group apart; those of 16 bytes hold several dwords. */
  const addressOf = (i: number): Value => {
    if (i === 0) return first;
    return v.hasWideElements || isByLaneOnly
      ? addressAt(offsetOf(i))
      : b.add(first, b.zext64(b.shl(b.i32(i * 4), v.groupShift)));
  };
  return { addressOf, offsetMask };
}

export function bufferPort(b: InstructionBuilder): BufferPort {
  refuse(b, 'tfe');
  const v = descriptor(b);
  const vector = components(b);
  const immediate = b.dword(b.index('offset'), 0);
  const offset = vector.offset ? b.add(vector.offset, immediate) : immediate;
  const laneId = b.and(b.laneId(), b.select(v.addsLaneId, b.i32(-1), b.i32(0)));
  const index = vector.index ? b.add(vector.index, laneId) : laneId;

  const offsetOf = (i: number): Value => (i === 0 ? offset : b.add(offset, b.i32(i * 4)));
  const { addressOf, offsetMask } = recordPlaces(b, v, vector, { index, offsetOf });
  const inRange = hasSplitFormat(b) ? rangeCheckGfx9(b, v, vector) : rangeCheckGfx10(b, v, index);

  const elementBytes = b.add(offsetMask, b.i32(1));
  /** From a byte behind the end of an element to the same byte of the next one. */
  const elementGap = b.zext64(b.sub(b.shl(elementBytes, v.groupShift), elementBytes));
  const isSwizzled = b.not(b.isZero(v.swizzled));
  const misalignment = b.and(offset, b.i32(3));
  /**
   * Whether the next element may hold some of the bytes of a dword. Compilers store so into scratch: LLVM's
   * AMDGPU feature unaligned-scratch-access, which every gfx9 has.
   */
  const straddles = (sizeBytes: number): Value => b.op('i1.and', isSwizzled, b.ltU(b.i32(4 - sizeBytes), misalignment));
  /** Addresses of the bytes of a dword that straddles. */
  const bytesOf = (i: number, sizeBytes: number): Value[] => {
    const near = addressOf(i);
    const withinElement = b.and(v.hasWideElements ? offsetOf(i) : offset, offsetMask);
    const far = b.add(near, elementGap);
    return Array.from({ length: sizeBytes }, (_, byte) => {
      const isFar = b.ltU(b.sub(offsetMask, b.i32(byte)), withinElement);
      return byte === 0 ? near : b.add(b.select(isFar, far, near), b.i64(BigInt(byte)));
    });
  };
  const within = (i: number, sizeBytes: number, condition: Value): Value =>
    b.op('i1.and', inRange(offsetOf(i), sizeBytes), condition);
  return {
    loadPart: (i, sizeBytes, condition) =>
      b.load('global', sizeBytes, addressOf(i), { predicate: within(i, sizeBytes, condition) })[0]!,
    storePart: (i, sizeBytes, value, condition) =>
      b.store('global', sizeBytes, addressOf(i), [value], { predicate: within(i, sizeBytes, condition) }),
    load(sizeBytes) {
      const size = Math.min(sizeBytes, 4);
      return Array.from({ length: Math.max(sizeBytes / 4, 1) }, (_, i) => {
        const inside = inRange(offsetOf(i), size);
        if (size === 1) return b.load('global', size, addressOf(i), { predicate: inside })[0]!;
        const apart = b.op('i1.and', inside, straddles(size));
        const whole = b.load('global', size, addressOf(i), { predicate: b.op('i1.and', inside, b.not(apart)) })[0]!;
        // Either all of the bytes or the whole is 0.
        return bytesOf(i, size).reduce((value, address, byte) => {
          const loaded = b.load('global', 1, address, { predicate: apart, isRare: true })[0]!;
          return b.or(value, byte === 0 ? loaded : b.shl(loaded, 8 * byte));
        }, whole);
      });
    },
    store(sizeBytes, data) {
      const size = Math.min(sizeBytes, 4);
      for (const [i, value] of data.entries()) {
        const inside = inRange(offsetOf(i), size);
        if (size === 1) {
          b.store('global', size, addressOf(i), [value], { predicate: inside });
          continue;
        }
        const apart = b.op('i1.and', inside, straddles(size));
        b.store('global', size, addressOf(i), [value], { predicate: b.op('i1.and', inside, b.not(apart)) });
        for (const [byte, address] of bytesOf(i, size).entries()) {
          b.store('global', 1, address, [byte === 0 ? value : b.shrU(value, 8 * byte)], {
            predicate: apart,
            isRare: true,
          });
        }
      }
    },
    atomic: (operands, update) => {
      const size = operands[0]!.type === 'i64' ? 8 : 4;
      return b.atomic('global', addressOf(0), operands, update as AtomicOfBuilder, {
        predicate: inRange(offset, size),
      });
    },
  };
}
