/** The text of one instruction, in LLVM's syntax, to machine code. Everything comes from the rows. */
import { WavewrightError } from '../../../../base/errors.ts';
import { Draft } from '../../encoding/encode.ts';
import { type Encoding, encodingsOf } from '../../encoding/encodings.ts';
import { generationOf } from '../../encoding/formats.ts';
import { type CodeContext, Instruction } from '../../encoding/instruction.ts';
import { SGPR_EXEC_LO } from '../../encoding/registers.ts';
import type { Target } from '../../encoding/targets.ts';
import { allRows } from '../../rows/index.ts';
import { isElsewhere } from '../disassemble.ts';
import { spellingOf } from '../immediate-text.ts';
import { modifiersOf } from '../modifier-text.ts';
import type { Symbols } from '../reader/expression.ts';
import { TextReader } from '../reader/text-reader.ts';
import { constraintError } from './constraints.ts';
import { type ParsedOperand, parseOperand } from './operand.ts';
import { type Fixup, isPlaced, type Placement, placeOperand } from './place.ts';

export interface AssembledInstruction {
  readonly instruction: Instruction;
  /** The encoding and its literal. */
  readonly words: readonly number[];
  /** What the assembler of the file has to fill in; the field is 0. */
  readonly fixup: Fixup | undefined;
}

/** The ways to say in which encoding an instruction is meant; without any, the first that fits is taken. */
const ENCODING_SUFFIXES: readonly (readonly [pattern: RegExp, suffix: string])[] = [
  [/^VOP[12C]$/, '_e32'],
  [/^VOP(3|3B|3P|3P_MAI)$/, '_e64'],
  [/_SDWA$/, '_sdwa'],
  [/^VOP[12C]_DPP8?$/, '_dpp'],
  [/^VOP3.*_DPP8?$/, '_e64_dpp'],
];

const suffixRank = ({ format }: Encoding): number =>
  ENCODING_SUFFIXES.findIndex(([pattern]) => pattern.test(format.name));

/** Encodings by mnemonic, with and without suffix, in the order in which they are tried. */
function buildMnemonics(target: Target): Map<string, Encoding[]> {
  const mnemonics = new Map<string, Encoding[]>();
  const encodings = allRows().flatMap((row) => encodingsOf(row, target));
  for (const encoding of encodings.toSorted((a, b) => suffixRank(a) - suffixRank(b))) {
    const suffix = ENCODING_SUFFIXES[suffixRank(encoding)]?.[1];
    const names = suffix === undefined ? [encoding.name] : [encoding.name, encoding.name + suffix];
    for (const name of names) {
      const list = mnemonics.get(name);
      if (list) list.push(encoding);
      else mnemonics.set(name, [encoding]);
    }
  }
  return mnemonics;
}

const tables = new Map<string, Map<string, Encoding[]>>();

function mnemonicsOf(target: Target): Map<string, Encoding[]> {
  let table = tables.get(target.processor);
  if (!table) {
    table = buildMnemonics(target);
    tables.set(target.processor, table);
  }
  return table;
}

/** An encoding that does not fit, and how far it did. */
interface Misfit {
  readonly at: number;
  readonly what: string;
}

interface Statement {
  readonly operands: readonly ParsedOperand[];
  /** Where the modifiers begin. */
  readonly modifiersAt: number;
  readonly mnemonicAt: number;
}

/** What stands in front of the modifiers; no candidates when there is no such instruction. */
interface Head {
  readonly candidates: readonly Encoding[] | undefined;
  readonly operands: readonly ParsedOperand[];
}

/** Reads operands up to the one without a comma behind it. */
function parseOperands(reader: TextReader, candidates: readonly Encoding[], target: Target): ParsedOperand[] {
  const { spelled } = candidates[0]!.row.flags;
  const spelling = spelled && spellingOf(spelled);
  // Offsets of vector memory are modifiers.
  const hasOperands = candidates.some(({ row, format }) =>
    row.operands.some(({ field }) => format.name === 'SMEM' || !field.startsWith('offset')),
  );
  if ((!hasOperands && !spelling) || (reader.atEnd && !spelling)) return [];
  const operands: ParsedOperand[] = [];
  do operands.push(parseOperand(reader, target, spelling));
  while (reader.accept(',') || (spelled?.bare && operands.length === 1));
  return operands;
}

