import {hostname} from 'node:os';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import {Recorder} from '#src/runtime/events/events.js';
import {LeaseLock} from '#src/runtime/leader-election/lease-lock.js';
import {validateElection} from '#src/runtime/leader-election/timing.js';
import type {ManagerOptions} from '#src/runtime/manager.js';
import type {LeaderElectionOptions} from './leader-election-options.js';
import {msOf} from './result.js';

interface ElectionParts {
  /** The manager's name. */
  readonly program: string;
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Stops writing Events. */
  readonly signal: AbortSignal;
}

/** Converts the options for the runtime's manager. Throws for invalid options. The Lease is released on a stop. */
export const electionOf = (
  {namespace, name, identity, client: own, leaseDuration = '15s', renewDeadline = '10s', retryPeriod = '2s'}: LeaderElectionOptions,
  {program, client, clock, random, log, signal}: ElectionParts,
): NonNullable<ManagerOptions['election']> => {
  const timing = {leaseDurationMs: msOf(leaseDuration), renewDeadlineMs: msOf(renewDeadline), retryPeriodMs: msOf(retryPeriod)};
  const self = identity ?? `${hostname()}_${random.uuid()}`;
  const events = new Recorder({client, clock, random, log, component: program, host: hostname(), signal});
  const lock = new LeaseLock({client: own ?? client, namespace, name: name ?? program, events});
  const problem = validateElection(timing, lock, self);
  if (problem !== undefined) throw new TypeError(`leaderElection: ${problem}`);
  return {lock, identity: self, ...timing, releaseOnStop: true};
};
