import type { TargetId } from '../codeobject/target-id.ts';
import type { CodeContext } from '../isa/amdgpu/encoding/instruction.ts';

/** What is assembled for. */
export interface AssemblyTarget {
  readonly id: TargetId;
  readonly context: CodeContext;
  /** Of gfx10 and gfx11: a workgroup stays on one compute unit. */
  readonly cuMode: boolean;
  /** Of the gfx90a family: a workgroup may be split between compute units. */
  readonly threadGroupSplit: boolean;
}
