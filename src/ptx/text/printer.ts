/** Modules to PTX. What is printed is parsed to the same module, but for places in the text. */
import type {
  Constant,
  Initializer,
  Item,
  NameOperand,
  PtxDirective,
  PtxFunction,
  PtxInstruction,
  PtxModule,
  PtxOperand,
  Statement,
  Variable,
} from './syntax.ts';

const INDENT = '\t';
/** Of integers with a sign. */
const SMALLEST = -(2n ** 63n);

export function printPtx({ version, target, addressSizeBits, items }: PtxModule): string {
  const head = [`.version ${version.major}.${version.minor}`, `.target ${target.join(', ')}`];
  return [...head, `.address_size ${addressSizeBits}`, '', ...items.map(printItem)].join('\n').concat('\n');
}

export function printConstant(constant: Constant): string {
  // Without its sign the smallest number is one that only unsigned ones reach.
  if (constant.kind === 'integer' && constant.value === SMALLEST) return `(${SMALLEST + 1n} - 1)`;
  if (constant.kind === 'integer') return `${constant.value}${constant.isUnsigned ? 'U' : ''}`;
  const { bits, sizeBits } = constant;
  const digits = bits.toString(16).toUpperCase();
  return sizeBits === 32 ? `0f${digits.padStart(8, '0')}` : `0d${digits.padStart(16, '0')}`;
}

const sum = (name: string, addend: bigint): string =>
  addend === 0n ? name : addend < 0n ? `${name}-${-addend}` : `${name}+${addend}`;

function printElement(operand: NameOperand | Extract<PtxOperand, { kind: 'constant' }>): string {
  if (operand.kind === 'constant') return printConstant(operand.constant);
  const { name, component = '', addend, isNegated, pair } = operand;
  const whole = sum(`${isNegated ? '!' : ''}${name}${component}`, addend);
  return pair === undefined ? whole : `${whole}|${pair}`;
}

export function printOperand(operand: PtxOperand): string {
  switch (operand.kind) {
    case 'address': {
      const { base, addend, coordinates } = operand;
      const parts = [base === undefined ? String(addend) : sum(base, addend), ...coordinates.map(printOperand)];
      return `[${parts.join(', ')}]`;
    }
    case 'vector':
      return `{${operand.elements.map(printElement).join(', ')}}`;
    case 'list':
      return `(${operand.elements.map(printElement).join(', ')})`;
    default:
      return printElement(operand);
  }
}

export function printInstruction({ guard, opcode, operands }: PtxInstruction): string {
  const prefix = guard === undefined ? '' : `@${guard.isNegated ? '!' : ''}${guard.register} `;
  return `${prefix}${opcode}${operands.length > 0 ? ' ' : ''}${operands.map(printOperand).join(', ')};`;
}

function printInitializer(value: Initializer): string {
  if (value.kind === 'constant') return printConstant(value.constant);
  if (value.kind === 'list') return `{${value.elements.map(printInitializer).join(', ')}}`;
  const { name, addend, isGeneric, mask } = value;
  const address = sum(isGeneric ? `generic(${name})` : name, addend);
  return mask === undefined ? address : `${mask}(${address})`;
}

/** Without what ends it. */
function printVariable(variable: Variable): string {
  const { linkage, space, attributes, alignmentBytes, vector, type, pointer, name, dimensions, initializer } = variable;
  const words = [linkage, space];
  if (attributes.length > 0) words.push(`.attribute(${attributes.join(' ')})`);
  if (alignmentBytes !== undefined) words.push(`.align ${alignmentBytes}`);
  words.push(vector, type);
  if (pointer) {
    words.push('.ptr', pointer.space);
    if (pointer.alignmentBytes !== undefined) words.push(`.align ${pointer.alignmentBytes}`);
  }
  const sizes = dimensions.map((count) => (count === 0 ? '[]' : `[${count}]`)).join('');
  const value = initializer === undefined ? '' : ` = ${printInitializer(initializer)}`;
  return `${words.filter((word) => word !== undefined).join(' ')} ${name}${sizes}${value}`;
}

const printParameters = (parameters: readonly Variable[]): string => `(${parameters.map(printVariable).join(', ')})`;

/** A pragma ends with a semicolon, and `.file` has a comma only behind the name. */
function printDirective({ name, words }: PtxDirective): string {
  if (name === '.loc') return `.loc ${words.slice(0, 3).join(' ')}${printLocRest(words.slice(3))}`;
  if (name === '.file')
    return `.file ${words.slice(0, 2).join(' ')}${words
      .slice(2)
      .map((word) => `, ${word}`)
      .join('')}`;
  return `${name}${words.length > 0 ? ' ' : ''}${words.join(', ')}${name === '.pragma' ? ';' : ''}`;
}

const printLocRest = (words: readonly string[]): string =>
  words.map((word) => (word === 'function_name' || word === 'inlined_at' ? `, ${word}` : ` ${word}`)).join('');

function printStatement(statement: Statement, indent: string): string {
  switch (statement.kind) {
    case 'instruction':
      return `${indent}${printInstruction(statement)}`;
    case 'label':
      return `${statement.name}:`;
    case 'registers': {
      const { vector, type, names } = statement;
      const list = names.map(({ name, count }) => (count === undefined ? name : `${name}<${count}>`));
      return `${indent}.reg ${vector === undefined ? '' : `${vector} `}${type} ${list.join(', ')};`;
    }
    case 'variable':
      return `${indent}${printVariable(statement)};`;
    case 'directive':
      return `${indent}${printDirective(statement)}`;
    case 'prototype': {
      const { name, results, parameters, attributes } = statement;
      const rest = attributes.map((each) => ` ${printDirective(each)}`).join('');
      return `${indent}${name}: .callprototype ${printParameters(results)} _ ${printParameters(parameters)}${rest};`;
    }
    case 'targets':
      return `${indent}${statement.name}: ${statement.directive} ${statement.targets.join(', ')};`;
    case 'block':
      return `${indent}{\n${printStatements(statement.statements, indent + INDENT)}${indent}}`;
  }
}

const printStatements = (statements: readonly Statement[], indent: string): string =>
  statements.map((statement) => `${printStatement(statement, indent)}\n`).join('');

function printFunction(each: PtxFunction): string {
  const { linkage, isEntry, attributes, results, name, parameters, directives, body } = each;
  const words = [linkage, isEntry ? '.entry' : '.func'].filter((word) => word !== undefined);
  if (attributes.length > 0) words.push(`.attribute(${attributes.join(' ')})`);
  if (results.length > 0) words.push(printParameters(results));
  const head = [`${words.join(' ')} ${name}${printParameters(parameters)}`, ...directives.map(printDirective)].join(
    '\n',
  );
  return body === undefined ? `${head};` : `${head}\n{\n${printStatements(body, INDENT)}}`;
}

function printItem(item: Item): string {
  switch (item.kind) {
    case 'function':
      return printFunction(item);
    case 'variable':
      return `${printVariable(item)};`;
    case 'section':
      return `.section ${item.name}\n{\n${item.lines.map((line) => `${line.join(' ')}\n`).join('')}}`;
    case 'alias':
      return `.alias ${item.name}, ${item.target};`;
    case 'directive':
      return printDirective(item);
  }
}
