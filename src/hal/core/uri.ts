/**
 * URIs of devices, with IREE's grammar: `driver [:] [//] path [? key=value & ...]`. `amdgpu`, `amdgpu:0`,
 * `amdgpu://GPU-0e12ab34cd56ef78` and `amdgpu://0,1?queues=4` are such.
 */
import { HalError, invalidArgument } from './status.ts';

export interface DeviceUri {
  readonly driver: string;
  /** What the driver makes of it; empty: its default device. */
  readonly path: string;
  /** In their order. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** IREE takes no more. */
const MAX_PARAMETERS = 128;

/** Throws INVALID_ARGUMENT for text that is no such URI. */
export function parseDeviceUri(text: string): DeviceUri {
  const [, driver = '', rest = ''] = /^([^:?]*)(.*)$/s.exec(text)!;
  if (!/^[a-z][a-z0-9_.+-]*$/i.test(driver)) {
    throw invalidArgument(`device '${text}': no driver is named`, {
      hint: 'expected DRIVER, DRIVER:PATH or DRIVER://PATH',
    });
  }
  const question = rest.indexOf('?');
  const path = question < 0 ? rest : rest.slice(0, question);
  const query = question < 0 ? '' : rest.slice(question + 1);
  return { driver, path: path.replace(/^:?\/{0,2}/, ''), parameters: parseQuery(text, query) };
}

function parseQuery(text: string, query: string): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const part of query === '' ? [] : query.split('&')) {
    const equals = part.indexOf('=');
    const key = equals < 0 ? part : part.slice(0, equals);
    if (key === '') throw invalidArgument(`device '${text}': parameter '${part}' has no name, expected KEY=VALUE`);
    if (parameters.has(key)) throw invalidArgument(`device '${text}': parameter '${key}' appears twice`);
    parameters.set(key, equals < 0 ? '' : decode(text, part.slice(equals + 1)));
  }
  if (parameters.size > MAX_PARAMETERS) {
    throw invalidArgument(`device '${text}': ${parameters.size} parameters, at most ${MAX_PARAMETERS} are taken`);
  }
  return parameters;
}

function decode(text: string, value: string): string {
  try {
    return decodeURIComponent(value);
  } catch (cause) {
    throw invalidArgument(`device '${text}': '${value}' is no URI text`, { cause });
  }
}

export function formatDeviceUri({ driver, path, parameters }: DeviceUri): string {
  const query = [...parameters].map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join('&');
  return `${driver}${path === '' ? '' : `://${path}`}${query === '' ? '' : `?${query}`}`;
}

/** What a parameter of a URI may be, and what it is without one. */
export type ParameterSpec =
  | { readonly kind: 'integer'; readonly min: number; readonly max: number; readonly default: number }
  | { readonly kind: 'choice'; readonly values: readonly string[]; readonly default: string }
  | { readonly kind: 'text'; readonly default: string }
  | { readonly kind: 'flag'; readonly default: boolean };

type ValueOf<Spec extends ParameterSpec> = Spec extends { kind: 'choice'; values: readonly (infer Value)[] }
  ? Value
  : Spec['default'] extends number
    ? number
    : Spec['default'] extends boolean
      ? boolean
      : string;

export type ParameterValues<Specs extends Readonly<Record<string, ParameterSpec>>> = {
  readonly [Name in keyof Specs]: ValueOf<Specs[Name]>;
};

/** Typed values of what a URI says. Throws INVALID_ARGUMENT for unknown names and for values out of range. */
export function parameterValues<const Specs extends Readonly<Record<string, ParameterSpec>>>(
  { driver, parameters }: Pick<DeviceUri, 'driver' | 'parameters'>,
  specs: Specs,
): ParameterValues<Specs> {
  for (const name of parameters.keys()) {
    if (Object.hasOwn(specs, name)) continue;
    throw invalidArgument(`${driver} has no parameter '${name}'`, {
      hint: `its parameters: ${Object.keys(specs).join(', ') || 'none'}`,
    });
  }
  const values = Object.entries(specs).map(([name, spec]) => {
    const text = parameters.get(name);
    return [
      name,
      text === undefined ? spec.default : parameterValue(`${driver} parameter ${name}=${text}`, text, spec),
    ];
  });
  // reason: each value was made as its specification says
  return Object.fromEntries(values) as ParameterValues<Specs>;
}

function parameterValue(what: string, text: string, spec: ParameterSpec): string | number | boolean {
  switch (spec.kind) {
    case 'integer': {
      const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
      if (value >= spec.min && value <= spec.max) return value;
      throw invalidArgument(`${what}: expected an integer from ${spec.min} to ${spec.max}`);
    }
    case 'choice':
      if (spec.values.includes(text)) return text;
      throw invalidArgument(`${what}: expected ${spec.values.join(', ')}`);
    case 'flag':
      if (/^(0|1|true|false|)$/.test(text)) return text === '' || text === '1' || text === 'true';
      throw invalidArgument(`${what}: expected 0 or 1`);
    case 'text':
      return text;
  }
}

/** What of a driver's physical devices a path can name. */
interface NamedDevice {
  readonly uuid: string;
}

/**
 * The devices that a path names, in its order, each once: `GPU-...` (a UUID), an ordinal, or a list of both
 * with commas; empty or `*`: all. Throws INVALID_ARGUMENT and NOT_FOUND.
 */
export function devicesOfPath<Device extends NamedDevice>(path: string, devices: readonly Device[]): Device[] {
  if (path === '' || path === '*') return [...devices];
  const known = devices.map(({ uuid }, i) => `${i} (${uuid})`).join(', ') || 'none';
  const found = path.split(',').map((item) => {
    if (/^GPU-/.test(item)) {
      const named = devices.find(({ uuid }) => uuid === item);
      if (named !== undefined) return named;
      throw new HalError('NOT_FOUND', `no device '${item}'`, { hint: `devices: ${known}`, code: 'NO_DEVICE' });
    }
    if (!/^\d+$/.test(item)) {
      throw invalidArgument(`'${item}' of '${path}' names no device`, { hint: 'expected GPU-UUID or an ordinal' });
    }
    const device = devices[Number(item)];
    if (device !== undefined) return device;
    throw invalidArgument(`ordinal ${item}, there are ${devices.length} devices`, { hint: `devices: ${known}` });
  });
  return [...new Set(found)];
}
