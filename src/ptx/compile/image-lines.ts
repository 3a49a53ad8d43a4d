/** Which place of a text an instruction of an image comes from. */

/** Pairs of numbers: from this offset of the image on, where in the text the instruction begins. */
export class ImageLines {
  /** One pair after the other, in the order of the image. */
  readonly pairs: Uint32Array<ArrayBuffer>;

  constructor(pairs: Uint32Array<ArrayBuffer>) {
    this.pairs = pairs;
  }

  /** The place in the text of what stands at an offset of the image; undefined before the first. */
  at(offset: number): number | undefined {
    let [low, high] = [0, this.pairs.length / 2];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.pairs[2 * middle]! <= offset) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? undefined : this.pairs[2 * low - 1];
  }
}

/** Takes them as functions are placed: each function's in its order, behind those of the functions before. */
export class LineCollector {
  readonly #numbers: number[] = [];

  add(imageOffset: number, textOffset: number): void {
    this.#numbers.push(imageOffset, textOffset);
  }

  lines(): ImageLines {
    return new ImageLines(new Uint32Array(this.#numbers));
  }
}
