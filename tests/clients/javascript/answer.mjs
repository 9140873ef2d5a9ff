// Answers questions of the tests: a JSON list on standard input, a JSON list of answers on output.
// Integers beyond 2^53 are texts that end with "n", in both.

import { Reading } from "../../../clients/littled_client/javascript/columns.js";
import { LittledError, Rule, releases } from "../../../clients/littled_client/javascript/littled.js";

const revive = (_key, value) => (typeof value === "string" && /^[0-9]+n$/.test(value) ? BigInt(value.slice(0, -1)) : value);
const write = (_key, value) => (typeof value === "bigint" ? `${value}n` : value);

const QUESTIONS = {
  labels: ({ rule, words, points }) => points.map((point) => new Rule(rule, words ?? {}).evaluate(point)),
  xType: ({ rule }) => new Rule(rule, {}).evaluator.xType,
  points: ({ reading, rows }) => rows.map((row) => attempt(() => new Reading(reading).point(row))),
  words: ({ release, values }) => values.map((value) => attempt(() => Rule.from(release).word(value))),
  explain: ({ release, values }) => values.map((value) => attempt(() => Rule.from(release).explain(value))),
  edges: ({ column }) => new Reading({ form: "value", columns: [column] }).columns[0].floats,
  follow: async ({ base, learners, token }) => {
    try {
      for await (const release of releases(base, { learners, token })) return release.version;
    } catch (error) {
      if (error instanceof LittledError) return { refused: error.message, addresses: error.addresses ?? null };
      throw error;
    }
  },
  refused: ({ release }) => attempt(() => Rule.from(release).text),
};

function attempt(ask) {
  try {
    return ask();
  } catch (error) {
    if (error instanceof LittledError) return { refused: error.message };
    throw error;
  }
}

let input = "";
for await (const part of process.stdin) input += part;
const answers = [];
for (const { ask, ...question } of JSON.parse(input, revive)) answers.push(await QUESTIONS[ask](question));
process.stdout.write(JSON.stringify(answers, write));
