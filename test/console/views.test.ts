// What each view says, on a wide and on a narrow screen, in a plane with a controller that triggers itself.

import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {createManager, defineController} from '#src/operator/index.js';
import {ConfigMap} from '#src/operator/kinds.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {aRequest} from './requests.js';
import {chromiumPath, fillPlane, shownPage, type ShownPage} from './scene.js';

const executablePath = chromiumPath();
const inBrowser = executablePath ? test.serial : test.serial.skip;
const clock = new VirtualClock();
let plane: Plane;
let shown: ShownPage;

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

if (executablePath) {
  test.before(async () => {
    plane = await startPlane({listen: false, clock, nodes: 2});
    await fillPlane(plane, clock);
    await aRequest(plane, 'wanted');
    await plane.client().create(kinds.configMaps, {metadata: {name: 'loop', namespace: 'default'}});
    const admin = {name: 'admin', groups: ['system:masters']};
    // The owner of what is set by a scale has no time.
    for (const replicas of [2, 3]) {
      const [path, contentType] = ['/apis/apps/v1/namespaces/default/deployments/web/scale', 'application/merge-patch+json'];
      await plane.api.clientAs(admin).request('PATCH', path, {body: {spec: {replicas}}, contentType, query: {fieldManager: 'scaler'}});
      await clock.advance(10_000);
    }
    const stopping = new AbortController();
    const manager = createManager({controllers: [looping], client: plane.api.clientAs(admin), clock, recorder: plane.recorder!});
    const ended = manager.run(stopping.signal);
    await manager.ready;
    await clock.drain();
    stopping.abort();
    await ended;
    shown = await shownPage(plane, executablePath);
  });
  test.after.always(async () => {
    await shown?.browser.close();
    await plane?.stop();
  });
}

/** Whether two rectangles have more in common than an edge. */
const overlap = `(one, other) =>
  Math.min(one.right, other.right) - Math.max(one.left, other.left) > 3 &&
  Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 3`;

/** Returns the texts of a page that are drawn over each other. What is covered, or scrolled away, is not drawn. */
const overlaps = `(() => {
  const drawn = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.data.trim() || !node.parentElement.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      const at = document.elementFromPoint((rect.left + rect.right) / 2, (rect.top + rect.bottom) / 2);
      if (at && (at === node.parentElement || at.contains(node))) drawn.push({node, rect});
    }
  }
  const overlap = ${overlap};
  return drawn.flatMap(({node, rect}, index) => drawn.slice(index + 1)
    .filter(each => each.node !== node && overlap(rect, each.rect))
    .map(each => node.data.trim() + ' | ' + each.node.data.trim()));
})()`;

/** What has to be there to read. */
const views: readonly (readonly [hash: string, words: readonly RegExp[]])[] = [
  ['#/overview', [/Nodes\s*2/, /Pods\s*4/, /Running 3/, /Pending 1/, /FailedScheduling\s*pod\/waits/, /deployment/]],
  ['#/objects', [/pods/, /deployments/, /configmaps/]],
  ['#/pods', [/Name/, /Ready/, /Status/, /waits/, /Pending/, /Running/]],
  ['#/objects/apps/deployments/default/web', [/3\/3 ready/, /scaler \/scale/, /replicas: 3/, /Graph/, /Edit/, /History/]],
  ['#/objects/apps/deployments/default/web?tab=graph', [/ReplicaSet/, /web-tls/, /does not exist/]],
  ['#/objects/apps/deployments/default/web?tab=history', [/created/, /updated/, /plat-admin/]],
  ['#/certificates', [/wanted/, /Pending/]],
  ['#/history', [/created/, /deployments/, /default\/web/]],
  ['#/reconciles', [/Last/, /looping/]],
  ['#/time', [/2026-01-01/, /Advance|1 min/]],
];

for (const width of [1280, 390])
  inBrowser(`on ${width} pixels every view says what it is for, without text over text and without scrolling aside`, async t => {
    const {page, goTo, errors} = shown;
    await page.setViewportSize({width, height: 800});
    for (const [hash, words] of views) {
      await goTo(hash);
      for (const word of words) await page.locator('main').filter({hasText: word}).waitFor();
      t.is(await page.evaluate('document.documentElement.scrollWidth'), width, hash);
      t.true((await page.locator('main').evaluate(element => element.scrollWidth - element.clientWidth)) <= 0, hash);
      t.deepEqual(await page.evaluate(overlaps), [], hash);
    }
    t.deepEqual(errors.splice(0), []);
  });

inBrowser('a controller that triggers itself is named above its lane, and its bars are marked', async t => {
  const {page, goTo} = shown;
  await page.setViewportSize({width: 1280, height: 800});
  await goTo('#/reconciles');
  await page.getByLabel('Last').selectOption('all');
  const alert = page.getByRole('alert');
  await alert.waitFor();

  t.regex(
    await alert.innerText(),
    /^↻ looping triggers itself: 1[0-9] reconciles of default\/loop in a row were caused by the write of the one before\.$/,
  );
  t.true((await page.locator('.lanes .looping').count()) >= 10);
});

inBrowser('the lists of a moment that is past have the columns of the server', async t => {
  const {page, goTo} = shown;
  const headers = () => page.getByRole('table').getByRole('columnheader').allInnerTexts();
  await goTo('#/objects/apps/deployments');
  await page.getByRole('link', {name: 'web'}).waitFor();
  const now = await headers();
  await goTo('#/history');
  await page
    .getByRole('row', {name: /created create.*certificatesigningrequests wanted/})
    .getByRole('button')
    .first()
    .click();
  await page.getByText('The page shows this moment').waitFor();
  await goTo('#/objects/apps/deployments');
  await page.getByRole('link', {name: 'web'}).waitFor();

  t.deepEqual(await headers(), now);
  t.regex((await page.getByRole('row', {name: /web/}).allInnerTexts()).join(), /3\/3\s+3\s+3/);
  await page.keyboard.press('b');
});
