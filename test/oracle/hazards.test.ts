/**
 * Hazards against LLVM 19, whose hazard recognizer inserts s_nop into random code that llc is given: with our
 * rows, the same code needs as many wait states in the same places. From gfx11 on it inserts other
 * instructions, and says how long LDSDIR waits: nothing is missing, and something is without any of that.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import type { RegisterRange } from '../../src/ir/effects.ts';
import { waitStatesOf } from '../../src/isa/amdgpu/effects/hazard.ts';
import { RDNA_HAZARDS } from '../../src/isa/amdgpu/effects/hazards-rdna.ts';
import { overlaps } from '../../src/isa/amdgpu/effects/operand-ranges.ts';
import { type AmdgpuStep, AmdgpuStepReader } from '../../src/isa/amdgpu/step.ts';
import { blocksOfFunctions } from '../../src/lift/blocks.test-support.ts';
import { HazardState, type MissingWait } from '../../src/lift/hazards.ts';
import { filled, HAZARD_TEMPLATES } from './hazard-templates.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-hazards-'));
after(() => rmSync(folder, { recursive: true }));
const hasLlc = spawnSync('llc-19', ['--version']).status === 0;

const FUNCTIONS = Number(process.env['WAVEWRIGHT_HAZARD_FUNCTIONS'] ?? 400);
const SEED = Number(process.env['WAVEWRIGHT_HAZARD_SEED'] ?? 1);
const MOST_INSTRUCTIONS = 10;

/** Numbers below the argument; the same for the same seed. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function randomFunction(name: string, templates: readonly string[], random: (below: number) => number): string {
  const lines = Array.from({ length: 2 + random(MOST_INSTRUCTIONS - 1) }, () =>
    filled(templates[random(templates.length)]!, random),
  );
  return `---\nname: ${name}\nbody: |\n  bb.0:\n${lines.map((line) => `    ${line}\n`).join('')}    S_ENDPGM 0\n...\n`;
}

function compiled(machineIr: string, processor: string, waveSize: 32 | 64): Uint8Array {
  const [input, output] = [path.join(folder, `${processor}.mir`), path.join(folder, `${processor}.o`)];
  writeFileSync(input, machineIr);
  const options = ['-march=amdgcn', `-mcpu=${processor}`, '-start-before=post-RA-hazard-rec', '-filetype=obj'];
  const waves = waveSize === 64 ? '+wavefrontsize64,-wavefrontsize32' : '+wavefrontsize32,-wavefrontsize64';
  const features = /^gfx9/.test(processor) ? '-mattr=-xnack' : `-mattr=${waves}`;
  const result = spawnSync('llc-19', [...options, features, input, '-o', output], { encoding: 'utf8' });
  assert.equal(result.status, 0, result.stderr);
  return readFileSync(output);
}

/** The code without s_nop, and LLVM's wait states by the number of the step that they stand before. */
function withoutNops(steps: readonly AmdgpuStep[]) {
  const kept: AmdgpuStep[] = [];
  const inserted = new Map<number, number>();
  for (const step of steps) {
    if (step.instruction.row.flags.idles) {
      inserted.set(kept.length, (inserted.get(kept.length) ?? 0) + waitStatesOf(step.instruction));
    } else kept.push(step);
  }
  return { kept, inserted };
}

/**
 * Of several products that meet in the registers of a step, LLVM asks the nearest only, also where it
 * touches a part of what the others do.
 */
function isUnseen({ step, producer, hazard }: MissingWait, steps: readonly AmdgpuStep[]): boolean {
  if (!producer.instruction.row.flags.product || !hazard.name.startsWith('matrix')) return false;
  const { reads, writes } = step.effects;
  const touches = (other: AmdgpuStep, range: RegisterRange): boolean =>
    [...other.effects.writes, ...other.effects.reads].some((each) => overlaps(each, range));
  const products = steps
    .slice(steps.indexOf(producer) + 1, steps.indexOf(step))
    .filter(({ instruction }) => instruction.row.flags.product);
  return [...reads, ...writes].some(
    (range) => touches(producer, range) && products.some((product) => touches(product, range)),
  );
}

/** Steps with the wait states before them, ours and LLVM's, a line for each. */
function compared(steps: readonly AmdgpuStep[], inserted: ReadonlyMap<number, number>) {
  let state = HazardState.nothing();
  const [ours, theirs]: [string[], string[]] = [[], []];
  for (const [i, step] of steps.entries()) {
    const needed = state.missing(step);
    const most = (waits: readonly MissingWait[]): number => Math.max(0, ...waits.map(({ missing }) => missing));
    const least = most(needed.filter((each) => !isUnseen(each, steps)));
    const states = inserted.get(i) ?? 0;
    ours.push(`${states >= least && states <= most(needed) ? states : most(needed)} ${step.text()}`);
    theirs.push(`${states} ${step.text()}`);
    state = state.after(step, states);
  }
  return { ours: ours.join('\n'), theirs: theirs.join('\n') };
}

