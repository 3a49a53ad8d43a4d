/** How many instructions the waves of a dispatch ran. */

/**
 * Wave-instructions by what ran them: the reference executor, handlers (T0), compiled regions (T1) and loops
 * compiled as a whole (T2). Compiled code calls no handlers.
 */
export type TierCounts = Record<'reference' | 'handlers' | 'regions' | 'loops', number>;

/** Wave-instructions by class, in the words of the front end. */
export type ClassInstructions = Record<string, number>;

/** Adds to each count. */
export function addCounts<Name extends string>(sum: Record<Name, number>, more: Readonly<Record<Name, number>>): void {
  for (const name of Object.keys(sum) as Name[]) sum[name] += more[name];
}
