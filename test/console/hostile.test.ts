// What objects and logs may hold is shown for what it is, and what comes fast or stays open holds nothing up.

import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {contrast} from './colours.js';
import {aRequest} from './requests.js';
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
    spec: {
      containers: [{name: 'a-container-with-a-name-that-is-as-long-as-such-names-may-be', image: 'a', ports: [{containerPort: 8080}]}],
    },
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
  test.afterEach.always('what a page shows that fails', t => shown?.explain(t));
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
  const stayOpen = () => [...open].filter(url => /watch=|follow=/.test(url));
  page.on('request', request => open.add(request.url()));
  for (const over of ['requestfinished', 'requestfailed'] as const)
    page.on(over as 'requestfinished', request => open.delete(request.url()));
  await goTo('#/history');
  await page.getByRole('row', {name: /created create.*pods default\/hostile/}).waitFor();
  await plane.client().create(kinds.configMaps, {metadata: {name: 'comes-later', namespace}});
  await page.getByRole('row', {name: /created create.*configmaps default\/comes-later/}).waitFor();
  t.deepEqual(stayOpen(), []);
  await goTo('#/objects/core/pods/default/hostile?tab=logs');
  await page.locator('.output', {hasText: 'the last'}).waitFor();
  t.deepEqual(stayOpen(), []);
});

inBrowser('what is typed after the key that opens a dialog is for the dialog', async t => {
  const {page, goTo} = shown;
  await goTo('#/pods');
  await page.getByRole('link', {name: 'hostile'}).waitFor();
  await page.keyboard.press('j');
  for (let round = 0; round < 5; round++) {
    await page.keyboard.press('?');
    await page.keyboard.press('Escape');
    await page.keyboard.type(':deploy');
    t.is(await page.getByRole('combobox', {name: 'Kind'}).inputValue({timeout: 2000}), 'deploy');
    await page.keyboard.press('Escape');
  }
  t.is(await page.getByRole('dialog').count(), 0);
});

/** Returns what is beside the screen, and controls that are drawn over each other. */
const cutOrCovered = `(() => {
  const controls = [...document.querySelectorAll('main button, main input, main select, main a')]
    .filter(each => each.checkVisibility())
    .flatMap(each => [...each.getClientRects()].map(rect => ({text: each.outerHTML.slice(0, 60), rect})));
  const covers = (one, other) =>
    Math.min(one.right, other.right) - Math.max(one.left, other.left) > 3 &&
    Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 3;
  return [
    ...controls.filter(({rect}) => rect.right > innerWidth + 1).map(({text}) => 'cut: ' + text),
    ...controls.flatMap(({text, rect}, at) => controls.slice(at + 1).filter(each => covers(rect, each.rect)).map(each => text + ' | ' + each.text)),
    ...[...document.querySelectorAll('main, main :is(p, td, dd)')].filter(each => each.scrollWidth > each.clientWidth + 1).map(each => 'wide: ' + each.outerHTML.slice(0, 60)),
  ];
})()`;

inBrowser('on a phone, long names and texts are broken, and no control covers another', async t => {
  const {page, goTo} = shown;
  await aRequest(plane, 'denied');
  const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests/denied';
  const request = await plane.client().get(kinds.certificateSigningRequests, {name: 'denied'});
  const conditions = [{type: 'Denied', status: 'True', reason: 'No', message: 'x'.repeat(100)}];
  await plane.client().request('PUT', `${path}/approval`, {body: {...request, status: {conditions}}});
  await page.setViewportSize({width: 390, height: 800});
  t.teardown(() => page.setViewportSize({width: 1280, height: 800}));
  const pod = '#/objects/core/pods/default/hostile?tab=';
  const button = (name: string) => page.getByRole('button', {name, exact: true});
  for (const [hash, act] of [
    ['#/objects/certificates.k8s.io/certificatesigningrequests/-/denied', () => page.locator('.verdict', {hasText: 'Denied'}).waitFor()],
    [`${pod}logs`, () => page.locator('.output', {hasText: 'the last'}).waitFor()],
    [
      `${pod}exec`,
      () =>
        button('Run')
          .click()
          .then(() => button('Disconnect').waitFor()),
    ],
    [
      `${pod}ports`,
      () =>
        button('Forward')
          .click()
          .then(() => button('End').waitFor()),
    ],
    [`${pod}events`, () => page.getByRole('cell', {name: 'WithoutUid'}).waitFor()],
  ] as const) {
    await goTo(hash);
    await act();
    t.deepEqual(await page.evaluate(cutOrCovered), [], hash);
  }
  await goTo(`${pod}ports`);
  await button('End').click();
  await button('Forward').waitFor();
});

