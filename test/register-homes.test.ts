/**
 * Kernels in which nearly all registers are live at once: hooks get registers whose contents are kept in
 * accumulation registers or in private memory meanwhile, and nothing of it shows. Where nothing is left to
 * begin with, points are refused.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../src/assembler/assemble-file.ts';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { parseCodeObject } from '../src/codeobject/code-object.ts';
import type { PcMap } from '../src/instrument/layout/pc-map.ts';
import { targetFor } from '../src/isa/amdgpu/encoding/targets.ts';
import { liftCodeObject } from '../src/lift/lifted-code.ts';
import { linkCodeObject } from '../src/linker/link.ts';
import { chooseTool } from '../src/tools/chosen-tool.ts';
import { ToolSession } from '../src/tools/tool-session.ts';
import { FlatScratchWatch, flatScratchText } from './flat-scratch.test-support.ts';
import { kernelAssembly } from './kernel-text.test-support.ts';
import { differenceOf, type RunCode } from './rewritten-sides.ts';

const MOST_VECTORS = 256;
const PARTIAL = 0x5555_5555;
const S_NOP = 0xbf80_0000;
/** No number is an address of code. */
const BASE = 0x4000_0000;

interface Cramped {
  readonly processor: string;
  readonly waveSize: 32 | 64;
  /** Scalar registers that are live; all vector registers are. */
  readonly scalars: number;
  /** With all vector registers, two waves fit on a SIMD: workgroups of 512 do with no more. */
  readonly workgroupSize: 64 | 512;
  /** Of the application. */
  readonly privateBytes?: number;
  readonly isVccLive?: boolean;
  /** The application has something in FLAT_SCRATCH that leads nowhere. */
  readonly usesFlatScratch?: boolean;
}

const isGfx9 = (processor: string): boolean => processor.startsWith('gfx9');
/** The name of memory instructions with two dwords, or one. */
const isGfx11 = (processor: string): boolean => processor.startsWith('gfx11');

/** The instructions around the place where all registers are live. */
function placesIn({ scalars, usesFlatScratch = false }: Cramped): string {
  const first = MOST_VECTORS + scalars + (usesFlatScratch ? 4 : 0);
  return `instructions=${first - 8}-${first + 24}`;
}

/** One wave, which stores the sum of all its registers lane by lane. */
function kernelText(each: Cramped): string {
  const { waveSize, scalars, workgroupSize, privateBytes = 0, isVccLive = false, usesFlatScratch = false } = each;
  const isOld = isGfx9(each.processor);
  const add = isOld ? 'v_add_u32_e32' : 'v_add_nc_u32_e32';
  const sub = isOld ? 'v_sub_u32_e32' : 'v_sub_nc_u32_e32';
  const [load, store] = isGfx11(each.processor)
    ? ['s_load_b64', 'global_store_b32']
    : ['s_load_dwordx2', 'global_store_dword'];
  const mask = waveSize === 64 ? 'exec' : 'exec_lo';
  const count = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);
  const allOn = `s_mov_b${waveSize} ${mask}, -1`;
  const halves = usesFlatScratch ? (['lo', 'hi'] as const) : [];
  const lines = [
    ...halves.flatMap((half, i) => [
      `s_mov_b32 s2, ${BASE + 4 * i}`,
      flatScratchText(each.processor, half, 'write', 's2'),
    ]),
    ...count(1, MOST_VECTORS).map((i) => `${add} v${i}, ${i * 7919 + BASE}, v0`),
    ...count(2, scalars).map((i) => `s_mov_b32 s${i}, ${i * 104729 + BASE}`),
    ...(isVccLive ? ['s_mov_b32 vcc_lo, 5', 's_mov_b32 vcc_hi, 6', 's_mov_b32 m0, 7'] : []),
    's_cmp_eq_u32 s2, s2',
    's_nop 0',
    `${add} v9, v9, v10`,
    `s_mov_b32 exec_lo, ${PARTIAL}`,
    ...(waveSize === 64 ? ['s_mov_b32 exec_hi, 0'] : []),
    `${sub} v5, v5, v6`,
    `s_mov_b${waveSize} ${mask}, 0`,
    'v_xor_b32_e32 v7, v7, v8',
    allOn,
    's_cselect_b32 s2, s2, 7',
    ...(isVccLive ? ['s_add_u32 s2, s2, vcc_lo', 's_add_u32 s2, s2, vcc_hi', 's_add_u32 s2, s2, m0'] : []),
    ...count(2, MOST_VECTORS).map((i) => `${add} v1, v1, v${i}`),
    ...count(2, scalars).map((i) => `${add} v1, s${i}, v1`),
    ...halves.flatMap((half) => [flatScratchText(each.processor, half, 'read', 's2'), `${add} v1, s2, v1`]),
    `${load} s[0:1], s[0:1], 0x0`,
    'v_lshlrev_b32_e32 v2, 2, v0',
    's_waitcnt lgkmcnt(0)',
    `${store} v2, v1, s[0:1]`,
    's_endpgm',
  ];
  const directives = [
    ...(/gfx9(0a|4)/.test(each.processor) ? [`accum_offset ${MOST_VECTORS}`] : []),
    ...(isOld ? [] : [`wavefront_size32 ${waveSize === 32 ? 1 : 0}`]),
  ];
  const shape = { waveSize, sgprCount: scalars, vgprCount: MOST_VECTORS, workgroupSize, privateBytes };
  return kernelAssembly(lines.join('\n'), { ...shape, directives });
}

