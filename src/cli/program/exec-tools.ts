/** Tools in the kernels that applications of `exec` load, and what the tools said when all have ended. */
import { parseCodeObject } from '../../codeobject/code-object.ts';
import type { ApplicationTools } from '../../exec/observer.ts';
import type { ChosenTool } from '../../tools/chosen-tool.ts';
import { type Image, ToolSession } from '../../tools/tool-session.ts';
import type { ToolResults } from './tool-options.ts';

export class ExecTools implements ToolResults {
  readonly #tools: readonly ChosenTool[];
  readonly #kernels: RegExp;
  readonly #sessions: ChosenKernels[] = [];

  /** Of kernels whose names `kernels` does not match nothing changes. Throws USAGE as `ToolSession`. */
  constructor(tools: readonly ChosenTool[], kernels: RegExp) {
    this.#tools = tools;
    this.#kernels = kernels;
    new ToolSession(tools);
  }

  /** For one application: its launches are counted by themselves. */
  open(): ApplicationTools {
    const session = new ChosenKernels(this.#tools, this.#kernels);
    this.#sessions.push(session);
    return session;
  }

  get reports(): ToolSession['reports'] {
    return this.#sessions.flatMap(({ reports }) => reports);
  }

  get unmatched(): ToolSession['unmatched'] {
    const names = [...new Set(this.#sessions.flatMap((session) => [...session.kernelNames]))];
    if (names.length > 0 && !names.some((name) => this.#kernels.test(name)))
      return this.#tools.map((use) => ({ use: { ...use, kernels: this.#kernels }, kernels: names }));
    return this.#sessions.flatMap(({ unmatched }) => unmatched);
  }
}

class ChosenKernels extends ToolSession implements ApplicationTools {
  /** Of all code objects, with tools in them or not. */
  readonly kernelNames = new Set<string>();
  readonly #kernels: RegExp;

  constructor(tools: readonly ChosenTool[], kernels: RegExp) {
    super(tools);
    this.#kernels = kernels;
  }

  override instrument<I extends Image>(image: I): I {
    const isChosen = (name: string): boolean => this.#kernels.test(name);
    const { kernels } = parseCodeObject(image.bytes, image.name);
    for (const { name } of kernels) this.kernelNames.add(name);
    if (!kernels.some(({ name }) => isChosen(name))) return image;
    if (kernels.every(({ name }) => isChosen(name))) return super.instrument(image);
    return { ...image, bytes: this.rewrite(image, { isChosen }).bytes };
  }
}
