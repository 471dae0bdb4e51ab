import type {Lister} from '#informers/lister.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';
import {classOf, type Claim, type StorageClass, type Volume} from '#src/model/volumes.js';
import {Expected, requeueAfter, type Result} from '#src/runtime/controller.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import {stepOf, type VolumeRule, type VolumeStep, type VolumeTarget} from '#src/simulation/rules/volume-rule.js';

export type Attachment = ObjectOf<typeof kinds.volumeAttachments>;

/** The name of the simulated driver. */
export const driverName = ({domain}: Naming): string => `csi.simulation.${domain}`;

/** Shared by the parts of the simulated driver. */
export interface DriverContext {
  readonly naming: Naming;
  readonly driver: string;
  readonly clock: Clock;
  readonly client: Client;
  readonly events: EventRecorder;
  readonly rules: readonly VolumeRule[];
  readonly steps: Steps;
  readonly claims: Lister<Claim>;
  readonly volumes: Lister<Volume>;
  readonly classes: Lister<StorageClass>;
  readonly attachments: Lister<Attachment>;
  readonly nodes: Lister<Node>;
}

/** Whether a volume belongs to the driver. */
export const isOwn = (volume: Frozen<Volume> | undefined, driver: string): boolean => volume?.spec?.csi?.driver === driver;

/** Returns the properties by which rules match a volume. */
export const targetOf = (volume: Frozen<Volume>, naming: Naming, node = ''): VolumeTarget => ({
  namespace: volume.spec?.claimRef?.namespace ?? '',
  claim: volume.spec?.claimRef?.name ?? '',
  storageClass: classOf(volume, naming),
  node,
});

/** Steps in progress, by subject: each takes the duration given by the rules, and then succeeds or fails. */
export class Steps {
  readonly #due = new Map<string, number>();
  readonly #clock: Clock;
  readonly #rules: readonly VolumeRule[];

  constructor(clock: Clock, rules: readonly VolumeRule[]) {
    this.#clock = clock;
    this.#rules = rules;
  }

  /** Returns the time of the next check, undefined if the step is done, or the error with which it failed. */
  take(key: string, step: VolumeStep, target: VolumeTarget): {readonly again?: Result; readonly isNew?: boolean; readonly error?: Error} {
    const {afterMs, error} = stepOf(this.#rules, step, target);
    const id = `${step} ${key}`;
    const now = this.#clock.monotonic();
    const known = this.#due.get(id);
    const due = known ?? now + afterMs;
    if (now < due) {
      this.#due.set(id, due);
      // Infinity: the step never ends.
      return {again: due === Infinity ? {kind: 'settled'} : requeueAfter(due - now), isNew: known === undefined};
    }
    this.#due.delete(id);
    if (error === undefined) return {};
    return {error: new Expected(`rpc error: code = Internal desc = ${error}`)};
  }

  /** Drops the steps of a removed subject. */
  forget(key: string, ...steps: readonly VolumeStep[]): void {
    for (const step of steps) this.#due.delete(`${step} ${key}`);
  }
}
