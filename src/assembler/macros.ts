/**
 * `.macro`, `.rept`, `.irp`, `.irpc`: lines that are assembled with texts in place of parameters, as LLVM's
 * assembler does it.
 */
import { WavewrightError } from '../base/errors.ts';
import type { TextReader } from '../isa/amdgpu/text/reader/text-reader.ts';
import type { Assembly, Directive } from './assembly.ts';
import { type AssemblyLine, firstWord, type Macro, type MacroParameter } from './source.ts';

const ENDS: Readonly<Record<string, RegExp>> = {
  '.macro': /^\.endm(acro)?$/,
  '.rept': /^\.endr$/,
};
const BEGINS: Readonly<Record<string, RegExp>> = {
  '.macro': /^\.macro$/,
  '.rept': /^\.(rept?|irpc?)$/,
};

/** The lines up to the end of what `.macro` or `.rept` began here. */
function body(assembly: Assembly, kind: '.macro' | '.rept'): AssemblyLine[] {
  const lines: AssemblyLine[] = [];
  let depth = 0;
  for (let line = assembly.lines.nextHere(); line; line = assembly.lines.nextHere()) {
    const word = firstWord(line) ?? '';
    if (BEGINS[kind]!.test(word)) depth++;
    if (ENDS[kind]!.test(word) && depth-- === 0) return lines;
    lines.push(line);
  }
  throw new WavewrightError('BAD_INPUT', `no '${kind === '.macro' ? '.endm' : '.endr'}' behind`);
}

