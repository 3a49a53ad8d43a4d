/** Hooks that clang compiled, checked in with sources: lifted to payload code, or rejected with reasons. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { errorCodeOf, mutationsOf } from '../../../test/data/codeobjects/load.ts';
import { assembleFile } from '../../assembler/assemble-file.ts';
import { parseTargetId } from '../../codeobject/target-id.ts';
import { targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import { assembleInstruction } from '../../isa/amdgpu/text/assembler/assemble.ts';
import { clobbersOf } from '../machine/state-saves.ts';
import { bindHook } from './bind-hook.ts';
import { isRejected } from './hook-code.ts';
import { type HookFile, openHookFile } from './hook-file.ts';
import type { HookArgument, HookPoint, LaunchRegisters } from './hook-point.ts';
import { liftHook } from './lift-hook.ts';
import { payloadText } from './payload-text.test-support.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../../test/data/hooks');
const PROCESSORS = { gfx90a: 64, gfx942: 64, gfx1100: 32 } as const;
type Processor = keyof typeof PROCESSORS;

const bytesOf = (name: string): Uint8Array => new Uint8Array(readFileSync(path.join(FOLDER, name)));
const open = (name: string, processor: string): HookFile => openHookFile(bytesOf(name), name, parseTargetId(processor));

const constant = (value: bigint, dwords: 1 | 2 = 1): HookArgument => ({ kind: 'constant', value, dwords });

const LAUNCH: LaunchRegisters = {
  ...{ dispatchPacket: 20, kernelArguments: 22, implicitOffset: 24, workgroupIds: [26, 27, 28] },
  launchValues: 'values',
};

function pointOf(processor: string, launch: LaunchRegisters = LAUNCH, text?: string): HookPoint {
  const waveSize = PROCESSORS[processor as Processor];
  const load = processor === 'gfx1100' ? 'global_load_b32' : 'global_load_dword';
  const code = { target: targetFor(processor), waveSize };
  const { instruction } = assembleInstruction(text ?? `${load} v1, v2, s[6:7] offset:16`, code);
  return {
    instruction,
    address: 0x1234,
    opcode: 7,
    launch,
    placeOf: ({ name }) => ({ symbol: `hooks${name}`, addend: 0 }),
  };
}

/** The payload as text, or why there is none. */
function payloadOf(file: HookFile, name: string, args: readonly HookArgument[], point = pointOf(file.processor)) {
  const waveSize = PROCESSORS[file.processor as Processor];
  const lifted = liftHook(file, name, waveSize);
  if (isRejected(lifted)) return lifted.rejected;
  const bound = bindHook(lifted, args, point);
  if (isRejected(bound)) return bound.rejected;
  const payload = bound.code({ target: targetFor(file.processor), waveSize });
  // Throws for a payload that writes what is not its own.
  clobbersOf(payload);
  return { lines: payloadText(payload.items), literals: bound.literals, changes: payload.changes };
}

const ARGUMENTS: Readonly<Record<string, readonly HookArgument[]>> = {
  count_waves: [constant(5n)],
  count_lanes: [constant(5n)],
  count_each_lane: [constant(5n), constant(1n << 32n, 2)],
  count_in_lane_zero: [constant(5n)],
  count_in_scalar_memory: [constant(5n), constant(1n << 32n, 2)],
  count_opcode: [],
  number_waves: [],
  collect_addresses: [],
  lane_statistics: [],
  sum_over_lanes: [constant(5n), { kind: 'intrinsic', name: 'read_reg', numbers: [256 + 9], dwords: 1 }],
  classify: [{ kind: 'intrinsic', name: 'read_reg', numbers: [256 + 9], dwords: 1 }],
  add_to_v1: [constant(3n)],
  state: [constant(5n)],
  grid: [],
  workgroups: [],
};

