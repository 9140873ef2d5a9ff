// How a rule went over positions: a chart, and the same as a table.

import { grouped, h, put, table } from "./dom.js";

const SHOWN_MAX = 500;
const PAUSE_MS = 500;

export class History {
  constructor(daemon, learner) {
    this.daemon = daemon;
    this.learner = learner;
    this.releases = new Map();
    this.plot = h("div", { class: "plot" });
    this.versions = h("div", {});
    this.element = h(
      "details",
      { ontoggle: () => this.open() },
      h("summary", {}, "How the rule went"),
      this.plot,
      this.versions,
    );
  }

  /** Note that a release has come. */
  add(release) {
    this.newest = release.version;
    if (this.element.open) this.openSoon();
  }

  async open() {
    if (!this.element.open || this.reading) return;
    this.reading = true;
    try {
      await this.load(`/rules/${this.learner.split("/").map(encodeURIComponent).join("/")}/history`);
      this.draw();
    } catch (error) {
      put(this.versions, h("p", { class: "answer refused" }, error.message));
    } finally {
      this.reading = false;
    }
  }

  /** Read what came since the last time, and of the past as much as is shown. */
  async load(path) {
    let after = Math.max(this.last ?? 0, (this.newest ?? 0) - SHOWN_MAX);
    for (let more = true; more; ) {
      const page = await this.daemon.json(`${path}?after=${after}`);
      for (const release of page.releases) this.releases.set(release.version, release);
      after = page.releases.at(-1)?.version ?? after;
      more = page.more;
    }
    this.last = after;
    for (const version of this.releases.keys()) {
      if (version <= after - SHOWN_MAX) this.releases.delete(version);
    }
  }

  openSoon() {
    this.waiting ??= setTimeout(() => {
      this.waiting = null;
      this.open();
    }, PAUSE_MS);
  }

  draw() {
    const releases = [...this.releases.values()].sort((a, b) => a.version - b.version);
    const rows = releases.map((one) => [one.version, grouped(one.position), one.season, one.text ?? said(one)]).reverse();
    put(this.versions, table(`The last ${rows.length} versions, the newest first`, ["version", "example", "season", "rule"], rows, [0, 1, 2]));
    this.chart(releases);
  }

  chart(releases) {
    const points = releases.filter((one) => one.text !== null);
    const isNumber = points.some((one) => typeof one.cut === "number");
    const data = [points.map((one) => one.position), points.map((one) => (isNumber ? (one.cut ?? null) : one.version))];
    const label = isNumber ? "cut at" : "version";
    const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink");
    const line = getComputedStyle(document.documentElement).getPropertyValue("--line");
    const blue = getComputedStyle(document.documentElement).getPropertyValue("--blue");
    const axis = { stroke: ink, grid: { stroke: line }, ticks: { stroke: line } };
    this.drawn?.destroy();
    put(this.plot);
    if (!points.length) return;
    this.drawn = new uPlot(
      {
        width: Math.max(240, this.plot.clientWidth), height: 180, scales: { x: { time: false } },
        legend: { show: false },
        axes: [{ ...axis, values: (_, ticks) => ticks.map(grouped) }, axis],
        series: [{ label: "example" }, { label, stroke: blue, width: 2, paths: uPlot.paths.stepped({ align: 1 }), points: { show: points.length < 60, size: 5 } }],
      },
      data,
      this.plot,
    );
  }
}

function said(release) {
  return release.kind === "halt" ? "no further rule in this season" : `season ${release.season} begins`;
}