inBrowser('by keys, Escape leaves a field and then the view, and the focus stays near what was done', async t => {
  const {page, goTo} = shown;
  const focused = () => page.evaluate('document.activeElement.textContent');
  const pod = '#/objects/core/pods/default/hostile';
  await goTo(`${pod}?tab=logs`);
  await page.locator('.output', {hasText: 'the last'}).waitFor();
  await page.keyboard.type('/bold');
  await page.locator('.logs .count', {hasText: '1 lines'}).waitFor();
  await page.keyboard.press('Escape');
  t.regex(page.url(), /tab=logs$/);
  await page.keyboard.press('Escape');
  await page.waitForURL(/pods\/default\/hostile$/);

  await goTo(`${pod}?tab=ports`);
  await page.getByRole('button', {name: 'Forward', exact: true}).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('button', {name: 'End'}).waitFor();
  t.is(await focused(), 'End');
  await page.keyboard.press('Enter');
  await page.getByRole('button', {name: 'Forward', exact: true}).waitFor();
  t.is(await focused(), 'Forward');

  await goTo(`${pod}?tab=edit`);
  await page.locator('.cm-content').waitFor();
  const focusedWithVerdict = page.evaluate(`new Promise(focused => new MutationObserver((_, observer) => {
    if (!document.body.textContent.includes('The server would change nothing.')) return;
    observer.disconnect();
    focused(document.activeElement.textContent);
  }).observe(document.body, {subtree: true, childList: true}))`);
  await page.keyboard.press('Control+s');
  t.is(await focusedWithVerdict, 'The server would change nothing.');
  await page.keyboard.press('Tab');
  t.is(await focused(), 'Back to the text');
  await page.keyboard.press('Escape');
  await page.locator('.cm-content').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.waitForURL(/pods\/default\/hostile$/);
});

inBrowser('of many pods, those that the graph leaves out are not shown as if nothing owned them', async t => {
  const {page, goTo} = shown;
  const labels = {app: 'many'};
  const template = {metadata: {labels}, spec: {schedulingGates: [{name: 'example.com/never'}], containers: [{name: 'a', image: 'a'}]}};
  await plane
    .client()
    .create(kinds.replicaSets, {metadata: {name: 'many', namespace}, spec: {replicas: 33, selector: {matchLabels: labels}, template}});
  await clock.advance(5000);
  await goTo('#/objects/apps/replicasets/default/many?tab=graph');
  await page.getByText('3 more are not shown.').waitFor();
  const edges = await page.locator('.graph-view ul li').allInnerTexts();
  t.is(edges.filter(text => text.startsWith('many owns')).length, 30);
  t.deepEqual(
    edges.filter(text => text.includes('selects')),
    [],
  );
});

inBrowser('a difference is shown whole by keys, and its buttons can be read under the pointer', async t => {
  const {page, goTo} = shown;
  const text = Array.from({length: 40}, (_, at) => `line ${at}`).join('\n');
  await plane.client().create(kinds.configMaps, {metadata: {name: 'long', namespace}, data: {again: 'before', text}});
  await goTo('#/objects/core/configmaps/default/long?tab=edit');
  await page.locator('.cm-line', {hasText: 'again: before'}).click();
  await page.keyboard.press('End');
  await page.keyboard.type('hand');
  await page.keyboard.press('Control+s');
  await page.getByText('What the server would change:').waitFor();
  t.is(await page.locator('.cm-line', {hasText: 'line 20'}).count(), 0);
  await page.getByLabel('All lines').focus();
  await page.keyboard.press('Space');
  await page.locator('.cm-line', {hasText: 'line 20'}).first().waitFor({state: 'attached'});

  const write = page.getByRole('button', {name: 'Write'});
  await write.hover();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({colorScheme});
    const [ground, letters] = (await page.evaluate(`(() => {
      const element = document.querySelector('button.primary');
      for (const each of element.getAnimations()) each.finish();
      const canvas = document.createElement('canvas').getContext('2d');
      const {backgroundColor, color} = getComputedStyle(element);
      return [backgroundColor, color].map(each => {
        canvas.fillStyle = each;
        canvas.fillRect(0, 0, 1, 1);
        return '#' + [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map(part => part.toString(16).padStart(2, '0')).join('');
      });
    })()`)) as [string, string];
    t.true(contrast(ground, letters) >= 4.5, `${letters} on ${ground}`);
  }
  await page.emulateMedia({colorScheme: 'light'});
  for (let times = 0; times < 2; times++) await page.keyboard.press('Escape');
});

inBrowser('a long list that changes all the time is drawn some times a second, in its order', async t => {
  const {page, goTo} = shown;
  const client = plane.client();
  const data = (size: number) => Object.fromEntries(Array.from({length: size}, (_, at) => [`key-${at}`, '']));
  const names = Array.from({length: 2000}, (_, at) => `changes-${String(at).padStart(4, '0')}`);
  await Promise.all(names.map((name, at) => client.create(kinds.configMaps, {metadata: {name, namespace}, data: data(at % 3)})));
  await goTo('#/objects/core/configmaps?filter=changes-&sort=Data:down');
  await page.locator('.count', {hasText: /^2,000 of/}).waitFor();
  const first = page.getByRole('row').nth(1);
  await page.evaluate(`(() => {
    globalThis.drawn = {times: 0, since: performance.now()};
    new MutationObserver(() => drawn.times++).observe(document.querySelector('.grid'), {subtree: true, characterData: true, childList: true});
  })()`);
  for (let change = 0; change < 150; change++)
    await client.resource(kinds.configMaps).patch(names[change % 2]!, 'merge', {data: {[`more-${change}`]: ''}}, {namespace});
  await first.filter({hasText: /changes-0001\s*default\s*76/}).waitFor();
  const [times, ms] = (await page.evaluate('[drawn.times, performance.now() - drawn.since]')) as [number, number];

  // Rows are drawn after 50 ms at most; ages each second.
  t.true(times <= ms / 50 + ms / 1000 + 3, `${times} in ${ms} ms`);
  t.regex(await page.getByRole('row').nth(2).innerText(), /changes-0000\s*default\s*75/);
  t.regex(await page.getByRole('row').nth(3).innerText(), /changes-\d+\s*default\s*2/);
  await client.delete(kinds.configMaps, {namespace, name: 'changes-0001'});
  await first.filter({hasText: 'changes-0000'}).waitFor();
});
