/** Code of payloads to run by itself. */
import type { PayloadItem } from '../src/instrument/machine/placed-form.ts';

/** The dwords of a payload, with branches and the address `base` of its symbols. */
export function wordsOf(items: readonly PayloadItem[], base: bigint): number[] {
  const places = new Map<object, number>();
  let at = 0;
  for (const item of items) {
    if (item.kind === 'label') places.set(item.label, at);
    else at += item.words.length;
  }
  const words: number[] = [];
  for (const item of items) {
    if (item.kind === 'label') continue;
    words.push(...item.words);
    if (item.kind === 'branch') words[words.length - 1]! |= (places.get(item.target)! - words.length) & 0xffff;
    else if (item.fixup?.kind === 'number') words[words.length - 1] = item.fixup.value >>> 0;
    else if (item.fixup) {
      const address = base + BigInt(item.fixup.addend);
      words[words.length - 1] = Number(BigInt.asUintN(32, item.fixup.half === 'low' ? address : address >> 32n));
    }
  }
  return words;
}
