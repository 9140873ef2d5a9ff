// What a budget buys: `littled plan` with sliders. It looks at no data.

import { h, put, short } from "./dom.js";

const PAUSE_MS = 500;
const [EPSILON_LEAST, EPSILON_MOST] = [0.05, 10];
const [HORIZON_LEAST, HORIZON_MOST] = [1e3, 1e8];
const STEPS = 200;

const raised = (step, least, most) => least * (most / least) ** (step / STEPS);
const lowered = (value, least, most) => Math.round((STEPS * Math.log(value / least)) / Math.log(most / least));

export class Planner {
  constructor(daemon, facts) {
    this.daemon = daemon;
    this.said = h("pre", { tabindex: "0", role: "region", "aria-label": "Plan" }, "");
    this.status = h("p", { class: "quiet", role: "status" });
    this.kind = h("input", { type: "text", value: "thresholds:256", autocomplete: "off", spellcheck: "false" });
    this.delta = h("input", { type: "text", value: short(facts.delta), autocomplete: "off" });
    this.epsilon = slider(lowered(facts.epsilon, EPSILON_LEAST, EPSILON_MOST));
    this.horizon = slider(lowered(facts.horizon, HORIZON_LEAST, HORIZON_MOST));
    this.epsilonSaid = h("output", {});
    this.horizonSaid = h("output", {});
    const form = h(
      "form",
      { class: "try", onsubmit: (event) => event.preventDefault(), oninput: () => this.soon() },
      h("label", {}, "class of rules", this.kind),
      h("label", {}, h("span", {}, "epsilon ", this.epsilonSaid), this.epsilon),
      h("label", {}, h("span", {}, "examples in a season ", this.horizonSaid), this.horizon),
      h("label", {}, "delta", this.delta),
    );
    this.element = h(
      "details",
      { class: "card", ontoggle: () => this.element.open && this.ask() },
      h("summary", {}, "What would another budget buy?"),
      h("p", { class: "quiet" }, "The same as littled plan: nothing is made, and no data are looked at."),
      form,
      this.status,
      this.said,
    );
    this.show();
  }

  get asked() {
    return {
      class: this.kind.value.trim(),
      epsilon: String(Number(raised(this.epsilon.value, EPSILON_LEAST, EPSILON_MOST).toPrecision(2))),
      delta: this.delta.value.trim(),
      horizon: String(Number(raised(this.horizon.value, HORIZON_LEAST, HORIZON_MOST).toPrecision(2))),
    };
  }

  show() {
    const { epsilon, horizon } = this.asked;
    this.epsilonSaid.textContent = short(Number(epsilon));
    this.horizonSaid.textContent = Number(horizon).toLocaleString("en");
  }

  soon() {
    this.show();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), PAUSE_MS);
  }

  async ask() {
    const asked = new URLSearchParams(this.asked).toString();
    if (asked === this.answered) return;
    this.status.textContent = "planning";
    let text = "";
    let problem = "";
    try {
      text = await this.daemon.text(`/plan?${asked}`);
    } catch (error) {
      problem = error.message;
    }
    if (asked !== new URLSearchParams(this.asked).toString()) return; // another question is under way
    this.answered = problem ? null : asked;
    put(this.said, text);
    this.said.hidden = text === "";
    this.status.textContent = problem;
  }
}

function slider(step) {
  return h("input", { type: "range", min: "0", max: String(STEPS), value: String(step) });
}
