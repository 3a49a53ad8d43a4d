/**
 * `--tool`: tools in the code that a command runs, and what they say when it has run. Nothing of them is
 * loaded where none is asked for.
 */
import path from 'node:path';
import { WavewrightError } from '../../base/errors.ts';
import type { Tool } from '../../instrument/index.ts';
import type { ChosenTool } from '../../tools/chosen-tool.ts';
import type { ToolReport, ToolSession } from '../../tools/tool-session.ts';
import type { CommandContext } from '../arguments/command.ts';
import { readInput } from '../process/input.ts';
import { writeOutput } from '../process/output-file.ts';
import { warn } from '../text/report.ts';
import { importUserModule } from './user-module.ts';

const { existsSync } = process.getBuiltinModule('node:fs');

export const TOOL_OPTION = {
  kind: 'list',
  placeholder: 'NAME[:OPTION=VALUE,...]',
  description: 'insert a tool into the code, see `wavewright tools`, or those that FILE.ts exports; may be repeated',
} as const;

export const HOOK_OPTION = {
  kind: 'list',
  placeholder: 'FILE.o[:OPTION=VALUE,...]',
  description: 'insert a hook that was compiled with wavewright/hook.h, see docs/instrumentation.md; may be repeated',
} as const;

/** Undefined where no tool and no hook is asked for. Throws USAGE, and IO for a file that cannot be read. */
export async function openTools(
  texts: readonly string[] = [],
  hooks: readonly string[] = [],
): Promise<ToolSession | undefined> {
  if (texts.length === 0 && hooks.length === 0) return undefined;
  const { ToolSession } = await import('../../tools/tool-session.ts');
  return new ToolSession(await chooseTools(texts, hooks));
}

/** Throws as `openTools`. */
export async function chooseTools(texts: readonly string[], hooks: readonly string[]): Promise<readonly ChosenTool[]> {
  const { chooseHook, chooseTool } = await import('../../tools/chosen-tool.ts');
  const chosen: ChosenTool[] = [];
  for (const text of texts) chosen.push(...(isModule(text) ? await toolsOfModule(text) : [await chooseTool(text)]));
  for (const text of hooks) chosen.push(chooseHook(text, readInput));
  return chosen;
}

/** A file is named by a path, or by the ending of a module of JavaScript or TypeScript. */
const isModule = (text: string): boolean => /^[^:]*([/\\]|\.[cm]?[jt]s(:|$))/.test(text);

/** The tools that a module of the user exports. Throws USAGE where there are none, IO for one that fails. */
async function toolsOfModule(text: string): Promise<ChosenTool[]> {
  const { useTool } = await import('../../tools/chosen-tool.ts');
  const [, file, options] = /^(.*?\.[cm]?[jt]s)(?::(.*))?$/s.exec(text) ?? [];
  if (file === undefined)
    throw new WavewrightError('USAGE', `'${text}' is no module with a tool`, { hint: MODULE_HINT });
  if (!existsSync(file)) throw new WavewrightError('IO', `${file}: no such file`);
  let exported: Record<string, unknown>;
  try {
    exported = await importUserModule(file);
  } catch (cause) {
    throw new WavewrightError('IO', `${file}: cannot be loaded: ${cause}`, { cause });
  }
  const tools = Object.values(exported).filter(isTool);
  if (tools.length === 0) throw new WavewrightError('USAGE', `${file} exports no tool`, { hint: MODULE_HINT });
  return tools.map((tool) => useTool(reportingItsErrors(tool, file), options));
}

/** What a tool of the user throws is the user's, not a defect of ours: it becomes BAD_INPUT of the file. */
function reportingItsErrors(tool: Tool, file: string): Tool {
  const run = <T>(what: () => T): T => {
    try {
      return what();
    } catch (cause) {
      if (cause instanceof WavewrightError) throw cause;
      const places = (cause instanceof Error ? (cause.stack ?? '') : '').match(/[^/\s(]+:\d+(?=:\d+\)?$)/gm) ?? [];
      // What the tool calls may throw, too.
      const place = places.find((each) => each.startsWith(`${path.basename(file)}:`)) ?? places[0];
      const where = place === undefined ? '' : ` at ${place}`;
      throw new WavewrightError('BAD_INPUT', `tool '${tool.name}' throws${where}: ${cause}`, { file, cause });
    }
  };
  return {
    ...tool,
    attach: (code, values) => {
      code.guardHooks(run);
      const report = run(() => tool.attach(code, values));
      return (toolRun) => run(() => report(toolRun));
    },
  };
}

const MODULE_HINT = 'export const NAME = defineTool({...}) of wavewright/instrument in a .ts, .mts, .js or .mjs file';

const isTool = (value: unknown): value is Tool =>
  typeof value === 'object' && value !== null && 'attach' in value && 'options' in value && 'name' in value;

/** What is there to print when tools are through. */
export type ToolResults = Pick<ToolSession, 'reports' | 'unmatched'>;

/** Says which tools found no kernel to look at. */
export function warnOfUnmatched(session: Pick<ToolResults, 'unmatched'> | undefined, context: CommandContext): void {
  for (const { use, kernels } of session?.unmatched ?? []) {
    const { name } = use.tool;
    warn(context, `tool '${name}': no kernel matches '${use.kernels.source}'; the kernels are ${kernels.join(', ')}`);
  }
}

/** Prints what the tools found, or writes it into the files that they were given. */
export async function writeReports(
  session: ToolResults | undefined,
  print: (text: string) => void,
  context: CommandContext,
): Promise<void> {
  if (!session) return;
  warnOfUnmatched(session, context);
  const { formatToolReport } = await import('../text/tool-report.ts');
  const isPrinted = ({ use }: ToolReport): boolean => use.output === '' && use.format === 'text';
  for (const [i, report] of session.reports.entries()) {
    // Of tools that are printed one behind the other the last one has the account of all.
    const isLast = !session.reports.slice(i + 1).some((each) => isPrinted(each) && each.coverage === report.coverage);
    const text = formatToolReport(report, { hasAccount: isLast || !isPrinted(report) });
    for (const { name, bytes } of report.result.files ?? []) writeOutput(name, bytes);
    if (report.use.output === '') print(text);
    else writeOutput(report.use.output, new TextEncoder().encode(text));
  }
}
