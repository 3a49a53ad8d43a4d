/** Kernels in assembly with hooks that say in which order a wave came by. */
import { assembleFile } from '../src/assembler/assemble-file.ts';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import {
  type Coverage,
  defineTool,
  hookOf,
  type PointHook,
  type Tool,
  type ToolCode,
  type ToolInstruction,
} from '../src/instrument/index.ts';
import { EVERYTHING } from '../src/instrument/tool/options.ts';
import { linkCodeObject } from '../src/linker/link.ts';
import { type ToolReport, ToolSession } from '../src/tools/tool-session.ts';
import { kernelAssembly } from './kernel-text.test-support.ts';

export const PROCESSORS = ['gfx90a', 'gfx1100'] as const;

/**
 * Kernel `k` of one wave with the address of its arguments in s[0:1] and the work-item in v0. `store` writes
 * v1 of each lane, `end` is what compilers end programs with; bodies may call functions of `more`.
 */
export interface KernelSource {
  readonly body: string;
  readonly more?: string;
}

const isNarrow = (processor: string): boolean => processor === 'gfx1100';

function textOf(processor: string, { body, more = '' }: KernelSource): string {
  const store = `v_lshlrev_b32_e32 v2, 2, v0
${isNarrow(processor) ? 's_load_b64' : 's_load_dwordx2'} s[0:1], s[0:1], 0x0
s_waitcnt lgkmcnt(0)
${isNarrow(processor) ? 'global_store_b32' : 'global_store_dword'} v2, v1, s[0:1]`;
  const end = isNarrow(processor) ? 's_nop 0\ns_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\ns_endpgm' : 's_endpgm';
  const written = (text: string): string => text.replace(/^ *store$/gm, store).replace(/^ *end$/gm, end);
  const isOld = !isNarrow(processor);
  const shape = { waveSize: isOld ? 64 : 32, sgprCount: 40, vgprCount: 8, workgroupSize: 1024 } as const;
  return kernelAssembly(written(body), { ...shape, directives: isOld ? ['accum_offset 8'] : [] }, written(more));
}

export const assembled = (processor: string, source: KernelSource): { bytes: Uint8Array; name: string } => ({
  bytes: linkCodeObject([{ bytes: assembleFile(textOf(processor, source), { processor }), name: 'k.o' }]),
  name: 'k.co',
});

/** Where hooks go; `mark` makes one that leaves a letter. */
export type Attach = (code: ToolCode, mark: (letter: string) => PointHook) => void;

export interface PointsRun {
  /** The letters, in the order in which the wave left them. */
  readonly letters: string;
  /** What the lanes stored. */
  readonly output: Uint32Array;
  readonly coverage: Coverage;
}

const LETTERS = 64;

const marks = (attach: Attach) =>
  defineTool({
    name: 'marks',
    summary: 'letters that waves leave at points',
    options: {},
    attach(code) {
      const log = code.buffer('log', 8 + 8 * LETTERS);
      const mark = (letter: string): PointHook =>
        hookOf((b) => {
          b.oncePerWave(() => {
            const at = b.variable(log.symbol);
            const place = b.low(b.fetchAdd(at, b.constant64(8n)));
            const slot = b.binary('add', b.binary('add', at, b.pack(place, b.constant(0))), b.constant64(8n));
            b.store(slot, b.constant(letter.charCodeAt(0)));
          });
        });
      attach(code, mark);
      return ({ memory }) => {
        const words = new BigUint64Array(memory.read(log.symbol, log.sizeBytes).slice().buffer);
        const letters = [...words.subarray(1, 1 + Number(words[0]! / 8n))];
        return { summary: { letters: letters.map((code) => String.fromCharCode(Number(code))).join('') }, tables: [] };
      };
    },
  });

/** Runs a wave with the hooks. */
export function runWithMarks(processor: string, source: KernelSource, attach: Attach): PointsRun {
  const { output, result, coverage } = runWithTool(processor, source, marks(attach));
  return { letters: `${result.summary.letters}`, output, coverage };
}

/** Runs a wave with a tool that has no options. */
export function runWithTool(processor: string, source: KernelSource, tool: Tool): ToolReport & { output: Uint32Array } {
  const everything = { kernels: /./, instructions: EVERYTHING, dispatches: EVERYTHING };
  const session = new ToolSession([{ tool, values: {}, ...everything, format: 'json', output: '' }]);
  const image = session.instrument(assembled(processor, source));
  using runner = new KernelRunner({ processor }, session);
  const items = isNarrow(processor) ? 32 : 64;
  const launch = { grid: [items, 1, 1], workgroup: [items, 1, 1], args: [{ sizeBytes: 4 * items }] } as const;
  const output = new Uint32Array(runner.prepare(image, 'k', launch)().output.slice().buffer);
  session.onFinished();
  return { ...session.reports[0]!, output };
}

/** The only instruction whose text begins so. */
export function at({ instructions }: ToolCode, text: string): ToolInstruction {
  const found = instructions.filter(({ step }) => step.text().startsWith(text));
  if (found.length !== 1) throw new RangeError(`${found.length} instructions begin with '${text}'`);
  return found[0]!;
}
