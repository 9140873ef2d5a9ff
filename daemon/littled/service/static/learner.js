// One learner: its rule in words and as a picture, a box to try values, how the rule went, and copies of it.

import { Rule } from "./client/littled.js";
import { copies } from "./copies.js";
import { h, grouped, percent, put } from "./dom.js";
import { History } from "./history.js";
import { pictureOf } from "./pictures.js";
import { TryForm } from "./trying.js";

export class LearnerCard {
  constructor(daemon, stream, name) {
    this.full = `${stream}/${name}`;
    this.badge = h("span", { class: "badge" });
    this.about = h("p", { class: "quiet" });
    this.rule = h("p", { class: "rule" });
    this.quality = h("p", { class: "quality" });
    this.picture = h("div", {});
    this.trying = new TryForm();
    this.history = new History(daemon, this.full);
    this.copies = copies(daemon, this.full);
    this.ruled = h("div", { hidden: true }, this.picture, this.trying.element, this.copies, this.history.element);
    this.element = h(
      "section",
      { class: "card", "aria-label": `Learner ${name}` },
      h("header", {}, h("h3", {}, name), this.badge),
      this.rule,
      this.quality,
      this.about,
      this.ruled,
    );
  }

  /** Take what the status says of the learner. */
  update(facts, stream) {
    if (!facts) return;
    if (facts.kind === "prediction") this.updateAnswers(facts);
    else this.updateRule(facts, stream);
  }

  updateRule(facts, stream) {
    this.badge.textContent = facts.halted ? "halted: the rule stays" : "learning";
    this.badge.classList.toggle("halted", facts.halted);
    this.rule.textContent = facts.rule;
    this.quality.hidden = !facts.quality;
    if (facts.quality) this.quality.textContent = qualitySentence(facts.quality);
    const left = facts.calls_left === undefined ? "" : `; at most ${grouped(facts.calls_left)} more in this season`;
    const window = facts.window_examples ? `; a rule from each ${grouped(facts.window_examples)} examples` : "";
    this.about.textContent = `Version ${grouped(facts.version)}${this.since ?? ""}${left}${window}.`;
    this.words = stream;
  }

  updateAnswers(facts) {
    this.badge.textContent = "answers questions";
    this.rule.textContent = "No rule is published: single questions are answered.";
    this.quality.hidden = true;
    this.ruled.hidden = true;
    this.about.textContent =
      facts.window === null
        ? `Answers begin when ${grouped(facts.next_window)} examples are there.`
        : `${grouped(facts.answers_left)} answers are left of window ${grouped(facts.window)}, ${grouped(facts.answers_given)} were given. The next window begins to answer at example ${grouped(facts.next_window)}.`;
  }

  /** Take a release as it came. */
  release(release) {
    this.since = `, published at example ${grouped(release.position)}`;
    if (release.rule === null) return;
    this.rule.textContent = release.text;
    this.history.add(release);
    const rule = known(release);
    this.ruled.hidden = false;
    this.trying.take(rule);
    put(this.picture, rule ? pictureOf(rule) : null);
  }
}

/** The rule of a release, null where this page is older than the rule's kind. */
function known(release) {
  try {
    return Rule.from(release);
  } catch {
    return null;
  }
}

/** How often the rules of a period were wrong, or when that will be known. */
function qualitySentence(facts) {
  const next = facts.next_position;
  if (facts.error_rate === undefined) {
    return next === null ? "" : `How often it is wrong will be told at example ${grouped(next)}.`;
  }
  const [rate, lower, upper] = [facts.error_rate, facts.error_rate_lower, facts.error_rate_upper].map(percent);
  const between = `examples ${grouped(facts.first_position)} to ${grouped(facts.position)}`;
  return `Wrong on ${rate} of ${between}; ${percent(facts.level)} sure: ${lower} to ${upper}.`;
}
