// Metrics of authentication and authorization under upstream's names. User names become labels only if they are known
// in advance.

import type {Decision} from '#src/api/authorization.js';
import type {Naming} from '#src/api/naming.js';
import type {UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import {exponentialBuckets, type Counter, type Histogram, type Meter} from '#src/base/meter.js';

const buckets = exponentialBuckets(0.001, 2, 15);
const labels = ['result'];

/** Counts and durations of one step, by result. */
class Attempts {
  readonly #clock: Clock;
  readonly #attempts: Counter;
  readonly #durations: Histogram;
  readonly #series = new Map<string, {readonly attempts: ReturnType<Counter['at']>; readonly duration: ReturnType<Histogram['at']>}>();

  constructor(clock: Clock, attempts: Counter, durations: Histogram) {
    this.#clock = clock;
    this.#attempts = attempts;
    this.#durations = durations;
  }

  count(result: string, startedAt: number): void {
    let series = this.#series.get(result);
    if (!series) this.#series.set(result, (series = {attempts: this.#attempts.at({result}), duration: this.#durations.at({result})}));
    series.attempts.add();
    series.duration.observe((this.#clock.monotonic() - startedAt) / 1000);
  }
}

const authorizationResults: Readonly<Record<Decision['decision'], string>> = {allow: 'allowed', deny: 'denied', noOpinion: 'no-opinion'};

/** Metrics of the authentication and authorization of requests. */
export class AccessMetrics {
  readonly #users: Counter;
  /** Keyed by the label's value; there are few. */
  readonly #series = new Map<string, ReturnType<Counter['at']>>();
  readonly #authentications: Attempts;
  readonly #authorizations: Attempts;
  readonly #knownUsers: ReadonlySet<string>;

  constructor(meter: Meter, clock: Clock, naming: Naming) {
    this.#users = meter.counter({
      name: 'authenticated_user_requests',
      help: 'Counter of authenticated requests broken out by username.',
      labels: ['username'],
    });
    this.#authentications = new Attempts(
      clock,
      meter.counter({name: 'authentication_attempts', help: 'Counter of authenticated attempts.', labels}),
      meter.histogram({
        name: 'authentication_duration_seconds',
        help: 'Authentication duration in seconds broken out by result.',
        labels,
        buckets,
      }),
    );
    this.#authorizations = new Attempts(
      clock,
      meter.counter({
        name: 'authorization_attempts_total',
        help: "Counter of authorization attempts by result: 'allowed', 'denied', 'no-opinion' or 'error'.",
        labels,
      }),
      meter.histogram({
        name: 'authorization_duration_seconds',
        help: 'Authorization duration in seconds broken out by result.',
        labels,
        buckets,
      }),
    );
    this.#knownUsers = new Set([
      'admin',
      'client',
      naming.component('proxy').replace('-', '_'),
      naming.agent,
      `system:serviceaccount:${naming.systemNamespace}:default`,
    ]);
  }

  authenticated(user: UserInfo, startedAt: number): void {
    this.#userSeries(this.#compressed(user.name)).add();
    this.#authentications.count('success', startedAt);
  }

  /** Records that a request was not authenticated: it had no credentials (`failure`), or they were not accepted. */
  notAuthenticated(result: 'failure' | 'error', startedAt: number): void {
    this.#authentications.count(result, startedAt);
  }

  authorized({decision, error}: Decision, startedAt: number): void {
    this.#authorizations.count(error !== undefined && decision !== 'allow' ? 'error' : authorizationResults[decision], startedAt);
  }

  authorizationFailed(startedAt: number): void {
    this.#authorizations.count('error', startedAt);
  }

  #userSeries(username: string): ReturnType<Counter['at']> {
    let series = this.#series.get(username);
    if (!series) this.#series.set(username, (series = this.#users.at({username})));
    return series;
  }

  /** Replaces user names, since a label must have few values. */
  #compressed(name: string): string {
    if (this.#knownUsers.has(name)) return name;
    return name.includes('@') ? 'email_id' : 'other';
  }
}
