/** Says what is wrong with a program, and where: builders and front ends are tested with it. */
import { formatOperand } from './leaf-text.ts';
import { lanesOf, resultOf, signatureOf } from './leaves.ts';
import type { LeafOf, Program, Type, Update, Value } from './types.ts';

/** One line for each fault, `v3: what is wrong`; none for a program that executors can run. */
export function problemsOf({ values }: Program): string[] {
  const found: string[] = [];
  let product: Value | undefined;
  /** Values that all lanes must have computed before. */
  const late = new Set<Value>();
  values.forEach((value, index) => {
    const complain = (what: string): void => {
      found.push(`v${index}: ${what}`);
    };
    checkValue(value, index, values, complain);
    if (value.leaf.kind === 'param') complain('a parameter outside of an atomic');
    if (value.leaf.kind === 'matrixProduct') {
      if (product) complain(`a second product of matrices, after v${product.id}`);
      product = value;
    }
    if (value.leaf.kind === 'atomic') checkUpdate(value.leaf.update, value.type, value.leaf, complain);
    const after = value.args.find((arg) => late.has(arg));
    if (value.lane && after) complain(`a value of lanes that needs v${after.id}, which all lanes must have made`);
    if (value.leaf.kind === 'ballot' || after) late.add(value);
  });
  return found;
}

/** i1 is 0 or 1, i32 is signed and i64 is not. */
const isOfType = (value: bigint, type: Type | 'void'): boolean =>
  value === (type === 'i32' ? BigInt.asIntN(32, value) : BigInt.asUintN(type === 'i64' ? 64 : 1, value));

type Complain = (what: string) => void;

function checkValue(value: Value, index: number, values: readonly Value[], complain: Complain): void {
  const { id, leaf, type, lane, args } = value;
  if (id !== index) complain(`its number is ${id}`);
  if (args.some((arg) => values[arg.id] !== arg || arg.id >= index)) {
    complain('an argument is not one of the values before');
    return;
  }
  const { result, parameters } = signatureOf(value);
  if (type !== result) complain(`${leaf.kind} has type ${result}, not ${type}`);
  if (args.length !== parameters.length)
    complain(`${leaf.kind} takes ${parameters.length} arguments, not ${args.length}`);
  parameters.forEach((parameter, i) => {
    const arg = args[i];
    if (!arg) return;
    if (!parameter.endsWith(arg.type)) complain(`argument ${i} has type ${arg.type}, not ${parameter}`);
    else if (parameter.startsWith('uniform') && arg.lane) complain(`argument ${i} is one for each lane`);
  });
  checkLanes(value, complain);
  if (leaf.kind === 'load' && leaf.dwords !== Math.max(1, leaf.sizeBytes / 4))
    complain(`${leaf.dwords} dwords of ${leaf.sizeBytes} bytes`);
  if (leaf.kind === 'const' && !isOfType(leaf.value, type)) complain(`${leaf.value} is no ${type}`);
  if (leaf.kind === 'setOperand' && !lane && args.length > 1)
    complain(`a mask for ${formatOperand(leaf.at)}, which is uniform`);
  checkResult(value, complain);
}

function checkLanes(value: Value, complain: Complain): void {
  const { leaf, lane, args } = value;
  const rule = lanesOf(value);
  const expected = rule === 'given' ? lane : rule === 'lane' || (rule === 'arguments' && args.some((arg) => arg.lane));
  if (lane !== expected) complain(`${leaf.kind} is ${expected ? 'one for each lane' : 'uniform'}`);
  if (!lane && rule !== 'collects' && args.some((arg) => arg.lane)) complain('a uniform value of what lanes have');
}

/** A further result: of the right kind of value, and one that it has. */
function checkResult({ leaf, args }: Value, complain: Complain): void {
  const kind = resultOf(leaf.kind);
  const whole = args[0]?.leaf;
  if (!kind || !whole) return;
  if (whole.kind !== kind) {
    complain(`a result of ${whole.kind}, not of ${kind}`);
    return;
  }
  const count = whole.kind === 'load' ? whole.dwords : whole.kind === 'matrixProduct' ? whole.product.results : 0;
  const { index } = leaf as LeafOf<'loaded' | 'matrixResult'>; // reason: only these are results of others
  if (index < 1 || index >= count) complain(`result ${index} of ${count}`);
}

/** Uniform operations over the old value and the data, of the type of the atomic. */
function checkUpdate(
  { body, result }: Update,
  type: Type | 'void',
  { sizeBytes }: LeafOf<'atomic'>,
  complain: Complain,
): void {
  const own = (what: string): void => complain(`update: ${what}`);
  body.forEach((value, index) => {
    const { leaf } = value;
    const inBody: Complain = (what) => own(`v${index}: ${what}`);
    checkValue(value, index, body, inBody);
    if (leaf.kind !== 'const' && leaf.kind !== 'pure' && leaf.kind !== 'param') inBody(`${leaf.kind} is no operation`);
    if (leaf.kind === 'param' && value.type !== type) inBody(`a parameter of an atomic on ${sizeBytes} bytes`);
  });
  if (body[result.id] !== result) own('the result is not one of its values');
  else if (result.type !== type) own(`the result has type ${result.type}, not ${type}`);
}