function imageOf(each: Cramped): Uint8Array {
  const bytes = assembleFile(kernelText(each), { processor: each.processor });
  return linkCodeObject([{ bytes, name: 'k.o' }]);
}

const launchOf = ({ waveSize }: Cramped) =>
  ({ grid: [waveSize, 1, 1], workgroup: [waveSize, 1, 1], args: [{ sizeBytes: 4 * waveSize }] }) as const;

function stored(each: Cramped, bytes: Uint8Array, session?: ToolSession): number[] {
  using runner = new KernelRunner({ processor: each.processor }, session);
  const { output } = runner.prepare({ bytes, name: 'k.co' }, 'k', launchOf(each))();
  const words = [...new Uint32Array(output.slice().buffer)];
  session?.onFinished();
  return words;
}

const stepping =
  (each: Cramped): RunCode =>
  (bytes, observer, launches) => {
    using runner = new KernelRunner({ processor: each.processor, executor: 'reference', observer }, launches);
    runner.prepare({ bytes, name: 'k.co' }, 'k', launchOf(each))();
  };

const newSession = async (each: Cramped, tool = 'instruction-count'): Promise<ToolSession> =>
  new ToolSession([await chooseTool(`${tool}:${placesIn(each)}`)]);

/** What the account says, when all else is right. */
async function servedIn(each: Cramped) {
  const { waveSize } = each;
  const original = imageOf(each);
  const session = await newSession(each);
  const { bytes, map } = session.rewrite({ bytes: original, name: 'k.co' });
  assert.equal(differenceOf({ original, bytes, map }, stepping(each)), undefined, 'live registers');
  assert.deepEqual(stored(each, bytes, session), stored(each, original));
  const [{ result, coverage } = assert.fail('no report')] = session.reports;
  const rows = result.tables.find(({ name }) => name === 'instructions')!.rows;
  const refused = Object.values(coverage.refused).reduce((sum, count) => sum + count, 0);
  const wrong = rows.filter(([, , , text, count]) => {
    const lanes = /^v_sub/.test(`${text}`) ? 16 : /^v_xor/.test(`${text}`) ? 0 : waveSize;
    return count !== BigInt(/^[vg]/.test(`${text}`) ? lanes : 1);
  });
  if (refused === 0) assert.deepEqual(wrong, []);
  return coverage;
}

