// What objects and logs may hold is shown for what it is, and what comes fast or stays open holds nothing up.

import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {chromiumPath, shownPage, type ShownPage} from './scene.js';

const executablePath = chromiumPath();
const inBrowser = executablePath ? test.serial : test.serial.skip;
const clock = new VirtualClock();
const namespace = 'default';
let plane: Plane;
let shown: ShownPage;
let folder: string;

const rules = {
  pods: [
    {
      match: {labels: 'app=hostile'},
      log: ['\u001b[1;31mred\u001b[0m and plain', 'a \u202egnp.exe', '<b>bold</b>', '10 %\r20 %\r\n', 'y'.repeat(100_000), 'the last'],
    },
    {match: {labels: 'app=fast'}, log: [{line: 'line $(COUNT)', every: '1ms', times: 7000}]},
  ],
};

const aPod = (name: string) =>
  plane.client().create(kinds.pods, {
    metadata: {name, namespace, labels: {app: name}},
    spec: {containers: [{name: 'main', image: 'a'}]},
  });

if (executablePath) {
  test.before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'plat-hostile-'));
    const simulationFile = join(folder, 'rules.json');
    writeFileSync(simulationFile, JSON.stringify(rules));
    plane = await startPlane({listen: false, clock, nodes: 1, simulationFile});
    await aPod('hostile');
    await aPod('fast');
    await clock.advance(2000);
    shown = await shownPage(plane, executablePath);
  });
  test.after.always(async () => {
    await shown?.browser.close();
    await plane?.stop();
    if (folder) rmSync(folder, {recursive: true});
  });
}

inBrowser('a log is shown without what colours it; what is not seen is written out, and a long line is cut', async t => {
  const {page, goTo, errors} = shown;
  await goTo('#/objects/core/pods/default/hostile?tab=logs');
  await page.locator('.output', {hasText: 'the last'}).waitFor();
  const lines = (await page.locator('.output').innerText()).split('\n');

  t.deepEqual(lines.slice(0, 4), ['red and plain', String.raw`a \u202egnp.exe`, '<b>bold</b>', '20 %']);
  t.regex(
    lines.find(line => line.startsWith('y'))!,
    /^y{16000} … and 84,000 more characters$/,
  );
  t.deepEqual(errors.splice(0), []);
});

inBrowser('of a log that grows fast the latest lines are kept, and its end stays in view', async t => {
  const {page, goTo} = shown;
  await goTo('#/objects/core/pods/default/fast?tab=logs');
  await page.locator('.output', {hasText: 'line 1\n'}).waitFor();
  for (let second = 0; second < 7; second++) await clock.advance(1000);
  await page.locator('.output', {hasText: 'line 7000'}).waitFor();

  const count = Number((await page.locator('.logs .count').innerText()).replace(/\D/g, ''));
  t.true(count > 4800 && count <= 5000, `${count} lines`);
  t.true(await page.locator('.output').evaluate(element => element.scrollHeight - element.scrollTop - element.clientHeight < 20));
  t.is(await page.getByRole('button', {name: 'To the end'}).count(), 0);
});

inBrowser('YAML and lists write out what is not seen, and an edit leaves it as it is', async t => {
  const {page, goTo} = shown;
  const text = 'safe \u202e} ;eruces\u2066 // \u007f\u0085';
  await plane.client().create(kinds.configMaps, {metadata: {name: 'bidi', namespace}, data: {text, lines: `one\n${text}`}});
  await plane.client().create(kinds.clusterRoles, {metadata: {name: 'evil\u202egnp,a=b'}});
  const escaped = String.raw`safe \u202e} ;eruces\u2066 // \u007f\u0085`;
  await goTo('#/objects/core/configmaps/default/bidi');
  await page.locator('.yaml', {hasText: `text: "${escaped}"`}).waitFor();
  await page.locator('.yaml', {hasText: String.raw`lines: "one\n${escaped}"`}).waitFor();
  await page.keyboard.press('e');
  await page.locator('.cm-content', {hasText: escaped}).waitFor();
  await page.getByRole('button', {name: 'Try it'}).click();
  await page.getByText('The server would change nothing.').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');

  await goTo('#/objects/rbac.authorization.k8s.io/clusterroles?filter=evil');
  const link = page.getByRole('link', {name: String.raw`evil\u202egnp,a=b`});
  await link.waitFor();
  const watched = page.waitForEvent('websocket', socket => socket.url().includes('fieldSelector'));
  await link.click();
  await page.getByRole('heading', {name: String.raw`evil\u202egnp,a=b`}).waitFor();
  t.regex(decodeURIComponent((await watched).url()), /fieldSelector=metadata.name=evil\u202egnp\\,a\\=b&/);
});

