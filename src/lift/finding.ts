/** What the checks of code find. */

export type RuleName =
  | 'wait'
  | 'hazard'
  | 'clause'
  | 'replay'
  | 'register-alignment'
  | 'register-count'
  | 'register-freed'
  | 'illegal'
  | 'target'
  | 'overlap'
  | 'descriptor'
  | 'occupancy';

export interface CodeFinding {
  /** Of the instruction or, where there is none, of the descriptor. */
  readonly address: number;
  readonly rule: RuleName;
  readonly text: string;
  /** What would mend it. */
  readonly hint: string | undefined;
}
