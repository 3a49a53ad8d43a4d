import { WavewrightError } from '../../base/errors.ts';
import { openCodeObjects } from '../../codeobject/container.ts';
import { nodeDecompress } from '../../codeobject/node-decompress.ts';
import { isBundle } from '../../codeobject/offload-bundle.ts';
import { parseElf } from '../../elf/elf.ts';
import { isElf } from '../../elf/header.ts';
import type { ToolOption, ToolOptionTable } from '../../instrument/index.ts';
import { hex, type InsertedTool, readInsertedTools, readTraceFile, type TraceFile } from '../../instrument/index.ts';
import { TOOLS } from '../../tools/catalog.ts';
import { COMMON_OPTIONS } from '../../tools/chosen-tool.ts';
import { defineCommand } from '../arguments/command.ts';
import { readInput } from '../process/input.ts';

/** The tools that ship, those that are in a file, or a trace of one of them. */
export const tools = defineCommand({
  operands: { usage: '[FILE|TRACE]', min: 0, max: 1 },
  options: {
    format: { kind: 'choice', choices: ['text', 'json'], default: 'text', description: 'how to print' },
  },
  formats: { text: 'for people', json: 'one object; `schema` and `version` say how to read it' },
  notes: [
    'Without TRACE: what --tool=NAME:option=value,option=value of run, dispatch, test and instrument takes.',
    'FILE was written by instrument: its tools, their variables by the names of the symbols, and what each number in these is about.',
    'TRACE is a file that memory-trace wrote: a line for each access of a lane.',
    'Example: wavewright dispatch vadd.co --grid 256 --workgroup 64 ... --tool=instruction-count:level=wave',
  ],
  async run({ stdout }, { format }, [operand]) {
    const bytes = operand === undefined ? undefined : readInput(operand);
    if (operand !== undefined && bytes && (isElf(bytes) || isBundle(bytes))) {
      const files = insertedIn(bytes, operand);
      if (format === 'json') stdout(`${JSON.stringify({ schema: 'wavewright.inserted', version: 1, files })}\n`);
      else for (const file of files) for (const line of insertedLines(file)) stdout(line);
      return 0;
    }
    if (operand !== undefined && bytes) {
      const file = withHint(() => readTraceFile(bytes, operand));
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

/** Says of BAD_INPUT what a trace is, for files that are none: reports of tools, or tools in TypeScript. */
function withHint<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof WavewrightError) || error.code !== 'BAD_INPUT') throw error;
    const hint = '--tool=memory-trace:file=TRACE writes a trace; --tool=./FILE.ts runs a tool of your own';
    throw error.within({ hint });
  }
}

interface InstrumentedFile {
  readonly name: string;
  readonly tools: readonly InsertedTool[];
}

/** The code objects of a file that tools are in. Throws BAD_INPUT where there are none. */
function insertedIn(bytes: Uint8Array, file: string): InstrumentedFile[] {
  const found = openCodeObjects(bytes, file, { decompress: nodeDecompress }).flatMap(({ bytes: image, name }) => {
    const inserted = readInsertedTools(parseElf(image, name));
    return inserted ? [{ name, tools: inserted }] : [];
  });
  if (found.length > 0) return found;
  const hint = 'wavewright instrument FILE --tool=NAME -o OUT writes one that has';
  throw new WavewrightError('BAD_INPUT', 'no tools are in it', { file, hint });
}

function* insertedLines({ name: file, tools: inserted }: InstrumentedFile): Generator<string> {
  for (const { name, options, kernels, variables } of inserted) {
    const given = Object.entries({ ...options, kernel: kernels }).filter(([, value]) => value !== '');
    yield `${name} of ${file}${given.map(([option, value]) => `, ${option}=${value}`).join('')}\n`;
    for (const { name: variable, symbol, kind, sizeBytes, parts, points } of variables) {
      yield `  ${variable}: ${kind}, ${sizeBytes} bytes, symbol ${symbol}\n`;
      for (const part of parts) yield `    ${part.name}: ${part.sizeBytes} bytes from ${part.offset} on\n`;
      for (const { index, amount, where, address, function: at, line } of points)
        yield `    ${index}: ${amount}, ${where} ${hex(address)} of ${at}${line && `, ${line}`}\n`;
    }
  }
}

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
