/** JSON with integers of any size. */

export type JsonValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** JSON in which bigints are numbers with all their digits. */
export function jsonOf(value: JsonValue): string {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (isJsonList(value)) return `[${value.map(jsonOf).join(',')}]`;
  const entries = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}:${jsonOf(each)}`);
  return `{${entries.join(',')}}`;
}

/** `Array.isArray`, which does not tell read-only arrays from objects. */
export const isJsonList = (value: object): value is readonly JsonValue[] => Array.isArray(value);
