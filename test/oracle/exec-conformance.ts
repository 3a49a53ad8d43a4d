/**
 * Runs under `wavewright exec`: the conformance suite of the TypeScript runtime on a device behind
 * `libhsa-runtime64.so.1`, and what functions of the C interface refuse, which TypeScript refuses, too.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { encodeElfFlags } from '../../src/codeobject/elf-flags.ts';
import { parseTargetId } from '../../src/codeobject/target-id.ts';
import { createEmulatedDevice } from '../../src/devices/emulated/index.ts';
import { startDevice } from '../../src/devices/hsa-native/index.ts';
import { HsaLibrary } from '../../src/devices/hsa-native/library.ts';
import { refusalsOf } from '../../src/hsa/conformance/errors.test-support.ts';
import { conform } from '../../src/hsa/conformance/suite.test-support.ts';
import { statusNamed } from '../../src/hsa/objects/status.ts';
import { buildImage } from '../../src/hsa/runtime/image.test-support.ts';
import { UNSUPPORTED_FUNCTIONS } from '../../src/hsa/runtime/unsupported.ts';
import { type CObjects, cRefusals } from './c-refusals.ts';

const library = await HsaLibrary.open();
const { ffi } = library;
/** Kept, as the library is given their addresses. */
const buffers: Uint8Array[] = [];
const place = (bytes: Uint8Array): bigint => {
  buffers.push(bytes);
  return ffi.getRawPointer(bytes);
};
const native = new ffi.DynamicLibrary(library.path);
/** More than any function has: what is too much nobody looks at. */
const SIGNATURE = { arguments: Array.from({ length: 12 }, () => 'uint64' as const), return: 'uint32' as const };
/** The status of a call; all arguments go as integers, in registers or on the stack. */
const call = (name: string, args: readonly bigint[]): number =>
  native.getFunction(name, SIGNATURE)(...SIGNATURE.arguments.map((_, i) => args[i] ?? 0n));
const statusOf = (name: string, args: readonly bigint[]): string => {
  const status = call(name, args);
  return status === 0 ? 'SUCCESS' : (statusNamed(status) ?? `0x${status.toString(16)}`);
};

const exported = readFileSync(path.join(import.meta.dirname, 'hsa-program/exports.txt'), 'utf8')
  .trim()
  .split('\n');
/** These return a value, or begin the runtime. */
const WITHOUT_STATUS =
  /^_amdgpu|^hsa_init$|^hsa_status_string$|^hsa_signal_(load|store|silent|exchange|cas|add|subtract|and|or|xor|wait)_|^hsa_queue_(load|store|cas|add)_|^hsa_amd_signal_wait_/;
/** Parts of the table of TypeScript that are no functions in C, or functions without a status. */
const UNHEARD = /packets$|^the doorbell$|^dependencies of copies$|^hsa_ven_amd_loader|_intercept_|^hsa_init$/;
/**
 * What this library does not have: it says NOT_SUPPORTED whatever the arguments are.
 */
const MISSING = /^hsa_amd_memory_migrate$|^hsa_executable_iterate_program_symbols$/;
/** Virtual memory is the application's own, and no device's. */
const unsupported = Object.keys(UNSUPPORTED_FUNCTIONS).filter((name) => !name.startsWith('hsa_amd_vmem_'));
/** Statuses of rows that no arguments in C come to. */
const NO_WAY_TO_SAY: ReadonlyMap<string, readonly string[]> = new Map([
  // The list of an agent's pools has no names to ask for.
  ['hsa_amd_agent_iterate_memory_pools, hsa_agent_iterate_regions', ['INVALID_MEMORY_POOL']],
]);

test('before hsa_init every function with a status says so', () => {
  for (const name of exported.filter((each) => !WITHOUT_STATUS.test(each))) {
    assert.equal(statusOf(name, []), 'NOT_INITIALIZED', name);
  }
});

const OUT_BYTES = 4096;

