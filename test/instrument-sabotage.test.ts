/**
 * What instrumented code may be wrong in is found by one of the checks: the checks of code, what the kernel
 * computes, the counts against those of the native run, or a fault of the kernel. Each row damages one
 * instruction and says which check must find it.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { WavewrightError } from '../src/base/errors.ts';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { parseCodeObject } from '../src/codeobject/code-object.ts';
import { checkCode } from '../src/lift/check-code.ts';
import { liftCodeObject } from '../src/lift/lifted-code.ts';
import { chooseHook, chooseTool } from '../src/tools/chosen-tool.ts';
import { ToolSession } from '../src/tools/tool-session.ts';
import { imageOf, type KernelCase, kernelCases, runNative, TARGETS } from './tool-runs.test-support.ts';

/** s_nop 0, in which a mutation drowns an instruction. */
const NOP = 0xbf80_0000;

type Finding = 'checks of code' | 'result' | 'counts' | 'fault';

interface Sabotage {
  readonly name: string;
  /** A tool that ships, or a file of hooks with its options; `%` is the processor. */
  readonly tool: string;
  /** The text of what is damaged, in payloads or in the code of the kernel. */
  readonly where: RegExp;
  readonly kind: 'payload' | 'original';
  /** What becomes of its dwords; they are dropped by default. */
  readonly change?: (words: readonly number[]) => readonly number[];
  /** All of them by default. */
  readonly processors?: readonly string[];
  /** Of the benchmarks, `vadd` by default. */
  readonly kernel?: string;
  readonly found: Finding;
  /** Where another check finds it than `found`. */
  readonly foundOn?: Readonly<Partial<Record<string, Finding>>>;
}

const COUNT = { tool: 'instruction-count', kind: 'payload' } as const;
const ATOMIC = /^global_atomic_add_(x2|u64)/;

/** A hook that calls a function: what is kept for the kernel and gets lost shows in what it computes. */
const CALL = { tool: 'test/data/hooks/calls.%.o:function=waves_by_call', kind: 'payload', found: 'result' } as const;
/** What is lost there is part of an address, which is outside of what the wave may reach. */
const FAULTS = { foundOn: { gfx90a: 'fault' } } as const;

const SABOTAGES: readonly Sabotage[] = [
  { ...COUNT, name: 'EXEC is not put back', where: /^s_mov_b\d+ exec(_lo)?, s/, found: 'result' },
  { ...COUNT, name: 'EXEC is not narrowed', where: /^s_mov_b\d+ exec(_lo)?, 1/, found: 'counts' },
  { ...COUNT, name: 'EXEC is not kept', where: /^s_mov_b\d+ s\S+, exec/, found: 'result' },
  { ...COUNT, name: 'nothing is counted', where: ATOMIC, found: 'counts' },
  {
    ...{ ...COUNT, name: 'another register is added', where: ATOMIC, found: 'counts' },
    change: ([first, second]) => [first!, second! ^ 0x200],
  },
  {
    ...{ ...COUNT, name: 'a register of the kernel is written', where: /^v_mov_b32_e32 v\d+, 1$/, found: 'result' },
    change: ([word]) => [word! & ~(0xff << 17)],
  },
  {
    ...{ ...COUNT, name: 'the literal of another point', where: /^v_mov_b32_e32 v\d+, 24$/, found: 'counts' },
    change: ([word, literal]) => (literal === undefined ? [word! + 8] : [word!, literal + 8]),
  },
  {
    ...{ ...COUNT, name: 'a group of registers begins where none may', where: ATOMIC },
    ...{ change: ([first, second]) => [first!, second! ^ 0x100], found: 'checks of code' },
    processors: ['gfx90a', 'gfx942'],
  },
  {
    ...{
      ...COUNT,
      kind: 'original',
      name: 'a back edge leads on',
      kernel: 'collatz',
      where: /^s_cbranch_\w+ 6\d{4}$/,
      found: 'counts',
    },
    change: ([word]) => [(word! & 0xffff_0000) >>> 0],
  },
  { ...CALL, name: 'a called function: a vector is not stored', where: /^scratch_store_(dword|b32)/ },
  { ...CALL, ...FAULTS, name: 'a called function: a vector is not loaded', where: /^scratch_load_(dword|b32)/ },
  {
    ...{ ...CALL, ...FAULTS, name: 'a called function: a scalar is not kept', processors: ['gfx90a', 'gfx942'] },
    where: /^v_writelane_b32 v0, s\d+, \d/,
  },
  {
    ...{ ...CALL, ...FAULTS, name: 'a called function: a scalar is not put back', processors: ['gfx90a', 'gfx942'] },
    where: /^v_readlane_b32 s\d+, v0/,
  },
  {
    ...{ tool: 'memory-trace', kind: 'payload', name: 'results of loads are not waited for' },
    ...{ where: /^s_waitcnt vmcnt\(0\)/, found: 'checks of code' },
  },
  {
    ...{ tool: 'memory-trace', kind: 'payload', name: 'SCC is kept as 1', kernel: 'matmul16', found: 'result' },
    ...{ where: /^s_cselect_b32 s\d+, 1, 0$/, change: ([word]) => [word! ^ 0x100] },
  },
  {
    ...{ tool: 'memory-trace', kind: 'payload', name: 'payloads stand too close', found: 'checks of code' },
    ...{ where: /^s_nop [1-9]/, change: ([word]) => [word! - 1], processors: ['gfx942'] },
  },
];

