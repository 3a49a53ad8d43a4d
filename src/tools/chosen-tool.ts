/** A tool as it was asked for, with its options and the ones that all tools have. */
import { WavewrightError } from '../base/errors.ts';
import {
  type Interval,
  parseInterval,
  parseToolOptions,
  parseToolRequest,
  type Tool,
  type ToolOptionTable,
  type ToolRequest,
} from '../instrument/index.ts';
import { toolNamed } from './catalog.ts';
import { compiledHookTool } from './compiled-hook.ts';

/** Options that every tool has, besides its own. */
export const COMMON_OPTIONS = {
  kernel: { kind: 'text', description: 'kernels whose name this regular expression matches, with all they call' },
  instructions: { kind: 'text', description: 'instructions FIRST-LAST of each function, from 0 on' },
  dispatches: { kind: 'text', description: 'kernel dispatches FIRST-LAST of a run, from 0 on; others run as compiled' },
  format: { kind: 'choice', choices: ['text', 'json'], default: 'text', description: 'how the result is printed' },
  output: { kind: 'text', description: 'the file that the result goes to' },
} as const satisfies ToolOptionTable;

export interface ChosenTool {
  readonly tool: Tool;
  /** Of the tool's own options. */
  readonly values: Parameters<Tool['attach']>[1];
  readonly kernels: RegExp;
  readonly instructions: Interval;
  /** Of all that the session sees, by position. */
  readonly dispatches: Interval;
  readonly format: 'text' | 'json';
  /** A file; the empty text where none was named. */
  readonly output: string;
}

/** What `NAME:option=value,option=value` means. Throws USAGE. */
export async function chooseTool(text: string): Promise<ChosenTool> {
  const request = parseToolRequest(text);
  return chosenTool(request, await toolNamed(request.name));
}

/**
 * What `FILE:option=value,option=value` means: a hook of a compiled file. `read` gives the file's bytes.
 * Throws USAGE.
 */
export function chooseHook(text: string, read: (name: string) => Uint8Array): ChosenTool {
  const request = parseToolRequest(text);
  return chosenTool(request, compiledHookTool({ name: request.name, bytes: read(request.name) }));
}

/** A tool of one's own, with what `option=value,option=value` says. Throws USAGE. */
export function useTool(tool: Tool, options = ''): ChosenTool {
  return chosenTool(parseToolRequest(options === '' ? tool.name : `${tool.name}:${options}`), tool);
}

function chosenTool(request: ToolRequest, tool: Tool): ChosenTool {
  const values = parseToolOptions(request, tool.options, COMMON_OPTIONS);
  const { kernel, instructions, dispatches, format, output } = parseToolOptions(request, COMMON_OPTIONS, tool.options);
  const what = (option: string): string => `option '${option}' of tool '${tool.name}'`;
  return {
    tool,
    values,
    kernels: patternOf(what('kernel'), kernel),
    instructions: parseInterval(what('instructions'), instructions),
    dispatches: parseInterval(what('dispatches'), dispatches),
    ...{ format, output },
  };
}

function patternOf(what: string, text: string): RegExp {
  try {
    return new RegExp(text);
  } catch {
    throw new WavewrightError('USAGE', `${what} is no regular expression: '${text}'`);
  }
}