function makeObjects(): CObjects {
  const out = place(new Uint8Array(OUT_BYTES));
  const list = (...words: readonly bigint[]): bigint => place(new Uint8Array(BigUint64Array.from(words).buffer));
  const text = (content: string): bigint => place(new TextEncoder().encode(`${content}\0`));
  const make = (name: string, ...args: readonly bigint[]): bigint => {
    const value = new Uint8Array(8);
    assert.equal(statusOf(name, [...args, place(value)]), 'SUCCESS', name);
    return new DataView(value.buffer).getBigUint64(0, true);
  };
  const all = (name: string, ...args: readonly bigint[]): bigint[] =>
    library.handles((callback) => call(name, [...args, callback, 0n]), name);
  const [cpu, gpu] = all('hsa_iterate_agents') as [bigint, bigint];
  const [isa] = all('hsa_agent_iterate_isas', gpu) as [bigint];
  const [pool, group] = all('hsa_amd_agent_iterate_memory_pools', gpu) as [bigint, bigint];
  const signal = make('hsa_signal_create', 1n, 0n, 0n);
  const goneSignal = make('hsa_signal_create', 1n, 0n, 0n);
  const signals = make('hsa_signal_group_create', 1n, list(signal), 1n, list(gpu));
  const goneSignals = make('hsa_signal_group_create', 1n, list(signal), 1n, list(gpu));
  const queues = [0, 1].map(() => make('hsa_queue_create', gpu, 64n, 0n, 0n, 0n, 0xffff_ffffn, 0xffff_ffffn));
  const eFlags = encodeElfFlags({ version: 5, target: { ...parseTargetId('gfx90a'), genericVersion: 0 } });
  const image = buildImage({ eFlags, kernels: [{ name: 'kernel' }], symbols: [{ name: 'variable', dataOffset: 0 }] });
  const read = (bytes: Uint8Array): bigint =>
    make('hsa_code_object_reader_create_from_memory', place(bytes), BigInt(bytes.length));
  const [reader, goneReader] = [read(image), read(image)];
  const executables = [0, 1, 2].map(() => make('hsa_executable_create_alt', 1n, 0n, 0n));
  for (const each of executables) make('hsa_executable_load_agent_code_object', each, gpu, reader, 0n);
  const [executable, frozen, goneExecutable] = executables as [bigint, bigint, bigint];
  assert.equal(statusOf('hsa_executable_freeze', [frozen, 0n]), 'SUCCESS');
  const symbol = (name: string) => make('hsa_executable_get_symbol_by_name', frozen, text(name), list(gpu));
  const freed = make('hsa_amd_memory_pool_allocate', pool, 64n, 0n);
  const objects = {
    ...{ cpu, gpu, isa, pool, group, signal, goneSignal, signals, goneSignals, reader, goneReader },
    ...{ executable, frozen, goneExecutable, freed, out, list, text, queue: queues[0]!, goneQueue: queues[1]! },
    wavefront: all('hsa_isa_iterate_wavefronts', isa)[0]!,
    region: all('hsa_agent_iterate_regions', cpu)[0]!,
    memory: make('hsa_amd_memory_pool_allocate', pool, 4096n, 0n),
    damaged: read(image.slice(0, 100)),
    kernel: symbol('kernel.kd'),
    variable: symbol('variable'),
    callback: native.getSymbol('hsa_init'),
  };
  for (const [name, ...args] of [
    ['hsa_amd_memory_pool_free', freed],
    ['hsa_signal_destroy', goneSignal],
    ['hsa_signal_group_destroy', goneSignals],
    ['hsa_queue_destroy', objects.goneQueue],
    ['hsa_code_object_reader_destroy', goneReader],
    ['hsa_executable_destroy', goneExecutable],
  ] as const) {
    assert.equal(statusOf(name, args), 'SUCCESS', name);
  }
  return objects;
}

test('the C interface refuses what the TypeScript runtime refuses', async (context) => {
  library.check(library.call.hsa_init(), 'hsa_init');
  const objects = makeObjects();
  const table = cRefusals(objects);
  for (const [name, refusals] of Object.entries(table)) {
    await context.test(name, () => {
      const found = Object.entries(refusals).flatMap(([status, rows]) =>
        rows.map((args, i) => `${status} ${i}: ${statusOf(name, args)}`),
      );
      assert.deepEqual(
        found,
        Object.entries(refusals).flatMap(([status, rows]) => rows.map((_, i) => `${status} ${i}: ${status}`)),
      );
    });
  }
  const missing = [...unsupported, ...exported.filter((name) => MISSING.test(name))];
  for (const name of missing) assert.equal(statusOf(name, []), 'NOT_SUPPORTED', name);
  await context.test('each status of the table in TypeScript is in that of C', () => {
    const differences: string[] = [];
    for (const [names, statuses] of refusalsOf(() => createEmulatedDevice({ processor: 'gfx90a' }))) {
      const functions = names.split(', ');
      const isHeard =
        !UNHEARD.test(names) && !functions.every((name) => MISSING.test(name) || WITHOUT_STATUS.test(name));
      if (!isHeard || functions.every((name) => Object.hasOwn(UNSUPPORTED_FUNCTIONS, name))) continue;
      const said = new Set(functions.flatMap((name) => Object.keys(table[name] ?? {})));
      const unsaid = new Set(['NOT_INITIALIZED', ...(NO_WAY_TO_SAY.get(names) ?? [])]);
      const lacking = statuses.filter((status) => !said.has(status) && !unsaid.has(status));
      if (lacking.length > 0) differences.push(`${names}: ${lacking.join(' ')}`);
    }
    assert.deepEqual(differences, []);
  });
  await context.test('what was refused changed nothing', () => {
    const { queue, signal, executable, memory } = objects;
    assert.equal(library.call.hsa_queue_add_write_index_screlease(queue, 0n), 0n);
    assert.equal(library.call.hsa_signal_load_scacquire(signal), 1n);
    assert.equal(statusOf('hsa_executable_freeze', [executable, 0n]), 'SUCCESS');
    assert.equal(statusOf('hsa_amd_memory_pool_free', [memory]), 'SUCCESS');
  });
  library.check(library.call.hsa_shut_down(), 'hsa_shut_down');
});

// A fault ends a program that has no handler for it, as ROCm's runtime does.
conform({ name: 'hsa:0 under exec', open: () => startDevice(library, 0), lacks: ['faults'] });
after(() => assert.ok(buffers.length > 0));
