import type { ErrorReport } from '../../base/errors.ts';
import { printable } from '../../base/text.ts';

const { closeSync, constants, fstatSync, openSync, readFileSync } = process.getBuiltinModule('node:fs');

const MAX_SOURCE_BYTES = 2 ** 24;
const MAX_COLUMNS = 160;

/**
 * The line of a program's source and a mark below its column; nothing when the file cannot be read. The name
 * comes from the code object: whatever it names, only text of a plain file of bounded size is read, and
 * control characters are not shown as they are.
 */
export function sourceExcerpt({ file, line, column }: NonNullable<ErrorReport['source']>): string[] {
  const text = readSource(file)?.split('\n')[line - 1]?.trimEnd();
  if (text === undefined || text.length > MAX_COLUMNS) return [];
  const number = String(line).padStart(8);
  const shown = `${number} | ${printable(text.replaceAll('\t', ' '))}`;
  return column > 0 ? [shown, `${' '.repeat(number.length)} | ${' '.repeat(column - 1)}^`] : [shown];
}

/**
 * The text of a source file that a code object names; undefined where it is no plain file of bounded size.
 */
export function readSource(file: string): string | undefined {
  try {
    // Opening a pipe would wait for who writes to it.
    const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const status = fstatSync(descriptor);
      return status.isFile() && status.size <= MAX_SOURCE_BYTES ? readFileSync(descriptor, 'utf8') : undefined;
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return undefined;
  }
}
