/** How often waves may come to blocks, as far as loops tell. */
import type { ToolBlock, ToolFunction } from './tool-function.ts';

export class BlockDepths {
  /** Whether waves come to the function by launches alone, each once. */
  readonly isLaunched: boolean;
  readonly #fn: ToolFunction;
  readonly #circles: ReadonlySet<number>;

  constructor(fn: ToolFunction) {
    this.#fn = fn;
    this.#circles = new Set(fn.lifted.loops.irreducible.flat());
    this.isLaunched = fn.isKernel && fn.lifted.callers.size === 0;
  }

  /** Of the loops around it; what is called may be so in a loop. */
  of({ index }: ToolBlock): number {
    const depth = this.#fn.lifted.loops.at(index)?.depth ?? 0;
    return depth + (this.#circles.has(index) ? 1 : 0) + (this.isLaunched ? 0 : 1);
  }

  /** Whether no wave comes to the block twice. */
  isOnce(block: ToolBlock): boolean {
    return this.of(block) === 0;
  }
}
