/**
 * Damage to PTX texts that a parser and a compiler may not expect: words that are gone, doubled, exchanged or
 * at borders, lines that moved, texts that end early, and shapes that grow.
 */
import { PTX_ROWS } from '../../../src/ptx/rows/table.ts';
import type { Random } from '../random.ts';

const WORDS = /[%.\w$]+|[^\s\w]/gu;
const EDGES = ['0', '-1', '2147483647', '2147483648', '4294967295', '4294967296', '18446744073709551615']
  .concat(['18446744073709551616', '9223372036854775808', '1e400', '0f7fc00000', '0d7ff0000000000000', '0x', '0b2'])
  .concat(['07777777777777777777777', '1.5', '%r<4194305>', 'x[4294967296]', '4194304', '65536', '0U', '1/0', '1%0']);
const OPCODES = PTX_ROWS.filter(({ isInternal }) => !isInternal).map(({ name }) => name);
const MODIFIERS = [
  '.u8',
  '.s16',
  '.u32',
  '.s64',
  '.b128',
  '.f16',
  '.f16x2',
  '.bf16',
  '.f32',
  '.f64',
  '.pred',
  '.b1',
  '.cc',
]
  .concat([
    '.v2',
    '.v4',
    '.v8',
    '.wide',
    '.hi',
    '.lo',
    '.rn',
    '.rz',
    '.rni',
    '.ftz',
    '.sat',
    '.approx',
    '.sync',
    '.aligned',
  ])
  .concat([
    '.global',
    '.shared',
    '.local',
    '.param',
    '.const',
    '.relaxed',
    '.acquire',
    '.volatile',
    '.cta',
    '.gpu',
    '.uni',
  ])
  .concat(['.func', '.entry', '.reg', '.align', '.extern', '.visible', '.weak', '.common', '.loc', '.callprototype']);
/** How often a shape is repeated: about as often as limits allow, and more often. */
const REPEATS = [2, 63, 64, 65, 1000];
const BRACKETS = ['{', '(', '[', '<', '-', '!', '~', '{}', '{1,', '.b32 '];

type Damage = (text: string, random: Random) => string;

const spliced = (text: string, at: number, length: number, other: string): string =>
  text.slice(0, at) + other + text.slice(at + length);

/** A word at some place of the text; the text always has one. */
function wordOf(text: string, random: Random): { readonly word: string; readonly at: number } {
  WORDS.lastIndex = random.below(text.length);
  const found = WORDS.exec(text);
  WORDS.lastIndex = 0;
  return { word: found?.[0] ?? text[0] ?? '', at: found?.index ?? 0 };
}

const replacing =
  (otherOf: (word: string, text: string, random: Random) => string): Damage =>
  (text, random) => {
    const { word, at } = wordOf(text, random);
    return spliced(text, at, word.length, otherOf(word, text, random));
  };

const swapped: Damage = (text, random) => {
  const [first, second] = [wordOf(text, random), wordOf(text, random)].sort((a, b) => a.at - b.at);
  if (first!.at + first!.word.length > second!.at) return text;
  const later = spliced(text, second!.at, second!.word.length, first!.word);
  return spliced(later, first!.at, first!.word.length, second!.word);
};

/** A number of another size, so that vectors, registers, shifts and offsets leave what they had. */
const renumbered: Damage = replacing((word, _, random) =>
  word.replace(/\d+(?!.*\d)/, (digits) => String(Number(digits) + random.pick([-1, 1, 8, 100, 2 ** 31]))),
);

/** Another part of a name with dots. */
const remodified: Damage = replacing((word, _, random) => {
  const parts = word.split(/(?=\.)/);
  const at = random.below(parts.length + 1);
  const isNew = random.chance(40);
  return parts.toSpliced(at, isNew ? 0 : 1, random.pick(MODIFIERS)).join('');
});

const withLines =
  (change: (lines: string[], at: number, random: Random) => void): Damage =>
  (text, random) => {
    const lines = text.split('\n');
    change(lines, random.below(lines.length), random);
    return lines.join('\n');
  };

const DAMAGES: readonly (readonly [number, Damage])[] = [
  [3, replacing(() => '')],
  [3, replacing((word) => `${word} ${word}`)],
  [6, replacing((_, text, random) => wordOf(text, random).word)],
  [3, replacing((_, __, random) => random.pick(EDGES))],
  [2, replacing((_, __, random) => random.pick(OPCODES))],
  [4, remodified],
  [4, renumbered],
  [3, swapped],
  [1, replacing((word, _, random) => String.fromCodePoint(random.between(1, 0x2fff)) + word)],
  [1, replacing((word, _, random) => random.pick(BRACKETS).repeat(random.pick(REPEATS)) + word)],
  [1, replacing((word, _, random) => word.repeat(random.pick(REPEATS)))],
  [2, withLines((lines, at) => void lines.splice(at, 1))],
  [2, withLines((lines, at) => void lines.splice(at, 0, lines[at]!))],
  [2, withLines((lines, at, random) => void lines.splice(random.below(lines.length), 0, ...lines.splice(at, 1)))],
  [1, (text, random) => text.slice(0, random.below(text.length))],
];

/** A text with one to four damages; never empty. */
export function damaged(text: string, random: Random): string {
  let result = text;
  for (let count = random.between(1, 4); count > 0; count--) result = random.weighted(DAMAGES)(result, random) || text;
  return result;
}
