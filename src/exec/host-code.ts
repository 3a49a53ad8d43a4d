/** Names and source lines of a program's own code, for what is said of faults. */
import { WavewrightError } from '../base/errors.ts';
import { hex } from '../base/text.ts';
import { LineTable } from '../codeobject/line-table.ts';
import { PT_LOAD, STT_FUNC } from '../elf/constants.ts';
import { type ElfFile, parseElf } from '../elf/elf.ts';
import { isDefined } from '../elf/symbols.ts';

const { readFileSync, statSync } = process.getBuiltinModule('node:fs');
const { basename } = process.getBuiltinModule('node:path');

/** Larger files are not looked into. */
const MAX_FILE_BYTES = 2 ** 28;
const MAX_PLACES = 6;
/** Our own library, which the calls end in, and what calls `main`. */
const UNINTERESTING = /^libhsa-runtime64\.so|^libc\.so/;

interface Mapping {
  readonly start: bigint;
  readonly end: bigint;
  readonly offset: bigint;
  readonly file: string;
}

function mappingsOf(processId: number): readonly Mapping[] {
  const text = readFileSync(`/proc/${processId}/maps`, 'utf8');
  return [...text.matchAll(/^([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) \S+ \d+ +(\/.*)$/gm)].map(
    ([, start, end, offset, file]) => ({
      start: BigInt(`0x${start}`),
      end: BigInt(`0x${end}`),
      offset: BigInt(`0x${offset}`),
      file: file!,
    }),
  );
}

/** A file that a program may have damaged: what cannot be read is not known. */
function known<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof WavewrightError ? error.code !== 'INTERNAL' : error instanceof Error && 'code' in error)
      return;
    throw error;
  }
}

/** What the system calls a process by, at most 15 bytes; undefined where it is gone. */
export const processName = (processId: number): string | undefined =>
  known(() => readFileSync(`/proc/${processId}/comm`, 'utf8').trim());

class HostFile {
  readonly #elf: ElfFile;
  readonly #functions: readonly { readonly name: string; readonly value: bigint; readonly sizeBytes: number }[];
  readonly #lines: LineTable | undefined;

  constructor(file: string) {
    const elf = parseElf(readFileSync(file), file);
    this.#elf = elf;
    const symbols = [...(known(() => elf.symbols) ?? []), ...(known(() => elf.dynamicSymbols) ?? [])];
    this.#functions = symbols.filter((symbol) => symbol.type === STT_FUNC && isDefined(symbol));
    this.#lines = known(() => LineTable.read(elf));
  }

  /** The function and the line at an offset of the file; undefined where no function is known. */
  at(offset: number): string | undefined {
    const segment = this.#elf.segments.find(
      (each) => each.type === PT_LOAD && offset >= each.offset && offset < each.offset + each.fileSizeBytes,
    );
    if (!segment) return undefined;
    const address = segment.virtualAddress + BigInt(offset - segment.offset);
    const found = this.#functions.find(
      ({ value, sizeBytes }) => address >= value && address < value + BigInt(sizeBytes),
    );
    return found && `${found.name}${this.#lineIn(found.value, address)}`;
  }

  /** In the function's own file: what was inlined there is of other lines, often of a header's. */
  #lineIn(start: bigint, address: bigint): string {
    const file = this.#lines?.lineAt(start)?.file;
    for (let at = address; at >= start; at--) {
      const source = this.#lines?.lineAt(at);
      if (source?.file !== file) continue;
      return source ? ` ${at === address ? 'at' : 'near'} ${source.file}:${source.line}` : '';
    }
    return '';
  }
}

/**
 * A line of the functions that led to a call, the innermost first: of each file the outermost one that is
 * known, of the program itself all. Undefined where nothing is known.
 *
 * @param addresses where the calls return to
 */
export function describeCallers(processId: number, addresses: readonly bigint[]): string | undefined {
  const mappings = known(() => mappingsOf(processId)) ?? [];
  const program = known(() => process.getBuiltinModule('node:fs').readlinkSync(`/proc/${processId}/exe`));
  const files = new Map<string, HostFile | undefined>();
  const open = (file: string): HostFile | undefined => {
    if (!files.has(file)) {
      files.set(
        file,
        known(() => (statSync(file).size > MAX_FILE_BYTES ? undefined : new HostFile(file))),
      );
    }
    return files.get(file);
  };
  const places: { readonly file: string; readonly text: string }[] = [];
  for (const address of addresses) {
    // The call is before where it returns to.
    const at = address - 1n;
    const mapping = mappings.find(({ start, end }) => at >= start && at < end);
    if (!mapping || UNINTERESTING.test(basename(mapping.file))) continue;
    const offset = Number(at - mapping.start + mapping.offset);
    const found = open(mapping.file)?.at(offset);
    const isProgram = mapping.file === program;
    if (!found && !isProgram) continue;
    if (!isProgram && places.at(-1)?.file === mapping.file) places.pop();
    const text = found ?? `${basename(mapping.file)}+${hex(BigInt(offset))}`;
    places.push({ file: mapping.file, text });
    if (places.length === MAX_PLACES || /^main\b/.test(text)) break;
  }
  return places.length > 0 ? places.map(({ text }) => text).join(', from ') : undefined;
}
