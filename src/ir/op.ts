export type Type = 'i1' | 'i32' | 'i64';

/**
 * Run-time form of a value in the evaluator: number for i1 and i32 (int32 form), bigint for i64 (unsigned
 * form).
 */
export type Evaluated = number | bigint;

/** A pure operation: signature and the one definition of its result. */
export interface Op {
  readonly result: Type;
  readonly params: readonly Type[];
  // The closed table below is typed at its definition; evaluation by name erases it.
  readonly evaluate: (...args: never[]) => Evaluated;
}

export function op<A extends readonly Evaluated[]>(
  result: Type,
  params: readonly Type[],
  evaluate: (...args: A) => Evaluated,
): Op {
  return { result, params, evaluate: evaluate as unknown as Op['evaluate'] }; // reason: the builder checks arguments against `params`
}
