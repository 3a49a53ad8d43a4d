/** What tools found, as `--format` of each asks for it. */
import { pointCoverageText, resultJson, resultText } from '../../instrument/index.ts';
import type { ToolReport } from '../../tools/tool-session.ts';

/** `hasAccount`: the text ends with how points were served, of all tools in the code together. */
export function formatToolReport(
  { use, image, result, coverage, launches }: ToolReport,
  { hasAccount }: { readonly hasAccount: boolean },
): string {
  const { name } = use.tool;
  if (use.format === 'text') {
    const account = hasAccount ? pointCoverageText(coverage) : '';
    return `${name} of ${image}, ${launches} ${launches === 1 ? 'launch' : 'launches'}\n${resultText(result)}${account}`;
  }
  const report = { schema: 'wavewright.tool', version: 1, tool: name, image, launches };
  return `${JSON.stringify({ ...report, result: resultJson(result), coverage }, undefined, 2)}\n`;
}
