/** Modules linked with each other by their names: PTX ISA 11.6 "Linking Directives". */
import { WavewrightError } from '../base/errors.ts';
import type { ImageFunction, ImageSymbol, LinkBinding, PtxImage } from '../ptx/compile/module.ts';
import type { PtxSymbol } from './executable.ts';

/** An image with its place in memory. */
export interface Placed {
  readonly image: PtxImage;
  readonly address: bigint;
}

export interface LinkedFunction extends ImageFunction {
  readonly placed: Placed;
}

interface Definition {
  readonly symbol: ImageSymbol;
  readonly placed: Placed;
}

const addressOf = ({ symbol, placed }: Definition): bigint => placed.address + BigInt(symbol.offset);

/** Who gives way to whom: of two that are weak the first one counts, of common ones the larger. */
const RANKS: Readonly<Record<LinkBinding, number>> = { local: 0, common: 1, weak: 2, global: 3 };

export class LinkedNames {
  readonly #global = new Map<string, Definition>();
  readonly #local = new Map<Placed, ReadonlyMap<string, Definition>>();
  readonly #functions = new Map<bigint, LinkedFunction>();

  /** Throws BAD_INPUT for a name that two modules define. */
  constructor(images: readonly Placed[]) {
    for (const placed of images) {
      const local = new Map<string, Definition>();
      for (const symbol of placed.image.symbols) {
        if (symbol.binding === 'local') local.set(symbol.name, { symbol, placed });
        else this.#add({ symbol, placed });
      }
      this.#local.set(placed, local);
      for (const each of placed.image.functions) {
        this.#functions.set(placed.address + BigInt(each.offset), { ...each, placed });
      }
    }
  }

  #add(definition: Definition): void {
    const { symbol, placed } = definition;
    const { name, binding, sizeBytes } = symbol;
    const known = this.#global.get(name)?.symbol;
    if (known?.binding === 'global' && binding === 'global') {
      throw new WavewrightError('BAD_INPUT', `'${name}' is defined twice`, { file: placed.image.name });
    }
    const isLarger = binding === 'common' && known?.binding === 'common' && sizeBytes > known.sizeBytes;
    if (!known || isLarger || RANKS[binding] > RANKS[known.binding]) this.#global.set(name, definition);
  }

  /** What a name means to a module. */
  address(name: string, placed: Placed): bigint | undefined {
    const found = this.#local.get(placed)?.get(name) ?? this.#global.get(name);
    return found && addressOf(found);
  }

  /** What names mean to the host: those that all modules see before a module's own. */
  get symbols(): ReadonlyMap<string, PtxSymbol> {
    const all = [...[...this.#local.values()].toReversed(), this.#global];
    return new Map(
      all.flatMap((names) =>
        [...names].map(
          ([name, each]) => [name, { address: addressOf(each), sizeBytes: each.symbol.sizeBytes }] as const,
        ),
      ),
    );
  }

  /** Kernels and functions, without those that gave way to others. */
  get functions(): readonly LinkedFunction[] {
    return [...this.#functions].flatMap(([address, each]) =>
      this.address(each.name, each.placed) === address ? [each] : [],
    );
  }

  calleesOf = ({ callees, placed }: LinkedFunction): readonly LinkedFunction[] =>
    callees.flatMap((name) => this.#functions.get(this.address(name, placed) ?? -1n) ?? []);
}
