import { nodeDecompress } from '../../codeobject/node-decompress.ts';
import { describeFile } from '../../codeobject/report.ts';
import { formatReport } from '../../codeobject/report-text.ts';
import { defineCommand } from '../command.ts';
import { readInput } from '../input.ts';

export const readobj = defineCommand({
  operands: { usage: 'FILE...', min: 1, max: Number.POSITIVE_INFINITY },
  options: {
    format: {
      kind: 'choice',
      choices: ['text', 'json', 'jsonl'],
      default: 'text',
      description: 'how to print',
    },
  },
  formats: {
    text: 'for people',
    json: 'one object per file; `schema` and `version` say how to read it',
    jsonl: 'the same, one line per file',
  },
  async run({ stdout }, { format }, files) {
    for (const [index, file] of files.entries()) {
      const report = describeFile(readInput(file), file, { decompress: nodeDecompress });
      if (format === 'text') stdout(`${index > 0 ? '\n' : ''}${formatReport(report)}`);
      else stdout(`${JSON.stringify(report, undefined, format === 'json' ? 2 : undefined)}\n`);
    }
    return 0;
  },
});
