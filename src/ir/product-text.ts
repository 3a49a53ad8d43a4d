/**
 * Products of matrices as text. A factor's place is a number, element times lanes of the wave plus lane, and
 * that is a sum: of one number for the result, one for each bit of the lane's number and one for the step. So
 * the layout of all lanes is three short lists.
 */
import { assert } from '../base/errors.ts';
import type { MatrixProduct, Place } from './matrix-product.ts';

type PlaceOf = MatrixProduct['leftPlace'];
type Side = 'left' | 'right';
const TERMS = ['results', 'lanes', 'steps'] as const;
const TYPES = ['i32', 'f32', 'f64'] as const;

/**
 * What is added to the place of result 0, lane 0, step 0, which is place 0: by result, by bit of the lane, by
 * step.
 */
type Layout = Readonly<Record<(typeof TERMS)[number], readonly number[]>>;

const bitsOf = (waveSize: 32 | 64): number => Math.log2(waveSize);

function numberAt({ results, lanes, steps }: Layout, result: number, lane: number, step: number): number {
  return lanes.reduce((sum, weight, bit) => sum + ((lane >> bit) & 1) * weight, results[result]! + steps[step]!);
}

function layoutOf({ results, steps }: MatrixProduct, waveSize: 32 | 64, place: PlaceOf): Layout {
  const number = (result: number, lane: number, step: number): number => {
    const { element, lane: holder } = place(result, lane, step);
    return element * waveSize + holder;
  };
  const layout = {
    results: Array.from({ length: results }, (_, i) => number(i, 0, 0)),
    lanes: Array.from({ length: bitsOf(waveSize) }, (_, bit) => number(0, 1 << bit, 0)),
    steps: Array.from({ length: steps }, (_, i) => number(0, 0, i)),
  };
  for (let result = 0; result < results; result++)
    for (let lane = 0; lane < waveSize; lane++)
      for (let step = 0; step < steps; step++)
        assert(
          numberAt(layout, result, lane, step) === number(result, lane, step),
          () => `the place of result ${result}, lane ${lane}, step ${step} is a sum`,
        );
  return layout;
}

export function formatProduct(product: MatrixProduct, waveSize: 32 | 64): string[] {
  const { type, left, right, results, steps, selects } = product;
  const side = (name: Side, place: PlaceOf): string[] => {
    const layout = layoutOf(product, waveSize, place);
    return TERMS.map((term) => `${name} ${term}: ${layout[term].join(' ')}`);
  };
  return [
    `${type}: left ${left}, right ${right}, results ${results}, steps ${steps}${selects ? ', selects' : ''}`,
    ...side('left', (result, lane, step) => product.leftPlace(result, lane, step)),
    ...side('right', (result, lane, step) => product.rightPlace(result, lane, step)),
  ];
}

const HEAD = /^(i32|f32|f64): left (\d{1,3}), right (\d{1,3}), results (\d{1,3}), steps (\d{1,3})(, selects)?$/;

/** The lines of `formatProduct`; `fail` gets the number of the line that is wrong. */
export function parseProduct(
  lines: readonly string[],
  waveSize: 32 | 64,
  fail: (line: number, what: string) => never,
): MatrixProduct {
  const match = HEAD.exec(lines[0] ?? '') ?? fail(0, "expected 'TYPE: left N, right N, results N, steps N'");
  const [left, right, results, steps] = match.slice(2, 6).map(Number) as [number, number, number, number];
  const counts = { results, lanes: bitsOf(waveSize), steps };
  const list = (side: Side, term: (typeof TERMS)[number], line: number): readonly number[] => {
    const [name, text = ''] = (lines[line] ?? '').split(': ');
    const numbers = text.split(' ').map(Number);
    if (name !== `${side} ${term}`) fail(line, `expected '${side} ${term}: ...'`);
    if (numbers.length !== counts[term] || !numbers.every((number) => Number.isInteger(number) && number >= 0))
      fail(line, `expected ${counts[term]} numbers`);
    return numbers;
  };
  const places = (side: Side, line: number): PlaceOf => {
    const layout = {
      results: list(side, 'results', line),
      lanes: list(side, 'lanes', line + 1),
      steps: list(side, 'steps', line + 2),
    };
    return (result, lane, step): Place => {
      const number = numberAt(layout, result, lane, step);
      return { element: Math.floor(number / waveSize), lane: number % waveSize };
    };
  };
  const [leftPlace, rightPlace] = [places('left', 1), places('right', 4)];
  if (lines.length > 7) fail(7, 'expected }');
  const type = TYPES.find((name) => name === match[1])!;
  return { type, left, right, results, steps, selects: match[6] !== undefined, leftPlace, rightPlace };
}
