/**
 * Hazards against LLVM 19, whose hazard recognizer inserts s_nop into random code that llc is given: with our
 * rows, the same code needs as many wait states in the same places.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import type { RegisterRange } from '../../src/ir/effects.ts';
import { waitStatesOf } from '../../src/isa/amdgpu/effects/hazard.ts';
import { overlaps } from '../../src/isa/amdgpu/effects/operand-ranges.ts';
import type { AmdgpuStep } from '../../src/isa/amdgpu/step.ts';
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

function compiled(machineIr: string, processor: string): Uint8Array {
  const [input, output] = [path.join(folder, `${processor}.mir`), path.join(folder, `${processor}.o`)];
  writeFileSync(input, machineIr);
  const options = ['-march=amdgcn', `-mcpu=${processor}`, '-start-before=post-RA-hazard-rec', '-filetype=obj'];
  const xnack = /^gfx9/.test(processor) ? ['-mattr=-xnack'] : [];
  const result = spawnSync('llc-19', [...options, ...xnack, input, '-o', output], { encoding: 'utf8' });
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
    for (const [name, blocks] of blocksOfFunctions(compiled(functions.join(''), processor), processor, 64)) {
      const { kept, inserted } = withoutNops(blocks.flatMap(({ instructions }) => instructions));
      const { ours, theirs } = compared(kept, inserted);
      assert.equal(ours, theirs, name);
      count += inserted.size;
    }
    assert.ok(count > FUNCTIONS / 2, `${count} waits in ${FUNCTIONS} functions`);
  });
}