/** Damaged loops might never end: only the row of the back edge has one. */
const caseOf = (processor: string, name: string): KernelCase => kernelCases(processor, [name])[0]!;
const MAX_PLACES = 3;

/** What finds that some bytes of the code that a tool is in were changed. */
async function findersOf(
  { tool, where, kind, change, ...rest }: Sabotage,
  processor: string,
  wanted: Finding,
): Promise<ReadonlySet<Finding>> {
  const kernel = caseOf(processor, rest.kernel ?? 'vadd');
  const found = new Set<Finding>();
  const isHook = tool.includes('.o:');
  const hook = tool.replace('%', processor);
  const use = isHook ? chooseHook(hook, (name) => readFileSync(name)) : await chooseTool(tool);
  const { map, bytes } = new ToolSession([use]).rewrite(imageOf(kernel));
  const code = liftCodeObject(parseCodeObject(bytes, 'whole'));
  const places = map.rows.filter(
    (row) => row.kind === kind && where.test(code.stepAt(row.address)?.text().trim() ?? ''),
  );
  assert.ok(places.length > 0, `${where} is in the code`);
  // Where a damage does nothing, by chance, another place of its kind shows it.
  for (const { address, sizeBytes } of places.slice(0, MAX_PLACES)) {
    const session = new ToolSession([use]);
    const { bytes: damaged } = session.rewrite(imageOf(kernel));
    const { elf } = parseCodeObject(damaged, 'damaged');
    const segment = elf.segments.find(
      ({ virtualAddress, fileSizeBytes }) =>
        BigInt(address) >= virtualAddress && BigInt(address) < virtualAddress + BigInt(fileSizeBytes),
    )!;
    const view = new DataView(damaged.buffer, damaged.byteOffset, damaged.byteLength);
    const at = Number(segment.offset) + address - Number(segment.virtualAddress);
    const words = Array.from({ length: sizeBytes / 4 }, (_, i) => view.getUint32(at + 4 * i, true));
    for (const [i, word] of (change?.(words) ?? words.map(() => NOP)).entries()) {
      view.setUint32(at + 4 * i, word, true);
    }
    for (const finding of findings(damaged, kernel, session)) found.add(finding);
    if (found.has(wanted)) break;
  }
  return found;
}

function findings(bytes: Uint8Array, kernel: KernelCase, session: ToolSession): Finding[] {
  const native = runNative(kernel);
  const found: Finding[] = [];
  if (checkCode(liftCodeObject(parseCodeObject(bytes, 'damaged'))).length > 0) found.push('checks of code');
  const { name, kernel: entry = name } = kernel.benchmark;
  using runner = new KernelRunner({ processor: kernel.processor }, session);
  try {
    const image = { name: 'damaged', bytes };
    const { output } = runner.prepare(image, entry, kernel.benchmark.launch('small'))();
    if (Buffer.compare(output, native.output) !== 0) found.push('result');
    session.onFinished();
  } catch (error) {
    if (!(error instanceof WavewrightError) || error.code !== 'GPU_FAULT') throw error;
    return [...found, 'fault'];
  }
  const rows = session.reports[0]!.result.tables.find((each) => each.name === 'instructions')?.rows ?? [];
  const isRight = rows.every(([address, , , text, count]) => {
    const { waves, lanes } = native.counts.get(Number(address)) ?? { waves: 0, lanes: 0 };
    return count === BigInt(/^(v_(?!readfirst)|global_)/.test(`${text}`) ? lanes : waves);
  });
  return isRight ? found : [...found, 'counts'];
}

for (const sabotage of SABOTAGES) {
  for (const processor of sabotage.processors ?? TARGETS) {
    const wanted = sabotage.foundOn?.[processor] ?? sabotage.found;
    test(`${processor}: ${sabotage.name}: found by ${wanted}`, async () => {
      const found = await findersOf(sabotage, processor, wanted);
      assert.ok(found.has(wanted), `found by ${[...found].join(', ') || 'nothing'}`);
    });
  }
}

for (const processor of TARGETS) {
  test(`${processor}: what is whole has nothing to find`, async () => {
    const kernel = caseOf(processor, 'vadd');
    const session = new ToolSession([await chooseTool('instruction-count')]);
    assert.deepEqual(findings(session.rewrite(imageOf(kernel)).bytes, kernel, session), []);
  });
}
