/**
 * What there is to know of each kind of leaf, in one table: verifier, text and lowering ask it. What a leaf
 * computes stands in evaluate.ts and in the lowerings, each of which has a table that the type checker
 * compares with this one.
 */
import { argumentOffsets, type MatrixProduct } from './matrix-product.ts';
import { OPS } from './ops.ts';
import {
  isMaskSlot,
  type Leaf,
  type LeafOf,
  type MemorySpace,
  type StateSlot,
  type Type,
  type Value,
} from './types.ts';

export type LeafKind = Leaf['kind'];
/** Kinds of values that nothing can read. */
export type VoidKind = 'store' | 'fence' | 'setOperand' | 'writeLane' | 'setState' | 'branch' | 'jump' | 'exit';

/** What an argument must be. */
export type Parameter = Type | `uniform ${Type}`;

export interface Signature {
  readonly result: Type | 'void';
  readonly parameters: readonly Parameter[];
}

/**
 * Whether a value is one for each lane. `uniform`: never, and its arguments are not; `collects`: never,
 * whatever its arguments are; `lane`: always; `arguments`: when one of its arguments is; `given`: as its
 * register is, and a uniform one has uniform arguments.
 */
export type LaneRule = 'uniform' | 'collects' | 'lane' | 'arguments' | 'given';

export interface LeafRow<K extends LeafKind> {
  /** Whether it does something: then it stays though nothing reads its result. */
  readonly isEffect: boolean;
  lanes(leaf: LeafOf<K>): LaneRule;
  /** `type` is that of the value, for leaves that have several. */
  signature(leaf: LeafOf<K>, type: Type | 'void'): Signature;
  /** Its first argument is a value of this kind, of which it is another result. */
  readonly resultOf?: LeafKind;
}

export const slotType = (slot: StateSlot): Type => (slot === 'scc' ? 'i1' : isMaskSlot(slot) ? 'i64' : 'i32');

const addressType = (space: MemorySpace): Type => (space === 'global' || space === 'flat' ? 'i64' : 'i32');

/**
 * LDS and private addresses differ from lane to lane by their meaning, global ones only when an argument
 * does.
 */
export const accessLanes = ({ space }: { readonly space: MemorySpace }): LaneRule =>
  space === 'global' ? 'arguments' : 'lane';

const dwordsOf = (sizeBytes: number): number => Math.max(1, sizeBytes / 4);

const elementType = ({ type }: MatrixProduct): Type => (type === 'f64' ? 'i64' : 'i32');

/** Lanes of a kind of which all leaves have the same. */
const always = (rule: LaneRule) => (): LaneRule => rule;
const constant =
  (result: Type | 'void', ...parameters: Parameter[]) =>
  (): Signature => ({ result, parameters });

/** A value without arguments whose type is its own. */
const ofAnyType = (_: unknown, type: Type | 'void'): Signature => ({
  result: type === 'void' ? 'i32' : type,
  parameters: [],
});

const ofAccess = (
  result: Type | 'void',
  { space, predicated }: { readonly space: MemorySpace; readonly predicated: boolean },
  data: readonly Type[],
): Signature => ({ result, parameters: [addressType(space), ...data, ...(predicated ? (['i1'] as const) : [])] });

const productParameters = (product: MatrixProduct): Parameter[] => {
  const { selectors, right, accumulators } = argumentOffsets(product);
  return Array.from({ length: accumulators + product.results }, (_, i) =>
    i >= selectors && i < right ? 'i32' : elementType(product),
  );
};

/** Parameters of an atomic's update beside the old value: one, or two where it compares. */
const updateData = ({ update }: LeafOf<'atomic'>): number =>
  Math.max(0, ...update.body.map(({ leaf }) => (leaf.kind === 'param' ? leaf.index : 0)));

