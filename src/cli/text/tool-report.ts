/** What tools found, as `--format` of each asks for it. */
import { pointCoverageText, resultJson, resultText } from '../../instrument/index.ts';
import type { ToolReport } from '../../tools/tool-session.ts';

export function formatToolReport({ use, image, result, coverage, launches }: ToolReport): string {
  const { name } = use.tool;
  if (use.format === 'text')
    return `${name} of ${image}, ${launches} ${launches === 1 ? 'launch' : 'launches'}\n${resultText(result)}${pointCoverageText(coverage)}`;
  const report = { schema: 'wavewright.tool', version: 1, tool: name, image, launches };
  return `${JSON.stringify({ ...report, result: resultJson(result), coverage }, undefined, 2)}\n`;
}
