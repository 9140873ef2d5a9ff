// What the daemon says, asked for with the token that the page was given.

import { LittledError, watch } from "./client/littled.js";

/** The daemon that served the page. */
export class Daemon {
  token = "";

  constructor(base) {
    this.base = base;
  }

  get headers() {
    return this.token ? { Authorization: `Bearer ${this.token}` } : {};
  }

  /** The body of a page as text; throws Refused, or Error where nobody answers. */
  async text(path) {
    const response = await fetch(new URL(path, this.base), { headers: this.headers, cache: "no-store" });
    const body = await response.text();
    if (response.ok) return body;
    throw new Refused(response.status, body.trim());
  }

  /** The same of a page of JSON. */
  async json(path) {
    return JSON.parse(await this.text(path));
  }

  /** Events for ever; see `watch`. */
  watch(options) {
    return watch(this.base, { ...options, token: this.token || undefined });
  }
}

/** A page that the daemon does not give. */
export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence || `the daemon answers ${status}`);
    this.status = status;
  }
}

export { LittledError };
