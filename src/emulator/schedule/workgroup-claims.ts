/** Which workgroups of a launch a thread runs. */

/** Workgroups from `first` on and before `end`, in the order of the grid. */
export interface WorkgroupRange {
  readonly first: number;
  readonly end: number;
}

/** Where a thread finds further workgroups that no other thread begins. */
export interface WorkgroupClaims {
  /** How many no thread has taken yet. */
  readonly left: number;
  /** Takes up to `count`; the range is empty when none are left. */
  take(count: number): WorkgroupRange;
}
