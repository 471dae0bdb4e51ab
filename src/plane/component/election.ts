import {hostname} from 'node:os';
import {release} from '#src/api/version.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import type {LeaderElectionOptions} from '#src/options/controller-manager/general.js';
import {Recorder} from '#src/runtime/events/events.js';
import {Candidate} from '#src/runtime/lease-candidate.js';
import {LeaseLock} from '#src/runtime/leader-election/lease-lock.js';
import {callTimeoutMs, type LeaseTiming} from '#src/runtime/leader-election/timing.js';
import type {ManagerOptions} from '#src/runtime/manager.js';

export interface ElectionParts {
  /** The program's name in its Events. */
  readonly program: string;
  readonly options: LeaderElectionOptions;
  /** Flags given explicitly. */
  readonly set: ReadonlySet<string>;
  /** A client with the component's own identity; `timeoutMs` is the time limit of calls. */
  client(part: string, timeoutMs?: number): Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** A second lock: its name, and the name of its health check. */
  readonly second?: {readonly name: string; readonly check: string};
  readonly meter: Meter;
  /** The emulated release, as `1.35`. */
  readonly emulated: string;
  /** Whether the API server elects the leader among candidates (the gate CoordinatedLeaderElection). */
  readonly coordinated: boolean;
  /** The minimal duration of watches, where the informers' default is too short. */
  readonly watchSeconds?: number | undefined;
}

/** The location of the lock: the system namespace of the naming, unless configured. Its name is always plat's own. */
export const placeOfLock = (
  options: LeaderElectionOptions,
  set: ReadonlySet<string>,
  systemNamespace: string,
): {readonly namespace: string; readonly name: string} => ({
  namespace: set.has('leader-elect-resource-namespace') ? options.leaderElectResourceNamespace : systemNamespace,
  name: options.leaderElectResourceName,
});

/** The configured leader election; undefined if it is off. */
export const electionOf = ({
  program,
  options,
  set,
  client,
  clock,
  random,
  log,
  signal,
  second,
  meter,
  emulated,
  coordinated,
  watchSeconds,
}: ElectionParts): ManagerOptions['election'] => {
  if (!options.leaderElect) return undefined;
  const timing: LeaseTiming = {
    leaseDurationMs: options.leaderElectLeaseDuration,
    renewDeadlineMs: options.leaderElectRenewDeadline,
    retryPeriodMs: options.leaderElectRetryPeriod,
  };
  const own = client('leader-election', callTimeoutMs(timing));
  const events = new Recorder({client: client('events'), clock, random, log, component: program, host: hostname(), signal});
  const place = placeOfLock(options, set, own.naming.systemNamespace);
  const lock = new LeaseLock({...place, ...(second ? {name: second.name} : {}), client: own, events});
  const candidate = (): Candidate =>
    new Candidate(
      {client: client('lease-candidate'), lock, binaryVersion: release, emulationVersion: `${emulated}.0`},
      {clock, random, log, meter, ...(watchSeconds === undefined ? {} : {watchSeconds})},
    );
  return {
    lock,
    identity: `${hostname()}_${random.uuid()}`,
    ...timing,
    ...(second ? {check: second.check} : {}),
    ...(coordinated ? {candidate: candidate()} : {}),
  };
};
