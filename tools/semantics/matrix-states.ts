/**
 * States of matrix products, by three loops over exact numbers. The elements are small multiples of powers of
 * two, so that sums are exact in every order, and a few NaNs. Layouts: CDNA3 ISA 7.1.4 (in f64 AMD's matrix
 * instruction calculator), RDNA3 ISA 7.9.
 */
import { type Encoding, encodingsOf } from '../../src/isa/amdgpu/encoding/encodings.ts';
import { type Target, targetFor } from '../../src/isa/amdgpu/encoding/targets.ts';
import { allRows } from '../../src/isa/amdgpu/rows/index.ts';
import {
  inputPlace,
  outputPlace,
  type Product,
  productOf,
} from '../../src/isa/amdgpu/rows/matrix/matrix.test-support.ts';
import { type Dyadic, type FloatType, NEAREST, plus, positiveNan, rounded, times, unsigned } from './numbers.ts';
import { namesOf } from './register-file.ts';
import { type Generated, StateBuilder, type UnsourcedRecording } from './state-builder.ts';

const [LEFT, RIGHT, SUM, INDICES] = [8, 16, 64, 4];
/** Registers of a result that are recorded at most. */
const MAX_SHOWN = 4;

/** An element: a number, or what is none. */
type Element = Dyadic | 'nan';

const WIDTHS: Readonly<Record<string, number>> = {
  f64: 64,
  f32: 32,
  xf32: 32,
  i32: 32,
  f16: 16,
  bf16: 16,
  fp8: 8,
  bf8: 8,
  i8: 8,
  iu8: 8,
  iu4: 4,
};
const FORMATS: Readonly<Record<string, FloatType>> = { f64: 'f64', f32: 'f32', xf32: 'f32', f16: 'f16', bf16: 'bf16' };

/** Bits of an element in its format. */
function patternOf(format: string, x: Element): bigint {
  const type = FORMATS[format];
  if (type && x === 'nan') return positiveNan(type);
  const value = x as Dyadic;
  if (type) return rounded(type, NEAREST, value);
  if (/^(fp8|bf8)$/.test(format)) return smallPattern(format, value);
  return unsigned(WIDTHS[format]!, value.n << BigInt(value.e));
}

/** CDNA3 ISA 7.2; the elements are numbers of the format. */
function smallPattern(format: string, { n, e }: Dyadic): bigint {
  if (n === 0n) return 0n;
  const [fraction, bias] = format === 'fp8' ? [3, 8] : [2, 16];
  const size = n < 0n ? -n : n;
  const length = size.toString(2).length;
  const digits = (size << BigInt(fraction + 1 - length)) - (1n << BigInt(fraction));
  const exponent = BigInt(e + length - 1 + bias);
  return (n < 0n ? 0x80n : 0n) | (exponent << BigInt(fraction)) | digits;
}

const multiplied = (x: Element, y: Element): Element => (x === 'nan' || y === 'nan' ? 'nan' : times(x, y));

const added = (x: Element, y: Element): Element => (x === 'nan' || y === 'nan' ? 'nan' : plus(x, y));

/** A number with few bits, or rarely a NaN. */
function elementOf(s: StateBuilder, format: string, special: boolean): Element {
  const { r } = s;
  if (format.startsWith('i')) {
    const bits = WIDTHS[format]!;
    const limit = Math.min(bits, 16);
    return { n: BigInt(r(2 ** limit)) - (format.startsWith('iu') ? 0n : BigInt(2 ** (limit - 1))), e: 0 };
  }
  if (special && FORMATS[format] && r(40) === 0) return 'nan';
  const n = BigInt(r(8)) * (r(2) ? 1n : -1n);
  return { n, e: -2 + r(3) };
}

type ItemPlace = readonly [item: number, lane: number];

function putItem(s: StateBuilder, first: number, [item, lane]: ItemPlace, width: number, bits: bigint): void {
  const registers = namesOf('v', first + Math.floor((item * width) / 32), Math.max(1, width / 32));
  const shift = BigInt((item * width) % 32);
  const mask = ((1n << BigInt(width)) - 1n) << shift;
  for (const file of [s.before, s.after])
    file.setWide(registers, lane, (file.wide(registers, lane) & ~mask) | (bits << shift));
}

function useLanes(s: StateBuilder, first: number, dwords: number): void {
  for (const name of namesOf('v', first, dwords)) {
    s.put(name, new Array<number>(s.waveSize).fill(0));
  }
}

const dwordsOf = (type: string): number => Number(type.slice(1)) / 32;

/** The number that a sum becomes; every NaN is the positive quiet one. */
function resultPattern(sum: string, x: Element): bigint {
  const type = FORMATS[sum];
  if (!type) return unsigned(32, (x as Dyadic).n << BigInt((x as Dyadic).e));
  return x === 'nan' ? positiveNan(type) : rounded(type, NEAREST, x);
}

