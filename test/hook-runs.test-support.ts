/** Compiled hooks in kernels that run: what their variables hold, and whether registers stay as they were. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { assembleFile } from '../src/assembler/assemble-file.ts';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { KERNELS } from '../src/bench/kernels.ts';
import { parseCodeObject } from '../src/codeobject/code-object.ts';
import { parseTargetId } from '../src/codeobject/target-id.ts';
import type { StepObserver } from '../src/emulator/reference/step-observer.ts';
import {
  type CallPolicy,
  CompiledHooks,
  type HookArgument,
  instrumentImage,
  openHookFile,
  type PointHook,
  type PointKnowledge,
  type ToolCode,
  type ToolInstruction,
} from '../src/instrument/index.ts';
import { readPcMap } from '../src/instrument/instrument.ts';
import { liftCodeObject } from '../src/lift/lifted-code.ts';
import { mostRegisters } from '../src/lift/register-limits.ts';
import { linkCodeObject } from '../src/linker/link.ts';
import { flatScratchText } from './flat-scratch.test-support.ts';
import { KernelRig } from './kernel-rig.test-support.ts';
import { compareSides, type Side } from './side-by-side.ts';

export const PROCESSORS = ['gfx90a', 'gfx942', 'gfx1100'] as const;
/** Those with waves of 32 lanes, but for gfx9. */
const waveSizeOf = (processor: string): 32 | 64 => (processor.startsWith('gfx9') ? 64 : 32);
export const COUNTERS = 64;

export type Attach = (code: ToolCode, hooks: CompiledHooks) => void;
export interface Place {
  readonly symbol: string;
  readonly offset: number;
  readonly sizeBytes: number;
}

/** The image with hooks of a file, and where a variable of the file is. */
export function withHooks(
  image: { readonly name: string; readonly bytes: Uint8Array },
  file: string,
  attach: Attach,
  calls: CallPolicy = 'needed',
) {
  const processor = /gfx\w+/.exec(file)![0];
  const hookFile = openHookFile(readFileSync(`test/data/hooks/${file}`), file, parseTargetId(processor));
  const places = new Map<string, Place>();
  const tool = {
    ...{ name: 'hooks', summary: '', options: {} },
    attach: (code: ToolCode) => {
      const hooks = new CompiledHooks(hookFile, code, calls);
      attach(code, hooks);
      for (const { name } of hookFile.variables) {
        const { variable, offset, sizeBytes } = hooks.variable(name)!;
        places.set(name, { symbol: variable.symbol, offset, sizeBytes });
      }
      return () => ({ summary: {}, tables: [] });
    },
  };
  const instructions = { begin: 0, end: Number.POSITIVE_INFINITY };
  const { bytes, coverage } = instrumentImage(image, [{ tool, values: {}, kernels: /./, instructions }]);
  return { image: { ...image, bytes }, coverage, places };
}

export const constant = (value: number | bigint, dwords: 1 | 2 = 1): HookArgument => ({
  ...{ kind: 'constant', value: BigInt(value), dwords },
});
export const vgpr = (number: number): HookArgument => ({
  ...{ kind: 'intrinsic', name: 'read_reg', numbers: [256 + number], dwords: 1 },
});

interface Run {
  readonly output: Uint8Array;
  /** A variable of the hooks' file. */
  readonly variable: (place: Place) => Uint8Array;
}

/** Runs a kernel of the examples once. */
export function runExample(name: string, processor: string, image: { name: string; bytes: Uint8Array }) {
  const benchmark = KERNELS.find((each) => each.name === name)!;
  const { kernel = name } = benchmark;
  let variable: Run['variable'] | undefined;
  const observer = {
    onLoaded(
      runtime: KernelRig['runtime'],
      agent: KernelRig['agent'],
      executable: ReturnType<KernelRig['runtime']['createExecutable']>,
    ) {
      variable = ({ symbol, offset, sizeBytes }) =>
        runtime.view(executable.getSymbol(symbol, agent).address + BigInt(offset), sizeBytes).slice();
    },
    onLaunch() {},
    onFinished() {},
  };
  const runner = new KernelRunner({ processor, countsPcs: true }, observer);
  const { output } = runner.prepare(image, kernel, benchmark.launch('small'))();
  return { output: output.slice(), variable: variable!, runner, kernel };
}

export const dwords64 = (bytes: Uint8Array): bigint[] => [...new BigUint64Array(bytes.slice().buffer)];
export const example = (name: string, processor: string) => {
  const file = `examples/kernels/${name}.${processor}.co`;
  return { name: file, bytes: new Uint8Array(readFileSync(file)) };
};

