/**
 * JSON of which there is one form (RFC 8785): names sorted by UTF-16 units, no white space, numbers as
 * ECMAScript writes them. `undefined` members are left out.
 */

export type CanonicalValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly CanonicalValue[]
  | { readonly [name: string]: CanonicalValue };

export function canonicalJson(value: CanonicalValue): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
}

/** `Array.isArray` does not tell read-only arrays from objects. */
const isList = (value: object): value is readonly CanonicalValue[] => Array.isArray(value);
