/** The modifiers that an instruction takes, in their order. */

/** One place for a modifier. `name`: what its value is called; a flag has that of its only alternative. */
interface OrderSlot {
  readonly name: string;
  readonly alternatives: ReadonlySet<string>;
  readonly isOptional: boolean;
}

/** Values of modifiers by name; those that are not there are absent. */
export type Modifiers = Readonly<Record<string, string>>;

/** Names for lists that many instructions share. */
const LISTS: Readonly<Record<string, string>> = {
  int: 'u16|u32|u64|s16|s32|s64',
  int32: 'u32|s32',
  bits: 'b16|b32|b64',
  float: 'f32|f64',
  number: 'u16|u32|u64|s16|s32|s64|f16|f32|f64',
  any: 'b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f16|f32|f64',
  value: 'b16|b32|b64|u16|u32|u64|s16|s32|s64|f16|f32|f64',
  round: 'rn|rz|rm|rp',
  ordered: 'eq|ne|lt|le|gt|ge',
  orderedUnsigned: 'eq|ne|lt|le|gt|ge|lo|ls|hi|hs',
  orderedFloat: 'eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan',
  order: 'weak|relaxed|acquire|release|acq_rel|volatile',
  scope: 'cta|cluster|gpu|sys',
  evict: 'L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate',
  evict2: 'L2::evict_normal|L2::evict_unchanged|L2::evict_first|L2::evict_last',
  space: 'global|shared|shared::cta|shared::cluster|local|const|param|param::entry|param::func',
};

export class Pattern {
  readonly #slots: readonly OrderSlot[];

  /**
   * `text`: `.sat?.type=u32|s32` is an optional flag and a value; `@list` stands for a list that many
   * instructions share.
   */
  constructor(text: string) {
    this.#slots = text
      .split('.')
      .slice(1)
      .map((slot) => {
        const isOptional = slot.endsWith('?');
        const [name = '', list = name] = (isOptional ? slot.slice(0, -1) : slot).split('=');
        const alternatives = list
          .split('|')
          .flatMap((each) => (each.startsWith('@') ? LISTS[each.slice(1)]! : each).split('|'));
        return { name, alternatives: new Set(alternatives), isOptional };
      });
  }

  /** Undefined where the words are not these. */
  match(words: readonly string[]): Modifiers | undefined {
    const found: Record<string, string> = {};
    let next = 0;
    for (const { name, alternatives, isOptional } of this.#slots) {
      const word = words[next];
      if (word !== undefined && alternatives.has(word)) {
        found[name] = word;
        next++;
      } else if (!isOptional) return undefined;
    }
    return next === words.length ? found : undefined;
  }

  /** Values that a modifier can have, for tables of what is covered. */
  alternatives(name: string): readonly string[] {
    return [...(this.#slots.find((slot) => slot.name === name)?.alternatives ?? [])];
  }
}
