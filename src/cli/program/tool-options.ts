/**
 * `--tool`: tools in the code that a command runs, and what they say when it has run. Nothing of them is
 * loaded where none is asked for.
 */
import type { ChosenTool } from '../../tools/chosen-tool.ts';
import type { ToolSession } from '../../tools/tool-session.ts';
import { readInput } from '../process/input.ts';
import { writeOutput } from '../process/output-file.ts';

export const TOOL_OPTION = {
  kind: 'list',
  placeholder: 'NAME[:OPTION=VALUE,...]',
  description: 'insert a tool into the code, see `wavewright tools`; may be repeated',
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
  const { chooseHook, chooseTool } = await import('../../tools/chosen-tool.ts');
  const { ToolSession } = await import('../../tools/tool-session.ts');
  const chosen: ChosenTool[] = [];
  for (const text of texts) chosen.push(await chooseTool(text));
  for (const text of hooks) chosen.push(chooseHook(text, readInput));
  return new ToolSession(chosen);
}

/** Prints what the tools found, or writes it into the files that they were given. */
export async function writeReports(session: ToolSession | undefined, print: (text: string) => void): Promise<void> {
  if (!session) return;
  const { formatToolReport } = await import('../text/tool-report.ts');
  for (const report of session.reports) {
    const text = formatToolReport(report);
    for (const { name, bytes } of report.result.files ?? []) writeOutput(name, bytes);
    if (report.use.output === '') print(text);
    else writeOutput(report.use.output, new TextEncoder().encode(text));
  }
}
