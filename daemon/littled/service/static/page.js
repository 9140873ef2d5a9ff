// The operator's page: which streams there are, and the one that is looked at.
//
// All it knows is public: /status, /events and /rules. The address names the stream, #STREAM.

import { Daemon, LittledError, Refused } from "./daemon.js";
import { grouped, gauge, h, put } from "./dom.js";
import { StreamView } from "./stream.js";

const STATUS_PAUSE_MS = 400;
const AGAIN_MS = 2000;
// Streams that are asked for at a time, so that nobody waits for the daemon meanwhile; that are listed; and
// that are asked for by name, when they have changed, before all are asked for again.
const PAGE = 250;
const LISTED_MAX = 200;
const NAMED_MAX = 20;

const $ = (id) => document.getElementById(id);
const daemon = new Daemon(new URL("/", location.href).href);
const state = { status: null, view: null, ended: null, buttons: new Map(), latest: new Map(), asking: false };

function named() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return location.hash.slice(1); // a % that stands for nothing
  }
}

/** The stream that the address names, or the first one; null where there is none of that name. */
function chosen() {
  const names = Object.keys(state.status?.streams ?? {});
  const wanted = named() || names[0];
  return names.includes(wanted) ? wanted : null;
}

// --- The list -------------------------------------------------------------------------------------

function drawList() {
  const wanted = $("find").value.trim().toLowerCase();
  const streams = Object.entries(state.status.streams).filter(([name, facts]) =>
    [name, ...Object.keys(facts.learners)].some((one) => one.toLowerCase().includes(wanted)),
  );
  const all = Object.keys(state.status.streams).length;
  $("found").textContent = wanted
    ? `${grouped(streams.length)} of ${grouped(all)} streams`
    : `${grouped(all)} stream${all === 1 ? "" : "s"}`;
  state.buttons.clear();
  const left = streams.length - LISTED_MAX;
  put(
    $("streams"),
    streams.slice(0, LISTED_MAX).map(([name, facts]) => h("li", {}, button(name, facts))),
    left > 0 ? h("li", { class: "quiet" }, `and ${grouped(left)} more; find them by their names`) : null,
  );
  markChosen();
}

function button(name, facts) {
  const position = h("span", { class: "position" }, grouped(facts.position));
  const share = facts.epsilon ? facts.epsilon_spent / facts.epsilon : 0;
  const bar = gauge(`${Math.round(100 * share)} % of the budget is spent`, [{ kind: "fixed", share }]);
  const made = h("button", { type: "button", onclick: () => choose(name) }, h("span", { class: "name", title: name }, name), position, bar);
  state.buttons.set(name, { made, position });
  return made;
}

function markChosen() {
  for (const [name, { made }] of state.buttons) {
    if (name === state.view?.name) made.setAttribute("aria-current", "true");
    else made.removeAttribute("aria-current");
  }
}

function choose(name) {
  location.hash = encodeURIComponent(name);
  $("main").focus({ preventScroll: true });
}

// --- The stream -----------------------------------------------------------------------------------

function drawStream() {
  const name = chosen();
  if (name === null) {
    const which = named() ? `no stream ${named()}` : "no stream";
    put($("main"), h("p", { role: "status" }, `This daemon has ${which} that you may see.`));
    document.title = "littled";
    state.view = null;
    markChosen();
    return;
  }
  if (state.view?.name !== name) {
    state.view = new StreamView(daemon, name, state.status.streams[name]);
    for (const release of state.latest.values()) state.view.release(release);
    put($("main"), state.view.element);
    document.title = `${name} – littled`;
    markChosen();
  }
  state.view.update(state.status.streams[name]);
}

// --- News -----------------------------------------------------------------------------------------

/** Read the status of these streams again, or of all. */
async function readStatus(names = null) {
  if (names !== null && names.size <= NAMED_MAX && state.status) {
    const wanted = [...names].map((name) => `stream=${encodeURIComponent(name)}`).join("&");
    const { streams } = await daemon.json(`/status?${wanted}`);
    Object.assign(state.status.streams, streams);
  } else {
    state.status = await wholeStatus();
  }
  const { server, instance } = state.status;
  $("about").textContent = `${server.replace("/", " ")}, store ${instance.slice(0, 8)}`;
  drawList();
  drawStream();
}

async function wholeStatus() {
  const status = await daemon.json(`/status?limit=${PAGE}`);
  let page = status;
  while (page.more) {
    const last = Object.keys(page.streams).at(-1);
    page = await daemon.json(`/status?limit=${PAGE}&after=${encodeURIComponent(last)}`);
    Object.assign(status.streams, page.streams);
  }
  return status;
}

let waiting = null;
let changed = new Set();

/** Read the status of a learner's stream again soon, once for all that happens meanwhile. */
function readStatusSoon(learner) {
  changed.add(learner.split("/")[0]);
  waiting ??= setTimeout(async () => {
    const names = changed;
    waiting = null;
    changed = new Set();
    try {
      await readStatus(names);
    } catch (error) {
      refuse(error);
    }
  }, STATUS_PAUSE_MS);
}

function take(release) {
  if (release.rule !== null || !state.latest.has(release.learner)) state.latest.set(release.learner, release);
  state.view?.release(release);
}

function tick(positions) {
  for (const [name, position] of Object.entries(positions)) {
    const facts = state.status.streams[name];
    if (!facts) continue;
    facts.position = position;
    const found = state.buttons.get(name);
    if (found) found.position.textContent = grouped(position);
    if (state.view?.name === name) state.view.updatePosition(position);
  }
}

function connection(kind, text) {
  $("connection").className = kind;
  $("connection").textContent = text;
}

function refuse(error) {
  const status = error instanceof Refused ? error.status : 0;
  if (status === 401 || status === 403) {
    const unknown = daemon.token ? "the daemon does not know this token" : "the daemon wants a token";
    connection("refused", status === 401 ? unknown : "this token may not see that");
    $("ask-wrong").textContent = status === 401 && daemon.token ? "The daemon does not know the token that was shown." : "";
    $("token").hidden = false;
    if (!state.asking) askForToken();
  } else {
    connection("away", "the daemon is away; trying again");
  }
}

async function follow() {
  state.ended?.abort();
  const ended = (state.ended = new AbortController());
  while (!ended.signal.aborted) {
    try {
      await readStatus();
      const onState = (kind) => connection(kind, kind === "open" ? "live" : "the daemon is away; trying again");
      for await (const { event, data } of daemon.watch({ signal: ended.signal, onState })) {
        if (event === "tick") tick(data.positions);
        else if (event === "release") take(data);
        if (data.learner) readStatusSoon(data.learner);
      }
    } catch (error) {
      if (ended.signal.aborted) return;
      refuse(error);
      if (error instanceof LittledError || error instanceof Refused) return;
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

// --- A token --------------------------------------------------------------------------------------

function askForToken() {
  state.asking = true;
  $("ask").showModal();
}

$("token").addEventListener("click", askForToken);
$("ask-cancel").addEventListener("click", () => $("ask").close());
$("ask").addEventListener("close", () => {
  state.asking = false;
});
$("ask").querySelector("form").addEventListener("submit", () => {
  daemon.token = $("shown").value;
  $("shown").value = "";
  connection("", "connecting");
  follow();
});

$("find").addEventListener("input", () => state.status && drawList());
// not by the address, which names the stream
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  $("main").focus();
});
addEventListener("hashchange", () => state.status && drawStream());
follow();