const OPERATOR = /[+\-~/*|^&!%<>]/;
const BLANK = /[ \t]/;

/**
 * One argument: up to a comma or a blank that stands beside no operator; parentheses and quotes keep it
 * together.
 */
function argument(reader: TextReader): string {
  const { text } = reader;
  let depth = 0;
  reader.skipBlanks();
  const quoted = reader.string();
  if (quoted !== undefined && /^(?:[ \t,]|$)/.test(text.slice(reader.position))) return quoted;
  let result = quoted === undefined ? '' : `"${quoted}"`;
  for (; reader.position < text.length; reader.position++) {
    const character = text[reader.position]!;
    if (character === '"') {
      result += `"${reader.string() ?? reader.fail('expected the end of a string')}"`;
      reader.position--;
      continue;
    }
    if (character === '(') depth++;
    else if (character === ')' && depth > 0) depth--;
    else if (depth === 0 && character === ',') break;
    else if (depth === 0 && BLANK.test(character)) {
      reader.skipBlanks();
      const next = text[reader.position] ?? ',';
      if (next === ',' || (!OPERATOR.test(next) && !OPERATOR.test(result.at(-1) ?? ' '))) break;
      reader.position--;
      continue;
    }
    result += character;
  }
  if (depth > 0) reader.fail('unbalanced parentheses in an argument');
  return result;
}

function* argumentsOf(reader: TextReader): Generator<string> {
  while (!reader.atEnd) {
    yield argument(reader);
    reader.accept(',');
  }
}

/** The texts for the parameters, given in their order or by name. */
function bind({ name, parameters }: Macro, reader: TextReader): Map<string, string> {
  const values = new Map<string, string>();
  for (let index = 0; !reader.atEnd; index++) {
    const start = reader.position;
    const word = reader.word();
    const isNamed = word !== undefined && !reader.peek('==') && reader.accept('=');
    if (!isNamed) reader.position = start;
    const parameter = isNamed ? parameters.find((each) => each.name === word) : parameters[index];
    if (!parameter) {
      return reader.fail(isNamed ? `'${name}' has no parameter '${word}'` : `too many arguments for '${name}'`, start);
    }
    if (parameter.qualifier === 'vararg') {
      values.set(parameter.name, reader.text.slice(reader.position).trim());
      reader.position = reader.text.length;
    } else {
      const value = argument(reader);
      if (value !== '' || isNamed) values.set(parameter.name, value);
      reader.accept(',');
    }
  }
  for (const parameter of parameters) {
    if (values.has(parameter.name)) continue;
    if (parameter.qualifier === 'req') reader.fail(`'${name}' needs a value for '${parameter.name}'`);
    values.set(parameter.name, parameter.fallback);
  }
  return values;
}

/** `\name` is the text of a parameter, `\@` the number of expansions before, `\()` nothing. */
function substitute(
  assembly: Assembly,
  lines: readonly AssemblyLine[],
  values: ReadonlyMap<string, string>,
  expansion: AssemblyLine['expansion'] & object,
): AssemblyLine[] {
  return lines.map(({ file, number, code }) => {
    assembly.lines.count(code);
    const text = code.replace(/\\(?:(@)|(\(\))|([\w.$]+))/g, (whole, at?: string, nothing?: string, name?: string) => {
      if (at) return String(assembly.expansions);
      if (nothing) return '';
      const value = values.get(name!) ?? whole;
      assembly.lines.count(value);
      return value;
    });
    return { file, number, text, code: text, expansion };
  });
}

/** Assembles `macro` with the arguments that `reader` stands before. */
export function expandMacro(assembly: Assembly, macro: Macro, reader: TextReader): void {
  const values = bind(macro, reader);
  const expansion = { what: `macro '${macro.name}'`, at: assembly.line };
  assembly.lines.push(substitute(assembly, macro.body, values, expansion), true);
  assembly.expansions++;
}

const define: Directive = (assembly, reader) => {
  // Read first: a wrong head must not let the body be assembled.
  const lines = body(assembly, '.macro');
  const name = reader.word() ?? reader.fail('expected the name of a macro');
  if (assembly.macros.has(name)) reader.fail(`macro '${name}' is already defined`);
  reader.accept(',');
  const parameters: MacroParameter[] = [];
  while (!reader.atEnd) {
    const parameter = reader.word() ?? reader.fail('expected the name of a parameter');
    if (parameters.some((other) => other.name === parameter)) reader.fail(`parameter '${parameter}' appears twice`);
    if (parameters.at(-1)?.qualifier === 'vararg') reader.fail('a vararg parameter must be the last one');
    const qualifier = reader.accept(':') ? reader.word() : undefined;
    if (qualifier !== undefined && qualifier !== 'req' && qualifier !== 'vararg') {
      reader.fail(`unknown qualifier '${qualifier}', expected req or vararg`);
    }
    const fallback = reader.accept('=') ? argument(reader) : '';
    parameters.push({ name: parameter, fallback, qualifier });
    reader.accept(',');
  }
  assembly.macros.set(name, { name, parameters, body: lines });
};

/** `.irp NAME, TEXTS` and `.irpc NAME, CHARACTERS`: the lines once for each text. */
const each =
  (split: (reader: TextReader) => Iterable<string>): Directive =>
  (assembly, reader) => {
    const lines = body(assembly, '.rept');
    const name = reader.word() ?? reader.fail('expected the name of a parameter');
    reader.expect(',');
    const expansion = { what: `'${name}' of ${firstWord(assembly.line)}`, at: assembly.line };
    const expanded = Array.from(split(reader), (text) => {
      return substitute(assembly, lines, new Map([[name, text]]), expansion);
    });
    assembly.lines.push(expanded.flat(), false);
  };

const repeat: Directive = (assembly, reader) => {
  const lines = body(assembly, '.rept');
  const count = assembly.absolute(reader, 'the count');
  if (count < 0n) reader.fail(`the count is ${count}`);
  assembly.lines.push(lines, false, Number(count));
};

const stray: Directive = (assembly) => {
  throw new WavewrightError('BAD_INPUT', `'${firstWord(assembly.line)}' without a beginning`);
};

export const MACRO_DIRECTIVES: Readonly<Record<string, Directive>> = {
  '.macro': define,
  '.endm': stray,
  '.endmacro': stray,
  '.exitm': (assembly) => {
    if (!assembly.lines.leaveMacro()) throw new WavewrightError('BAD_INPUT', "'.exitm' outside of a macro");
  },
  '.purgem': (assembly, reader) => {
    const name = reader.word() ?? '';
    if (!assembly.macros.delete(name)) reader.fail(`macro '${name}' is not defined`);
  },
  '.rept': repeat,
  '.rep': repeat,
  '.irp': each(argumentsOf),
  '.irpc': each((reader) => argument(reader)),
  '.endr': stray,
};
