// Releases as they come: server-sent events read by fetch, which can show a token, and which go on
// where they stopped when the daemon was away.

import { LittledError } from "./errors.js";

const [WAIT_FIRST_MS, WAIT_MOST_MS] = [250, 8000];
// The daemon says something every second or so; a connection that is silent for so long is dead.
const SILENT_MS = 30_000;

/**
 * What a daemon says, for ever: {event: "hello", data} at each connection, with its `instance`, another one
 * for another store; {event: "release", data} for each release, oldest first; {event: "quality",
 * data} with how often rules were wrong, where that is measured; and {event: "tick", data} with the positions of streams that have changed, at most once a second.
 *
 * base: the address of the daemon's HTTP side. learners: full names; all there are if left out.
 * after: for full names the last version that is known; of others the newest release comes first.
 * token: shown to the daemon. signal: ends it. onState: told "open" and "away".
 *
 * Where the connection ends it is made again, and nothing is told twice and nothing is left out.
 * Throws LittledError where the daemon refuses: 401, 403, 404, and 421 where another one serves a stream; its
 * `addresses` then say where, for clients of the protocol.
 */
export async function* watch(base, { learners, after = {}, token, signal, onState = () => {} } = {}) {
  let [versions, instance] = [{ ...after }, undefined];
  let wait = WAIT_FIRST_MS;
  while (!signal?.aborted) {
    let isOther = false;
    try {
      const response = await opened(base, learners, versions, token, signal);
      onState("open");
      wait = WAIT_FIRST_MS;
      for await (const { event, data } of eventsOf(response.body)) {
        if (event === "hello") {
          isOther = instance !== undefined && instance !== data.instance;
          instance = data.instance;
        } else if (event === "release") {
          if (data.version <= (versions[data.learner] ?? 0)) continue;
          versions[data.learner] = data.version;
        }
        yield { event, data };
        // What was asked for is what followed on versions of the store before: ask this one anew.
        if (isOther) break;
      }
    } catch (error) {
      if (error instanceof LittledError) throw error;
      if (signal?.aborted) return;
    }
    if (isOther) {
      versions = {};
      continue;
    }
    onState("away");
    await pause(wait, signal);
    wait = Math.min(2 * wait, WAIT_MOST_MS);
  }
}

/** The releases alone; see `watch`. */
export async function* releases(base, options) {
  for await (const { event, data } of watch(base, options)) if (event === "release") yield data;
}

async function opened(base, learners, versions, token, signal) {
  const url = new URL("events", base.endsWith("/") ? base : `${base}/`);
  for (const learner of learners ?? []) url.searchParams.append("learner", learner);
  for (const [learner, version] of Object.entries(versions)) url.searchParams.append("after", `${learner}:${version}`);
  const headers = { Accept: "text/event-stream", ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  const response = await fetch(url, { headers, signal, cache: "no-store" });
  if (response.ok) return response;
  const sentence = (await response.text()).trim();
  if (response.status === 421 && response.headers.get("Content-Type")?.startsWith("application/json")) {
    throw elsewhere(JSON.parse(sentence));
  }
  if ([400, 401, 403, 404, 421].includes(response.status)) {
    throw new LittledError(sentence || `the daemon refuses with status ${response.status}`);
  }
  throw new Error(sentence);
}

/** Why there are no events of a stream that another daemon serves; an Error, to ask again, if nobody does right now. */
function elsewhere({ error, stream, addresses }) {
  if (!addresses.length) return new Error(error);
  const failure = new LittledError(`${stream} is served by another daemon, at ${addresses.join(" or ")}`);
  failure.addresses = addresses;
  return failure;
}

/** The events of a body in order, their data read as JSON. */
async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    let buffer = "";
    for (;;) {
      const { value, done } = await heard(reader);
      if (done) return;
      buffer += value;
      const blocks = buffer.split("\n\n");
      buffer = blocks.pop();
      for (const block of blocks) {
        const fields = fieldsOf(block);
        if (fields.data !== undefined) yield { event: fields.event ?? "message", data: JSON.parse(fields.data) };
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function fieldsOf(block) {
  const fields = {};
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, "");
  }
  return fields;
}

/** The next part of a body; fails if there is none for long. */
async function heard(reader) {
  let timer;
  const silence = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("the daemon is silent")), SILENT_MS);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } finally {
    clearTimeout(timer);
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}
