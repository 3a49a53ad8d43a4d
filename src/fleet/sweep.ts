/**
 * Sweeps: a small file says which programs are run with which values, and becomes the cases for all of their
 * combinations. `{axis}` in a text stands for the value that the case has on that axis.
 */
import { LIMITS } from '../base/limits.ts';
import type { Case } from './case.ts';
import { environmentOf, MAX_RETRIES, MAX_TIMEOUT_SECONDS } from './cases-file.ts';
import {
  expectNames,
  isObject,
  type JsonObject,
  type LinePlace,
  numberMember,
  textMember,
  textsMember,
} from './json-lines.ts';

/** What a value of an axis adds to a case, before `{axis}` is replaced in it. */
interface AxisValue {
  readonly text: string;
  readonly run: readonly string[];
  readonly device?: string;
  readonly stdin?: string;
}

interface Axis {
  readonly name: string;
  readonly values: readonly AxisValue[];
}

export interface Sweep {
  readonly axes: readonly Axis[];
  readonly images: readonly string[];
  readonly args: readonly string[];
  readonly run: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly timeout?: number;
  readonly retries?: number;
  /** Combinations that are left out: values by axis. */
  readonly skip: readonly Readonly<Record<string, string>>[];
}

/** Gives the cases of the programs that a path or a pattern of paths names, without what a sweep adds. */
export type ImagesOf = (pattern: string) => readonly Case[];

const NONE = 'none';
const AXIS_NAME = /^[A-Za-z][\w-]{0,63}$/;
const PLACEHOLDER = /\{([A-Za-z][\w-]*)\}/g;
const MAX_RANGE = 10_000_000;

const plain = (text: string): AxisValue => ({ text, run: [] });
/** `none` adds nothing, so that a sweep compares with and without. */
const asOption =
  (option: string) =>
  (text: string): AxisValue => ({ text, run: text === NONE ? [] : [`--${option}=${text}`] });

/** Members that are an axis with a meaning of its own, and its name. */
const KNOWN_AXES: Readonly<Record<string, { readonly axis: string; readonly value: (text: string) => AxisValue }>> = {
  targets: { axis: 'target', value: (text) => ({ text, run: [], ...(text !== NONE && { device: text }) }) },
  inputs: { axis: 'input', value: (text) => ({ text, run: [], ...(text !== NONE && { stdin: text }) }) },
  seeds: { axis: 'seed', value: plain },
  tools: { axis: 'tool', value: asOption('tool') },
  checks: { axis: 'check', value: asOption('check') },
};
const NAMES = [
  ...['images', ...Object.keys(KNOWN_AXES), 'options', 'vary', 'skip'],
  ...['args', 'run', 'env', 'stdin', 'timeout', 'retries'],
];

/** The sweep that an object describes. Throws BAD_INPUT. */
export function parseSweep(object: unknown, place: LinePlace): Sweep {
  if (!isObject(object)) throw place.wrong('is no object');
  expectNames(object, NAMES, place);
  const images = textsMember(object, 'images', place);
  if (images.length === 0) throw place.wrong("'images' names no program");
  const stdin = textMember(object, 'stdin', place);
  const seconds = { min: 0.001, max: MAX_TIMEOUT_SECONDS, isFraction: true };
  const timeout = numberMember(object, 'timeout', seconds, place);
  const retries = numberMember(object, 'retries', { min: 0, max: MAX_RETRIES }, place);
  const sweep: Sweep = {
    axes: axesOf(object, place),
    images,
    args: textsMember(object, 'args', place),
    run: textsMember(object, 'run', place),
    env: environmentOf(object['env'] ?? {}, place),
    ...(stdin !== undefined && { stdin }),
    ...(timeout !== undefined && { timeout }),
    ...(retries !== undefined && { retries }),
    skip: skipOf(object['skip'] ?? [], place),
  };
  expectKnownAxes(sweep, place);
  return sweep;
}

/** In the order of the file. */
function axesOf(object: JsonObject, place: LinePlace): Axis[] {
  const axes: Axis[] = [];
  const add = (name: string, values: readonly AxisValue[]) => {
    if (!AXIS_NAME.test(name)) throw place.wrong(`'${name}' is no name of an axis: letters, digits, - and _`);
    if (axes.some((axis) => axis.name === name)) throw place.wrong(`there are two axes '${name}'`);
    if (values.length === 0) throw place.wrong(`the axis '${name}' has no values`);
    if (new Set(values.map(({ text }) => text)).size < values.length) {
      throw place.wrong(`the axis '${name}' has a value twice`);
    }
    axes.push({ name, values });
  };
  for (const [member, value] of Object.entries(object)) {
    const known = KNOWN_AXES[member];
    if (known) add(known.axis, valuesOf(value, member, place).map(known.value));
    else if (member === 'options') add('option', optionSets(value, place));
    else if (member === 'vary') {
      if (!isObject(value)) throw place.wrong("'vary' is no object of axes");
      for (const [name, values] of Object.entries(value)) add(name, valuesOf(values, name, place).map(plain));
    }
  }
  return axes;
}

