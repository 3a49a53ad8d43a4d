import type { ToolOption, ToolOptionTable } from '../../instrument/index.ts';
import { hex, readTraceFile, type TraceFile } from '../../instrument/index.ts';
import { TOOLS } from '../../tools/catalog.ts';
import { COMMON_OPTIONS } from '../../tools/chosen-tool.ts';
import { defineCommand } from '../arguments/command.ts';
import { readInput } from '../process/input.ts';

/** The tools that ship, or a trace of one of them. */
export const tools = defineCommand({
  operands: { usage: '[TRACE]', min: 0, max: 1 },
  options: {
    format: { kind: 'choice', choices: ['text', 'json'], default: 'text', description: 'how to print' },
  },
  formats: { text: 'for people', json: 'one object; `schema` and `version` say how to read it' },
  notes: [
    'Without TRACE: what --tool=NAME:option=value,option=value of run, dispatch, test and instrument takes.',
    'TRACE is a file that memory-trace wrote: a line for each access of a lane.',
    'Example: wavewright dispatch vadd.co --grid 256 --workgroup 64 ... --tool=instruction-count:level=wave',
  ],
  async run({ stdout }, { format }, [trace]) {
    if (trace !== undefined) {
      const file = readTraceFile(readInput(trace), trace);
      if (format === 'json')
        stdout(`${JSON.stringify({ schema: 'wavewright.trace', version: 1, ...traceJson(file) })}\n`);
      else for (const line of traceLines(file)) stdout(line);
      return 0;
    }
    const loaded = await Promise.all(TOOLS.map(({ load }) => load()));
    if (format === 'json') {
      const list = loaded.map(({ name, summary, options }) => ({ name, summary, options }));
      const report = { schema: 'wavewright.tools', version: 1, tools: list, commonOptions: COMMON_OPTIONS };
      stdout(`${JSON.stringify(report, undefined, 2)}\n`);
      return 0;
    }
    for (const { name, summary, options } of loaded) stdout(`${name}: ${summary}\n${optionLines(options)}`);
    stdout(`options of all tools:\n${optionLines(COMMON_OPTIONS)}`);
    return 0;
  },
});

const optionLines = (table: ToolOptionTable): string =>
  Object.entries(table)
    .map(([name, row]) => `  ${`${name}=${valueText(row)}`.padEnd(24)}  ${row.description}\n`)
    .join('');

function valueText(row: ToolOption): string {
  if (row.kind === 'choice') return row.choices.join('|');
  return row.kind === 'integer' ? 'N' : 'TEXT';
}

function* traceLines({ points, records, lost }: TraceFile): Generator<string> {
  for (const { point, lane, value, group } of records) {
    const { address, text, kind, space, sizeBytes } = points[point]!;
    yield `${group} ${hex(address)} ${kind} ${space} ${sizeBytes} lane ${lane} ${hex(value)} ${text}\n`;
  }
  if (lost !== '0') yield `${lost} accesses found no room\n`;
}

const traceJson = ({ points, records, lost }: TraceFile) => ({
  points,
  records: records.map(({ value, ...rest }) => ({ ...rest, address: hex(value) })),
  lost,
});
