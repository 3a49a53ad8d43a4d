/** What kernels need with all that they call. */
import { strongComponents } from '../../flow/strong-components.ts';
import type { ImageFunction } from './module.ts';

export interface StackNeeds {
  /** Private memory of a lane, as far as it is known. */
  readonly privateBytes: number;
  /** More may be needed: a function calls itself or what a register names, or takes memory while it runs. */
  readonly isOpen: boolean;
  /** Whether lanes may wait for what others of their wave do. */
  readonly givesWay: boolean;
  readonly vectorRows: number;
  readonly accumulatorRows: number;
}

/** `calleesOf`: functions that one calls directly, as far as they are there. */
export function stackNeeds<T extends ImageFunction>(
  functions: readonly T[],
  calleesOf: (each: T) => readonly T[],
): ReadonlyMap<T, StackNeeds> {
  const needs = new Map<T, StackNeeds>();
  for (const root of functions) {
    for (const component of strongComponents(root, calleesOf, (each) => needs.has(each))) {
      const members = new Set(component);
      const behind = component.flatMap(calleesOf);
      const below = behind.flatMap((each) => (members.has(each) ? [] : needs.get(each)!));
      const isRecursive = behind.some((each) => members.has(each));
      const own = component.reduce((sum, { frameBytes }) => sum + frameBytes, 0);
      const most = (field: 'vectorRows' | 'accumulatorRows'): number =>
        [...component, ...below].reduce((max, each) => Math.max(max, each[field]), 0);
      const found: StackNeeds = {
        privateBytes: own + below.reduce((max, { privateBytes }) => Math.max(max, privateBytes), 0),
        isOpen: isRecursive || component.some(({ hasOpenStack }) => hasOpenStack) || below.some(({ isOpen }) => isOpen),
        givesWay: component.some(({ givesWay }) => givesWay) || below.some(({ givesWay }) => givesWay),
        ...{ vectorRows: most('vectorRows'), accumulatorRows: most('accumulatorRows') },
      };
      for (const member of component) needs.set(member, found);
    }
  }
  return needs;
}
