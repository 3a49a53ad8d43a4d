/** Code objects that no compiler wrote, through loading, linking and looking into what is linked. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { assembleFile } from '../../assembler/assemble-file.ts';
import { WavewrightError } from '../../base/errors.ts';
import { createEmulatedDevice } from '../../devices/emulated/index.ts';
import { createRuntime } from '../runtime/runtime.ts';
import { CodeObjectReader } from './loaded-code-object.ts';

const EXAMPLES = path.join(import.meta.dirname, '../../../examples/link');
const example = (name: string) => ({ name, bytes: new Uint8Array(readFileSync(path.join(EXAMPLES, name))) });
const device = createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 26 });

for (const name of ['apply.gfx90a.co', 'filters.gfx90a.co', 'filters.gfx90a.o']) {
  test(`damage to ${name} links and is looked into, or ends in a WavewrightError`, () => {
    const parts = [example('apply.gfx90a.co'), example('filters.gfx90a.co')];
    const damaged = example(name);
    const others = parts.filter((part) => !name.startsWith(part.name.slice(0, 6)));
    const changes = fc.array(fc.tuple(fc.nat(damaged.bytes.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(changes, (damage) => {
        using runtime = createRuntime({ devices: [device] });
        const executable = runtime.createExecutable();
        const bytes = damaged.bytes.slice();
        for (const [at, value] of damage) bytes[at] = value;
        try {
          for (const part of [...others, { name, bytes }]) {
            executable.loadCodeObject(runtime.gpuAgents[0]!, new CodeObjectReader(part.bytes, part.name));
          }
          executable.freeze();
          for (const symbol of executable.symbols) {
            if (symbol.kind === 'kernel') assert.ok(Array.isArray(symbol.hardwareProblems));
            if (symbol.kind !== 'variable') assert.ok((symbol.needs?.callees.length ?? 0) >= 0);
          }
        } catch (error) {
          if (!(error instanceof WavewrightError) || error.code === 'INTERNAL') throw error;
        }
      }),
      { numRuns: 150 },
    );
  });
}

test('a shared object that says it is relocatable is refused: its tables are those that the linker makes', () => {
  using runtime = createRuntime({ devices: [device] });
  const { name, bytes } = example('filters.gfx90a.co');
  // The type of the file becomes ET_REL.
  bytes[16] = 1;
  const executable = runtime.createExecutable();
  assert.throws(
    () => {
      executable.loadCodeObject(runtime.gpuAgents[0]!, new CodeObjectReader(bytes, name));
      executable.freeze();
    },
    { code: 'BAD_INPUT', message: /'\.dynsym' is loaded, but is one that the linker makes/ },
  );
});

test('functions of all sizes that lie over each other are each looked into once', () => {
  // Each claims the rest of the code: a reader that believed them would need time that grows with the square.
  const count = 3000;
  const names = Array.from({ length: count }, (_, i) => `f${i}`);
  const source = names
    .map((name) => `\n.globl ${name}\n.protected ${name}\n.type ${name},@function\n${name}:\n v_mov_b32_e32 v7, 0\n`)
    .join('');
  const sizes = names.map((name) => `.size ${name}, .Lend-${name}\n`).join('');
  using runtime = createRuntime({ devices: [device] });
  const executable = runtime.createExecutable();
  const bytes = assembleFile(`.text\n${source} s_setpc_b64 s[30:31]\n.Lend:\n${sizes}`, { processor: 'gfx90a' });
  executable.loadCodeObject(runtime.gpuAgents[0]!, new CodeObjectReader(bytes, 'overlap.o'));
  executable.freeze();
  for (const name of ['f0', `f${count - 1}`]) {
    const symbol = executable.getSymbol(name);
    assert.ok(symbol.kind === 'indirect-function');
    assert.deepEqual([symbol.needs?.vgprCount, symbol.needs?.isStackKnown], [8, true]);
  }
});
