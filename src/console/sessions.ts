import {createHash, randomBytes} from 'node:crypto';
import type {Clock} from '#src/base/clock.js';

/** A browser that has redeemed a link. */
export interface Session {
  /** What the page sends with every request that may change something. */
  readonly csrf: string;
}

interface Known extends Session {
  usedAt: number;
}

/** A session that is not used for so long is over. */
const idleMs = 12 * 3_600_000;

/** The most sessions and the most links at a time: the oldest end. */
const [mostSessions, mostLinks] = [16, 16];

const secret = (): string => randomBytes(32).toString('base64url');

/** The secrets themselves are not kept, and looking one up takes as long whatever it is. */
const digest = (text: string): string => createHash('sha256').update(text).digest('base64');

/** What is kept here has the length of a digest. */
const dropOldest = (kept: {readonly size: number; keys(): Iterator<string>; delete(key: string): boolean}, most: number): void => {
  for (let over = kept.size - most; over > 0; over--) kept.delete(kept.keys().next().value as string);
};

/** Who may use a console: links that work once, and the sessions of those who have redeemed one. */
export class Sessions {
  readonly #clock: Clock;
  readonly #links = new Set<string>();
  readonly #sessions = new Map<string, Known>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the token of a new link. */
  link(): string {
    const token = secret();
    this.#links.add(digest(token));
    dropOldest(this.#links, mostLinks);
    return token;
  }

  /** Returns the secret of a new session for the token of a link, which is used up; undefined if it is none. */
  redeem(token: string): string | undefined {
    if (!this.#links.delete(digest(token))) return undefined;
    const cookie = secret();
    this.#sessions.set(digest(cookie), {csrf: secret(), usedAt: this.#clock.monotonic()});
    dropOldest(this.#sessions, mostSessions);
    return cookie;
  }

  /** Returns the session of a secret, which stays in use; undefined if there is none or it is over. */
  find(cookie: string): Session | undefined {
    const key = digest(cookie);
    const session = this.#sessions.get(key);
    if (!session) return undefined;
    this.#sessions.delete(key);
    const now = this.#clock.monotonic();
    if (now - session.usedAt > idleMs) return undefined;
    session.usedAt = now;
    this.#sessions.set(key, session);
    return session;
  }

  /** Ends the session of a secret. */
  end(cookie: string): void {
    this.#sessions.delete(digest(cookie));
  }
}
