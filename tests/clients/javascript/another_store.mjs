// What a reader is told by a server that is another store from its second connection on, with fewer releases: a
// JSON list of what was asked for, and one of the events.

import http from "node:http";
import { watch } from "../../../clients/littled_client/javascript/littled.js";

const asked = [];
const server = http.createServer((request, response) => {
  asked.push(request.url);
  const store = asked.length === 1 ? { instance: "old", versions: 10 } : { instance: "new", versions: 3 };
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  const say = (event, data) => response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  say("hello", { instance: store.instance });
  const after = new URL(request.url, "http://x").searchParams.get("after");
  const known = after === null ? store.versions - 1 : Number(after.split(":").pop());
  for (let version = known + 1; version <= store.versions; version += 1) say("release", { learner: "loans/default", version });
  if (asked.length === 1) setTimeout(() => response.destroy(), 50);
});

server.listen(0, "127.0.0.1", async () => {
  const told = [];
  const stop = new AbortController();
  const limit = setTimeout(() => stop.abort(), 10_000);
  for await (const { event, data } of watch(`http://127.0.0.1:${server.address().port}`, { signal: stop.signal })) {
    told.push([event, data.instance ?? data.version]);
    if (event === "release" && data.version === 3) break;
  }
  clearTimeout(limit);
  console.log(JSON.stringify([asked, told]));
  process.exit(0);
});
