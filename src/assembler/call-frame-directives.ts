/** `.cfi_*`. */
import { leb128, unsigned } from '../base/leb128.ts';
import type { TextReader } from '../isa/amdgpu/text/reader/text-reader.ts';
import type { Assembly, Directive } from './assembly.ts';
import { CFA, DATA_ALIGNMENT } from './call-frames.ts';

const register = (reader: TextReader): number => reader.integerIn(0, 2 ** 16 - 1, 'register number');

function offset(assembly: Assembly, reader: TextReader): bigint {
  reader.expect(',');
  return assembly.absolute(reader, 'the offset');
}

function saved({ frames, current }: Assembly, number: number, offsetBytes: bigint): void {
  const factored = offsetBytes / DATA_ALIGNMENT;
  if (factored < 0n) frames.rule(current, CFA.offsetExtendedSigned, ...unsigned(number), ...leb128(factored, true));
  else if (number < 64) frames.rule(current, CFA.offset | number, ...leb128(factored, false));
  else frames.rule(current, CFA.offsetExtended, ...unsigned(number), ...leb128(factored, false));
}

function setCfaOffset({ frames, current }: Assembly, value: bigint, ...before: number[]): void {
  frames.current.cfaOffset = value;
  frames.rule(current, ...(before.length > 0 ? before : [CFA.defCfaOffset]), ...leb128(value, false));
}

/** A rule of an opcode and a register. */
const ofRegister =
  (opcode: number): Directive =>
  ({ frames, current }, reader) =>
    frames.rule(current, opcode, ...unsigned(register(reader)));

const plain =
  (opcode: number): Directive =>
  ({ frames, current }) =>
    frames.rule(current, opcode);

const sections: Directive = ({ frames }, reader) => {
  const names: (string | undefined)[] = [];
  do names.push(reader.word());
  while (reader.accept(','));
  if (names.some((name) => name !== '.debug_frame' && name !== '.eh_frame')) reader.fail('expected .debug_frame');
  frames.isDebugFrame = names.every((name) => name === '.debug_frame');
};

export const CFI_DIRECTIVES: Readonly<Record<string, Directive>> = {
  '.cfi_sections': sections,
  '.cfi_startproc': ({ frames, line, current }) => frames.start(line, current),
  '.cfi_endproc': ({ frames, current }) => frames.end(current),
  '.cfi_def_cfa': (assembly, reader) => {
    const base = unsigned(register(reader));
    setCfaOffset(assembly, offset(assembly, reader), CFA.defCfa, ...base);
  },
  '.cfi_def_cfa_offset': (assembly, reader) => setCfaOffset(assembly, assembly.absolute(reader, 'the offset')),
  '.cfi_adjust_cfa_offset': (assembly, reader) =>
    setCfaOffset(assembly, assembly.frames.current.cfaOffset + assembly.absolute(reader, 'the offset')),
  '.cfi_def_cfa_register': ofRegister(CFA.defCfaRegister),
  '.cfi_offset': (assembly, reader) => saved(assembly, register(reader), offset(assembly, reader)),
  '.cfi_rel_offset': (assembly, reader) => {
    const number = register(reader);
    saved(assembly, number, offset(assembly, reader) - assembly.frames.current.cfaOffset);
  },
  '.cfi_restore': ({ frames, current }, reader) => {
    const number = register(reader);
    if (number < 64) frames.rule(current, CFA.restore | number);
    else frames.rule(current, CFA.restoreExtended, ...unsigned(number));
  },
  '.cfi_undefined': ofRegister(CFA.undefined),
  '.cfi_same_value': ofRegister(CFA.sameValue),
  '.cfi_register': ({ frames, current }, reader) => {
    const number = unsigned(register(reader));
    reader.expect(',');
    frames.rule(current, CFA.register, ...number, ...unsigned(register(reader)));
  },
  '.cfi_remember_state': plain(CFA.rememberState),
  '.cfi_restore_state': plain(CFA.restoreState),
  '.cfi_escape': ({ frames, current }, reader) => {
    const bytes: number[] = [];
    do bytes.push(reader.integerIn(-128, 255, 'byte'));
    while (reader.accept(','));
    frames.rule(current, ...bytes);
  },
};
