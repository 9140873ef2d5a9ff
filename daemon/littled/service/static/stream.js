// One stream: whom it protects, its season, its budget, and a card for each of its learners.

import { gauge, grouped, h, percent, put, short } from "./dom.js";
import { LearnerCard } from "./learner.js";
import { Planner } from "./planner.js";

const PART_NAMES = { epsilon_pure: "pure epsilon", rho: "rho (zCDP)", gaussian: "mu² / 2 (GDP)", delta: "delta" };

export class StreamView {
  constructor(daemon, name, facts) {
    this.name = name;
    this.season = h("section", { class: "card", "aria-label": "Season" });
    this.budget = h("section", { class: "card", "aria-label": "Budget" });
    this.cards = new Map(
      Object.keys(facts.learners).map((learner) => [learner, new LearnerCard(daemon, name, learner)]),
    );
    this.planner = new Planner(daemon, facts);
    this.verify = h("section", { class: "card", "aria-label": "Check it yourself" });
    this.element = h(
      "div",
      {},
      h("h2", {}, name),
      h("div", { class: "facts" }, this.season, this.budget),
      [...this.cards.values()].map((card) => card.element),
      this.verify,
      this.planner.element,
    );
  }

  update(facts) {
    this.facts = facts;
    this.updatePosition(facts.position);
    this.drawBudget();
    this.drawVerify();
    for (const [learner, card] of this.cards) card.update(facts.learners[learner], facts);
  }

  updatePosition(position) {
    const { horizon, unit, user_examples_max: most } = this.facts;
    const season = Math.floor(position / horizon);
    const inside = position - season * horizon;
    const protects =
      unit === "user" ? `Users are protected, with up to ${most} examples of each in a season.` : "Each single example is protected.";
    put(
      this.season,
      h("h3", {}, `Season ${season}`),
      gauge(`${percent(inside / horizon)} of the season has passed`, [{ kind: "clock", share: inside / horizon }]),
      h("p", { class: "number" }, `${grouped(inside)} of ${grouped(horizon)} examples`),
      h("p", { class: "quiet" }, `${grouped(position)} examples in all. ${protects} Every season has the whole budget for its own examples.`),
    );
  }

  drawBudget() {
    const { epsilon, epsilon_spent: spent, epsilon_prepaid: prepaid, delta, learners } = this.facts;
    const next = nextCall(learners);
    const price = next?.epsilon ?? 0;
    const parts = [
      { kind: "fixed", share: Math.min(prepaid, spent) / epsilon },
      { kind: "calls", share: Math.max(0, spent - prepaid) / epsilon },
      { kind: "next", share: next?.fits ? price / epsilon : 0 },
    ];
    const left = Math.max(0, epsilon - spent);
    put(
      this.budget,
      h("h3", {}, "Budget"),
      gauge(`epsilon ${short(spent)} of ${short(epsilon)} is spent`, parts),
      h("p", { class: "number" }, `epsilon ${short(spent)} of ${short(epsilon)} spent, ${short(left)} left; `,
        h("span", { class: "together" }, `delta ${short(delta)}`)),
      h(
        "ul",
        { class: "key" },
        h("li", {}, h("span", { class: "fixed" }), "paid when the season opened"),
        spent > prepaid ? h("li", {}, h("span", { class: "calls" }), "calls made") : null,
        next && price ? h("li", {}, h("span", { class: "next" }), "the next call") : null,
      ),
      h("p", { class: "quiet" }, budgetSentence(next, spent, prepaid)),
    );
  }

  drawVerify() {
    const rows = Object.entries(this.facts.caps).map(([part, cap]) => [PART_NAMES[part] ?? part, this.facts.spent[part] ?? "0/1", cap]);
    put(
      this.verify,
      h("h3", {}, "Check it yourself"),
      h("p", {}, "The store proves what was charged and published. Where it lies, run"),
      h("pre", { tabindex: "0", role: "region", "aria-label": "Commands" }, "littled verify STORE\nlittled verify STORE --replay"),
      h("p", { class: "quiet" }, "The first computes every price again and compares it with the caps; the second draws every rule again from the examples and the key, and compares it byte for byte."),
      h(
        "details",
        {},
        h("summary", {}, "What was charged"),
        h("table", {}, h("thead", {}, h("tr", {}, ["amount", "spent", "cap"].map((head) => h("th", { scope: "col" }, head)))),
          h("tbody", {}, rows.map(([name, ...amounts]) => h("tr", {}, h("th", { scope: "row" }, name), amounts.map((one) => h("td", { class: "number" }, shownFraction(one))))))),
      ),
    );
  }

  release(release) {
    const [stream, learner] = release.learner.split("/");
    if (stream === this.name) this.cards.get(learner)?.release(release);
  }
}

/** The dearest next call of the learners that may still make one. */
function nextCall(learners) {
  const calls = Object.values(learners).map((facts) => facts.next_call).filter(Boolean);
  return calls.length ? calls.reduce((a, b) => (b.epsilon > a.epsilon ? b : a)) : null;
}

function budgetSentence(next, spent, prepaid) {
  if (next?.epsilon) {
    const what = `The next rule costs epsilon ${short(next.epsilon)}`;
    return next.fits ? `${what}, which fits.` : `${what}, which does not fit: the rule in force stays to the season's end.`;
  }
  if (spent <= prepaid) return "All of it was paid when the season opened: further rules cost nothing more.";
  return "";
}

function shownFraction(text) {
  const [top, bottom] = text.split("/").map(Number);
  return `${short(top / bottom)}`;
}