for (const processor of Object.keys(PROCESSORS)) {
  for (const level of ['O1', 'O2', 'O3']) {
    test(`${processor}, -${level}: hooks become payloads`, () => {
      const file = open(`hooks.${processor}.${level}.o`, processor);
      assert.deepEqual([...file.functions.keys()].sort(), Object.keys(ARGUMENTS).sort());
      for (const [name, args] of Object.entries(ARGUMENTS)) {
        const payload = payloadOf(file, name, args);
        assert.ok(typeof payload === 'object', `${name}: ${JSON.stringify(payload)}`);
        // What a function does for its caller is gone: no return, no wait for what nobody reads.
        const text = payload.lines.join('\n');
        assert.doesNotMatch(text, /s_setpc|s_getpc|s_nop|s_clause|s_delay|v_dual|expcnt/, name);
        const loads = payload.lines.some((line) => /_load|s_atomic|returns|atomic.*glc|vdst=.*atomic/.test(line));
        if (!loads && name !== 'collect_addresses') assert.doesNotMatch(text, /s_waitcnt/, name);
        assert.deepEqual(payload.changes, name === 'add_to_v1' ? [{ file: 'vector', first: 1, dwords: 1 }] : []);
      }
    });
  }

  test(`${processor}: OpenCL C, C++ and HIP say the same as C`, () => {
    for (const name of [`opencl.${processor}.o`, `cpp.${processor}.o`, `hip.${processor}.bundle`]) {
      const payload = payloadOf(open(name, processor), 'count_lanes', [constant(5n)]);
      assert.ok(typeof payload === 'object', `${name}: ${payload}`);
      const counts = payload.lines.filter((line) => /bcnt1|atomic_add/.test(line));
      assert.equal(counts.length, 2, payload.lines.join('\n'));
    }
    const changed = payloadOf(open(`hip.${processor}.bundle`, processor), 'add_to_v1', [constant(3n)]);
    assert.ok(typeof changed === 'object' && changed.changes.length === 1, `${changed}`);
  });

  test(`${processor}: hooks that are not lifted say why`, () => {
    const file = open(`odd.${processor}.o`, processor);
    const reasons: Readonly<Record<string, RegExp>> = {
      calls: /calls a function/,
      recursive: /calls a function/,
      stack: /uses (the stack|private memory)/,
      barrier: /^waits at a barrier/,
      lds: /^uses the LDS/,
      mode: /^writes a hardware register/,
      end: /^ends the wave/,
      message: /^sends an interrupt/,
      indirect: /calls a function/,
      other_lanes: /^needs a value in lanes that were off when it was computed/,
      nothing: /no function 'nothing'/,
    };
    for (const [name, reason] of Object.entries(reasons)) {
      const rejected = payloadOf(file, name, [constant(1n), constant(2n)]);
      assert.match(String(rejected), reason, name);
    }
  });
}

test('a counter in full: one atomic addition, without return, waits and addresses from the program counter', () => {
  const payload = payloadOf(open('hooks.gfx90a.O2.o', 'gfx90a'), 'count_each_lane', ARGUMENTS.count_each_lane!);
  assert.ok(typeof payload === 'object');
  assert.deepEqual(payload.literals, [5, 0, 1]);
  const text = payload.lines.join('\n');
  assert.equal(payload.lines.filter((line) => line.includes('low(hooks.bss+')).length, 1, text);
  assert.equal(payload.lines.filter((line) => line.includes('high(hooks.bss+')).length, 1, text);
  assert.match(payload.lines.at(-1)!, /^global_atomic_add_x2/, text);
});

test('lanes that the hook switches on have the values that it needs there', () => {
  const payload = payloadOf(open('hooks.gfx90a.O2.o', 'gfx90a'), 'count_in_lane_zero', [constant(5n)]);
  assert.ok(typeof payload === 'object');
  const stored = payload.lines.find((line) => line.startsWith('global_atomic'))!;
  // All vector registers of the access count as needed in all lanes.
  const vectors = stored.match(/=v\d+!?/g)!;
  assert.ok(vectors.length > 0 && vectors.every((each) => each.endsWith('!')), stored);
  assert.match(payload.lines.at(-1)!, /^s_mov_b64 .*ssrc0=s\d/);
});

