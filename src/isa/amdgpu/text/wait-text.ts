/** Waiting, in text: counters of s_waitcnt and s_waitcnt_depctr, and the hints of s_delay_alu. */

import { hex } from '../../../base/text.ts';
import { ofFamily } from '../encoding/format.ts';
import {
  type PackedCounter as Counter,
  counterOf,
  DEPENDENCY_COUNTERS,
  limitOf,
  WAIT_COUNTERS,
} from '../encoding/wait-counters.ts';
import type { TextReader } from './reader/text-reader.ts';
import { call, type ImmediateSpelling, named } from './spelling.ts';

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
  print: (value, { families }) => printCounters(value, ofFamily(WAIT_COUNTERS, families)),
  parse: (reader, { families }) => parseCounters(reader, ofFamily(WAIT_COUNTERS, families)),
};

export const dependencyCount: ImmediateSpelling = {
  print: (value, { families }) => {
    const counters = ofFamily(DEPENDENCY_COUNTERS, families);
    const hasOthers =
      value & 0xffff & ~counters.reduce((mask, { bits: [bits] }) => mask | ((2 ** bits![1] - 1) << bits![0]), 0);
    return hasOthers ? hex(value) : printCounters(value, counters);
  },
  parse: (reader, { families }) => parseCounters(reader, ofFamily(DEPENDENCY_COUNTERS, families)),
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
