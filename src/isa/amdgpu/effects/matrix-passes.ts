/** How long matrix products take, in passes of four cycles (CDNA2 ISA 7.5, CDNA3 ISA 7.5). */
import type { MatrixProductSize, Row } from '../encoding/row.ts';
import type { Target } from '../encoding/targets.ts';

/** Those of f64, which an own unit executes, and those of other formats up to CDNA2, by rows of C. */
const PASSES_OF_DOUBLES: Readonly<Record<number, number>> = { 4: 4, 16: 8 };
const PASSES_BY_ROWS: Readonly<Record<number, number>> = { 4: 2, 16: 8, 32: 16 };

/** CDNA3: products of elements in a pass; what is narrower is faster. */
const CDNA3_RATES: Readonly<Record<string, number>> = { f32: 128, xf32: 512, f16: 1024, bf16: 1024 };
const CDNA3_RATE_OF_BYTES = 2048;
/** And elements of C that are read and written in a pass. */
const CDNA3_RESULTS = 128;

/** Undefined for what is no product of VOP3P-MAI. */
export function matrixPasses({ flags }: Row, { matrixTiming }: Target): number | undefined {
  const { product, sparse } = flags;
  if (!product) return undefined;
  if (product.format === 'f64') return PASSES_OF_DOUBLES[product.m];
  return matrixTiming === 'cdna3' ? cdna3Passes(product, sparse === true) : PASSES_BY_ROWS[product.m];
}

function cdna3Passes({ m, n, k, blocks, format }: MatrixProductSize, sparse: boolean): number {
  const results = m * n * blocks;
  // Half of A is not there.
  const products = (results * k) / (sparse ? 2 : 1);
  return Math.max(results / CDNA3_RESULTS, products / (CDNA3_RATES[format] ?? CDNA3_RATE_OF_BYTES));
}
