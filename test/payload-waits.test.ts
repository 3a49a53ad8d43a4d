/** Payloads of random hooks touch no register that an access of the application may still write. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { registerNumber } from '../src/flow/steps.ts';
import { compileHook } from '../src/instrument/dsl/compile-hook.ts';
import type { PayloadItem } from '../src/instrument/layout/payload-code.ts';
import { Allocator } from '../src/instrument/machine/allocate.ts';
import { hasCounter } from '../src/instrument/machine/payload-waits.ts';
import type { PointAccesses, RegisterPlan } from '../src/instrument/machine/register-plan.ts';
import type { RegisterRange } from '../src/ir/effects.ts';
import { decoderFor } from '../src/isa/amdgpu/decoder.ts';
import { effectsOf } from '../src/isa/amdgpu/effects/effects.ts';
import { bytesOf } from '../src/isa/amdgpu/encoding/encode.ts';
import { targetFor } from '../src/isa/amdgpu/encoding/targets.ts';
import type { PendingAccess } from '../src/lift/in-flight.ts';
import { randomGenerator } from './lockstep/lockstep.test-support.ts';
import { type Random, RandomHook } from './random-hook.test-support.ts';

const USED = 28;
const FILE = { used: USED, granted: USED, growable: USED, most: USED };
const PLAN: RegisterPlan = {
  scalar: FILE,
  vector: FILE,
  accumulator: { used: 0, granted: 0, growable: 0, most: 0 },
  reserved: [],
};
const HOOKS = 150;

type Pending = readonly Pick<PendingAccess, 'counter' | 'left' | 'register' | 'access'>[];

function randomPending(processor: string, random: Random): Pending {
  const isSplit = hasCounter(targetFor(processor), 'loadcnt');
  return Array.from({ length: 10 }, (_, i) => {
    const file = i % 2 === 0 ? 'scalar' : 'vector';
    return {
      counter: file === 'scalar' ? (isSplit ? 'kmcnt' : 'lgkmcnt') : isSplit ? 'loadcnt' : 'vmcnt',
      left: file === 'scalar' ? 0 : random() % 6,
      register: registerNumber(file, random() % USED),
      access: 'write',
    };
  });
}

/** The first register that is touched too early. */
function tooEarly(items: readonly PayloadItem[], pending: Pending, processor: string, waveSize: 32 | 64) {
  let rest = [...pending];
  for (const item of items) {
    if (item.kind === 'label') continue;
    const instruction = decoderFor(processor, waveSize).decode(new DataView(bytesOf(item.words).buffer), 0);
    assert.ok(typeof instruction !== 'string');
    const { reads, writes, waits } = effectsOf(instruction);
    rest = rest.filter(({ counter, left }) => (waits.get(counter) ?? Number.POSITIVE_INFINITY) > left);
    const isTouched = (register: number): boolean =>
      [...reads, ...writes].some(({ file, first, dwords }: RegisterRange) => {
        const from = registerNumber(file, first);
        return from <= register && register < from + dwords;
      });
    const found = rest.find(({ register }) => isTouched(register));
    if (found) return `${found.register} by ${instruction.name}`;
  }
  return undefined;
}

for (const [processor, waveSize] of [
  ['gfx90a', 64],
  ['gfx1100', 32],
  ['gfx1200', 32],
] as const) {
  test(`registers in flight are waited for or left alone: ${processor}`, () => {
    let [waited, found] = [0, 0];
    for (let seed = 1; seed <= HOOKS; seed++) {
      const random = randomGenerator(seed);
      const { hook } = new RandomHook(random());
      const payloads = compileHook(hook, { target: targetFor(processor), waveSize });
      const accesses = randomPending(processor, random);
      const inFlight: PointAccesses = {
        accesses,
        leftOf: (access) => accesses.find((each) => each === access)!.left,
      };
      const result = new Allocator(payloads, PLAN).allocate({
        live: { active: 0n, inactive: 0n },
        ...{ isSccLive: false, inFlight, unknownInFlight: new Set(), gprIndexing: false },
      });
      if (result.kind === 'refusal') continue;
      const early = tooEarly(result.code.items, accesses, processor, waveSize);
      assert.equal(early, undefined, `seed ${seed}`);
      const isWait = (item: PayloadItem): boolean => {
        if (item.kind !== 'instruction') return false;
        const code = decoderFor(processor, waveSize).decode(new DataView(bytesOf(item.words).buffer), 0);
        return typeof code !== 'string' && effectsOf(code).waits.size > 0;
      };
      const without = result.code.items.slice(result.code.items.findIndex((item) => !isWait(item)));
      if (without.length === result.code.items.length) continue;
      waited++;
      if (tooEarly(without, accesses, processor, waveSize) !== undefined) found++;
    }
    assert.ok(waited > 10, `${waited} payloads waited`);
    // The waits of a payload for its own loads may be enough.
    assert.ok(found > 0.9 * waited, `${found} of ${waited} waits that are left out are found`);
  });
}