for (const processor of ['gfx90a', 'gfx942']) {
  test(`${processor}: LLVM inserts the wait states that we find missing`, { skip: !hasLlc }, () => {
    const random = randomOf(SEED);
    const functions = Array.from({ length: FUNCTIONS }, (_, i) =>
      randomFunction(`f${i}`, HAZARD_TEMPLATES[processor]!, random),
    );
    let count = 0;
    for (const [name, blocks] of blocksOfFunctions(compiled(functions.join(''), processor, 64), processor, 64)) {
      const { kept, inserted } = withoutNops(blocks.flatMap(({ instructions }) => instructions));
      const { ours, theirs } = compared(kept, inserted);
      assert.equal(ours, theirs, name);
      count += inserted.size;
    }
    assert.ok(count > FUNCTIONS / 2, `${count} waits in ${FUNCTIONS} functions`);
  });
}

/** What LLVM inserts: none of the templates is like that. */
function isInserted({ instruction }: AmdgpuStep): boolean {
  const { flags, operands } = instruction.row;
  if (flags.spelled?.as === 'dependencyCount') return true;
  if (operands.length === 0) return instruction.row.name === 'v_nop';
  const [written, read] = operands.map((_, i) => instruction.operand(i));
  const isSame = written?.kind === 'vector' && read?.kind === 'vector' && written.register === read.register;
  return instruction.row.name === 'v_mov_b32' && isSame;
}

const missingIn = (steps: readonly AmdgpuStep[]): MissingWait[] => {
  let state = HazardState.nothing();
  return steps.flatMap((step) => {
    const missing = state.missing(step);
    state = state.after(step);
    return missing;
  });
};

/**
 * depctr_sa_sdst(0) is inserted behind a write, whether something reads the register or not; and where there
 * are transcendental ones, LDSDIR waits for all vector instructions, whether one uses its register or not.
 */
const isCautious = (step: AmdgpuStep): boolean =>
  step.instruction.format.name === 'LDSDIR' ? vectorsLeft(step) === 0 : step.instruction.field('simm16') === 0xfffe;

/** With one more vector instruction that LDSDIR may leave. */
function waitingLess(step: AmdgpuStep): AmdgpuStep {
  const { instruction, offset } = step;
  const { processor } = instruction.target;
  const bytes = new DataView(new ArrayBuffer(offset + 4));
  bytes.setUint32(offset, instruction.code[0]! + (1 << 16), true);
  const read = new AmdgpuStepReader(processor, instruction.waveSize, 0).step(bytes, offset);
  assert.ok(typeof read === 'object');
  return read;
}

const vectorsLeft = ({ instruction }: AmdgpuStep): number =>
  instruction.field('wait_vdst') + instruction.field('wait_va_vdst');
const MOST_VECTORS = 15;

/** Hazards that are there without what LLVM inserts, by name. */
function* foundWithout(steps: readonly AmdgpuStep[]): Generator<string> {
  for (const [at, step] of steps.entries()) {
    const isDirect = step.instruction.format.name === 'LDSDIR' && vectorsLeft(step) < MOST_VECTORS;
    if (!isDirect && !isInserted(step)) continue;
    // LLVM does not take a wait for all vector instructions into account there.
    if (isDirect && steps.slice(0, at).some(isInserted)) continue;
    const missing = missingIn(isDirect ? steps.with(at, waitingLess(step)) : steps.toSpliced(at, 1));
    const text = steps.map((each, i) => `${i === at ? '-> ' : ''}${each.text()}`).join('\n');
    assert.ok(missing.length > 0 || isCautious(step), text);
    for (const { hazard } of missing) yield hazard.name;
  }
}

const seen = new Set<string>();
for (const key of Object.keys(HAZARD_TEMPLATES).filter((each) => each.includes('wave'))) {
  test(`${key}: what LLVM inserts is what we find missing`, { skip: !hasLlc }, () => {
    const [processor] = key.split(' ') as [string];
    const waveSize = key.includes('wave32') ? 32 : 64;
    const random = randomOf(SEED);
    const functions = Array.from({ length: FUNCTIONS }, (_, i) =>
      randomFunction(`f${i}`, HAZARD_TEMPLATES[key]!, random),
    );
    const file = compiled(functions.join(''), processor, waveSize);
    for (const blocks of blocksOfFunctions(file, processor, waveSize).values()) {
      const steps = blocks.flatMap(({ instructions }) => instructions);
      const texts = steps.map((step) => step.text()).join('\n');
      // What LLVM inserts it does not look at again.
      const wrong = missingIn(steps)
        .filter(({ step }) => !isInserted(step))
        .map(({ hazard, step }) => `${hazard.name}: ${step.text()}`);
      assert.deepEqual(wrong, [], texts);
      for (const name of foundWithout(steps)) seen.add(name);
    }
  });
}

test('random code of gfx11 and gfx12 has each of their hazards', { skip: !hasLlc }, () => {
  assert.deepEqual([...seen].sort(), RDNA_HAZARDS.map(({ name }) => name).sort());
});