/** By the address in the file, how many lanes execute each instruction of a kernel as it is. */
export function nativeLanes(name: string, processor: string): { lanes: Map<number, number>; output: Uint8Array } {
  const image = example(name, processor);
  const { output, runner } = runExample(name, processor, image);
  using _ = runner;
  const lowest = [...runner.statistics.pcCounts!.keys()].reduce((a, b) => (a < b ? a : b));
  const [kernel] = parseCodeObject(image.bytes, name).kernels;
  const lanes = [...runner.statistics.pcCounts!].map(
    ([pc, count]) => [Number(pc - lowest + kernel!.entryAddress!), count.lanes] as const,
  );
  return { lanes: new Map(lanes), output };
}

interface WaveCode {
  readonly lanes?: 'lanes on' | 'lanes off';
  /** It has something in FLAT_SCRATCH that leads nowhere. */
  readonly usesFlatScratch?: boolean;
  /** It sets FLAT_SCRATCH up as compilers do where a kernel has calls and no private memory. */
  readonly setsFlatScratchUp?: boolean;
  /** No scalar register is left for all of the kernel. */
  readonly usesAllScalars?: boolean;
}

/** A kernel of one wave or more: v0 is the work-item, v1 and the state are known at the point. */
export function wave(
  processor: string,
  waveSize: 32 | 64,
  { lanes = 'lanes on', usesFlatScratch = false, setsFlatScratchUp = false, usesAllScalars = false }: WaveCode = {},
) {
  const [isGfx9, isGfx11] = [processor.startsWith('gfx9'), processor.startsWith('gfx11')];
  const mask = waveSize === 32 ? 's_mov_b32 vcc_lo, 0x11' : 's_mov_b64 vcc, 0x11';
  const [exec, bits] = waveSize === 32 ? ['exec_lo', 32] : ['exec', 64];
  const scalarCount = usesAllScalars ? mostRegisters(processor).sgprCount : 40;
  const last = `s${scalarCount - 1}`;
  const halves = (['lo', 'hi'] as const).map((half, i) => flatScratchText(processor, half, 'write', `s${i + 2}`));
  const setup = ['s_add_u32 s2, s2, s5', 's_addc_u32 s3, s3, 0', ...halves].join('\n  ');
  const [off, on] = lanes === 'lanes on' ? ['', ''] : [`s_mov_b${bits} ${exec}, 0`, `s_mov_b${bits} ${exec}, -1`];
  const text = `.text
.globl k
.p2align 8
.type k,@function
k:
  ${setsFlatScratchUp ? setup : ''}
  ${usesAllScalars ? `s_mov_b32 ${last}, 0x55` : ''}
  ${isGfx11 ? 's_load_b64' : 's_load_dwordx2'} s[2:3], s[0:1], 0x0
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v2, 2, v0
  v_mov_b32 v1, 7
  s_mov_b32 m0, 5
  ${usesFlatScratch ? `s_mov_b32 s6, 0x7654\n  ${flatScratchText(processor, 'lo', 'write', 's6')}` : ''}
  ${mask}
  s_cmp_eq_u32 s0, s0
  ${off}
  v_mov_b32 v3, 0
  ${on}
  s_cselect_b32 s5, 60, 61
  v_cndmask_b32 v3, 0, v0, vcc${waveSize === 32 ? '_lo' : ''}
  v_add_u32 v1, v1, v3
  s_add_u32 s5, s5, m0
  ${usesFlatScratch ? `${flatScratchText(processor, 'lo', 'read', 's6')}\n  s_add_u32 s5, s5, s6` : ''}
  ${usesAllScalars ? `s_add_u32 s5, s5, ${last}` : ''}
  v_add_u32 v1, s5, v1
  s_waitcnt lgkmcnt(0)
  ${isGfx11 ? 'global_store_b32' : 'global_store_dword'} v2, v1, s[2:3]
  s_endpgm
.size k, .-k
.rodata
.p2align 6
.amdhsa_kernel k
 .amdhsa_user_sgpr_kernarg_segment_ptr 1
 ${setsFlatScratchUp ? '.amdhsa_user_sgpr_flat_scratch_init 1' : ''}
 .amdhsa_user_sgpr_count 4
 .amdhsa_next_free_vgpr 24
 .amdhsa_next_free_sgpr ${scalarCount}
 ${isGfx9 ? '.amdhsa_accum_offset 24' : `.amdhsa_wavefront_size32 ${waveSize === 32 ? 1 : 0}`}
.end_amdhsa_kernel
`.replaceAll(isGfx9 ? '\0' : 'v_add_u32', 'v_add_nc_u32');
  const bytes = linkCodeObject([{ bytes: assembleFile(text, { processor }), name: 'k.o' }]);
  return { name: 'k.co', bytes };
}

