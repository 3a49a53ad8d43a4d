/** The tools that ship, by name. Each is loaded when it is used. */
import { WavewrightError } from '../base/errors.ts';
import type { Tool } from '../instrument/index.ts';

interface ToolRow {
  readonly name: string;
  readonly load: () => Promise<Tool>;
}

export const TOOLS: readonly ToolRow[] = [
  { name: 'instruction-count', load: async () => (await import('./instruction-count.ts')).instructionCount },
  { name: 'opcode-histogram', load: async () => (await import('./opcode-histogram.ts')).opcodeHistogram },
  { name: 'block-count', load: async () => (await import('./block-count.ts')).blockCount },
  { name: 'memory-trace', load: async () => (await import('./memory-trace.ts')).memoryTrace },
  { name: 'coalescing', load: async () => (await import('./coalescing.ts')).coalescing },
  { name: 'lds-bank-conflicts', load: async () => (await import('./lds-bank-conflicts.ts')).ldsBankConflicts },
  { name: 'branch-divergence', load: async () => (await import('./branch-divergence.ts')).branchDivergence },
  { name: 'kernel-arguments', load: async () => (await import('./kernel-arguments.ts')).kernelArguments },
  { name: 'register-log', load: async () => (await import('./register-log.ts')).registerLog },
  { name: 'value-profile', load: async () => (await import('./value-profile.ts')).valueProfile },
];

/** Throws USAGE for an unknown name. */
export async function toolNamed(name: string): Promise<Tool> {
  const row = TOOLS.find((each) => each.name === name);
  if (row) return await row.load();
  const [first, ...options] = name.split(',');
  const hint = TOOLS.some((each) => each.name === first)
    ? `options stand behind a colon: ${first}:${options.join()}`
    : `tools are ${TOOLS.map((each) => each.name).join(', ')}`;
  throw new WavewrightError('USAGE', `there is no tool '${name}'`, { hint });
}
