/** Compares what a launch left in its buffers. */
import { type Launch, type Numbers, type Results, sameType } from './launch.ts';

/** Neighbouring floats have neighbouring ordinals. */
function ordinal(numbers: Numbers, i: number): bigint {
  const width = numbers.BYTES_PER_ELEMENT;
  const view = new DataView(numbers.buffer, numbers.byteOffset + i * width, width);
  const bits =
    width === 8 ? view.getBigInt64(0, true) : BigInt(width === 4 ? view.getInt32(0, true) : view.getInt16(0, true));
  return bits < 0n ? -(bits + (1n << BigInt(width * 8 - 1))) : bits;
}

function same(a: Numbers, b: Numbers, i: number, ulps: number): boolean {
  if (Object.is(a[i], b[i])) return true;
  if (ulps === 0 || Number.isNaN(Number(a[i])) || Number.isNaN(Number(b[i]))) return false;
  const distance = ordinal(a, i) - ordinal(b, i);
  return distance <= BigInt(ulps) && distance >= BigInt(-ulps);
}

/** One line for each buffer that differs: how much of it, and where first. */
export function differences({ kernel, args, grid }: Launch, found: Results, expected: Results): string[] {
  const buffers = args.filter((argument) => argument.kind === 'buffer');
  return buffers.flatMap(({ contents, ulps = 0 }, k) => {
    const [ours, theirs] = [sameType(contents, found[k]!), sameType(contents, expected[k]!)];
    const wrong = [...ours.keys()].filter((i) => !same(ours, theirs, i, ulps));
    if (wrong.length === 0) return [];
    const [first] = wrong as [number];
    const where = `number ${first} (work-item ${Math.floor((first * grid[0]) / ours.length)} of x)`;
    const what = `${wrong.length} of ${ours.length} numbers differ, first ${where}: ${ours[first]}, expected ${theirs[first]}`;
    return [`${kernel}, buffer ${k}: ${what}`];
  });
}