export const LEAVES: { readonly [K in LeafKind]: LeafRow<K> } = {
  const: { isEffect: false, lanes: always('uniform'), signature: ofAnyType },
  param: { isEffect: false, lanes: always('uniform'), signature: ofAnyType },
  operand: { isEffect: false, lanes: always('given'), signature: constant('i32') },
  state: {
    isEffect: false,
    lanes: always('uniform'),
    signature: ({ slot }) => ({ result: slotType(slot), parameters: [] }),
  },
  pc: { isEffect: false, lanes: always('uniform'), signature: constant('i64') },
  nextPc: { isEffect: false, lanes: always('uniform'), signature: constant('i64') },
  clock: { isEffect: false, lanes: always('uniform'), signature: constant('i64') },
  laneId: { isEffect: false, lanes: always('lane'), signature: constant('i32') },
  laneTable: { isEffect: false, lanes: always('lane'), signature: constant('i32') },
  pure: {
    isEffect: false,
    lanes: always('arguments'),
    signature: ({ op }) => ({ result: OPS[op].result, parameters: OPS[op].params }),
  },
  laneMask: { isEffect: false, lanes: always('lane'), signature: constant('i1', 'uniform i64') },
  ballot: { isEffect: false, lanes: always('collects'), signature: constant('i64', 'i1') },
  gather: { isEffect: false, lanes: always('lane'), signature: constant('i32', 'i32') },
  readLane: { isEffect: false, lanes: always('uniform'), signature: constant('i32', 'uniform i32') },
  matrixProduct: {
    isEffect: false,
    lanes: always('lane'),
    signature: ({ product }) => ({ result: elementType(product), parameters: productParameters(product) }),
  },
  matrixResult: {
    isEffect: false,
    lanes: always('lane'),
    signature: (_, type) => ({ result: type, parameters: [type as Type] }),
    resultOf: 'matrixProduct',
  },
  load: { isEffect: true, lanes: accessLanes, signature: (leaf) => ofAccess('i32', leaf, []) },
  loaded: { isEffect: false, lanes: always('arguments'), signature: constant('i32', 'i32'), resultOf: 'load' },
  atomic: {
    isEffect: true,
    lanes: accessLanes,
    signature(leaf) {
      const type = leaf.sizeBytes === 8 ? 'i64' : 'i32';
      return ofAccess(
        type,
        leaf,
        Array.from({ length: updateData(leaf) }, () => type),
      );
    },
  },
  store: {
    isEffect: true,
    lanes: accessLanes,
    signature: (leaf) =>
      ofAccess(
        'void',
        leaf,
        Array.from({ length: dwordsOf(leaf.sizeBytes) }, () => 'i32' as const),
      ),
  },
  fence: { isEffect: true, lanes: always('uniform'), signature: constant('void') },
  setOperand: { isEffect: true, lanes: always('given'), signature: constant('void', 'i32') },
  writeLane: { isEffect: true, lanes: always('uniform'), signature: constant('void', 'uniform i32', 'uniform i32') },
  setState: {
    isEffect: true,
    lanes: always('uniform'),
    signature: ({ slot }) => ({ result: 'void', parameters: [`uniform ${slotType(slot)}`] }),
  },
  branch: { isEffect: true, lanes: always('uniform'), signature: constant('void', 'uniform i1') },
  jump: { isEffect: true, lanes: always('uniform'), signature: constant('void', 'uniform i64') },
  exit: { isEffect: true, lanes: always('uniform'), signature: constant('void') },
};

/** The row of a value's leaf. */
const rowOf = ({ leaf }: Value): LeafRow<LeafKind> => LEAVES[leaf.kind] as LeafRow<LeafKind>; // reason: a kind's row takes leaves of that kind

export const isEffect = (kind: LeafKind): boolean => LEAVES[kind].isEffect;

export const lanesOf = (value: Value): LaneRule => rowOf(value).lanes(value.leaf);

export const resultOf = (kind: LeafKind): LeafKind | undefined => LEAVES[kind].resultOf;

/** What result and arguments of a value must be. A write of lanes may have a mask. */
export function signatureOf(value: Value): Signature {
  const signature = rowOf(value).signature(value.leaf, value.type);
  if (value.leaf.kind !== 'setOperand' || value.args.length < 2) return signature;
  return { ...signature, parameters: [...signature.parameters, 'i1'] };
}
