/** Code that payloads make so long that its branches need islands. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { targetFor } from '../isa/amdgpu/encoding/targets.ts';
import { assembleInstruction } from '../isa/amdgpu/text/assembler/assemble.ts';
import { codeObjectOf, kernelText } from '../lift/lift-text.test-support.ts';
import { instrumentCodeObject } from './instrument.ts';
import type { CodeItem } from './layout/code-item.ts';

/** As far as a branch reaches, but for a few instructions, and so many more. */
const FAR_BYTES = 130_000;
const MORE_INSTRUCTIONS = 300;
const CLAUSE_LOADS = 32;

test('no island stands in a clause', () => {
  const load = 'global_load_b32 v2, v3, s[22:23]\n';
  const clause = `s_clause ${CLAUSE_LOADS - 1}\n${load.repeat(CLAUSE_LOADS)}`;
  const many = clause.repeat(FAR_BYTES / (4 + CLAUSE_LOADS * 8));
  const { elf } = codeObjectOf(kernelText('k', `s_cbranch_scc1 far\n${many}far:\ns_endpgm`), 'gfx1100');
  const { words } = assembleInstruction('s_nop 0', { target: targetFor('gfx1100'), waveSize: 32 });
  const more = new Array<CodeItem>(MORE_INSTRUCTIONS).fill({ kind: 'instruction', words });
  const { map, islandCount } = instrumentCodeObject(elf.bytes, {
    edit: ({ control }) => (control === 'conditional' ? { after: more } : undefined),
  });
  assert.ok(islandCount > 0);
  let [clauses, left] = [0, 0];
  for (const { kind, sizeBytes } of map.rows) {
    const isLoad = kind === 'original' && sizeBytes === 8;
    assert.ok(left === 0 || isLoad, `${kind} comes ${left} loads before the end of a clause`);
    if (isLoad && left === 0) [clauses, left] = [clauses + 1, CLAUSE_LOADS];
    if (isLoad) left--;
  }
  assert.equal(clauses, Math.floor(FAR_BYTES / (4 + CLAUSE_LOADS * 8)));
});
