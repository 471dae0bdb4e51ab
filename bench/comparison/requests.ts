import {rateOf, type Rate} from '#bench/load/api-client.js';
import {median} from '#bench/load/each.js';
import {configMap, configMapsIn, type Figure, type Measurement, type Scene} from './scene.js';

const width = 64;

const rated = ({perSecond, p50Ms, p99Ms}: Rate): Figure => ({
  value: perSecond,
  note: `median ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`,
});

const create = ({client, namespace}: Scene, name: string) =>
  client.call('POST', configMapsIn(namespace), {body: configMap(namespace, name)});

const pathOf = ({namespace}: Scene, index: number): string => `${configMapsIn(namespace)}/o-${index}`;

/** Creates what all other measurements read and change. */
export const creation: Measurement = {
  key: 'create',
  async measure(scene) {
    await rateOf(500, 16, index => create(scene, `warm-${index}`));
    return rated(await rateOf(scene.count, width, index => create(scene, `o-${index}`)));
  },
};

/** Requests for single objects. */
export const requests: readonly Measurement[] = [
  {key: 'create-one', measure: async scene => rated(await rateOf(300, 1, index => create(scene, `p-${index}`)))},
  {
    key: 'get',
    measure: async scene =>
      rated(await rateOf(scene.count * 2, width, index => scene.client.call('GET', pathOf(scene, index % scene.count)))),
  },
  {
    key: 'update',
    measure: async scene =>
      rated(
        await rateOf(scene.count / 2, width, index =>
          scene.client.call('PUT', pathOf(scene, index), {
            body: configMap(scene.namespace, `o-${index}`, {annotations: {again: String(index)}}),
          }),
        ),
      ),
  },
  {
    key: 'patch',
    measure: async scene =>
      rated(
        await rateOf(scene.count / 2, width, index =>
          scene.client.call('PATCH', pathOf(scene, index), {
            body: {data: {n: String(index)}},
            headers: {'content-type': 'application/merge-patch+json'},
          }),
        ),
      ),
  },
  {
    key: 'apply',
    measure: async scene =>
      rated(
        await rateOf(scene.count / 4, width, index =>
          scene.client.call('PATCH', `${configMapsIn(scene.namespace)}/a-${index}?fieldManager=load`, {
            body: configMap(scene.namespace, `a-${index}`),
            headers: {'content-type': 'application/apply-patch+yaml'},
          }),
        ),
      ),
  },
];

const table = {accept: 'application/json;as=Table;v=v1;g=meta.k8s.io'};

/** Returns the median time in ms of some reads, and the size of the last. */
const repeated = async (times: number, {client}: Scene, path: string, headers = {}): Promise<Figure> => {
  const took: number[] = [];
  let bytes = 0;
  for (let time = 0; time < times; time++) {
    const startedAt = performance.now();
    bytes = (await client.call('GET', path, {headers})).body.length;
    took.push(performance.now() - startedAt);
  }
  return {value: median(took), note: `${(bytes / 1e6).toFixed(1)} MB, median of ${times}`};
};

/** Reads a collection page by page. Returns the number of items. */
export const pagesOf = async ({client}: Pick<Scene, 'client'>, path: string, headers = {}): Promise<number> => {
  let count = 0;
  let next: string | undefined = '';
  while (next !== undefined) {
    const {body} = await client.call('GET', `${path}?limit=500${next && `&continue=${encodeURIComponent(next)}`}`, {headers});
    const page = JSON.parse(body.toString()) as {items?: unknown[]; rows?: unknown[]; metadata: {continue?: string}};
    count += (page.items ?? page.rows ?? []).length;
    next = page.metadata.continue || undefined;
  }
  return count;
};

/** Reads of the whole namespace. */
export const lists: readonly Measurement[] = [
  {key: 'list', measure: scene => repeated(7, scene, `${configMapsIn(scene.namespace)}?resourceVersion=0`)},
  {
    key: 'list-pages',
    async measure(scene) {
      const startedAt = performance.now();
      const count = await pagesOf(scene, configMapsIn(scene.namespace));
      return {value: performance.now() - startedAt, note: `${count.toLocaleString('en-US')} objects, parsed by the client`};
    },
  },
  {key: 'list-table', measure: scene => repeated(5, scene, configMapsIn(scene.namespace), table)},
  {
    key: 'list-selector',
    measure: async scene =>
      rated(await rateOf(20, 2, () => scene.client.call('GET', `${configMapsIn(scene.namespace)}?labelSelector=app%3Dnone`))),
  },
];
