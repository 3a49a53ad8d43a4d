/** What is made of a kernel to be measured: tools, and baselines that tell where their cost comes from. */

import type { KernelImage } from '../../src/bench/kernel-runner.ts';
import { parseCodeObject } from '../../src/codeobject/code-object.ts';
import type { LaunchObserver } from '../../src/hsa/runtime/launch-observer.ts';
import { defineTool, instrumentImage } from '../../src/instrument/index.ts';
import { CodeRewriter, instrumentCodeObject } from '../../src/instrument/instrument.ts';
import { kernelPreamble } from '../../src/instrument/kernel/preamble.ts';
import { PayloadBuilder } from '../../src/instrument/machine/payload-builder.ts';
import { RegisterPlans } from '../../src/instrument/points/register-plans.ts';
import type { HookCode } from '../../src/instrument/tool/hook.ts';
import { EVERYTHING } from '../../src/instrument/tool/options.ts';
import { type ChosenTool, chooseTool, useTool } from '../../src/tools/chosen-tool.ts';
import { type ToolReport, ToolSession } from '../../src/tools/tool-session.ts';
import { compiledTool, WAYS, type Way } from './compiled-tools.ts';
import { fullSave } from './full-save.ts';
import type { Workload } from './workloads.ts';

/** A kernel rewritten in one way. */
export interface Rewritten {
  readonly bytes: Uint8Array;
  readonly observer?: LaunchObserver;
  /** Of tools, when it has run. */
  readonly reports?: readonly ToolReport[];
}

export interface Variant {
  readonly name: string;
  /** Kernels that execute more instructions, each counted once, would take too long. */
  readonly mostInstructions?: number;
  /** Whether it says at which addresses accesses are. */
  readonly isTrace?: boolean;
  /** Undefined where the kernel cannot be rewritten so. */
  rewrite(workload: Workload): Promise<Rewritten | undefined>;
}

/** With their options. */
const MEASURED_TOOLS: readonly MeasuredTool[] = [
  { name: 'instruction-count:level=thread', tool: 'instruction-count', options: 'level=thread' },
  { name: 'instruction-count:level=wave', tool: 'instruction-count', options: 'level=wave' },
  { name: 'opcode-histogram', tool: 'opcode-histogram', options: 'level=thread' },
  { name: 'block-count', tool: 'block-count', options: 'level=thread' },
  { name: 'memory-trace', tool: 'memory-trace', options: 'file=trace', isTrace: true },
];

interface MeasuredTool {
  readonly name: string;
  readonly tool: string;
  readonly options: string;
  readonly isTrace?: boolean;
}

const relayout: Variant = {
  name: 'relayout',
  rewrite: async ({ image }) => ({ bytes: instrumentCodeObject(image.bytes, { name: image.name }).bytes }),
};

/** The address of a tool's variables is kept for the whole kernel, and nothing uses it. */
const preamble: Variant = {
  name: 'preamble',
  async rewrite({ image, kernel: name, processor }) {
    const rewriter = new CodeRewriter(image.bytes, image);
    const plan = new RegisterPlans(rewriter.lifted).kernels.find(({ kernel }) => kernel.name === name)!;
    const first = plan.used.scalar + (plan.used.scalar % 2);
    if (first + 2 > plan.growable.scalar) return undefined;
    const symbol = 'kept_variables';
    const kept = [{ kind: 'address', place: { symbol, addend: 0 }, first }] as const;
    const made = kernelPreamble(plan.kernel, processor, { kept });
    if (typeof made === 'string') return undefined;
    const { bytes } = rewriter.rewrite({
      preambleOf: ([kernel]) => (kernel?.name === name ? made : undefined),
      variables: [{ symbol, sizeBytes: 64, alignmentBytes: 64 }],
    });
    return { bytes };
  },
};

const nothing: HookCode = (code) => [new PayloadBuilder(code).payload()];
const emptyTool = defineTool({
  name: 'empty',
  summary: 'a payload without instructions at each instruction',
  options: {},
  attach(code) {
    for (const instruction of code.instructions) code.before(instruction, { codes: [nothing], literals: [] });
    return () => ({ summary: {}, tables: [] });
  },
});

const empty: Variant = {
  name: 'empty payload',
  async rewrite({ image, kernel }) {
    const use = { tool: emptyTool, values: {}, kernels: exactly(kernel), instructions: EVERYTHING };
    return { bytes: instrumentImage(image, [use]).bytes };
  },
};

const saving: Variant = {
  name: 'full save',
  async rewrite({ image, kernel }) {
    const made = fullSave(parseCodeObject(image.bytes, image.name), kernel);
    return made && { bytes: made.bytes };
  },
};

const toolVariant = ({ name, tool, options, isTrace = false }: MeasuredTool): Variant => ({
  ...{ name, isTrace },
  rewrite: async ({ image, kernel }) => inSession(image, await chooseTool(`${tool}:${optionsFor(kernel, options)}`)),
});

const MOST_COMPILED = 600;
/** What each costs is what others cost: a histogram of opcodes is counted as instructions are. */
const COMPILED_TOOLS = MEASURED_TOOLS.filter(({ tool }) => tool !== 'opcode-histogram');

/** The same by hooks that clang compiled. */
const compiledVariant = (way: Way, { name, tool, options, isTrace = false }: MeasuredTool): Variant => ({
  ...{ name: `${name} ${way}`, isTrace },
  mostInstructions: MOST_COMPILED,
  rewrite: async ({ image, kernel }) => inSession(image, useTool(compiledTool(tool, way), optionsFor(kernel, options))),
});

const optionsFor = (kernel: string, options: string): string => `${options},kernel=${exactly(kernel).source}`;

function inSession(image: KernelImage, use: ChosenTool): Rewritten {
  const session = new ToolSession([use]);
  const { bytes } = session.instrument(image);
  return { bytes, observer: session, reports: session.reports };
}

export const VARIANTS: readonly Variant[] = [
  ...[relayout, preamble, empty],
  ...MEASURED_TOOLS.map(toolVariant),
  ...WAYS.flatMap((way) => COMPILED_TOOLS.map((each) => compiledVariant(way, each))),
  saving,
];

const exactly = (name: string): RegExp => new RegExp(`^${name}$`);