/** VOPD: `NAME OPERANDS :: NAME OPERANDS`, one row for each pair of names. */
function parseHalves(reader: TextReader, x: string, target: Target): Head {
  const operands: ParsedOperand[] = [];
  do operands.push(parseOperand(reader, target));
  while (reader.accept(','));
  reader.expect('::');
  const candidates = mnemonicsOf(target).get(`${x} :: ${reader.word()}`);
  do operands.push(parseOperand(reader, target));
  while (reader.accept(','));
  return { candidates, operands };
}

const isMisfit = (result: AssembledInstruction | Misfit): result is Misfit => 'what' in result;

/** Reads modifiers in any order. */
function parseModifiers(reader: TextReader, draft: Draft): Misfit | undefined {
  const modifiers = modifiersOf(draft);
  let isFirst = true;
  while (!reader.atEnd) {
    if (!isFirst) reader.accept(',');
    isFirst = false;
    reader.skipBlanks();
    const at = reader.position;
    const name = reader.word();
    if (name === undefined || !modifiers.some(({ parse }) => parse(name, reader, draft))) {
      return {
        at,
        what: name === undefined ? 'unexpected token' : `'${draft.name}' cannot have the modifier '${name}'`,
      };
    }
  }
  return undefined;
}

/** A scalar access has its register and its immediate in the same place of the text (CDNA2 ISA 8.2.1.1). */
function chooseScalarAddress(draft: Draft, { operands, modifiersAt }: Statement, text: string): void {
  if (draft.format.name !== 'SMEM') return;
  const position = draft.row.operands.findIndex(({ field }) => field === 'soffset');
  const register = position >= 0 && operands[position]?.value.kind === 'scalar';
  if (draft.has('imm')) {
    const both = register && /\boffset\s*:/.test(text.slice(modifiersAt));
    draft.set('imm', register && !both ? 0 : position >= 0 ? 1 : 0);
    draft.set('soffset_en', both ? 1 : 0);
  } else if (position >= 0 && !register) {
    draft.set('soffset', draft.scalars.none);
    draft.set('offset', 1); // Not 0, so that the immediate has a place.
  }
}

interface Slot {
  /** Operand of the row; undefined for the immediate that is spelled. */
  readonly index: number | undefined;
}

/** The operands that stand in the text, in its order. */
function slotsOf(draft: Draft): Slot[] {
  const { spelled } = draft.row.flags;
  const slots: Slot[] = draft.row.operands.flatMap(({ field }, index) =>
    field === spelled?.field || isElsewhere(draft, index) ? [] : [{ index }],
  );
  if (!spelled) return slots;
  return spelled.first ? [{ index: undefined }, ...slots] : [...slots, { index: undefined }];
}

function placeSpelled(draft: Draft, { value }: ParsedOperand): string | undefined {
  const { field } = draft.row.flags.spelled!;
  if (value.kind === 'expression') return 'expected an absolute expression';
  if (value.kind !== 'spelled' && value.kind !== 'integer') return 'invalid operand for instruction';
  const limit = draft.limit(field);
  if (value.value > limit || value.value < -(limit + 1) / 2) return `expected a number of at most ${limit}`;
  draft.set(field, Number(value.value));
  return undefined;
}