for (const processor of Object.keys(PROCESSORS)) {
  test(`${processor}: what the first of these lanes tells all is there, too, where no lane was on`, () => {
    const args: HookArgument[] = [{ kind: 'symbol', symbol: 'counters', offset: 0 }, constant(5n)];
    const payload = payloadOf(open(`tools.${processor}.o`, processor), 'add_wave', args);
    assert.ok(typeof payload === 'object', `${payload}`);
    const reads = payload.lines.filter((line) => line.startsWith('v_readfirstlane'));
    assert.equal(reads.length, 3);
    const sources = reads.map((line) => /src0=(v\d+!?)/.exec(line)?.[1]);
    for (const source of sources) {
      const written = payload.lines.findIndex((line) => line.startsWith('v_mov') && line.includes(`=${source}`));
      const masks = payload.lines.slice(0, written).filter((line) => /^s_mov_b(32|64) .*exec/.test(line));
      assert.match(`${source} ${masks.at(-1)}`, /^v\d+! .*-1/, payload.lines.join('\n'));
    }
  });
}

test('addresses are those of all formats, from registers as the application has them', () => {
  const file = open('hooks.gfx90a.O2.o', 'gfx90a');
  const linesAt = (text: string): string => {
    const payload = payloadOf(file, 'collect_addresses', [], pointOf('gfx90a', LAUNCH, text));
    assert.ok(typeof payload === 'object', `${text}: ${JSON.stringify(payload)}`);
    return payload.lines.join('\n');
  };
  for (const text of [
    'global_load_dword v1, v[2:3], off',
    'buffer_load_dwordx4 v[4:7], v2, s[8:11], s12 offen offset:8',
    'buffer_atomic_add v4, v2, s[8:11], 0 idxen',
    'tbuffer_load_format_x v4, v2, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_UINT] offen',
    'scratch_load_dword v1, v2, off offset:8',
    'ds_read_b64 v[2:3], v4 offset:16',
  ]) {
    assert.match(linesAt(text), /v_(mov|add|lshl|pk|or|and|mul|cndmask)/, text);
  }
  // The hook's own code may use VCC before it asks.
  assert.match(linesAt('global_load_dword v1, v2, vcc'), /^s_mov_b64 sdst=s0.0.*v_add_co_u32_e64 .* src0=s0.0/s);
  // The compiler takes it that SCC stays.
  assert.match(linesAt('global_load_dword v1, v2, s[4:5] offset:16'), /s_cselect_b32 .*s_addc_u32 .*s_cmp_lg_u32 /s);
  assert.doesNotMatch(linesAt('global_load_dword v1, v[2:3], off'), /s_cselect_b32|s_cmp_lg_u32/);
  const two = pointOf('gfx90a', LAUNCH, 'ds_read2_b32 v[2:3], v4 offset1:1');
  assert.match(String(payloadOf(file, 'collect_addresses', [], two)), /but the instruction accesses two places/);
});

test('what a point lacks is a reason', () => {
  const file = open('hooks.gfx90a.O2.o', 'gfx90a');
  const reason = (name: string, args: readonly HookArgument[], point?: HookPoint) =>
    String(payloadOf(file, name, args, point));
  assert.match(reason('count_waves', []), /has more arguments than it is called with: it reads v0/);
  assert.match(reason('grid', [], pointOf('gfx90a', {})), /asks for .* which the kernel does not keep|sets none/);
  const alu = pointOf('gfx90a', LAUNCH, 'v_add_u32 v1, v2, v3');
  assert.match(reason('collect_addresses', [], alu), /asks for the address, but the instruction has no address/);
  const many = Array.from({ length: 40 }, () => constant(1n));
  assert.match(reason('count_waves', many), /is called with 40 dwords of arguments, above 31/);
  const operand: HookArgument = { kind: 'intrinsic', name: 'immediate', numbers: [1], dwords: 1 };
  assert.match(reason('count_waves', [operand], alu), /asks for operand 1, which is no constant/);
  const register: HookArgument = { kind: 'intrinsic', name: 'read_reg', numbers: [800], dwords: 1 };
  assert.match(reason('count_waves', [register], alu), /reads register 800, which there is not/);
});

test('hooks of the other wave size are rejected', () => {
  const lifted = liftHook(open('hooks.gfx1100.O2.o', 'gfx1100'), 'count_waves', 64);
  assert.match(String(isRejected(lifted) && lifted.rejected), /was compiled for waves of 32 lanes/);
});

