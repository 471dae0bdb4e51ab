// The pictures of the README and of docs/console.md: taken and read by a test, and written to docs/pictures by `make
// docs`. The plane is on a virtual clock, so that they show the same each time, but for what is measured.

import {join} from 'node:path';
import {kinds} from '#src/api/kinds/index.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import {createManager, defineController} from '#src/operator/index.js';
import {ConfigMap} from '#src/operator/kinds.js';
import type {Plane} from '#src/plane/plane.js';
import type {Page} from 'playwright-core';
import type {ShownPage} from './scene.js';

export interface Picture {
  readonly name: string;
  readonly hash: string;
  readonly scheme: 'light' | 'dark';
  readonly height: number;
  /** What can be read on it. */
  readonly words: readonly RegExp[];
  /** What is done before. */
  act?(page: Page): Promise<unknown>;
}

export const pictureWidth = 1160;
const web = '#/objects/apps/deployments/default/web';

export const pictures: readonly Picture[] = [
  {
    name: 'overview',
    hash: '#/overview',
    scheme: 'light',
    height: 720,
    words: [/Nodes\s*\d/, /Ready \d/, /Pods\s*5/, /Running 4/, /Pending 1/, /reads\s*writes\s*refused/, /Controllers[^]*deployment/],
  },
  {
    name: 'owners',
    hash: web,
    scheme: 'light',
    height: 640,
    words: [/4\/4 ready/, /kubectl-scale \/scale[^]*replicas: 4/, /image: "?web:2/],
  },
  {
    name: 'graph',
    hash: `${web}?tab=graph`,
    scheme: 'dark',
    height: 440,
    words: [/Deployment\s*web\s*. 4\/4 ready/, /ReplicaSet\s*web-/, /Secret\s*web-tls\s*. does not exist/, /environment/],
  },
  {
    name: 'history',
    hash: '#/history',
    scheme: 'dark',
    height: 560,
    // The first pod of the new image.
    act: page =>
      page
        .getByRole('row', {name: /created create.*pods default\/web-/})
        .nth(3)
        .getByRole('button', {name: /pods/})
        .click(),
    words: [/Reconciled because/, /replicaset-controller[^]*because replicasets default\/web-/, /deployments default\/web was/],
  },
  {
    name: 'reconciles',
    hash: '#/reconciles',
    scheme: 'light',
    height: 560,
    act: page => page.getByLabel('Last').selectOption('all'),
    words: [/looping triggers itself: 1\d reconciles/, /deployment-controller/, /replicaset-controller/],
  },
];

const patchType = {json: 'application/json-patch+json', merge: 'application/merge-patch+json'} as const;

/** Changes the deployment as people and programs do, over minutes. */
export const changeDeployment = async (plane: Plane, clock: VirtualClock): Promise<void> => {
  const path = '/apis/apps/v1/namespaces/default/deployments/web';
  const patch = (name: string, at: string, contentType: string, body: object, fieldManager: string) =>
    plane.api.clientAs({name, groups: ['system:masters']}).request('PATCH', at, {body, contentType, query: {fieldManager}});
  await patch('ada', `${path}/scale`, patchType.merge, {spec: {replicas: 4}}, 'kubectl-scale');
  await clock.advance(60_000);
  const image = {op: 'replace', path: '/spec/template/spec/containers/0/image', value: 'web:2'};
  await patch('ci', path, patchType.json, [image], 'pipeline');
  await clock.advance(90_000);
};

/** Counts up in the object that it reconciles, and so causes its next reconcile. */
const looping = defineController({
  name: 'looping',
  for: ConfigMap,
  when: ({object}) => object.metadata?.name === 'loop',
  async reconcile({key, caches, client}) {
    const found = caches.get(ConfigMap, key);
    const count = Number(found?.data?.['count'] ?? 0);
    if (count < 12) await client.update(ConfigMap, {...found!, data: {count: String(count + 1)}});
  },
});

/** Runs a controller that triggers itself a dozen times. */
export const runLoop = async (plane: Plane, clock: VirtualClock): Promise<void> => {
  await plane.client().create(kinds.configMaps, {metadata: {name: 'loop', namespace: 'default'}});
  const stopping = new AbortController();
  const client = plane.api.clientAs({name: 'admin', groups: ['system:masters']});
  const manager = createManager({controllers: [looping], client, clock, recorder: plane.recorder!});
  const ended = manager.run(stopping.signal);
  await manager.ready;
  await clock.drain();
  stopping.abort();
  await ended;
};

const sampleMs = 2000;

/** Reads and writes as many people and programs would, in the two seconds between samples. */
const use = async (plane: Plane, at: number): Promise<void> => {
  const configMaps = plane.client().resource(kinds.configMaps);
  const reads = 4 + ((at * 7) % 5) + (at % 11 === 3 ? 8 : 0);
  for (let read = 0; read < reads; read++) await configMaps.get('web', {namespace: 'default'});
  for (let write = 0; write < 1 + ((at * 5) % 3); write++)
    await configMaps.patch('web', 'merge', {data: {visits: String(at * 3 + write)}}, {namespace: 'default'});
};

/**
 * Waits for the answer to what the page asks the metrics for while it acts. What it asked for before may still come.
 */
const sampled = async (page: Page, act: () => Promise<unknown>): Promise<void> => {
  const asking = page.waitForRequest(request => request.url().endsWith('/metrics'));
  await act();
  const response = await (await asking).response();
  await response!.finished();
};

/** Fills the plot of the overview. */
const passTime = async (page: Page, plane: Plane, samples: number): Promise<void> => {
  for (let at = 0; at < samples; at++) {
    await use(plane, at);
    await sampled(page, () => page.clock.runFor(sampleMs));
  }
  await page.clock.runFor(sampleMs / 10);
};

interface PictureOptions {
  readonly folder: string;
  /** How often the overview reads the metrics before: 31 times are a minute. */
  readonly samples: number;
}

/** Takes the pictures, in a page of their own, and writes them to a folder. Returns what can be read on each. */
export const takePictures = async (
  plane: Plane,
  clock: VirtualClock,
  {browser, served}: Pick<ShownPage, 'browser' | 'served'>,
  {folder, samples}: PictureOptions,
): Promise<ReadonlyMap<string, string>> => {
  const page = await browser.newPage({viewport: {width: pictureWidth, height: 720}});
  page.setDefaultTimeout(10_000);
  await page.clock.install({time: clock.now()});
  await sampled(page, () => page.goto(served.link()));
  await page.getByRole('navigation', {name: 'Views'}).waitFor();
  await sampled(page, () => page.clock.pauseAt(clock.now() + pictures.length * 60_000));
  await passTime(page, plane, samples);
  const texts = new Map<string, string>();
  for (const {name, hash, scheme, height, words, act} of pictures) {
    await page.setViewportSize({width: pictureWidth, height});
    await page.emulateMedia({colorScheme: scheme});
    await page.evaluate(`location.hash = '${hash}'`);
    await act?.(page);
    const main = page.locator('main');
    for (const word of words) await main.filter({hasText: word}).waitFor();
    await page.screenshot({path: join(folder, `${name}.png`)});
    if (name === 'overview') await page.clock.resume();
    texts.set(name, await main.innerText());
  }
  await page.close();
  return texts;
};
