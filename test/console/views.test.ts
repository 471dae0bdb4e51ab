// What each view says, on a wide and on a narrow screen, in a plane with a controller that triggers itself.

import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {inflateSync} from 'node:zlib';
import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {root} from '#test/sources.js';
import {changeDeployment, pictures, pictureWidth, runLoop, takePictures} from './pictures.js';
import {aRequest} from './requests.js';
import {chromiumPath, fillPlane, shownPage, type ShownPage} from './scene.js';

const executablePath = chromiumPath();
const inBrowser = executablePath ? test.serial : test.serial.skip;
const clock = new VirtualClock();
let plane: Plane;
let shown: ShownPage;

if (executablePath) {
  test.before(async () => {
    plane = await startPlane({listen: false, clock, nodes: 3});
    await fillPlane(plane, clock);
    await aRequest(plane, 'wanted');
    await changeDeployment(plane, clock);
    await runLoop(plane, clock);
    shown = await shownPage(plane, executablePath);
  });
  test.after.always(async () => {
    await shown?.browser.close();
    await plane?.stop();
  });
  test.afterEach.always('what a page shows that fails', t => shown?.explain(t));
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

/**
 * Returns what scrolls and takes no key, what is chosen from without a name, and lists of links too low to be hit (WCAG
 * 2.2).
 */
const hardToReach = `[
  ...[...document.querySelectorAll('.scrolling')].filter(each => each.tabIndex < 0 || !each.ariaLabel),
  ...[...document.querySelectorAll('select')].filter(each => !each.ariaLabel && !each.labels.length),
  ...[...document.querySelectorAll('.kinds li a, .views a')].filter(each => each.getBoundingClientRect().height < 24),
].map(each => each.outerHTML.slice(0, 80))`;

/** What has to be there to read. */
const views: readonly (readonly [hash: string, words: readonly RegExp[]])[] = [
  ['#/overview', [/Nodes\s*3/, /Pods\s*5/, /Running 4/, /Pending 1/, /FailedScheduling\s*pod\/waits/, /deployment/]],
  ['#/objects', [/pods/, /deployments/, /configmaps/]],
  ['#/pods', [/Name/, /Ready/, /Status/, /waits/, /Pending/, /Running/]],
  ['#/objects/apps/deployments/default/web', [/4\/4 ready/, /kubectl-scale \/scale/, /replicas: 4/, /Graph/, /Edit/, /History/]],
  ['#/objects/apps/deployments/default/web?tab=graph', [/ReplicaSet/, /web-tls/, /does not exist/]],
  ['#/objects/apps/deployments/default/web?tab=history', [/created/, /updated/, /plat-admin/]],
  ['#/certificates', [/wanted/, /Pending/]],
  ['#/history', [/created/, /deployments/, /default\/web/]],
  ['#/reconciles', [/Last/, /looping/]],
  ['#/time', [/2026-01-01/, /Advance|1 min/]],
];

/**
 * What a picture shows: its size, and the colour of its first dot, before which there is nothing that it is stored
 * against.
 */
const pictureIn = (png: Buffer) => {
  const parts: Buffer[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at))
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  const [, red = 0, green = 0, blue = 0] = inflateSync(Buffer.concat(parts));
  return {width: png.readUInt32BE(16), height: png.readUInt32BE(20), brightness: (red + green + blue) / 3};
};

inBrowser('the pictures of the docs are small, light or dark, and show what their words say', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-pictures-'));
  t.teardown(() => rmSync(folder, {recursive: true}));
  const texts = await takePictures(plane, clock, shown, {folder, samples: 3});

  for (const {name, height, scheme, words} of pictures) {
    for (const word of words) t.regex(texts.get(name)!, word, name);
    const png = readFileSync(join(folder, `${name}.png`));
    const {brightness, ...size} = pictureIn(png);
    t.deepEqual(size, {width: pictureWidth, height}, name);
    t.true(scheme === 'light' ? brightness > 200 : brightness < 60, `${name}: ${brightness}`);
    t.true(png.length < 150_000, `${name}: ${png.length} bytes`);
    const kept = pictureIn(readFileSync(join(root, `docs/pictures/${name}.png`)));
    t.deepEqual({width: kept.width, height: kept.height}, size, `${name}: run make docs`);
  }
});

for (const width of [1280, 390])
  inBrowser(
    `on ${width} pixels the navigation is in view, and every view says what it is for, without text over text and without scrolling aside`,
    async t => {
      const {page, goTo, errors} = shown;
      await page.setViewportSize({width, height: 800});
      for (const link of await page.getByRole('navigation', {name: 'Views'}).getByRole('link').all()) {
        const {x, y, width: across, height} = (await link.boundingBox())!;
        t.true(x >= 0 && x + across <= width && y + height <= 800 && height >= 24, await link.innerText());
      }
      for (const [hash, words] of views) {
        await goTo(hash);
        for (const word of words) await page.locator('main').filter({hasText: word}).waitFor();
        t.is(await page.evaluate('document.documentElement.scrollWidth'), width, hash);
        t.true((await page.locator('main').evaluate(element => element.scrollWidth - element.clientWidth)) <= 0, hash);
        t.deepEqual(await page.evaluate(overlaps), [], hash);
        t.deepEqual(await page.evaluate(hardToReach), [], hash);
      }
      t.deepEqual(errors.splice(0), []);
    },
  );

inBrowser('a controller that triggers itself is named above its lane, and its bars are marked and gone through by keys', async t => {
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
  await page.getByRole('group', {name: 'Reconciles over time'}).focus();
  await page.keyboard.press('End');
  await page.locator('.panel', {hasText: /looping default\/loop.*because/}).waitFor();
  await page.keyboard.press('ArrowLeft');
  t.regex(await page.locator('.panel').innerText(), /update configmaps default\/loop/);
  await page.keyboard.press('Escape');
  t.is(await page.locator('.panel').count(), 0);
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