inBrowser('the Events of an object are those with its uid, and those of its kind and name without one', async t => {
  const {page, goTo} = shown;
  const pod = await plane.client().get(kinds.pods, {namespace, name: 'hostile'});
  const about = (reason: string, involvedObject: object) =>
    plane.client().request('POST', `/api/v1/namespaces/${namespace}/events`, {
      body: {metadata: {generateName: 'about-', namespace}, involvedObject, reason, message: 'said', type: 'Normal'},
    });
  const named = {kind: 'Pod', name: 'hostile', namespace};
  await about('WithUid', {...named, uid: pod!.metadata.uid});
  await about('WithoutUid', named);
  await about('OfAnother', {...named, uid: 'another'});
  await about('OfAnotherKind', {...named, kind: 'ConfigMap'});
  await goTo('#/objects/core/pods/default/hostile?tab=events');
  const events = page.getByRole('region', {name: 'Events'});
  await events.getByRole('cell', {name: 'WithoutUid'}).waitFor();
  const reasons = await events.locator('tbody td:nth-child(3)').allInnerTexts();
  t.deepEqual(
    ['Scheduled', 'WithUid', 'OfAnother', 'OfAnotherKind'].filter(reason => reasons.includes(reason)),
    ['Scheduled', 'WithUid'],
  );

  await goTo('#/objects/core/nodes/-/plat-node-0?tab=events');
  await events.getByRole('cell', {name: 'Starting'}).first().waitFor();
});

inBrowser('keys act on the dialog that is open, not on what is behind it', async t => {
  const {page, goTo} = shown;
  await goTo('#/pods');
  await page.getByRole('link', {name: 'hostile'}).waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('d');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Nothing else goes along.').waitFor();
  await page.keyboard.type('jdgo');

  t.is(await dialog.getAttribute('aria-label'), 'Delete pods default/fast');
  t.regex(page.url(), /#\/pods$/);
  await page.keyboard.press('Escape');
  await dialog.waitFor({state: 'detached'});
});

inBrowser('what moves through a list takes the focus from the link of another row', async t => {
  const {page, goTo} = shown;
  await goTo('#/pods');
  await page.getByRole('link', {name: 'fast'}).focus();
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.getByRole('link', {name: 'Logs'}).waitFor();
  t.regex(page.url(), /pods\/default\/hostile$/);
});

inBrowser('what is followed holds none of the six connections that a browser has to a server', async t => {
  const {page, goTo} = shown;
  const open = new Set<string>();
  page.on('request', request => open.add(request.url()));
  for (const over of ['requestfinished', 'requestfailed'] as const)
    page.on(over as 'requestfinished', request => open.delete(request.url()));
  await goTo('#/history');
  await page.getByRole('row', {name: /created create.*pods default\/hostile/}).waitFor();
  await plane.client().create(kinds.configMaps, {metadata: {name: 'comes-later', namespace}});
  await page.getByRole('row', {name: /created create.*configmaps default\/comes-later/}).waitFor();
  t.deepEqual([...open], []);
  await goTo('#/objects/core/pods/default/hostile?tab=logs');
  await page.locator('.output', {hasText: 'the last'}).waitFor();
  t.deepEqual([...open], []);
});
