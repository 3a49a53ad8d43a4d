/** Functions that only other code objects call are instrumented, and linked with what calls them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { assembleFile } from '../src/assembler/assemble-file.ts';
import { parseCodeObject } from '../src/codeobject/code-object.ts';
import { createEmulatedDevice } from '../src/devices/emulated/index.ts';
import { dispatchKernel } from '../src/dispatch/dispatch.ts';
import { REGISTER_PLACES, registerNumber } from '../src/flow/steps.ts';
import type { LaunchObserver } from '../src/hsa/runtime/launch-observer.ts';
import { parseArgument } from '../src/launch/argument-text.ts';
import { liftCodeObject } from '../src/lift/lifted-code.ts';
import { linkCodeObject } from '../src/linker/link.ts';
import { chooseTool } from '../src/tools/chosen-tool.ts';
import { ToolSession } from '../src/tools/tool-session.ts';

const imageOf = (name: string, processor: string) => {
  const file = `examples/link/${name}.${processor}.co`;
  return { name: file, bytes: readFileSync(file) };
};
const pixels = new Uint8Array(Uint32Array.from({ length: 64 }, (_, i) => i * 0x040308).buffer);

for (const processor of ['gfx90a', 'gfx1100'] as const) {
  const run = (kernel: string, library: { name: string; bytes: Uint8Array }, observer?: LaunchObserver) => {
    using device = createEmulatedDevice({ processor, countsPcs: observer === undefined });
    const args = ['out:result:256', 'in:pixels', 'i32:64'].map((text) => parseArgument(text, () => pixels));
    const images = [imageOf('apply', processor), library];
    const { outputs, executed, hardwareProblems } = dispatchKernel({
      device,
      images,
      kernel,
      grid: [64],
      workgroup: [64],
      args,
      observer,
    });
    return { output: outputs[0]!.bytes, executed: executed ?? [], hardwareProblems };
  };
  for (const kernel of ['apply_each', 'soften_all']) {
    test(`${processor}: ${kernel} calls functions with tools in them, which count what runs`, async () => {
      const library = imageOf('filters', processor);
      const native = run(kernel, library);
      const session = new ToolSession([await chooseTool('instruction-count:level=wave')]);
      const counted = run(kernel, session.instrument(library), session);
      assert.deepEqual(counted.output, native.output);
      // A kernel has the registers that its compiler counted on for others.
      const lacking = ({ hardwareProblems }: typeof counted) => hardwareProblems.filter((each) => /GPRs/.test(each));
      assert.deepEqual(lacking(counted), lacking(native));
      const [{ result } = assert.fail('a report')] = session.reports;
      const rows = result.tables.find(({ name }) => name === 'instructions')!.rows;
      const truth = new Map(
        native.executed.flatMap(({ file, address, waves }) => (file === library.name ? [[address, waves]] : [])),
      );
      // What goes on in the other code object, and what calls itself, may pass on any register.
      const served = rows.filter(([, name]) => name !== 'soften' && name !== 'digits');
      assert.ok(served.some(([address]) => truth.has(Number(address))) || kernel === 'soften_all');
      for (const [address, name, , text, waves] of served)
        assert.equal(Number(waves), truth.get(Number(address)) ?? 0, `${name} ${address}: ${text}`);
    });
  }
}

test('what is live behind a function is what the calling convention says', () => {
  const body = (name: string, code: string): string =>
    `.globl ${name}\n.type ${name},@function\n${name}:\n${code}\n s_setpc_b64 s[30:31]\n.size ${name}, .-${name}\n`;
  const call = ` s_getpc_b64 s[4:5]\n s_add_u32 s4, s4, seen@rel32@lo+4\n s_addc_u32 s5, s5, seen@rel32@hi+12\n
 s_mov_b64 s[34:35], s[30:31]\n s_swappc_b64 s[30:31], s[4:5]\n s_mov_b64 s[30:31], s[34:35]`;
  const text = `.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"\n.text\n.protected seen\n${body('alone', ' v_mov_b32 v0, v1')}
${body('seen', ' v_mov_b32 v0, v1')}${body('calls', call)}`;
  const object = assembleFile(text, { processor: 'gfx90a', file: 'library.s' });
  const linked = linkCodeObject([{ bytes: object, name: 'library.o' }]);
  const { functions } = liftCodeObject(parseCodeObject(linked, 'library.co'));
  const named = (name: string) => functions.find((each) => each.name === name)!;
  assert.deepEqual(
    ['alone', 'seen', 'calls'].map((name) => named(name).isForOthers),
    [true, false, true],
  );
  const { active, inactive } = named('alone').liveAfter(named('alone').blocks[0]!.instructions[0]!);
  const isLive = (file: 'scalar' | 'vector', register: number): boolean =>
    ((active >> BigInt(registerNumber(file, register))) & 1n) === 1n;
  const live = (file: 'scalar' | 'vector', numbers: readonly number[]) => numbers.filter((each) => isLive(file, each));
  assert.deepEqual(live('vector', [0, 1, 31, 32, 39, 40, 47, 48, 55, 56, 247, 255]), [0, 40, 47, 56, 255]);
  assert.deepEqual(live('scalar', [0, 3, 4, 29, 30, 31, 32, 101, 106, 107]), [0, 3, 30, 31, 32, 101]);
  assert.equal(inactive, REGISTER_PLACES.rows);
});
