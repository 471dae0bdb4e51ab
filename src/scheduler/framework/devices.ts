import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Client} from '#src/client/client.js';
import {isReservedFor, type DeviceClaim} from '#src/model/devices/pod-claims.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {Reservation} from '#src/scheduler/cache/reservation.js';

export interface DeviceReserverParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborts when the scheduler is to stop; pending writes are still finished. */
  readonly signal: AbortSignal;
}

/** Reserves allocated resource claims for pods. */
export class DeviceReserver {
  readonly #parts: DeviceReserverParts;

  constructor(parts: DeviceReserverParts) {
    this.#parts = parts;
  }

  /** Returns the reservation of allocated claims for a pod. */
  reserve(claims: readonly Frozen<DeviceClaim>[]): Reservation {
    const reserved: Frozen<DeviceClaim>[] = [];
    return {
      preBind: async pod => {
        for (const claim of claims) {
          if (isReservedFor(claim, pod.uid)) continue;
          await this.#patchReservedFor(claim, {resource: 'pods', name: pod.pod.metadata?.name, uid: pod.uid});
          reserved.push(claim);
        }
      },
      unreserve: pod => void this.#release(reserved, pod),
    };
  }

  async #release(claims: readonly Frozen<DeviceClaim>[], {uid, key}: PodInfo): Promise<void> {
    const {log, signal} = this.#parts;
    for (const claim of claims) {
      try {
        await this.#patchReservedFor(claim, {$patch: 'delete', uid});
      } catch (error) {
        if (!signal.aborted && !isNotFound(error))
          log.error({pod: key, claim: claim.metadata?.name, err: error}, 'the use of a claim could not be taken back');
      }
    }
  }

  async #patchReservedFor({metadata}: Frozen<DeviceClaim>, consumer: object): Promise<void> {
    const {client, clock} = this.#parts;
    const {name = '', namespace = '', uid} = metadata ?? {};
    const hold = clock.hold();
    try {
      await client
        .resource(kinds.resourceClaims)
        .patch(name, 'strategic', {metadata: {uid}, status: {reservedFor: [consumer]}}, {namespace, subresource: 'status'});
    } finally {
      hold[Symbol.dispose]();
    }
  }
}