const OLD = [
  { processor: 'gfx90a', waveSize: 64 },
  { processor: 'gfx942', waveSize: 64 },
] as const;
const ALL = [
  ...OLD,
  { processor: 'gfx1030', waveSize: 32 },
  { processor: 'gfx1030', waveSize: 64 },
  { processor: 'gfx1100', waveSize: 32 },
  { processor: 'gfx1100', waveSize: 64 },
] as const;
const nameOf = ({ processor, waveSize }: Pick<Cramped, 'processor' | 'waveSize'>): string =>
  `${processor} wave${waveSize}`;
const mostScalars = (processor: string): number => (processor.startsWith('gfx9') ? 102 : 106);

for (const target of OLD) {
  test(`${nameOf(target)}: accumulation registers have what vector registers had`, async () => {
    for (const free of [0, 4, 40]) {
      const { refused, served, kernels } = await servedIn({ ...target, scalars: 102 - free, workgroupSize: 64 });
      assert.deepEqual([refused, served.memory], [{}, 0], `${free}`);
      // With enough scalar registers these have it.
      assert.deepEqual([served.accumulator > 0, kernels[0]!.agprs[1] > 0], [free < 40, free < 40], `${free}`);
    }
  });
}

for (const target of ALL) {
  test(`${nameOf(target)}: private memory has what vector registers had`, async () => {
    for (const privateBytes of [0, 5000]) {
      const scalars = mostScalars(target.processor) - 4;
      const coverage = await servedIn({ ...target, scalars, workgroupSize: 512, privateBytes });
      assert.deepEqual(coverage.refused, {});
      assert.ok(coverage.served.memory > 0);
    }
  });

  const isFree = targetFor(target.processor).flatScratch === 'architected';
  test(`${nameOf(target)}: where no register is left to begin with, points are ${isFree ? 'served' : 'refused'}`, async () => {
    const scalars = mostScalars(target.processor);
    for (const privateBytes of [0, 3500, 3600]) {
      const coverage = await servedIn({ ...target, scalars, workgroupSize: 512, privateBytes, isVccLive: true });
      const reasons = Object.keys(coverage.refused);
      // Without a register for the address instructions reach 4 KiB, of which payloads have 512 bytes.
      assert.equal(reasons.length === 0, isFree && privateBytes < 3600, `${reasons}`);
      assert.ok(coverage.served.memory > 0 || reasons.length > 0);
      for (const each of reasons)
        assert.match(each, /^no vector registers are free .*, and to keep live ones no scalar registers are free/);
    }
  });
}

/** A copy in which instructions of payloads do nothing; they are counted in the order of their addresses. */
function patched(bytes: Uint8Array, map: PcMap, where: RegExp, isChosen = (_index: number) => true): Uint8Array {
  const copy = bytes.slice();
  const codeObject = parseCodeObject(copy, 'whole');
  const code = liftCodeObject(codeObject);
  const places = map.rows
    .filter(({ kind, address }) => kind === 'payload' && where.test(code.stepAt(address)?.text().trim() ?? ''))
    .filter((_, index) => isChosen(index));
  assert.ok(places.length > 0);
  for (const { address, sizeBytes } of places) {
    const words = codeObject.elf.read(BigInt(address), sizeBytes, 'an instruction');
    const view = new DataView(words.buffer, words.byteOffset);
    for (let i = 0; i < sizeBytes; i += 4) view.setUint32(i, S_NOP, true);
  }
  return copy;
}

/** Where kernels set FLAT_SCRATCH up: with all lanes of registers to keep, and scalar ones left. */
const SETS_UP: readonly Cramped[] = [
  ...(['gfx900', 'gfx908', 'gfx90a'] as const).map((processor) => ({ processor, waveSize: 64 as const })),
  ...(['gfx1010', 'gfx1030'] as const).map((processor) => ({ processor, waveSize: 32 as const })),
].map((target) => ({ ...target, scalars: 60, workgroupSize: 512, usesFlatScratch: true }));

