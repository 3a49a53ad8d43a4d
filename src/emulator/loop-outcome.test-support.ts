/** What a loop leaves in one buffer that loads from another one, region by region and chunk by chunk. */
import assert from 'node:assert/strict';
import { EmulatorRig, type RigOptions } from './emulator-rig.test-support.ts';
import { MAY_WRITE, PAGE_SIZE_BYTES } from './machine/layout.ts';
import { ofWave32 } from './same-outcome.test-support.ts';

/** Of the one that is loaded from. */
export const LOADED_BYTES = 2 ** 13;
const STORED_BYTES = 2 ** 14;

interface Layout {
  /** s[0:1] has the address of what is stored, s[2:3] that of so many bytes in what is loaded. */
  readonly base: number;
  /** Whether a page behind that is of the same allocation, but may be written only. */
  readonly isPartly?: boolean;
}

function outcomeOf(program: string, { base, isPartly = false }: Layout, waveSize: 32 | 64, options: RigOptions) {
  const processor = waveSize === 64 ? 'gfx90a' : 'gfx1100';
  using rig = new EmulatorRig({ processor, bufferSizeBytes: STORED_BYTES, ...options });
  const { memory } = rig.emulator;
  const loaded = memory.allocate(LOADED_BYTES + (isPartly ? PAGE_SIZE_BYTES : 0), { label: 'loaded' });
  if (isPartly) memory.protectPages(loaded + LOADED_BYTES, PAGE_SIZE_BYTES, MAY_WRITE);
  for (let at = 0; at < LOADED_BYTES; at += 4) memory.view.setUint32(loaded + at, Math.imul(at, 0x9e3779b1), true);
  const dispatch = rig.run(waveSize === 64 ? program : ofWave32(program), {
    userSgprs: Uint32Array.of(rig.buffer, memory.windowHi, loaded + base, memory.windowHi),
    workgroupIdSgprs: [4, undefined, undefined],
    waveSize,
    gridSize: [waveSize, 1, 1],
    workgroupSize: [waveSize, 1, 1],
  });
  const stored = Array.from({ length: STORED_BYTES / 4 }, (_, i) => rig.dword(i));
  return { stored, fault: dispatch.fault?.message, loops: dispatch.tiers.loops };
}

/** Each leaves what the reference executor does, behind a fault, too; chunk by chunk, loops run as such. */
export function compareTiers(program: string, mayFault: boolean, waveSize: 32 | 64, layout: Layout): void {
  const { loops: _, ...expected } = outcomeOf(program, layout, waveSize, { executor: 'reference' });
  assert.equal(expected.fault !== undefined, mayFault, expected.fault ?? 'no fault');
  for (const vertical of ['never', 'auto', 'always'] as const) {
    const options = { executor: 'jit', compileThreshold: 0, vertical } as const;
    const { loops, ...outcome } = outcomeOf(program, layout, waveSize, options);
    assert.deepEqual(outcome, expected, vertical);
    if (!mayFault) assert.equal(loops > 0, vertical !== 'never', vertical);
  }
}
