/** Waiting, in text: counters of s_waitcnt and s_waitcnt_depctr, and the hints of s_delay_alu. */

import type { Family } from '../encoding/formats.ts';
import type { TextReader } from './assembler/text-reader.ts';
import { hex } from './operand-text.ts';
import { call, type ImmediateSpelling, named, ofFamily } from './spelling.ts';

/** A counter in pieces, lowest bits first. */
interface Counter {
  readonly name: string;
  readonly bits: readonly (readonly [low: number, width: number])[];
}

const counter = (name: string, ...bits: Counter['bits']): Counter => ({ name, bits });

/** s_waitcnt: CDNA2 ISA 4.4; RDNA2 ISA 4.4; RDNA3 ISA 5.6. */
const WAIT_COUNTERS: Readonly<Partial<Record<Family, readonly Counter[]>>> = {
  gfx9: [counter('vmcnt', [0, 4], [14, 2]), counter('expcnt', [4, 3]), counter('lgkmcnt', [8, 4])],
  gfx10: [counter('vmcnt', [0, 4], [14, 2]), counter('expcnt', [4, 3]), counter('lgkmcnt', [8, 6])],
  gfx11: [counter('vmcnt', [10, 6]), counter('expcnt', [0, 3]), counter('lgkmcnt', [4, 6])],
};

/** s_waitcnt_depctr, for hazards inside the wave (LLVM, AMDGPU user guide "depctr"). */
const DEPENDENCY_COUNTERS_GFX101: readonly Counter[] = [
  counter('depctr_sa_sdst', [0, 1]),
  counter('depctr_va_vdst', [12, 4]),
  counter('depctr_va_sdst', [9, 3]),
  counter('depctr_va_ssrc', [8, 1]),
  counter('depctr_va_vcc', [1, 1]),
  counter('depctr_vm_vsrc', [2, 3]),
];
const DEPENDENCY_COUNTERS: readonly Counter[] = [counter('depctr_hold_cnt', [7, 1]), ...DEPENDENCY_COUNTERS_GFX101];
const dependencyCounters = (families: readonly Family[]): readonly Counter[] =>
  families.includes('gfx101') ? DEPENDENCY_COUNTERS_GFX101 : DEPENDENCY_COUNTERS;

const limitOf = ({ bits }: Counter): number => 2 ** bits.reduce((sum, [, width]) => sum + width, 0) - 1;

function counterOf(value: number, { bits }: Counter): number {
  let [result, at] = [0, 0];
  for (const [low, width] of bits) {
    result |= ((value >> low) & (2 ** width - 1)) << at;
    at += width;
  }
  return result;
}

function withCounter(value: number, { bits }: Counter, count: number): number {
  let [result, rest] = [value, count];
  for (const [low, width] of bits) {
    const mask = 2 ** width - 1;
    result = (result & ~(mask << low)) | ((rest & mask) << low);
    rest >>= width;
  }
  return result;
}

/** No counter waits. */
const saturated = (counters: readonly Counter[]): number =>
  counters.reduce((value, each) => withCounter(value, each, limitOf(each)), 0);

/** The counters that are not at their limit; all of them when every one is. */
function printCounters(value: number, counters: readonly Counter[]): string {
  const waited = counters.filter((each) => counterOf(value, each) !== limitOf(each));
  return (waited.length === 0 ? counters : waited).map((each) => `${each.name}(${counterOf(value, each)})`).join(' ');
}

/** `_sat` behind a name cuts its count to the limit. */
function parseCounters(reader: TextReader, counters: readonly Counter[]): number | undefined {
  const counterCalled = (word: string | undefined): Counter | undefined =>
    counters.find(({ name }) => word?.replace(/_sat$/, '') === name);
  let result: number | undefined;
  for (;;) {
    const word = reader.peekWord();
    const found = counterCalled(word);
    if (word === undefined || !found) return result;
    const limit = limitOf(found);
    const count = call(reader, word, () => reader.integerIn(0, word.endsWith('_sat') ? 2 ** 31 : limit, word));
    if (count === undefined) return reader.fail(`expected '(' after ${word}`);
    result = withCounter(result ?? saturated(counters), found, Math.min(count, limit));
    if ((reader.accept('&') || reader.accept(',')) && !counterCalled(reader.peekWord())) {
      reader.fail('expected a counter');
    }
  }
}

export const waitCount: ImmediateSpelling = {
  print: (value, families) => printCounters(value, ofFamily(WAIT_COUNTERS, families)),
  parse: (reader, families) => parseCounters(reader, ofFamily(WAIT_COUNTERS, families)),
};

export const dependencyCount: ImmediateSpelling = {
  print: (value, families) => {
    const counters = dependencyCounters(families);
    const hasOthers =
      value & 0xffff & ~counters.reduce((mask, { bits: [bits] }) => mask | ((2 ** bits![1] - 1) << bits![0]), 0);
    return hasOthers ? hex(value) : printCounters(value, counters);
  },
  parse: (reader, families) => parseCounters(reader, dependencyCounters(families)),
};

const DEPENDENCIES: Readonly<Record<number, string>> = {
  0: 'NO_DEP',
  1: 'VALU_DEP_1',
  2: 'VALU_DEP_2',
  3: 'VALU_DEP_3',
  4: 'VALU_DEP_4',
  5: 'TRANS32_DEP_1',
  6: 'TRANS32_DEP_2',
  7: 'TRANS32_DEP_3',
  8: 'FMA_ACCUM_CYCLE_1',
  9: 'SALU_CYCLE_1',
  10: 'SALU_CYCLE_2',
  11: 'SALU_CYCLE_3',
};
const SKIPS: Readonly<Record<number, string>> = {
  0: 'SAME',
  1: 'NEXT',
  2: 'SKIP_1',
  3: 'SKIP_2',
  4: 'SKIP_3',
  5: 'SKIP_4',
};
const DELAYS = [
  { name: 'instid0', low: 0, width: 4, values: DEPENDENCIES },
  { name: 'instskip', low: 4, width: 3, values: SKIPS },
  { name: 'instid1', low: 7, width: 4, values: DEPENDENCIES },
] as const;

/** What the next instruction, and one behind it, depend on (RDNA3 ISA 5.7). */
export const delay: ImmediateSpelling = {
  print: (value) => {
    const parts = DELAYS.flatMap(({ name, low, width, values }) => {
      const part = (value >> low) & (2 ** width - 1);
      return part === 0 ? [] : [`${name}(${values[part] ?? part})`];
    });
    return parts.join(' | ') || '0';
  },
  parse: (reader) => {
    let result: number | undefined;
    do {
      const found = DELAYS.find(({ name }) => name === reader.peekWord());
      if (!found) return result === undefined ? undefined : reader.fail('expected instid0, instskip or instid1');
      const { name, low, width, values } = found;
      const part = call(reader, name, () => named(reader, values, 2 ** width - 1, name));
      if (part === undefined) return reader.fail(`expected '(' after ${name}`);
      result = ((result ?? 0) & ~((2 ** width - 1) << low)) | (part << low);
    } while (reader.accept('|'));
    return result;
  },
};