for (const each of SETS_UP) {
  test(`${nameOf(each)}: FLAT_SCRATCH is exchanged where the application has another`, async () => {
    const session = await newSession(each, 'value-profile');
    const original = imageOf(each);
    const { bytes, map } = session.rewrite({ bytes: original, name: 'k.co' });
    const output = stored(each, original);
    const straysIn = (code: Uint8Array): readonly string[] => {
      const watch = new FlatScratchWatch(each.processor, code);
      using runner = new KernelRunner({ processor: each.processor, executor: 'reference', observer: watch });
      runner.prepare({ bytes: code, name: 'k.co' }, 'k', launchOf(each))();
      assert.ok(watch.accessCount > 0);
      return watch.strays;
    };
    assert.deepEqual(straysIn(bytes), []);
    assert.deepEqual(stored(each, bytes, session), output);
    const [{ coverage } = assert.fail('no report')] = session.reports;
    assert.deepEqual([coverage.refused, coverage.served.memory > 0], [{}, true]);
    // Two writes for the value of payloads, two for that of the application, again and again.
    const writes = /^(s_mov_b32 flat_scratch_|s_setreg_b32 hwreg\(HW_REG_FLAT_SCR_(LO|HI)\), s)/;
    const without = (first: number) => patched(bytes, map, writes, (i) => i % 4 === first || i % 4 === first + 1);
    assert.notDeepEqual(straysIn(without(0)), []);
    assert.notDeepEqual(stored(each, without(2)), output);
    if (each.processor !== 'gfx1030') return;
    assert.equal(differenceOf({ original, bytes, map }, stepping(each)), undefined, 'live registers');
  });
}

function storedOrFault(each: Cramped, bytes: Uint8Array): number[] | string {
  try {
    return stored(each, bytes);
  } catch (error) {
    return `${error}`;
  }
}

/** What is kept is what shows: each of these is taken out of the code of all points. */
const SABOTAGES = [
  { name: 'stores to accumulation registers', where: /^v_accvgpr_write_b32/, workgroupSize: 64 },
  { name: 'loads from accumulation registers', where: /^v_accvgpr_read_b32/, workgroupSize: 64 },
  { name: 'stores to memory', where: /^scratch_store_/, workgroupSize: 512 },
  { name: 'loads from memory', where: /^scratch_load_/, workgroupSize: 512 },
  { name: 'scalars into lanes', where: /^v_writelane_b32/, workgroupSize: 512 },
  { name: 'scalars out of lanes', where: /^v_readlane_b32/, workgroupSize: 512 },
] as const;

for (const { name, where, workgroupSize } of SABOTAGES) {
  test(`gfx90a: without ${name} the kernel does not compute what it did`, async () => {
    const each: Cramped = { ...OLD[0], scalars: 98, workgroupSize };
    const { bytes, map } = (await newSession(each)).rewrite({ bytes: imageOf(each), name: 'k.co' });
    const without = patched(bytes, map, where);
    assert.notDeepEqual(storedOrFault(each, without), stored(each, imageOf(each)));
  });
}

for (const { name, where } of [
  { name: 'masks into lanes', where: /^v_mov_b32_e32 v\d+, (s\d+|vcc_..|m0)$/ },
  { name: 'masks out of lanes', where: /^v_readfirstlane_b32/ },
  { name: 'the mask of no lanes put back', where: /^s_mov_b64 exec, 0$/ },
]) {
  test(`gfx942: where no register is left, without ${name} the kernel does not compute what it did`, async () => {
    const each: Cramped = { ...OLD[1], scalars: 102, workgroupSize: 512, isVccLive: true };
    const { bytes, map } = (await newSession(each)).rewrite({ bytes: imageOf(each), name: 'k.co' });
    assert.notDeepEqual(storedOrFault(each, patched(bytes, map, where)), stored(each, imageOf(each)));
  });
}
