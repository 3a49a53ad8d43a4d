/** Variables of tools, and literals that name them, through the loader. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../assembler/assemble-file.ts';
import { parseCodeObject } from '../codeobject/code-object.ts';
import { createEmulatedDevice } from '../devices/emulated/index.ts';
import { CodeObjectReader } from '../hsa/executables/loaded-code-object.ts';
import { createRuntime } from '../hsa/runtime/runtime.ts';
import { linkCodeObject } from '../linker/link.ts';
import { instrumentCodeObject } from './instrument.ts';
import { type CodeItem, Label } from './layout/code-item.ts';
import { layoutCodeFor } from './layout/layout-code.ts';

const PROCESSOR = 'gfx90a';
const SOURCE = `
.text
.globl f
.p2align 8
.type f,@function
f:
  s_getpc_b64 s[4:5]
  s_add_u32 s6, s4, 8
  s_setpc_b64 s[30:31]
.size f, .-f
`;
const object = linkCodeObject([{ name: 'f.o', bytes: assembleFile(SOURCE, { processor: PROCESSOR, file: 'f.s' }) }]);

test('hosts find variables by name, literals hold their addresses, and pinned ones those of old code', () => {
  const { move } = layoutCodeFor(PROCESSOR);
  const literal = (half: 'low' | 'high'): CodeItem => ({
    ...{ kind: 'instruction', words: move(20, 0) },
    fixup: { kind: 'absolute', half, symbol: 'count', addend: 8 },
  });
  const entry = Number(parseCodeObject(object, 'f').symbols.find(({ name }) => name === 'f')!.value);
  const { bytes, pinned, map } = instrumentCodeObject(object, {
    variables: [
      { symbol: 'first', sizeBytes: 4, alignmentBytes: 4, bytes: Uint8Array.of(7) },
      { symbol: 'count', sizeBytes: 4096, alignmentBytes: 64 },
    ],
    edit: ({ offset }) => (offset === entry ? { before: [literal('low'), literal('high')] } : undefined),
  });
  const oldEntry = pinned[0]! - 4;
  const device = createEmulatedDevice({ processor: PROCESSOR, memorySizeBytes: 2 ** 26 });
  const runtime = createRuntime({ devices: [device] });
  const executable = runtime.createExecutable();
  executable.loadCodeObject(runtime.gpuAgents[0]!, new CodeObjectReader(bytes, 'f.co'));
  executable.freeze();
  const [count, code] = ['count', 'f'].map((name) => executable.getSymbol(name).address);
  assert.equal(count! % 64n, 0n);
  assert.deepEqual([...runtime.view(executable.getSymbol('first').address, 4)], [7, 0, 0, 0]);
  assert.ok(runtime.view(count!, 4096).every((byte) => byte === 0));
  const view = new DataView(runtime.view(code!, 64).slice().buffer);
  const pair = (at: number): bigint => BigInt(view.getUint32(at, true)) | (BigInt(view.getUint32(at + 8, true)) << 32n);
  assert.equal(pair(4), count! + 8n);
  // The getpc became two moves of what it read in the old code.
  const delta = code! - BigInt(map.rows[0]!.address);
  assert.equal(pair(20), BigInt(oldEntry) + 4n + delta);
  device.close();
});

test('names that are taken, and names that nothing has, are refused', () => {
  const variables = [{ symbol: 'f', sizeBytes: 4, alignmentBytes: 4 }];
  assert.throws(() => instrumentCodeObject(object, { variables }), { code: 'USAGE', message: /'f'/ });
  const nowhere: CodeItem = {
    ...{ kind: 'instruction', words: [0xbe80_00ff, 0] },
    fixup: { kind: 'absolute', half: 'low', symbol: 'nothing', addend: 0 },
  };
  const edit = () => ({ before: [nowhere] });
  assert.throws(() => instrumentCodeObject(object, { edit }), { message: /'nothing'/ });
  const lost: CodeItem = { kind: 'branch', words: [0xbf82_0000], target: new Label('lost') };
  const branches = () => ({ before: [lost] });
  assert.throws(() => instrumentCodeObject(object, { edit: branches }), { code: 'INTERNAL' });
});