/** A list of strings and numbers, or a range. */
function valuesOf(value: unknown, name: string, place: LinePlace): string[] {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string' || typeof each === 'number')) {
    return value.map(String);
  }
  if (!isObject(value)) throw place.wrong(`'${name}' is no list of strings and numbers, and no {"from":1,"to":9}`);
  expectNames(value, ['from', 'to', 'step'], place);
  const whole = { min: -(2 ** 53), max: 2 ** 53 };
  const [from, to] = ['from', 'to'].map((each) => numberMember(value, each, whole, place));
  const step = numberMember(value, 'step', { min: 1, max: 2 ** 53 }, place) ?? 1;
  if (from === undefined || to === undefined || from > to) throw place.wrong(`'${name}' has no from <= to`);
  const count = Math.floor((to - from) / step) + 1;
  if (count > MAX_RANGE) throw place.error('LIMIT_EXCEEDED', `'${name}' has ${count} values, more than ${MAX_RANGE}`);
  return Array.from({ length: count }, (_, i) => String(from + i * step));
}

/** Options of `run` by the name of the set. */
function optionSets(value: unknown, place: LinePlace): AxisValue[] {
  if (!isObject(value)) throw place.wrong(`'options' is no object such as {"small":["--threads=2"]}`);
  return Object.keys(value).map((text) => ({ text, run: textsMember(value, text, place) }));
}

function skipOf(value: unknown, place: LinePlace): Record<string, string>[] {
  if (!Array.isArray(value) || !value.every(isObject)) throw place.wrong(`'skip' is no list of {"axis":"value"}`);
  return value.map((one: JsonObject) => Object.fromEntries(Object.entries(one).map(([k, v]) => [k, String(v)])));
}

/** Throws BAD_INPUT where a text or `skip` names an axis, or a value, that is not there. */
function expectKnownAxes({ axes, images, args, run, env, stdin = '', skip }: Sweep, place: LinePlace): void {
  const names = axes.map(({ name }) => name);
  const hint = names.length > 0 ? `the axes are ${names.join(', ')}` : 'there are no axes';
  const optionTexts = axes.flatMap(({ values }) => values.flatMap((value) => [...value.run, value.stdin ?? '']));
  for (const text of [...images, ...args, ...run, ...Object.values(env), stdin, ...optionTexts]) {
    for (const [all, name] of text.matchAll(PLACEHOLDER)) {
      if (!names.includes(name!)) throw place.wrong(`${all} names no axis`, hint);
    }
  }
  for (const [name, text] of skip.flatMap(Object.entries)) {
    const axis = axes.find((each) => each.name === name);
    if (!axis) throw place.wrong(`'skip' names '${name}', which is no axis`, hint);
    if (!axis.values.some((value) => value.text === text)) {
      throw place.wrong(`'skip' names ${name}=${text}, which is no value of the axis`);
    }
  }
}

/**
 * The cases of all combinations, image by image, the last axis fastest. `nameOf` names an image the same on
 * every machine. Throws what `imagesOf` throws, LIMIT_EXCEEDED above `LIMITS.cases`.
 */
export function* sweepCases(
  sweep: Sweep,
  { imagesOf, nameOf }: { readonly imagesOf: ImagesOf; readonly nameOf: (image: string) => string },
  place: LinePlace,
): Generator<Case> {
  const { axes, images, skip } = sweep;
  const combinations = axes.reduce((product, { values }) => product * values.length, 1);
  const limit = (count: number) => {
    if (count <= LIMITS.cases) return;
    throw place.error('LIMIT_EXCEEDED', `makes ${count} cases or more, above cases = ${LIMITS.cases}`);
  };
  limit(combinations * images.length);
  let count = 0;
  for (const image of images) {
    for (let index = 0; index < combinations; index++) {
      const values = combination(axes, index);
      const labels = Object.fromEntries(values.map(({ axis, value }) => [axis, value.text]));
      if (skip.some((one) => Object.entries(one).every(([name, text]) => labels[name] === text))) continue;
      const filled = filler(labels);
      for (const base of imagesOf(filled(image))) {
        limit(++count);
        yield caseWith(sweep, { ...base, name: nameOf(base.image) }, { labels, values, filled });
      }
    }
  }
}

interface ValueOnAxis {
  readonly axis: string;
  readonly value: AxisValue;
}

function combination(axes: readonly Axis[], index: number): ValueOnAxis[] {
  const values: ValueOnAxis[] = [];
  let rest = index;
  for (const { name: axis, values: all } of axes.toReversed()) {
    values.unshift({ axis, value: all[rest % all.length]! });
    rest = Math.floor(rest / all.length);
  }
  return values;
}

const filler =
  (labels: Readonly<Record<string, string>>) =>
  (text: string): string =>
    text.replace(PLACEHOLDER, (_, name: string) => labels[name]!);

function caseWith(
  { args, run, env, stdin, timeout, retries }: Sweep,
  base: Case,
  {
    labels,
    values,
    filled,
  }: {
    readonly labels: Readonly<Record<string, string>>;
    readonly values: readonly ValueOnAxis[];
    readonly filled: (text: string) => string;
  },
): Case {
  const input = values.find(({ value }) => value.stdin !== undefined)?.value.stdin ?? stdin;
  const device = values.find(({ value }) => value.device !== undefined)?.value.device;
  const suffix = values.map(({ axis, value }) => `${axis}=${value.text}`).join(',');
  return {
    ...base,
    name: suffix === '' ? base.name : `${base.name}[${suffix}]`,
    ...(device !== undefined && { device: filled(device) }),
    options: [...base.options, ...run, ...values.flatMap(({ value }) => value.run)].map(filled),
    args: [...base.args, ...args.map(filled)],
    env: { ...base.env, ...Object.fromEntries(Object.entries(env).map(([name, text]) => [name, filled(text)])) },
    ...(input !== undefined && { stdin: filled(input) }),
    ...(timeout !== undefined && { timeout }),
    ...(retries !== undefined && { retries }),
    ...(values.length > 0 && { labels }),
  };
}
