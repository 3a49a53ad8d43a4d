/**
 * WebAssembly as text while it is emitted: expressions instead of a stack, locals named for what they get
 * first, places of the wave state by name. What it listens to are the methods of `FunctionBuilder`, so that
 * parts of a function can be left out.
 */
import { STATE_MEMORY, VALIDITY_MAP } from '../../src/emulator/machine/layout.ts';
import { type BlockLabel, FunctionBuilder, type Local } from '../../src/wasm/function.ts';
import type { ValueType } from '../../src/wasm/types.ts';
import { Names } from './names.ts';

/** Of instructions without immediates: what takes one or three operands; all others take two. */
const UNARY =
  /\.(eqz|clz|ctz|popcnt|abs|neg|ceil|floor|trunc|nearest|sqrt|not|splat|any_true|all_true|bitmask|wrap_|extend|trunc_|convert_|demote|promote|reinterpret_|extadd_)(?!mul)/;
const TERNARY = /bitselect|laneselect|relaxed_n?madd|relaxed_dot.*_add/;

export interface ListingOptions {
  /** Name of a place of the wave state. */
  readonly placeName: (offset: number) => string;
}

type Method = Exclude<
  keyof FunctionBuilder,
  'index' | 'type' | 'name' | 'maxCodeBytes' | 'codeSizeBytes' | 'localCount'
>;

export class Listing {
  readonly lines: string[] = [];
  readonly #f: FunctionBuilder;
  readonly #options: ListingOptions;
  readonly #names = new Names();
  readonly #locals = new Map<Local, string>();
  readonly #hints = new Map<Local, string>();
  readonly #labels = new Map<BlockLabel, string>();
  #stack: string[] = [];
  readonly #seen = new Set<object>();
  #indent = 0;
  #pauses = 0;

  constructor(f: FunctionBuilder, options: ListingOptions) {
    this.#f = f;
    this.#options = options;
    this.name(f.param(0), 'record');
    this.name(f.param(1), 'wave');
  }

  name(local: Local, name: string): void {
    this.#locals.set(local, this.#names.unique(name));
  }

  /** What `emit` emits is left out, but for one line. */
  leavingOut(what: string, emit: () => void): void {
    if (this.#pauses === 0) this.#line(what);
    this.#pauses++;
    emit();
    this.#pauses--;
  }

  /** What `emit` emits is in, though what is around it is left out; for the same `key` once only. */
  showingOnce(key: object, what: string, emit: () => void): void {
    if (this.#seen.has(key)) {
      emit();
      return;
    }
    this.#seen.add(key);
    const [pauses, indent] = [this.#pauses, this.#indent];
    [this.#pauses, this.#indent] = [0, 0];
    this.#line(what);
    this.#indent = 1;
    const { length } = this.lines;
    emit();
    // All of it was in a function of its own.
    if (this.lines.length === length) this.lines.pop();
    [this.#pauses, this.#indent] = [pauses, indent];
  }

  isOf(f: FunctionBuilder): boolean {
    return f === this.#f;
  }

  #line(text: string): void {
    if (this.#pauses === 0) this.lines.push(`${'  '.repeat(this.#indent)}${text}`);
  }

  #pop(): string {
    return this.#stack.pop() ?? '?';
  }

  /** What is left out takes no name from what is shown. */
  #local(local: Local): string {
    const hint = this.#hints.get(local) ?? local.type;
    if (this.#pauses > 0) return this.#locals.get(local) ?? hint;
    const name = this.#locals.get(local) ?? this.#names.unique(hint);
    this.#locals.set(local, name);
    return name;
  }

  #set(local: Local): string {
    const value = this.#pop();
    // A Local is used for one thing, though its slot is not.
    if (!this.#hints.has(local)) this.#hints.set(local, hintOf(value));
    const name = this.#local(local);
    if (name !== value) this.#line(`${name} = ${value}`);
    return name;
  }

  #place(base: string, offset: number, memory: number): string {
    if (offset === VALIDITY_MAP && /^i32.shr_u\(.*, 6\)$/s.test(base)) return `permissions of ${base.slice(10, -4)}`;
    if (memory !== STATE_MEMORY) return `memory[${base}${offset === 0 ? '' : ` + ${offset}`}]`;
    if (base === 'literals') return `literals[${offset / 4}]`;
    const name = this.#options.placeName(offset);
    return base === 'wave' ? name : `${base}.${name}`;
  }

  #nested(head: string, kind: string, result: ValueType | undefined, label: BlockLabel, body: () => void): void {
    const outer = this.#stack;
    this.#stack = [];
    const name = this.#names.unique(kind);
    this.#labels.set(label, name);
    this.#line(head.replace('LABEL', name));
    this.#indent++;
    body();
    if (result) {
      this.#line(`give ${this.#pop()}`);
      outer.push(name);
    }
    this.#stack = outer;
    this.#indent--;
  }

  #jump(text: string, label: BlockLabel): string {
    return `${text} ${this.#labels.get(label) ?? 'outside'}`;
  }

