/** Numbers as people read them. */

const TIME_UNITS = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
  [1, 'ns'],
] as const;
const BYTE_UNITS = [
  [2 ** 40, 'TiB'],
  [2 ** 30, 'GiB'],
  [2 ** 20, 'MiB'],
  [2 ** 10, 'KiB'],
  [1, 'B'],
] as const;

type Units = readonly (readonly [factor: number, name: string])[];

/** With as many digits as four of them say. */
function inUnits(value: number, units: Units): string {
  const size = Math.abs(value);
  const [factor, name] = units.find(([each]) => size >= each) ?? units.at(-1)!;
  const scaled = value / factor;
  const digits = Number.isInteger(scaled) ? 0 : Math.max(0, 3 - Math.floor(Math.log10(Math.abs(scaled)) + 1));
  return `${scaled.toFixed(Math.min(digits, 3))} ${name}`;
}

export const durationText = (ns: number): string => inUnits(ns, TIME_UNITS);
export const bytesText = (bytes: number): string => inUnits(bytes, BYTE_UNITS);

/** An integer with its digits in groups of three. */
export const countText = (value: number | bigint): string => value.toLocaleString('en').replaceAll(',', '\u202f');

/** A share of 1. */
export const shareText = (share: number): string => `${(100 * share).toFixed(1)}\u202f%`;

/**
 * A time on an axis whose ticks are `stepNs` apart: all labels have one unit, and no more digits than they
 * need.
 */
export function axisText(ns: number, stepNs: number, spanNs: number): string {
  const [factor, name] = TIME_UNITS.find(([each]) => spanNs >= 2 * each || stepNs >= each) ?? [1, 'ns'];
  const digits = Math.max(0, -Math.floor(Math.log10(stepNs / factor) + 1e-9));
  return `${(ns / factor).toFixed(Math.min(digits, 9))} ${name}`;
}

/** A number of things, whose name stands in the singular. */
export const thingsText = (count: number, thing: string, things = `${thing}s`): string =>
  `${countText(count)} ${count === 1 ? thing : things}`;
