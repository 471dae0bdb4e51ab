import {setTimeout as wait} from 'node:timers/promises';
import {createNamespace} from '#bench/load/api-client.js';
import {collectionSeconds} from '#bench/load/collecting.js';
import {seconds} from '#bench/load/each.js';
import {issuedPerSecond} from '#bench/load/signing.js';
import {watchDelays} from '#bench/load/watch-delays.js';
import type {Figure, Measurement, Scene} from './scene.js';

const [requests, dependents, replicas] = [1500, 5000, 1000];

const watched = async ({server, namespace}: Scene, watchers: number, perSecond: number): Promise<Figure> => {
  const {p50Ms, p99Ms, complete} = await watchDelays(server, {
    namespace: `${namespace}-watched-${watchers}`,
    watchers,
    perSecond,
    seconds: 10,
    connections: Math.ceil(watchers / 90),
  });
  return {value: p99Ms, note: `median ${p50Ms.toFixed(1)} ms; ${complete} watchers got every event`};
};

/** A Deployment whose pods fit no node, until all of them exist. */
const made = async ({client, namespace}: Scene): Promise<Figure> => {
  const home = `${namespace}-replicas`;
  const path = `/apis/apps/v1/namespaces/${home}/deployments`;
  const labels = {app: 'bench'};
  await createNamespace(client, home);
  const value = await seconds(async () => {
    await client.call('POST', path, {
      body: {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: {name: 'bench'},
        spec: {
          replicas,
          selector: {matchLabels: labels},
          template: {metadata: {labels}, spec: {nodeSelector: {no: 'where'}, containers: [{name: 'main', image: 'bench'}]}},
        },
      },
    });
    while (((await client.json<{status?: {replicas?: number}}>('GET', `${path}/bench`)).status?.replicas ?? 0) < replicas) await wait(50);
  });
  return {value};
};

/** Events, and the work of controllers. */
export const controllerWork: readonly Measurement[] = [
  {key: 'watch-100', measure: scene => watched(scene, 100, 200)},
  {key: 'watch-1000', measure: scene => watched(scene, 1000, 50)},
  {
    key: 'csr',
    measure: async ({server, namespace}) => ({
      value: await issuedPerSecond(server, requests, namespace),
      note: `${requests} requests, created and approved by the client, 32 at once`,
    }),
  },
  {
    key: 'collect',
    measure: async ({server, namespace}) => ({
      value: await collectionSeconds(server, {namespace: `${namespace}-collected`, dependents}),
    }),
  },
  {key: 'replicas', measure: made},
];
