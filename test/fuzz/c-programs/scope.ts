import type { Random } from '../random.ts';
import type { Scalar, Struct } from './types.ts';

/** Something with a value that a statement can name. */
export interface Variable {
  /** C text of the lvalue; of an array, what an index can follow. */
  readonly text: string;
  readonly type: Scalar | Struct;
  /** Elements of an array: a power of two. */
  readonly length?: number;
  readonly writable: boolean;
}

export interface Place {
  readonly text: string;
  readonly type: Scalar;
}

/** What is visible, innermost last. */
export class Scope {
  readonly variables: Variable[];

  constructor(outer: readonly Variable[] = []) {
    this.variables = [...outer];
  }

  add(variable: Variable): void {
    this.variables.push(variable);
  }

  /** A variable for which the condition holds; the newer ones are likelier. */
  pick(random: Random, condition: (variable: Variable) => boolean): Variable | undefined {
    const found = this.variables.filter(condition);
    if (found.length === 0) return undefined;
    return random.chance(50) ? random.pick(found.slice(-6)) : random.pick(found);
  }

  /** A scalar in a variable for which the condition holds: the variable, an element or a member of it. */
  place(
    random: Random,
    index: (length: number) => string,
    condition: (variable: Variable) => boolean = () => true,
  ): Place | undefined {
    const variable = this.pick(random, condition);
    if (variable === undefined) return undefined;
    let { text, type } = variable;
    let length = variable.length;
    for (;;) {
      if (length !== undefined) text = `${text}[${index(length)}]`;
      if (type.kind === 'integer' || type.kind === 'float') return { text, type };
      const field = random.pick(type.fields);
      text = `${text}.${field.name}`;
      ({ type, length } = { length: undefined, ...field });
    }
  }
}
