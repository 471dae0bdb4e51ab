import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {wireTime} from '#src/api/time.js';
import type {KubeObject} from '#src/api/types.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import type {Client} from '#src/client/client.js';
import type {UserInfo} from '#src/api/user.js';

/** The namespace of objects that are created without one. */
export const home = 'home';

/** The actions of users and nodes in a scenario. */
export interface Stage {
  readonly client: Client;
  as(user: UserInfo): Client;
  readonly clock: VirtualClock;
  readonly naming: Naming;
  make<T extends KubeObject>(kind: Kind<T>, ...objects: readonly T[]): Promise<void>;
  change(kind: Kind, name: string, body: object, subresource?: string): Promise<void>;
  remove(kind: Kind, name: string, options?: {readonly propagationPolicy?: string; readonly gracePeriodSeconds?: number}): Promise<void>;
  /**
   * Acts as the nodes until nothing is left to do: pods become running and ready, or end as requested, and terminating
   * ones are removed.
   */
  nodes(phase?: 'Running' | 'Succeeded' | 'Failed'): Promise<void>;
}

const rounds = 20;

export const stageOf = (clientOf: (user: string | UserInfo) => Client, clock: VirtualClock): Stage => {
  const client = clientOf('admin');
  const within = (kind: Kind) => (kind.namespaced ? {namespace: home} : {});
  const pods = client.resource(kinds.pods);
  return {
    client,
    as: clientOf,
    clock,
    naming: client.naming,
    async make(kind, ...objects) {
      for (const object of objects) await client.resource(kind).create({...object, metadata: {...within(kind), ...object.metadata}});
    },
    async change(kind, name, body, subresource) {
      await client.resource(kind).patch(name, 'merge', body, {...within(kind), ...(subresource ? {subresource} : {})});
    },
    async remove(kind, name, options = {}) {
      await client.resource(kind).delete(name, {...within(kind), ...options});
    },
    async nodes(phase = 'Running') {
      for (let round = 0; round < rounds; round++) {
        const waiting = (await pods.list()).items.filter(
          ({metadata, status}) =>
            metadata?.deletionTimestamp || status?.phase === 'Pending' || (status?.phase === 'Running' && phase !== 'Running'),
        );
        if (waiting.length === 0) return;
        for (const {metadata} of waiting) {
          const name = metadata!.name!;
          const at = {namespace: metadata!.namespace!};
          // A pod may be held by a finalizer, or be gone by now.
          if (metadata?.deletionTimestamp) await pods.delete(name, {...at, gracePeriodSeconds: 0}).catch(() => {});
          else await pods.patch(name, 'merge', {status: ended(phase, clock.now())}, {...at, subresource: 'status'});
        }
        await clock.advance(5_000);
      }
    },
  };
};

const ended = (phase: string, now: number) => ({
  phase,
  conditions: [{type: 'Ready', status: phase === 'Running' ? 'True' : 'False', lastTransitionTime: wireTime(now)}],
  ...(phase === 'Running'
    ? {}
    : {
        containerStatuses: [
          {
            name: 'c',
            image: 'i',
            imageID: '',
            ready: false,
            restartCount: 0,
            state: {terminated: {exitCode: phase === 'Succeeded' ? 0 : 1, finishedAt: wireTime(now)}},
          },
        ],
      }),
});
