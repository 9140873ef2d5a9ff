// What is wrong with a rule, a column or a value: one sentence that never contains the value.

export class LittledError extends Error {
  constructor(sentence) {
    super(sentence);
    this.name = "LittledError";
  }
}

/** Throw LittledError with this sentence unless `holds`. */
export function check(holds, sentence) {
  if (!holds) throw new LittledError(sentence);
}
