/** Code of payloads to run by itself. */
import type { PayloadItem, PointLiteral } from '../src/instrument/layout/payload-code.ts';

/** The dwords of a payload at a point, with branches and the address `base` of its symbols. */
export function wordsOf(items: readonly PayloadItem[], base: bigint, literals: readonly number[] = []): number[] {
  const numberOf = (value: number | PointLiteral): number =>
    typeof value === 'number' ? value : literals[value.pointLiteral]!;
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
    else if (item.literal && 'pointLiteral' in item.literal) words[words.length - 1] = numberOf(item.literal) >>> 0;
    else if (item.literal) {
      const { half, addend } = item.literal;
      const address = base + BigInt(numberOf(addend));
      words[words.length - 1] = Number(BigInt.asUintN(32, half === 'low' ? address : address >> 32n));
    }
  }
  return words;
}