test('a file of hooks whose sections lie far apart is refused', () => {
  const bytes = bytesOf('hooks.gfx90a.O2.o');
  const view = new DataView(bytes.buffer);
  const headers = Number(view.getBigUint64(0x28, true));
  // The alignment of the code.
  view.setBigUint64(headers + 2 * 64 + 48, 2n ** 31n, true);
  assert.equal(
    errorCodeOf(() => openHookFile(bytes, 'hooks.o', parseTargetId('gfx90a'))),
    'LIMIT_EXCEEDED',
  );
});

test('damaged files of hooks end in an error, or in a payload or a reason', () => {
  const good = bytesOf('hooks.gfx90a.O2.o');
  fc.assert(
    fc.property(mutationsOf(good), (bytes) => {
      errorCodeOf(() => {
        const file = openHookFile(bytes, 'hooks.o', parseTargetId('gfx90a'));
        for (const name of ['count_lanes', 'classify']) payloadOf(file, name, ARGUMENTS[name]!);
      });
    }),
    { numRuns: 60, endOnFailure: true },
  );
});

/** A hook in assembly, with markers at the labels that records name. */
function assembled(body: string, records: Readonly<Record<string, string>> = {}): HookFile {
  const marks = Object.entries(records).map(([label, text]) => `.long ${label}-.\n.asciz "${text}"`);
  const text = `.text
.globl f
.type f,@function
f:
${body}
  s_setpc_b64 s[30:31]
.size f, .-f
.section .wavewright.hook,"a",@progbits
${marks.join('\n')}
`;
  return openHookFile(assembleFile(text, { processor: 'gfx90a' }), 'f.o', parseTargetId('gfx90a'));
}

test('a value that some lanes got before EXEC shrank and others behind is one value, without a branch, too', () => {
  const payload = payloadOf(
    assembled(`
  v_mov_b32 v5, 1
  v_mov_b32 v6, v5
  v_mov_b32 v5, 2
  v_cmp_eq_u32 vcc, 7, v0
  s_and_saveexec_b64 s[4:5], vcc
  v_mov_b32 v5, 3
  s_or_b64 exec, exec, s[4:5]
  global_atomic_add v[2:3], v5, off
  global_atomic_add v[2:3], v6, off`),
    'f',
    [constant(0n), constant(0n), constant(1n << 40n, 2)],
  );
  assert.ok(typeof payload === 'object', `${payload}`);
  const written = payload.lines
    .filter((line) => /^v_mov_b32_e32 vdst/.test(line))
    .map((line) => /=(v\d+)/.exec(line)![1]);
  const [, , first, , second, third] = written.slice(-6);
  const stored = payload.lines.filter((line) => line.includes('atomic')).map((line) => / data=(v\d+)/.exec(line)![1]);
  // The first use of v5 is another value.
  assert.notEqual(first, second);
  assert.equal(second, third);
  assert.equal(stored[0], third);
  // EXEC is what it was, which needs no copy of it.
  assert.doesNotMatch(payload.lines.at(-1)!, /s_mov_b64/);
});

test('state of the application is what it was before the hook changed it', () => {
  const file = assembled(
    `
  s_cmp_eq_u32 0, 1
  s_mov_b64 vcc, 0
m:
  s_nop 0
n:
  s_nop 0
  v_mov_b32 v4, s6
  global_atomic_add v[2:3], v4, off
  v_mov_b32 v4, s7
  global_atomic_add v[2:3], v4, off`,
    { m: 'read_reg s6 253', n: 'read_reg s7 106' },
  );
  const payload = payloadOf(file, 'f', [constant(0n), constant(0n), constant(1n << 40n, 2)]);
  assert.ok(typeof payload === 'object', `${payload}`);
  // Both are copied before anything else.
  const names = payload.lines.map((line) => line.split(' ')[0]!);
  assert.ok(names.indexOf('s_cselect_b32') >= 0 && names.indexOf('s_cselect_b32') < 2, payload.lines.join('\n'));
  assert.equal(names.indexOf('s_mov_b64') < 2, true, payload.lines.join('\n'));
  assert.doesNotMatch(payload.lines.join('\n'), /s_cmp_eq/);
});

test('records that are damaged are errors', () => {
  for (const record of ['nonsense s1', 'read_reg s1', 'read_reg q1 5', 'read_reg s1 s2', 'exec s[4:']) {
    assert.throws(() => assembled('m:\n  s_nop 0', { m: record }), /\.wavewright\.hook/, record);
  }
});
