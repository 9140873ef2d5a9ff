// The operator's page: which streams there are, and the one that is looked at.
//
// All it knows is public: /status, /events and /rules. The address names the stream, #STREAM.

import { Daemon, LittledError, Refused } from "./daemon.js";
import { grouped, gauge, h, put } from "./dom.js";
import { StreamView } from "./stream.js";

const STATUS_PAUSE_MS = 400;
const AGAIN_MS = 2000;

const $ = (id) => document.getElementById(id);
const daemon = new Daemon(new URL("/", location.href).href);
const state = { status: null, view: null, ended: null, buttons: new Map(), latest: new Map(), asking: false };

function chosen() {
  const names = Object.keys(state.status?.streams ?? {});
  const named = decodeURIComponent(location.hash.slice(1));
  return names.includes(named) ? named : (names[0] ?? null);
}

// --- The list -------------------------------------------------------------------------------------

function drawList() {
  const wanted = $("find").value.trim().toLowerCase();
  const streams = Object.entries(state.status.streams).filter(([name, facts]) =>
    [name, ...Object.keys(facts.learners)].some((one) => one.toLowerCase().includes(wanted)),
  );
  const all = Object.keys(state.status.streams).length;
  $("found").textContent = wanted ? `${streams.length} of ${all} streams` : `${all} stream${all === 1 ? "" : "s"}`;
  state.buttons.clear();
  put($("streams"), streams.map(([name, facts]) => h("li", {}, button(name, facts))));
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
    put($("main"), h("p", {}, "This daemon has no stream that you may see."));
    state.view = null;
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

async function readStatus() {
  state.status = await daemon.json("/status");
  const { server, instance } = state.status;
  $("about").textContent = `${server.replace("/", " ")}, store ${instance.slice(0, 8)}`;
  drawList();
  drawStream();
}

let waiting = null;

/** Read the status again soon, once for all that happens meanwhile. */
function readStatusSoon() {
  waiting ??= setTimeout(async () => {
    waiting = null;
    try {
      await readStatus();
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
    connection("refused", status === 401 ? "the daemon wants a token" : "this token may not see that");
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
        if (event !== "tick") readStatusSoon();
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
addEventListener("hashchange", () => state.status && drawStream());
follow();