function mfmaState(s: StateBuilder, product: Product): UnsourcedRecording {
  const { m, n, k, blocks, left, right, sum, sparse } = product;
  const { operands } = s.encoding.row;
  const [result, a, b] = operands.map(({ type }) => dwordsOf(type));
  const width = sum === 'f64' ? 64 : 32;
  const shown = Math.min(result!, MAX_SHOWN);
  // The first registers and the last ones.
  const offsets = Array.from({ length: result! }, (_, i) => i).filter((i) => i < shown / 2 || i >= result! - shown / 2);
  useLanes(s, LEFT, a!);
  useLanes(s, RIGHT, b!);
  for (const i of offsets) useLanes(s, SUM + i, 1);
  if (sparse) useLanes(s, INDICES, 1);
  s.setExec(0xfffffff0, 0x0000ffff);
  const columns = sparse ? k / 2 : k;
  const lefts = new Map<string, Element>();
  const rights = new Map<string, Element>();
  const rows = new Map<string, number>();
  for (let block = 0; block < blocks; block++) {
    for (let i = 0; i < m; i++) {
      for (let at = 0; at < columns; at++) {
        const element = elementOf(s, left, i % 4 === 3);
        lefts.set(`${block} ${i} ${at}`, element);
        const [item, lane] = inputPlace({ blocks, size: m, k: columns }, block, i, at);
        putItem(s, LEFT, [item, lane], WIDTHS[left]!, patternOf(left, element));
        if (!sparse) continue;
        // Two of four columns are stored, in ascending order.
        const index = at % 2 === 0 ? s.r(3) : 1 + Math.max(s.r(3), rows.get(`${i} ${at - 1}`)! % 4);
        rows.set(`${i} ${at}`, 4 * (at >> 1) + index);
        putItem(s, INDICES, [item, lane], 2, BigInt(index));
      }
    }
    for (let at = 0; at < k; at++) {
      for (let j = 0; j < n; j++) {
        const element = elementOf(s, right, false);
        rights.set(`${block} ${at} ${j}`, element);
        putItem(s, RIGHT, inputPlace({ blocks, size: n, k }, block, j, at), WIDTHS[right]!, patternOf(right, element));
      }
    }
  }
  for (let block = 0; block < blocks; block++) {
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j++) {
        const [item, lane] = outputPlace(product, block, i, j);
        if (!offsets.includes(item * (width / 32))) continue;
        const start: Element = sum === 'i32' ? { n: BigInt(s.r(2 ** 31)), e: 0 } : { n: BigInt(s.r(64)) - 32n, e: -1 };
        let total: Element = start;
        for (let at = 0; at < columns; at++) {
          const row = sparse ? rows.get(`${i} ${at}`)! : at;
          total = added(total, multiplied(lefts.get(`${block} ${i} ${at}`)!, rights.get(`${block} ${row} ${j}`)!));
        }
        const names = namesOf('v', SUM + item * (width / 32), width / 32);
        s.before.setWide(names, lane, patternOf(sum, start));
        s.after.setWide(names, lane, resultPattern(sum, total));
      }
    }
  }
  s.show(offsets.map((i) => `v${SUM + i}`));
  return s.finish({ vdst: SUM, src0: 256 + LEFT, src1: 256 + RIGHT, src2: 256 + (sparse ? INDICES : SUM) });
}

/**
 * v_wmma in wave32: row l of A and column l of B are in lanes l and l + 16; row i of C in register i / 2,
 * lanes from 16 * (i % 2) on.
 */
function wmmaState(s: StateBuilder, name: string): UnsourcedRecording {
  const [, sum, left] = /^v_wmma_([a-z]+\d+)_16x16x16_([a-z]+\d+)$/.exec(name)!;
  const width = WIDTHS[left!]!;
  const dwords = width / 2;
  useLanes(s, LEFT, dwords);
  useLanes(s, LEFT + 8, dwords);
  useLanes(s, SUM, 8);
  s.setExec(0xfffff7ff);
  const isUnsigned = left!.startsWith('iu');
  const isHalf = sum === 'f16' || sum === 'bf16';
  const grid = (make: () => Element): Element[][] => Array.from({ length: 16 }, () => Array.from({ length: 16 }, make));
  const a = grid(() => elementOf(s, left!, true));
  const b = grid(() => elementOf(s, left!, false));
  for (let lane = 0; lane < 32; lane++) {
    for (let k = 0; k < 16; k++) {
      putItem(s, LEFT, [k, lane], width, patternOf(left!, a[lane % 16]![k]!));
      putItem(s, LEFT + 8, [k, lane], width, patternOf(left!, b[k]![lane % 16]!));
    }
  }
  for (let i = 0; i < 16; i++) {
    for (let j = 0; j < 16; j++) {
      const name = `v${SUM + (i >> 1)}`;
      const lane = 16 * (i % 2) + j;
      const start: Element = isUnsigned ? { n: BigInt(s.r(2 ** 20)), e: 0 } : { n: BigInt(s.r(64)) - 32n, e: -1 };
      const total = a[i]!.reduce<Element>((all, x, k) => added(all, multiplied(x, b[k]![j]!)), start);
      // The other half of the register stays.
      const high = isHalf ? BigInt(s.r(65536)) << 16n : 0n;
      s.before.set(name, lane, patternOf(isUnsigned ? 'i32' : sum!, start) | high);
      s.after.set(name, lane, resultPattern(sum!, total) | high);
    }
  }
  s.show(namesOf('v', SUM, 8));
  return s.finish({ vdst: SUM, src0: 256 + LEFT, src1: 256 + LEFT + 8, src2: 256 + SUM });
}

function stateOf(encoding: Encoding, target: Target, waveSize: 32 | 64): UnsourcedRecording | undefined {
  const { name } = encoding.row;
  const s = new StateBuilder(encoding, target, waveSize, 'matrix');
  if (/^v_s?mfmac?_/.test(name)) return mfmaState(s, productOf(name, target.processor));
  return name.startsWith('v_wmma_') ? wmmaState(s, name) : undefined;
}

export function* matrixRecordings(processor: string, waveSize: 32 | 64): Generator<Generated> {
  const target = targetFor(processor);
  for (const row of allRows()) {
    if (!row.semantics || !row.format.startsWith('VOP3P')) continue;
    const [encoding] = encodingsOf(row, target);
    const recording = encoding && stateOf(encoding, target, waveSize);
    if (recording) yield { file: encoding.format.name.toLowerCase().replaceAll('_', '-'), recording };
  }
}
