/** Compares what a launch left in its buffers on two machines. */
import type { Launch, Numbers, Results } from './launch.ts';

const MAX_LISTED = 4;

type Floats = Float16Array | Float32Array | Float64Array;
const isFloats = (numbers: Numbers): numbers is Floats =>
  numbers instanceof Float16Array || numbers instanceof Float32Array || numbers instanceof Float64Array;

/** Distance in units in the last place; 0 for two NaNs. */
function ulpsBetween(a: Floats, b: Floats, at: number): bigint {
  if (Number.isNaN(a[at]) && Number.isNaN(b[at])) return 0n;
  const bits = a.BYTES_PER_ELEMENT * 8;
  const ordered = (numbers: Floats): bigint => {
    const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset + at * numbers.BYTES_PER_ELEMENT, bits / 8);
    const pattern = bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n);
    const magnitude = pattern & ((1n << BigInt(bits - 1)) - 1n);
    return pattern >> BigInt(bits - 1) ? -magnitude : magnitude;
  };
  const distance = ordered(a) - ordered(b);
  return distance < 0n ? -distance : distance;
}

/** One line for each buffer that differs. NaNs count as equal whatever their bits. */
export function differences(launch: Launch, results: Results, expected: Results): string[] {
  const buffers = launch.args.filter((argument) => argument.kind === 'buffer');
  return buffers.flatMap(({ contents, ulps }, k) => {
    const typed = (bytes: Uint8Array): Numbers => {
      const make = contents.constructor as new (buffer: ArrayBuffer) => Numbers;
      return new make(Uint8Array.from(bytes).buffer);
    };
    const [own, other] = [typed(results[k]!), typed(expected[k]!)];
    const wrong: number[] = [];
    for (let i = 0; i < other.length; i++) {
      if (Object.is(own[i], other[i])) continue;
      if (ulps !== undefined && isFloats(own) && isFloats(other) && ulpsBetween(own, other, i) <= BigInt(ulps))
        continue;
      wrong.push(i);
    }
    if (wrong.length === 0) return [];
    const listed = wrong.slice(0, MAX_LISTED).map((i) => `[${i}] is ${own[i]}, expected ${other[i]}`);
    return [`${launch.kernel}, buffer ${k}: ${wrong.length} of ${other.length} differ: ${listed.join('; ')}`];
  });
}
