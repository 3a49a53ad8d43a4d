/** `.section` and its relatives. */
import { WavewrightError } from '../base/errors.ts';
import { SHF_GROUP, SHF_LINK_ORDER, SHF_MERGE } from '../elf/constants.ts';
import type { TextReader } from '../isa/amdgpu/text/reader/text-reader.ts';
import type { Assembly, Directive } from './assembly.ts';
import { type AssembledSection, SECTION_FLAGS, SECTION_TYPES, type SectionIdentity } from './section.ts';

const UINT32 = 2 ** 32 - 1;

function sectionName(reader: TextReader): string {
  const quoted = reader.string();
  if (quoted !== undefined) return quoted;
  const name = /^[^\s,]+/.exec(reader.text.slice(reader.position))?.[0];
  if (name === undefined) return reader.fail('expected the name of a section');
  reader.position += name.length;
  return name;
}

/** The flags of the letters; `?` is the group of the current section. */
function flagsOf(reader: TextReader, current: AssembledSection): { flags: bigint; group?: SectionIdentity } {
  reader.skipBlanks();
  const at = reader.position;
  const letters = reader.string() ?? reader.fail('expected the flags of a section in quotes');
  let flags = 0n;
  for (const letter of letters.replace('?', '')) {
    const flag = SECTION_FLAGS[letter];
    if (flag === undefined) {
      reader.failedAt = at;
      throw new WavewrightError('UNSUPPORTED', `section flag '${letter}'`);
    }
    flags |= flag;
  }
  const { group, isComdat = false } = current.identity;
  if (!letters.includes('?') || group === undefined) return { flags };
  return { flags: flags | SHF_GROUP, group: { group, isComdat } };
}

/** `.section NAME, "flags", @type, SIZE, GROUP, comdat, SYMBOL, unique, NUMBER`: what the flags ask for. */
function sectionArguments(assembly: Assembly, reader: TextReader): AssembledSection {
  reader.skipBlanks();
  const name = sectionName(reader);
  if (!reader.accept(',')) return assembly.section(name);
  const { flags, group } = flagsOf(reader, assembly.current);
  let identity: SectionIdentity = group ?? {};
  let type: number | undefined;
  let entrySize = 0;
  const isAsked = (flag: bigint): boolean => (flags & flag) !== 0n;
  if (reader.accept(',')) {
    if (!reader.accept('@') && !reader.accept('%')) reader.fail("expected '@' and the type of a section");
    type = sectionType(reader);
    if (isAsked(SHF_MERGE) || /^\s*,\s*\d/.test(reader.text.slice(reader.position))) {
      reader.expect(',');
      entrySize = reader.integerIn(0, UINT32, 'entry size');
    }
    if (isAsked(SHF_GROUP) && !group) {
      reader.expect(',');
      identity = { group: symbolName(reader), isComdat: acceptNext(reader, 'comdat') };
    }
    if (isAsked(SHF_LINK_ORDER)) {
      reader.expect(',');
      identity = { ...identity, linkedTo: symbolName(reader) };
    }
    if (acceptNext(reader, 'unique')) {
      reader.expect(',');
      identity = { ...identity, unique: reader.integerIn(0, UINT32, 'number of the section') };
    }
  } else if (isAsked(SHF_GROUP | SHF_LINK_ORDER) && !group) {
    reader.fail("expected '@' and the type of a section, then what its flags ask for");
  }
  return assembly.section(name, type ?? SECTION_TYPES['progbits'], flags, entrySize, identity);
}

function sectionType(reader: TextReader): number {
  const number = /^0x[\da-f]+/i.exec(reader.text.slice(reader.position))?.[0];
  if (number !== undefined) return reader.integerIn(0, UINT32, 'section type');
  const name = reader.word() ?? '';
  return SECTION_TYPES[name] ?? reader.fail(`unknown section type '${name}'`);
}

const symbolName = (reader: TextReader): string =>
  reader.string() ?? reader.word() ?? reader.fail('expected the name of a symbol');

/** Takes a comma and `word` if they are next. */
function acceptNext(reader: TextReader, word: string): boolean {
  const start = reader.position;
  if (reader.accept(',') && reader.acceptWord(word)) return true;
  reader.position = start;
  return false;
}

const named =
  (name: string): Directive =>
  (assembly) =>
    assembly.switchTo(assembly.section(name));

export const SECTION_DIRECTIVES: Readonly<Record<string, Directive>> = {
  '.text': named('.text'),
  '.data': named('.data'),
  '.bss': named('.bss'),
  '.rodata': named('.rodata'),
  '.section': (assembly, reader) => assembly.switchTo(sectionArguments(assembly, reader)),
  '.pushsection': (assembly, reader) => {
    const section = sectionArguments(assembly, reader);
    const { current, previous } = assembly;
    assembly.stack.push({ current, previous });
    assembly.switchTo(section);
  },
  '.popsection': (assembly, reader) => {
    const { current, previous } = assembly.stack.pop() ?? reader.fail('.popsection without .pushsection');
    assembly.current = current;
    assembly.previous = previous;
  },
  '.previous': (assembly, reader) => {
    assembly.switchTo(assembly.previous ?? reader.fail('there is no previous section'));
  },
};
