/** `.if` to `.endif`. */
import { WavewrightError } from '../base/errors.ts';
import type { TextReader } from '../isa/amdgpu/text/reader/text-reader.ts';
import type { Assembly, Directive } from './assembly.ts';
import { type AssemblyLine, firstWord } from './source.ts';

type Test = (assembly: Assembly, reader: TextReader) => boolean;

/** The value of an expression, compared with 0. */
const compared =
  (holds: (value: bigint) => boolean): Test =>
  (assembly, reader) =>
    holds(assembly.absolute(reader, 'the condition'));

const isDefined: Test = (assembly, reader) => {
  const name = reader.string() ?? reader.word() ?? reader.fail('expected the name of a symbol');
  return assembly.symbols.find(name)?.definition !== undefined;
};

const isBlank: Test = (_, reader) => rest(reader).trim() === '';

/** Up to the comma, and what is behind it. */
const areEqualTexts: Test = (_, reader) => {
  const comma = reader.text.indexOf(',', reader.position);
  if (comma < 0) return reader.fail("expected ',' between two texts");
  const first = reader.text.slice(reader.position, comma).trim();
  reader.position = comma + 1;
  return first === rest(reader).trim();
};

const areEqualStrings: Test = (_, reader) => {
  const first = reader.string() ?? reader.fail('expected a string');
  reader.expect(',');
  return first === (reader.string() ?? reader.fail('expected a string'));
};

function rest(reader: TextReader): string {
  const text = reader.text.slice(reader.position);
  reader.position = reader.text.length;
  return text;
}

const not =
  (test: Test): Test =>
  (assembly, reader) =>
    !test(assembly, reader);

const TESTS: Readonly<Record<string, Test>> = {
  '.if': compared((value) => value !== 0n),
  '.ifne': compared((value) => value !== 0n),
  '.ifeq': compared((value) => value === 0n),
  '.ifgt': compared((value) => value > 0n),
  '.ifge': compared((value) => value >= 0n),
  '.iflt': compared((value) => value < 0n),
  '.ifle': compared((value) => value <= 0n),
  '.ifdef': isDefined,
  '.ifndef': not(isDefined),
  '.ifnotdef': not(isDefined),
  '.ifb': isBlank,
  '.ifnb': not(isBlank),
  '.ifc': areEqualTexts,
  '.ifnc': not(areEqualTexts),
  '.ifeqs': areEqualStrings,
  '.ifnes': not(areEqualStrings),
};

/** Reads on to the branch of the innermost condition that is to be assembled, or behind its `.endif`. */
function skip(assembly: Assembly): void {
  const { lines } = assembly;
  let depth = 0;
  for (let line = lines.nextHere(); line; line = lines.nextHere()) {
    const word = firstWord(line);
    if (word === undefined || !word.startsWith('.')) continue;
    if (Object.hasOwn(TESTS, word)) depth++;
    else if (word === '.endif' && depth-- === 0) {
      lines.conditions.pop();
      return;
    } else if (depth === 0 && (word === '.else' || word === '.elseif')) {
      const reader = assembly.reader(line.code, line.code.indexOf(word) + word.length);
      if (enter(assembly, line, word, reader)) return;
    }
  }
}

/** Whether the branch that `.else` or `.elseif` begins is assembled. */
function enter(assembly: Assembly, line: AssemblyLine, word: string, reader: TextReader): boolean {
  const condition = assembly.lines.conditions.at(-1);
  if (!condition || condition.hasElse) {
    assembly.line = line;
    throw new WavewrightError('BAD_INPUT', condition ? `'${word}' behind '.else'` : `'${word}' without '.if'`);
  }
  if (word === '.else') condition.hasElse = true;
  if (condition.isDone) return false;
  assembly.line = line;
  condition.isDone = word === '.else' || assembly.absolute(reader, 'the condition') !== 0n;
  return condition.isDone;
}

/** Where the condition cannot be tested, none of its branches is assembled. */
const condition =
  (test: Test): Directive =>
  (assembly, reader) => {
    const state = { line: assembly.line, isDone: true, hasElse: false };
    assembly.lines.conditions.push(state);
    let isEntered = false;
    try {
      isEntered = test(assembly, reader);
      state.isDone = isEntered;
    } finally {
      if (!isEntered) skip(assembly);
    }
  };

/** The end of the branch that was assembled. */
const nextBranch =
  (word: string): Directive =>
  (assembly, reader) => {
    enter(assembly, assembly.line, word, reader);
    reader.position = reader.text.length;
    skip(assembly);
  };

export const CONDITIONAL_DIRECTIVES: Readonly<Record<string, Directive>> = {
  ...Object.fromEntries(Object.entries(TESTS).map(([name, test]) => [name, condition(test)])),
  '.else': nextBranch('.else'),
  '.elseif': nextBranch('.elseif'),
  '.endif': (assembly) => {
    if (!assembly.lines.conditions.pop()) throw new WavewrightError('BAD_INPUT', "'.endif' without '.if'");
  },
};
