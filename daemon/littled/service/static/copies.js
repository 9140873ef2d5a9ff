// A rule for elsewhere: SQL, JSON, and a few lines of Python and JavaScript.

import { h, put } from "./dom.js";

const DIALECTS = ["postgresql", "duckdb", "sqlite"];

/** Buttons that show a rule in one form, and put it on the clipboard where the browser allows it. */
export function copies(daemon, learner) {
  const shown = h("div", { role: "status" });
  const path = `/rules/${learner.split("/").map(encodeURIComponent).join("/")}`;
  const forms = {
    "SQL": () => daemon.text(`${path}?format=sql`),
    ...Object.fromEntries(DIALECTS.map((one) => [`SQL, ${one}`, () => daemon.text(`${path}?format=sql&dialect=${one}`)])),
    "JSON": () => daemon.text(path),
    "Python": async () => python(daemon, path),
    "JavaScript": async () => javascript(daemon, learner),
  };
  delete forms["SQL"];
  const buttons = Object.entries(forms).map(([name, make]) =>
    h("button", { type: "button", onclick: () => show(shown, name, make) }, name),
  );
  return h("div", {}, h("h4", {}, "Take it along"), h("div", { class: "copy" }, buttons), shown);
}

async function show(shown, name, make) {
  let text;
  try {
    text = (await make()).trimEnd();
  } catch (error) {
    put(shown, h("p", { class: "answer refused" }, error.message));
    return;
  }
  const said = h("p", { class: "quiet" }, name);
  put(shown, said, h("pre", { tabindex: "0", role: "region", "aria-label": name }, text));
  try {
    await navigator.clipboard.writeText(text);
    said.textContent = `${name}, copied`;
  } catch {
    // not over plain HTTP from another machine: there it can be marked and copied
  }
}

function python(daemon, path) {
  const token = daemon.token ? ', headers={"Authorization": "Bearer TOKEN"}' : "";
  return `import json
import urllib.request

from littled_client import Rule

page = urllib.request.Request("${new URL(path, daemon.base)}"${token})
with urllib.request.urlopen(page) as answer:
    rule = Rule.from_dict(json.load(answer))
print(rule)
# rule.predict(table) labels a table with the rule's columns, or a list of values`;
}

function javascript(daemon, learner) {
  const token = daemon.token ? ", token" : "";
  return `import { releases, Rule } from "littled";

for await (const release of releases("${daemon.base}", { learners: ["${learner}"]${token} })) {
  const rule = Rule.from(release);
  console.log(rule.text);
  // rule.word(value) labels a value: an object with the rule's columns, or a number
}`;
}
