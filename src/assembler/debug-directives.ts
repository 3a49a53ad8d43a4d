/** `.file` and `.loc`. */
import { WavewrightError } from '../base/errors.ts';
import type { TextReader } from '../isa/amdgpu/text/reader/text-reader.ts';
import type { Directive } from './assembly.ts';
import type { Location, SourceFile } from './line-table.ts';
import { stringBytes } from './source.ts';

const UINT32 = 2 ** 32 - 1;
const UINT16 = 2 ** 16 - 1;

const decoded = (literal: string): string => new TextDecoder().decode(stringBytes(literal));

/**
 * `.file NUMBER "DIRECTORY" "NAME" md5 ... source ...`: for `.loc`. Objects for AMDGPU have no trace of
 * `.file "NAME"`.
 */
const file: Directive = (assembly, reader) => {
  if (reader.string() !== undefined) return;
  const number = reader.integerIn(0, UINT32, 'file number');
  const first = decoded(reader.string() ?? reader.fail('expected the name of a file'));
  const second = reader.string();
  let md5: SourceFile['md5'];
  let source: SourceFile['source'];
  for (;;) {
    if (reader.acceptWord('md5')) md5 = checksum(reader);
    else if (reader.acceptWord('source')) source = stringBytes(reader.string() ?? reader.fail('expected a string'));
    else break;
  }
  const directory = second === undefined ? '' : first;
  assembly.lineTable.addFile(number, { directory, name: second === undefined ? first : decoded(second), md5, source });
};

/** 128 bits, the highest byte first. */
function checksum(reader: TextReader): Uint8Array {
  reader.skipBlanks();
  const digits = /^0x([\da-f]{32})(?![\w.$])/i.exec(reader.text.slice(reader.position))?.[1];
  if (digits === undefined) return reader.fail('expected 0x and 32 hexadecimal digits');
  reader.position += digits.length + 2;
  return Uint8Array.from({ length: 16 }, (_, i) => Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16));
}

/** `.loc FILE LINE COLUMN`, and what else the row says. */
const location: Directive = ({ lineTable, current }, reader) => {
  const at = reader.position;
  const number = reader.integerIn(0, UINT32, 'file number');
  if (!lineTable.hasFile(number)) reader.fail(`no .file ${number}`, at);
  const line = reader.atEnd ? 0 : reader.integerIn(0, UINT32, 'line');
  const column = /^\s*\d/.test(reader.text.slice(reader.position)) ? reader.integerIn(0, UINT16, 'column') : 0;
  const found: { -readonly [Key in keyof Location]: Location[Key] } = {
    file: number,
    line,
    column,
    isStatement: lineTable.last.isStatement,
    isBasicBlock: false,
    isPrologueEnd: false,
    isEpilogueBegin: false,
    isa: 0,
    discriminator: 0,
  };
  while (!reader.atEnd) {
    const word = reader.word();
    if (word === 'basic_block') found.isBasicBlock = true;
    else if (word === 'prologue_end') found.isPrologueEnd = true;
    else if (word === 'epilogue_begin') found.isEpilogueBegin = true;
    else if (word === 'is_stmt') found.isStatement = reader.integerIn(0, 1, 'is_stmt') === 1;
    else if (word === 'isa') found.isa = reader.integerIn(0, UINT32, 'isa');
    else if (word === 'discriminator') found.discriminator = reader.integerIn(0, UINT32, 'discriminator');
    else throw new WavewrightError('BAD_INPUT', `'${word ?? reader.text.slice(reader.position)}' in '.loc'`);
  }
  lineTable.locate(found, current);
};

export const DEBUG_DIRECTIVES: Readonly<Record<string, Directive>> = { '.file': file, '.loc': location };
