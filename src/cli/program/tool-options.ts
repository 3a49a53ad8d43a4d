/**
 * `--tool`: tools in the code that a command runs, and what they say when it has run. Nothing of them is
 * loaded where none is asked for.
 */
import type { ChosenTool } from '../../tools/chosen-tool.ts';
import type { ToolSession } from '../../tools/tool-session.ts';
import { writeOutput } from '../process/output-file.ts';

export const TOOL_OPTION = {
  kind: 'list',
  placeholder: 'NAME[:OPTION=VALUE,...]',
  description: 'insert a tool into the code, see `wavewright tools`; may be repeated',
} as const;

/** Undefined where no tool is asked for. Throws USAGE. */
export async function openTools(texts: readonly string[] | undefined): Promise<ToolSession | undefined> {
  if (texts === undefined || texts.length === 0) return undefined;
  const { chooseTool } = await import('../../tools/chosen-tool.ts');
  const { ToolSession } = await import('../../tools/tool-session.ts');
  const chosen: ChosenTool[] = [];
  for (const text of texts) chosen.push(await chooseTool(text));
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