/** Fits the statement into one encoding. */
function fit(
  encoding: Encoding,
  context: CodeContext,
  statement: Statement,
  reader: TextReader,
): AssembledInstruction | Misfit {
  const { operands, mnemonicAt } = statement;
  const draft = new Draft(encoding, context);
  const modifiers = modifiersOf(draft);
  for (const { preset } of modifiers) preset?.(draft);
  chooseScalarAddress(draft, statement, reader.text);
  // A comparison that writes EXEC alone names it in the unused destination.
  const hasDestination = encoding.row.operands.some(({ access }) => access === 'write');
  if (encoding.row.format === 'VOPC' && draft.has('vdst') && !hasDestination) draft.set('vdst', SGPR_EXEC_LO);
  reader.position = statement.modifiersAt;
  const wrongModifier = parseModifiers(reader, draft);
  if (wrongModifier) return wrongModifier;
  const placement: Placement = { literal: undefined, fixup: undefined };
  const slots = slotsOf(draft);
  for (const [i, parsed] of operands.entries()) {
    const slot = slots[i];
    if (!slot) return { at: parsed.at, what: 'too many operands for instruction' };
    const error =
      slot.index === undefined ? placeSpelled(draft, parsed) : placeOperand(draft, slot.index, parsed, placement);
    if (error !== undefined) return { at: parsed.at, what: error };
  }
  if (operands.length < slots.length) return { at: mnemonicAt, what: 'too few operands for instruction' };
  for (const [i, parsed] of operands.entries()) {
    const { index } = slots[i]!;
    if (index !== undefined && !isElsewhere(draft, index) && !isPlaced(draft, index, parsed)) {
      const isImmediate = draft.row.operands[index]!.file === 'immediate';
      if (!isImmediate) return { at: parsed.at, what: 'invalid operand for instruction' };
    }
  }
  for (const { missing } of modifiers) {
    const what = missing?.(draft);
    if (what !== undefined) return { at: mnemonicAt, what };
  }
  const instruction = new Instruction(encoding, draft.words, placement.literal, context);
  const broken = constraintError(instruction);
  if (broken !== undefined) return { at: operands.at(-1)?.at ?? mnemonicAt, what: broken };
  const words = placement.literal === undefined ? draft.words : [...draft.words, placement.literal >>> 0];
  return { instruction, words, fixup: placement.fixup };
}

function parseHead(reader: TextReader, mnemonic: string | undefined, { target, waveSize }: CodeContext): Head {
  if (mnemonic === undefined) return { candidates: undefined, operands: [] };
  const isDual = mnemonic.startsWith('v_dual_') && waveSize === 32 && generationOf(target.families).wideLiterals;
  if (isDual) return parseHalves(reader, mnemonic, target);
  const candidates = mnemonicsOf(target).get(mnemonic);
  return { candidates, operands: candidates ? parseOperands(reader, candidates, target) : [] };
}

/**
 * Assembles the instruction that `reader` stands before, to the end of its text. Throws BAD_INPUT with
 * `reader.failedAt` at the wrong part when it is none of the target's.
 */
export function assembleAt(reader: TextReader, context: CodeContext): AssembledInstruction {
  reader.skipBlanks();
  const mnemonicAt = reader.position;
  const mnemonic = reader.word();
  const { candidates, operands } = parseHead(reader, mnemonic, context);
  if (!candidates) return reader.fail(`unknown instruction '${mnemonic ?? reader.text.slice(mnemonicAt)}'`, mnemonicAt);
  const statement: Statement = { operands, modifiersAt: reader.position, mnemonicAt };
  let best: Misfit | undefined;
  for (const candidate of candidates) {
    const result = fit(candidate, context, statement, reader);
    if (!isMisfit(result)) return result;
    if (!best || result.at > best.at) best = result;
  }
  return reader.fail(best!.what, best!.at);
}

/** `text` as an error shows it: with a caret below column `at`. */
export function withCaret(text: string, at: number): string {
  return `${text}\n${text.slice(0, at).replace(/[^\t]/g, ' ')}^`;
}

/**
 * One instruction without a comment. Symbols are those that have a value. Throws BAD_INPUT with the column
 * and a caret.
 */
export function assembleInstruction(text: string, context: CodeContext, symbols?: Symbols): AssembledInstruction {
  const reader = new TextReader(text, 0, symbols);
  try {
    return assembleAt(reader, context);
  } catch (error) {
    if (!(error instanceof WavewrightError)) throw error;
    const message = `column ${reader.failedAt + 1}: ${error.what}\n${withCaret(text, reader.failedAt)}`;
    throw new WavewrightError(error.code, message, { ...error.context, cause: error });
  }
}
