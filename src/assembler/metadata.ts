/**
 * `.amdgpu_metadata` to `.end_amdgpu_metadata`: a part of YAML to the note of a code object. Block maps and
 * lists, flow lists, plain and quoted scalars; a scalar is a number or a boolean when it looks like one,
 * quoted or not, as LLVM reads it.
 */
import { encode } from '@msgpack/msgpack';
import { alignUp } from '../base/align.ts';
import { WavewrightError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { METADATA_NOTE_TYPE } from '../codeobject/code-object.ts';

type Node = string | number | bigint | boolean | Node[] | { [key: string]: Node };

interface Line {
  readonly indent: number;
  readonly text: string;
}

function fail(what: string): never {
  throw new WavewrightError('BAD_INPUT', `metadata: ${what}`);
}

/** The note of type NT_AMDGPU_METADATA. */
export function metadataNote(text: string): Uint8Array {
  const lines = text
    .split('\n')
    .map((line) => line.replace(/\s+$/, ''))
    .filter((line) => line.trim() !== '' && !/^\s*#/.test(line) && line !== '---' && line !== '...')
    .map((line): Line => ({ indent: /^ */.exec(line)![0].length, text: line.trimStart() }));
  const parser = new BlockParser(lines);
  const root = parser.node(0, 0);
  if (!parser.atEnd || typeof root !== 'object' || Array.isArray(root)) fail('expected one map');
  return note(encode(root, { sortKeys: true, useBigInt64: true }));
}

const NAME = new TextEncoder().encode('AMDGPU\0\0');

function note(description: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(12 + NAME.length + alignUp(description.length, 4));
  const view = new DataView(bytes.buffer);
  view.setUint32(0, NAME.length - 1, true);
  view.setUint32(4, description.length, true);
  view.setUint32(8, METADATA_NOTE_TYPE, true);
  bytes.set(NAME, 12);
  bytes.set(description, 12 + NAME.length);
  return bytes;
}

/** Keys whose values are text whatever they look like. */
const TEXT_KEYS = new Set([
  '.name',
  '.symbol',
  '.type_name',
  '.language',
  '.vec_type_hint',
  '.value_kind',
  'amdhsa.target',
]);

const KEY = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s'"[\]{},#][^#]*?)\s*:(?:\s+(.*))?$/;

class BlockParser {
  readonly #lines: Line[];
  #at = 0;

  constructor(lines: Line[]) {
    this.#lines = lines;
  }

  get atEnd(): boolean {
    return this.#at >= this.#lines.length;
  }

  /** What stands at `indent` or deeper. */
  node(indent: number, depth: number): Node {
    if (depth > LIMITS.metadataDepth) fail(`it nests deeper than ${LIMITS.metadataDepth}`);
    const line = this.#lines[this.#at];
    if (!line || line.indent < indent) return fail('expected a value');
    if (/^-(\s|$)/.test(line.text)) return this.#list(line.indent, depth);
    if (KEY.test(line.text)) return this.#map(line.indent, depth);
    this.#at++;
    return scalar(line.text);
  }

  #list(indent: number, depth: number): Node[] {
    const items: Node[] = [];
    for (;;) {
      const line = this.#lines[this.#at];
      if (!line || line.indent !== indent || !/^-(\s|$)/.test(line.text)) return items;
      const rest = line.text.slice(1);
      const text = rest.trimStart();
      if (text === '') {
        this.#at++;
        items.push(this.node(indent + 1, depth + 1));
      } else {
        // The rest of the line begins a node of its own.
        this.#lines[this.#at] = { indent: indent + 1 + rest.length - text.length, text };
        items.push(this.node(indent + 1, depth + 1));
      }
    }
  }

  #map(indent: number, depth: number): Node {
    const map: Record<string, Node> = {};
    for (;;) {
      const line = this.#lines[this.#at];
      const match = line?.indent === indent ? KEY.exec(line.text) : null;
      if (!match) {
        if (line && line.indent > indent) fail(`unexpected '${line.text}'`);
        return map;
      }
      const key = unquoted(match[1]!);
      if (Object.hasOwn(map, key)) fail(`key ${key} appears twice`);
      this.#at++;
      map[key] = match[2] === undefined ? this.#nested(indent, depth) : scalarOf(key, match[2]);
    }
  }

  /** A list may stand at the indentation of its key. */
  #nested(indent: number, depth: number): Node {
    const line = this.#lines[this.#at];
    const isList = line !== undefined && line.indent === indent && /^-(\s|$)/.test(line.text);
    if (!line || (line.indent <= indent && !isList)) return '';
    return this.node(isList ? indent : indent + 1, depth + 1);
  }
}

const scalarOf = (key: string, text: string): Node => (TEXT_KEYS.has(key) ? unquoted(text) : scalar(text));

function unquoted(text: string): string {
  if (/^'.*'$/s.test(text)) return text.slice(1, -1).replaceAll("''", "'");
  if (!/^".*"$/s.test(text)) return text;
  return text
    .slice(1, -1)
    .replace(/\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|(.))/gs, (_, hex, unicode, letter) =>
      letter === undefined ? String.fromCharCode(Number.parseInt(hex ?? unicode, 16)) : (ESCAPES[letter] ?? letter),
    );
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', 0: '\0', a: '\x07', b: '\b', e: '\x1b' };

function scalar(text: string): Node {
  if (/^\[.*\]$/.test(text)) {
    const inner = text.slice(1, -1).trim();
    return inner === '' ? [] : inner.split(',').map((item) => scalar(item.trim()));
  }
  const plain = unquoted(text);
  if (/^-?(0x[\da-fA-F]+|\d+)$/.test(plain)) {
    const magnitude = BigInt(plain.replace('-', ''));
    const value = plain.startsWith('-') ? -magnitude : magnitude;
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }
  if (/^(true|True|TRUE)$/.test(plain)) return true;
  if (/^(false|False|FALSE)$/.test(plain)) return false;
  return plain;
}
