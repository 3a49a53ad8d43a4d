/** Damage to files, as it comes from broken disks, broken tools and people who mean harm. */
import type { Random } from './random.ts';

const EDGES_32 = [0, 1, 2, 0x7f, 0x80, 0xff, 0x1000, 0xffff, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff];

type Mutation = (bytes: Uint8Array<ArrayBuffer>, at: number, random: Random) => Uint8Array<ArrayBuffer>;

const flipBit: Mutation = (bytes, at, random) => {
  bytes[at]! ^= 1 << random.below(8);
  return bytes;
};

const setByte: Mutation = (bytes, at, random) => {
  bytes[at] = random.chance(50) ? random.pick([0, 1, 0x7f, 0x80, 0xff]) : random.below(256);
  return bytes;
};

/** An aligned field of 32 or 64 bits becomes one that is easily forgotten. */
const setField: Mutation = (bytes, at, random) => {
  const field = at & ~3;
  if (field + 8 > bytes.length) return bytes;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  view.setUint32(field, random.pick(EDGES_32), true);
  if (random.chance(30)) view.setUint32(field + 4, random.pick(EDGES_32), true);
  return bytes;
};

const copyBlock: Mutation = (bytes, at, random) => {
  const from = random.below(bytes.length);
  bytes.copyWithin(at, from, from + random.between(1, 64));
  return bytes;
};

const cut: Mutation = (bytes, at, random) => {
  const size = random.between(1, 16);
  return Uint8Array.from([...bytes.subarray(0, at), ...bytes.subarray(at + size)]);
};

const insert: Mutation = (bytes, at, random) =>
  Uint8Array.from([
    ...bytes.subarray(0, at),
    ...random.times(random.between(1, 16), () => random.below(256)),
    ...bytes.subarray(at),
  ]);

/** Damages a copy in one to three places; a third of them in the first KiB, where headers and notes are. */
export function mutate(original: Uint8Array, random: Random): Uint8Array {
  let bytes = Uint8Array.from(original);
  for (let count = random.between(1, 3); count > 0; count--) {
    const at = random.below(random.chance(33) ? Math.min(1024, bytes.length) : bytes.length);
    const mutation = random.weighted<Mutation>([
      [5, flipBit],
      [5, setByte],
      [5, setField],
      [2, copyBlock],
      [1, cut],
      [1, insert],
    ]);
    bytes = mutation(bytes, at, random);
  }
  return bytes;
}