  /** What to do when the builder's method is called, before the method itself. */
  static readonly #before: { readonly [M in Method]?: (l: Listing, ...args: Parameters<FunctionBuilder[M]>) => void } =
    {
      get: (l, local) => l.#stack.push(l.#local(local)),
      set: (l, local) => l.#set(local),
      tee: (l, local) => l.#stack.push(l.#set(local)),
      i32: (l, value) => l.#stack.push(String(value | 0)),
      i64: (l, value) => l.#stack.push(String(BigInt.asIntN(64, value))),
      f32bits: (l, bits) => l.#stack.push(`f32 0x${(bits >>> 0).toString(16)}`),
      f64bits: (l, bits) => l.#stack.push(`f64 0x${BigInt.asUintN(64, bits).toString(16)}`),
      v128: (l, value) => l.#stack.push(`[${[...value].map((word) => `0x${(word >>> 0).toString(16)}`).join(' ')}]`),
      op: (l, name) => l.#operation(name),
      lane: (l, name, lane) => l.#operation(name, `, ${lane}`, name.includes('extract') ? 1 : 2),
      shuffle: (l, indices) => l.#operation('i8x16.shuffle', `, ${indices.join(' ')}`, 2),
      load: (l, name, offset, memory = 0) => l.#stack.push(`${name}(${l.#place(l.#pop(), offset, memory)})`),
      store: (l, name, offset, memory = 0) => {
        const value = l.#pop();
        l.#line(`${name} ${l.#place(l.#pop(), offset, memory)} = ${value}`);
      },
      loadLane: (l, name, offset, lane, memory = 0) => {
        const vector = l.#pop();
        const place = l.#place(l.#pop(), offset, memory);
        if (name.includes('store')) l.#line(`${name} ${place} = ${vector}, ${lane}`);
        else l.#stack.push(`${name}(${place}, ${vector}, ${lane})`);
      },
      atomic: (l, name, offset, memory = 0) => {
        const args = name.includes('.load') ? [] : [l.#pop()];
        if (name.includes('cmpxchg')) args.unshift(l.#pop());
        const text = `${name}(${[l.#place(l.#pop(), offset, memory), ...args].join(', ')})`;
        if (name.includes('.store')) l.#line(text);
        else l.#stack.push(text);
      },
      atomicFence: (l) => l.#line('atomic.fence'),
      memoryFill: (l) => l.#effect('memory.fill', 3),
      memoryCopy: (l) => l.#effect('memory.copy', 3),
      drop: (l) => l.#line(`drop ${l.#pop()}`),
      select: (l) => l.#operation('select', '', 3),
      unreachable: (l) => l.#line('unreachable'),
      br: (l, label) => l.#line(l.#jump('br', label)),
      brIf: (l, label) => {
        const condition = l.#pop();
        l.#line(`${l.#jump('br', label)} if ${condition}`);
      },
      brTable: (l) => l.#line(`br_table ${l.#pop()}`),
      return: (l) => l.#line('return'),
      call: (l, callee) => {
        const args = callee.type.parameters.map(() => l.#pop()).reverse();
        const text = `call ${l.#calleeName(callee)}(${args.join(', ')})`;
        if (callee.type.results.length > 0) l.#stack.push(text);
        else l.#line(text);
      },
    };

  #calleeName(callee: object): string {
    return callee instanceof FunctionBuilder && callee.name ? callee.name : 'import';
  }

  #operation(name: string, immediates = '', count = UNARY.test(name) ? 1 : TERNARY.test(name) ? 3 : 2): void {
    const args = Array.from({ length: count }, () => this.#pop()).reverse();
    this.#stack.push(`${name}(${args.join(', ')}${immediates})`);
  }

  #effect(name: string, count: number): void {
    const args = Array.from({ length: count }, () => this.#pop()).reverse();
    this.#line(`${name}(${args.join(', ')})`);
  }

  /** Runs `body` while every builder with a listing in `listings` writes it. */
  static during(listingOf: (f: FunctionBuilder) => Listing | undefined, body: () => void): void {
    const prototype = FunctionBuilder.prototype;
    const own = Object.getOwnPropertyDescriptors(prototype);
    const replace = (name: string, value: unknown): void => {
      Object.defineProperty(prototype, name, { ...own[name as Method], value });
    };
    for (const [name, before] of Object.entries(Listing.#before)) {
      const plain = own[name as Method].value as (...args: unknown[]) => void; // reason: a method of the prototype
      const look = before as (l: Listing, ...args: unknown[]) => void; // reason: takes what the method of its name takes
      replace(name, function (this: FunctionBuilder, ...args: unknown[]) {
        const listing = listingOf(this);
        if (listing) look(listing, ...args);
        plain.apply(this, args);
      });
    }
    for (const kind of ['block', 'loop'] as const) {
      const plain = own[kind].value as FunctionBuilder['block']; // reason: a method of the prototype
      replace(kind, function (this: FunctionBuilder, result: ValueType | undefined, emit: (label: BlockLabel) => void) {
        const listing = listingOf(this);
        if (!listing) return plain.call(this, result, emit);
        plain.call(this, result, (label) => listing.#nested(`${kind} LABEL`, kind, result, label, () => emit(label)));
      });
    }
    const plainIf = own.if.value as FunctionBuilder['if']; // reason: a method of the prototype
    const whether: FunctionBuilder['if'] = function (this: FunctionBuilder, result, then, otherwise) {
      const listing = listingOf(this);
      if (!listing) return plainIf.call(this, result, then, otherwise);
      const condition = listing.#pop();
      let name = '';
      plainIf.call(
        this,
        result,
        (label) => {
          listing.#nested(`if ${condition}`, 'if', result, label, () => then(label));
          name = listing.#labels.get(label)!;
        },
        otherwise &&
          ((label) => {
            if (result) listing.#pop();
            listing.#nested('else', 'if', result, label, () => {
              listing.#labels.set(label, name);
              otherwise(label);
            });
          }),
      );
    };
    replace('if', whether);
    try {
      body();
    } finally {
      Object.defineProperties(prototype, own);
    }
  }
}

/** The operation, or the place, that an expression begins with. */
function hintOf(expression: string): string {
  const [, splat] = /^\w+\.splat\(([\w.-]+)\)$/.exec(expression) ?? [];
  if (splat) return `${splat}.splat`;
  const place = /^\S*load\S*\((?:[\w.]+\.)?([vas]\d+|exec|vcc|scc|m0)(?:\+\d+)?\)$/.exec(expression);
  if (place) return place[1]!;
  if (expression === 'wave') return 'pointer';
  if (/^[-\d[]/.test(expression)) return 'number';
  const [, name] = /^(?:call )?([\w.]+)\(/.exec(expression) ?? [];
  return name ? name.replace(/^.*?\./, '').replace(/_[su]$/, '') : 'value';
}