export const LANES = 64;
export const GROUPS = 12;

/** What the kernel stores, seen by an observer. */
export function storedBy(processor: string, bytes: Uint8Array, observer?: StepObserver): number[] {
  using rig = new KernelRig({ processor, executor: 'reference', ...(observer && { observer }) }, bytes);
  const out = rig.allocate(LANES * 4);
  rig.run('k', out);
  return [...new Uint32Array(rig.runtime.view(out, LANES * 4).slice().buffer)];
}

/** Runs the kernel with hooks before `v_mov_b32 v3, 0`; what it stored, and the variables. */
export function runWave(
  processor: string,
  file: string,
  hookOf: (hooks: CompiledHooks, at: ToolInstruction) => PointHook,
  calls: CallPolicy = 'needed',
  lanes: 'lanes on' | 'lanes off' = 'lanes on',
) {
  const waveSize = waveSizeOf(processor);
  const attach: Attach = (code, hooks) => {
    const at = code.instructions[lanes === 'lanes on' ? 7 : 8]!;
    code.before(at, hookOf(hooks, at));
  };
  const made = withHooks(wave(processor, waveSize, { lanes }), file, attach, calls);
  using rig = new KernelRig({ processor }, made.image.bytes);
  const out = rig.allocate(LANES * 4);
  rig.run('k', out);
  const stored = new Uint32Array(rig.runtime.view(out, LANES * 4).slice().buffer);
  const variables = new Map(
    [...made.places].map(([name, { symbol, offset, sizeBytes }]) => [
      name,
      rig.runtime.view(rig.address(symbol) + BigInt(offset), sizeBytes).slice(),
    ]),
  );
  const bytes = (name: string): Uint8Array => variables.get(name)!;
  const read = (name: string): bigint[] => dwords64(bytes(name));
  return { stored: [...stored], read, bytes, coverage: made.coverage, waves: (GROUPS * LANES) / waveSize };
}

/**
 * The first difference that a hook of a file before all instructions of the kernel makes to what is live;
 * refused points are an error.
 */
export function differenceAround(
  processor: string,
  file: string,
  [name, args, knowledge]: readonly [name: string, args: readonly HookArgument[], knowledge?: PointKnowledge],
  { calls = 'needed', ...code }: { readonly calls?: CallPolicy } & WaveCode = {},
) {
  const original = wave(processor, waveSizeOf(processor), code);
  const codeObject = parseCodeObject(original.bytes, 'k.co');
  const [kernel] = codeObject.kernels;
  const [lifted] = liftCodeObject(codeObject).functions;
  const steps = new Map(lifted!.blocks.flatMap(({ instructions }) => instructions.map((step) => [step.offset, step])));
  const side = (bytes: Uint8Array, oldOf: (address: number) => number | undefined): Side => {
    let delta = 0;
    let buffers = 0;
    return {
      originalAddress: (offset) => oldOf(offset - delta),
      // The buffers stand where code leaves room for them.
      meaning: (dword) => (dword >= buffers && dword < buffers + 0x10000 ? dword - buffers : dword),
      run: (observer) => {
        using rig = new KernelRig({ processor, executor: 'reference', observer }, bytes);
        delta = Number((rig.address('k.kd') - kernel!.symbol.value) & 0xffffffffn);
        const out = rig.allocate(LANES * 4);
        buffers = Number(out & 0xffffffffn);
        rig.run('k', out);
      },
    };
  };
  const attach: Attach = (code, hooks) => {
    for (const instruction of code.instructions)
      code.before(instruction, hooks.hook(name, args, instruction, knowledge));
  };
  const made = withHooks(original, file, attach, calls);
  assert.deepEqual(made.coverage.refused, {});
  const map = readPcMap(parseCodeObject(made.image.bytes, 'k.co').elf)!;
  return compareSides(
    side(original.bytes, (address) => (steps.has(address) ? address : undefined)),
    side(made.image.bytes, (address) => {
      const row = map.rowAt(address);
      return row?.kind === 'original' ? row.origin : undefined;
    }),
    (address) => lifted!.liveBefore(steps.get(address)!),
  );
}
