import { hex, printable } from '../base/text.ts';
import type { CodeObjectReport, Json, KernelReport, ReadobjReport } from './report.ts';

const KIND_TEXT = {
  'code-object': 'code object',
  'offload-bundle': 'offload bundle',
  'host-elf': 'host program with fat binaries',
} as const;

/** What of a code object is shown; everything when nothing is chosen. */
export interface ReportParts {
  readonly symbols?: boolean;
  readonly relocations?: boolean;
}

/** The report as readable text, newline at the end. Names from the file are made fit for a terminal. */
export function formatReport(report: ReadobjReport, parts: ReportParts = {}): string {
  const lines = [`${report.file}: ${KIND_TEXT[report.kind]}, ${report.sizeBytes} bytes`];
  if (report.host !== null) lines.push(`  host machine ${report.host.machine}`);
  for (const { offset, compression, entries } of report.bundles) {
    lines.push('', `Offload bundle at ${hex(offset)}, ${entries.length} entries`);
    if (compression !== null) lines.push(...properties({ compression }));
    const rows = entries.map((entry) => [hex(entry.offset), String(entry.sizeBytes), entry.target ?? '-', entry.id]);
    lines.push(...table(['offset', 'size', 'target', 'id'], rows));
  }
  for (const codeObject of report.codeObjects) lines.push(...formatCodeObject(codeObject, parts));
  return `${lines.map(printable).join('\n')}\n`;
}

function formatCodeObject(object: CodeObjectReport, { symbols, relocations }: ReportParts): string[] {
  const { header } = object;
  const all = !symbols && !relocations;
  const lines = ['', `Code object ${object.isaName}, version ${object.codeObjectVersion}`];
  if (object.id !== null) lines.push(`  bundle entry ${object.id} at ${hex(object.offset)}, ${object.sizeBytes} bytes`);
  if (all) lines.push(...properties({ target: object.target, header }));
  const section = (title: string, columns: string[], rows: string[][], isShown = all) => {
    if (isShown && rows.length > 0) lines.push('', title, ...table(columns, rows));
  };
  section(
    'Segments',
    ['type', 'offset', 'address', 'file size', 'memory size', 'flags', 'align'],
    object.segments.map((segment) => [
      segment.type,
      hex(segment.offset),
      segment.virtualAddress,
      hex(segment.fileSizeBytes),
      hex(segment.memorySizeBytes),
      segment.flags,
      hex(segment.alignmentBytes),
    ]),
  );
  section(
    'Sections',
    ['index', 'name', 'type', 'address', 'offset', 'size', 'flags', 'link', 'info', 'align'],
    object.sections.map((row) => [
      String(row.index),
      row.name,
      row.type,
      row.address,
      hex(row.offset),
      hex(row.sizeBytes),
      row.flags,
      String(row.link),
      String(row.info),
      String(row.alignmentBytes),
    ]),
  );
  const dynamicRows = object.dynamic.map(({ tag, value }) => [tag, value]);
  section('Dynamic section', ['tag', 'value'], dynamicRows);
  section('Dynamic symbols', SYMBOL_COLUMNS, object.dynamicSymbols.map(symbolRow), all || symbols);
  section('Symbols', SYMBOL_COLUMNS, object.symbols.map(symbolRow), all || symbols);
  for (const { section: name, entries } of object.relocations) {
    const rows = entries.map(({ offset, type, symbol, addend }) => [offset, type, addend ?? 'in place', symbol ?? '-']);
    section(`Relocations in ${name}`, ['offset', 'type', 'addend', 'symbol'], rows, all || relocations);
  }
  const noteRows = object.notes.map((note) => [note.name, String(note.type), String(note.sizeBytes), note.section]);
  section('Notes', ['owner', 'type', 'size', 'in'], noteRows);
  if (!all) return lines;
  if (object.metadata !== null) lines.push('', 'Metadata', ...properties(object.metadata));
  for (const kernel of object.kernels) lines.push(...formatKernel(kernel));
  return lines;
}

function formatKernel(kernel: KernelReport): string[] {
  const { name, descriptor, metadata, arguments: args, ...rest } = kernel;
  const lines = ['', `Kernel ${name}`, ...properties({ ...rest, descriptor })];
  if (args.length > 0) {
    const rows = args.map((argument) => [
      hex(argument.offsetBytes),
      String(argument.sizeBytes),
      argument.valueKind,
      argument.addressSpace ?? '-',
      argument.typeName ?? '-',
      argument.name ?? '-',
    ]);
    lines.push('  arguments', ...table(['offset', 'size', 'kind', 'address space', 'type', 'name'], rows, '    '));
  }
  if (metadata !== null) lines.push(...properties({ metadata }));
  return lines;
}

const SYMBOL_COLUMNS = ['index', 'value', 'size', 'type', 'binding', 'visibility', 'section', 'name'];

function symbolRow(symbol: CodeObjectReport['symbols'][number]): string[] {
  const { index, value, sizeBytes, type, binding, visibility, section, name } = symbol;
  return [String(index), value, String(sizeBytes), type, binding, visibility, section, name];
}

/** One line for every scalar, nested values indented below their key; empty ones are left out. */
function properties(value: Json, indent = '  '): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const lines: string[] = [];
  for (const [key, item] of Object.entries(value)) {
    if (typeof item !== 'object' || item === null) {
      lines.push(`${indent}${key}: ${item ?? '-'}`);
    } else if (Array.isArray(item) && item.every((element) => typeof element !== 'object' || element === null)) {
      if (item.length > 0) lines.push(`${indent}${key}: ${item.join(', ')}`);
    } else {
      const nested = properties(item, `${indent}  `);
      if (nested.length > 0) lines.push(`${indent}${key}`, ...nested);
    }
  }
  return lines;
}

/** Left-aligned columns. */
export function table(columns: readonly string[], rows: readonly (readonly string[])[], indent = '  '): string[] {
  const widths = columns.map((title, column) =>
    rows.reduce((width, row) => Math.max(width, row[column]!.length), title.length),
  );
  return [columns, ...rows].map((row) =>
    `${indent}${row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ')}`.trimEnd(),
  );
}
