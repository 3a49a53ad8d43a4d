/** A file with a record for each kind of payload, whose fields all differ. */
import { concatenate } from '../../base/concatenate.ts';
import { seededIntegers } from '../../hal/core/random.ts';
import { encodeMetadata } from './executable-metadata.ts';
import { ReplayWriter } from './file.ts';
import { OBJECT_TYPES, REPLAY_OPERATIONS } from './names.ts';
import type { PayloadField, PayloadLayout, PayloadOf } from './payload-layout.ts';
import { EXECUTABLE_PREPARE, OWN, PAYLOADS } from './payloads.ts';

/** A file that grows in memory. */
export class MemoryFile {
  readonly #parts: Uint8Array[] = [];

  append(bytes: Uint8Array): void {
    this.#parts.push(bytes);
  }

  restart(bytes: Uint8Array): void {
    this.#parts[0] = bytes;
  }

  get bytes(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(concatenate(this.#parts));
  }
}

type Random = (limit: number) => number;

const bytes = (random: Random): Uint8Array => Uint8Array.from({ length: random(9) }, () => random(256));
const size = (random: Random): number => random(2 ** 31) * (random(2) === 0 ? 1 : 1000);
const ref = (random: Random) => ({
  ...{ bufferId: random(9), offset: size(random), length: random(4) === 0 ? undefined : size(random), slot: random(9) },
});
const several = <Each>(random: Random, make: () => Each): Each[] => Array.from({ length: random(4) }, make);
const barrier = (random: Random) => ({ sourceScope: random(1024), targetScope: random(1024) });

/** By kind of field. */
const VALUES: { readonly [Kind in PayloadField['kind']]: (random: Random) => unknown } = {
  u8: (random) => random(2 ** 8),
  u16: (random) => random(2 ** 16),
  u32: (random) => random(2 ** 31),
  u64: (random) => (BigInt(random(2 ** 31)) << 33n) | BigInt(random(2 ** 31)),
  size,
  extent: (random) => [0, 1, 2].map(() => random(2 ** 31)),
  bufferRef: ref,
  digest: (random) => Uint8Array.from({ length: 32 }, () => random(256)),
  data: bytes,
  text: (random) => 'ab "cd\\ é'.slice(0, 1 + random(9)),
  words: (random) => several(random, () => random(2 ** 31)),
  ids: (random) => several(random, () => random(100)),
  timepoints: (random) => several(random, () => ({ semaphoreId: random(9), value: size(random) })),
  bufferRefs: (random) => several(random, () => ref(random)),
  memoryBarriers: (random) => several(random, () => barrier(random)),
  bufferBarriers: (random) => several(random, () => ({ ...barrier(random), ref: ref(random) })),
};

/** Values for the fields of a layout, by seed. */
export function randomValues({ fields }: PayloadLayout, seed: number): PayloadOf<PayloadLayout> {
  const random = seededIntegers(seed);
  const values = Object.entries(fields).map(([name, { kind }]) => [name, VALUES[kind](random)] as const);
  return Object.fromEntries(values) as PayloadOf<PayloadLayout>; // reason: a value for the kind of each field
}

/** `withOwn`: records of ours, too, which IREE's tools skip. */
export function allPayloads(seed: number, withOwn = true): Uint8Array<ArrayBuffer> {
  const target = new MemoryFile();
  const writer = new ReplayWriter(target);
  const random = seededIntegers(seed);
  writer.session();
  const types = Object.keys(OBJECT_TYPES) as (keyof typeof OBJECT_TYPES)[]; // reason: the keys of the table
  for (const layout of PAYLOADS.values()) {
    const objectType = types[random(types.length)]!;
    const ids = { deviceId: random(4), objectId: random(9), relatedObjectId: random(9), objectType };
    if (layout === OWN) {
      if (withOwn) writer.own('note.contents', ids, { offset: 3 }, bytes(random));
      continue;
    }
    const drawn = randomValues(layout, seed);
    const parameters = several(random, () => ({ offset: 8, flags: 1, type: random(3), size: 4 }));
    const exports = several(random, () => ({
      ...{ flags: 2n, workgroupSize: [1, 2, 3], constantCount: 4, bindingCount: 5, parameters },
    }));
    const values = layout === EXECUTABLE_PREPARE ? { ...drawn, metadata: encodeMetadata(exports) } : drawn;
    const name = REPLAY_OPERATIONS[random(REPLAY_OPERATIONS.length)]!;
    if (layout.name.endsWith('_object')) writer.object(ids, layout, values);
    else writer.operation(name, { ...ids, status: random(19) }, layout, values);
  }
  writer.unsupported('device.create_channel', { deviceId: 1 });
  writer.end();
  return target.bytes;
}
