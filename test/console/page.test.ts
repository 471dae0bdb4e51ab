// The page in a browser, against a plane on a virtual clock. The plane and the browser are those of all tests of this
// file, which run one after the other; each has a page of its own.

import test, {type ExecutionContext} from 'ava';
import type {Browser, Page} from 'playwright-core';
import {kinds} from '#src/api/kinds/index.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {ServedConsole} from '#src/console/served-console.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {aRequest} from './requests.js';
import {chromiumPath, fillPlane, shownPage, type ShownPage} from './scene.js';

const executablePath = chromiumPath();
const inBrowser = executablePath ? test.serial : test.serial.skip;
if (!executablePath) console.log('skipped: the page is tested in Chromium, which is not installed (Debian: apt-get install chromium)');

let plane: Plane;
let served: ServedConsole;
let browser: Browser;
let shown: ShownPage;
const clock = new VirtualClock();

if (executablePath) {
  test.before(async () => {
    plane = await startPlane({listen: false, clock, nodes: 2});
    await fillPlane(plane, clock);
    shown = await shownPage(plane, executablePath);
    ({page, served, browser} = shown);
  });
  test.after.always(async () => {
    await browser?.close();
    await plane?.stop();
  });
  test.afterEach.always('what a page shows that fails', t => shown?.explain(t));
}

/** The page that the tests go through. What the browser reports as an error fails the test. */
let page: Page;

const goTo = (hash: string): Promise<unknown> => shown.goTo(hash);

/** Shows a place. */
const opened = async (t: ExecutionContext, hash: string, act: () => Promise<void>): Promise<void> => {
  await goTo(hash);
  await act();
  t.deepEqual(shown.errors.splice(0), []);
};

inBrowser('a link opens the page, whose address then has no token; it does not open it again', async t => {
  await page.getByRole('navigation', {name: 'Views'}).waitFor();
  t.is(page.url(), `${served.url}/#/overview`);
  const link = served.link();
  for (const expected of [/Namespace/, /has no session.*run plat console for a new one/s]) {
    const context = await browser.newContext();
    const other = await context.newPage();
    await other.goto(link);
    await other
      .getByText(/Namespace|has no session/)
      .first()
      .waitFor();
    t.regex(await other.locator('body').innerText(), expected);
    await context.close();
  }
});

inBrowser('the overview counts nodes and pods, and shows controllers and warnings', async t => {
  await opened(t, '#/overview', async () => {
    await page.getByText('Running 3').waitFor();
    await page.getByRole('cell', {name: 'deployment', exact: true}).waitFor();
    const text = await page.locator('main').innerText();
    t.regex(text, /Nodes\s+2\s/);
    t.regex(text, /Pods\s+4\s/);
    t.regex(text, /FailedScheduling\s+pod\/waits/);
  });
});

inBrowser('keys of one letter act unless they are switched off, which the browser remembers', async t => {
  await opened(t, '#/overview', async () => {
    const isSwitchedOn = page.getByLabel('Letters and signs act');
    await page.keyboard.press('?');
    await isSwitchedOn.uncheck();
    await page.keyboard.press('Escape');
    await page.reload();
    await page.getByText('Running 3').waitFor();
    await page.keyboard.type('gt?');
    t.true(page.url().endsWith('#/overview'));
    t.is(await page.getByRole('dialog').count(), 0);
    await page.getByRole('button', {name: 'Keys'}).click();
    await isSwitchedOn.check();
    await page.keyboard.press('Escape');
    await page.keyboard.type('gt');
    await page.waitForURL(/#\/time$/);
  });
});

inBrowser('a list follows the cluster, is filtered by words and selectors, and opened by keys', async t => {
  await opened(t, '#/objects/core/pods', async () => {
    const rows = page.getByRole('table').getByRole('row');
    await page.getByRole('link', {name: 'waits'}).waitFor();
    t.is(await rows.count(), 5);
    await plane.client().create(kinds.pods, {
      metadata: {name: 'new', namespace: 'default'},
      spec: {containers: [{name: 'a', image: 'a'}], nodeSelector: {no: 'node'}},
    });
    await page.getByRole('link', {name: 'new', exact: true}).waitFor();
    await plane.client().delete(kinds.pods, {namespace: 'default', name: 'new'});
    await page.getByRole('link', {name: 'new', exact: true}).waitFor({state: 'detached'});

    await page.keyboard.press('/');
    await page.keyboard.type('label:app=web');
    await page.getByRole('link', {name: 'waits'}).waitFor({state: 'detached'});
    t.is(await page.locator('.count').innerText(), '3');
    await page.keyboard.press('Escape');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('link', {name: 'Logs'}).waitFor();
    t.regex(page.url(), /#\/objects\/core\/pods\/default\/web-/);
  });
});

inBrowser('an object is shown with who has written each field', async t => {
  await opened(t, '#/objects/apps/deployments/default/web', async () => {
    const line = page.locator('.line', {hasText: 'replicas: 3'}).first();
    await line.waitFor();
    t.regex(await line.locator('.owner').innerText(), /plat/);
    t.regex((await line.locator('.owner').getAttribute('title')) ?? '', /^plat \(Update\), 2026-01-01T/);
    t.regex(await page.locator('.bar').first().innerText(), /3\/3 ready/);
  });
});

inBrowser('an edit is tried, compared and written; what the server refuses is said', async t => {
  await opened(t, '#/objects/core/configmaps/default/web?tab=edit', async () => {
    const content = page.locator('.cm-content');
    await content.waitFor();
    const replace = async (from: string, to: string): Promise<void> => {
      const line = page.locator('.cm-line', {hasText: from});
      await line.click();
      await page.keyboard.press('End');
      for (let at = 0; at < from.length; at++) await page.keyboard.press('Backspace');
      await page.keyboard.type(to);
    };
    await replace('hello', '[1]');
    await page.getByRole('button', {name: 'Try it'}).click();
    t.regex(await page.getByRole('alert').innerText(), /cannot unmarshal|data|string/);
    await replace('[1]', 'goodbye');
    await page.getByRole('button', {name: 'Try it'}).click();
    await page.getByText('What the server would change:').waitFor();
    const stored = () => plane.client().get(kinds.configMaps, {namespace: 'default', name: 'web'});
    t.is((await stored())?.data?.['greeting'], 'hello');
    await page.getByRole('button', {name: 'Write'}).click();
    await page.getByText('web is written.').waitFor();
    t.is((await stored())?.data?.['greeting'], 'goodbye');
  });
});

inBrowser('before a deletion, what goes along is listed', async t => {
  await opened(t, '#/objects/apps/deployments/default/web', async () => {
    await page.getByText('3/3 ready').waitFor();
    await page.keyboard.press('d');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('3 pods').waitFor();
    t.regex(await dialog.innerText(), /1 replicasets\s+web-/);
    await page.keyboard.press('Escape');
    await dialog.waitFor({state: 'detached'});
  });
});

inBrowser('what objects say is shown as text, and an address that is none is said to be none', async t => {
  const html = '<img src=x onerror=alert(1)><b>bold</b>\u001b[31m';
  const client = plane.client();
  const metadata = {namespace: 'default', name: 'html', annotations: {html}};
  await client.create(kinds.configMaps, {metadata, data: {'index.html': html}});
  const regarding = {kind: 'ConfigMap', apiVersion: 'v1', namespace: 'default', name: 'html'};
  const said = {reason: html, note: html, action: 'Shown', type: 'Warning', reportingController: 'example.com/a', reportingInstance: 'a'};
  const eventTime = `${new Date(clock.now()).toISOString().slice(0, -1)}000Z`;
  await client.create(kinds.events, {metadata: {namespace: 'default', name: 'html'}, regarding, eventTime, ...said});
  const dialogs: string[] = [];
  page.on('dialog', dialog => void dialogs.push(dialog.message()));
  for (const tab of ['yaml', 'edit', 'history', 'graph'])
    await opened(t, `#/objects/core/configmaps/default/html?tab=${tab}`, async () => {
      const word = {history: /created/, graph: /ConfigMap/}[tab] ?? /<img src=x onerror=alert\(1\)>/;
      await page.locator('main', {hasText: word}).waitFor();
      t.is(await page.locator('main img, main .message b, main code b').count(), 0, tab);
    });
  await opened(t, '#/overview', () => page.locator('main', {hasText: /onerror/}).waitFor());
  t.deepEqual(dialogs, []);
  await opened(t, '#/nowhere/%E0%A4%A', () => page.getByText('There is no view “nowhere”.').waitFor());
});

inBrowser('a graph joins owners, what they own, and references', async t => {
  await opened(t, '#/objects/apps/deployments/default/web?tab=graph', async () => {
    await page.locator('.node', {hasText: 'ReplicaSet'}).waitFor();
    const edges = await page.locator('.graph-view ul li').allInnerTexts();
    t.is(edges.filter(text => /^web-\w+ owns web-/.test(text)).length, 3);
    t.true(edges.includes('web environment web'));
    t.regex(await page.locator('.node', {hasText: 'web-tls'}).innerText(), /does not exist/);
  });
});

inBrowser('logs of a pod are followed', async t => {
  const [pod] = (await plane.client().list(kinds.pods, {namespace: 'default', labelSelector: 'app=web'})).items;
  await opened(t, `#/objects/core/pods/default/${pod!.metadata.name}?tab=logs`, async () => {
    await page.locator('.output', {hasText: /\S/}).waitFor();
    t.pass();
  });
});

inBrowser('a command runs in a terminal: it reads what is typed, is interrupted, and leaves the keyboard free', async t => {
  const [pod] = (await plane.client().list(kinds.pods, {namespace: 'default', labelSelector: 'app=web'})).items;
  const opening = page.waitForEvent('websocket', socket => socket.url().includes('/exec?'));
  await opened(t, `#/objects/core/pods/default/${pod!.metadata.name}?tab=exec`, async () => {
    const shows = (text: string | RegExp) => page.locator('.xterm-rows', {hasText: text}).waitFor();
    await page.getByRole('button', {name: 'Run'}).click();
    await shows('/ #');
    await page.keyboard.type('echo one two');
    await page.keyboard.press('Enter');
    await shows(/echo one two\s*one two/);
    await page.keyboard.type('never');
    await page.keyboard.press('Control+c');
    await shows('^C');
    await page.keyboard.type('echo bold | cat');
    const text = await page.locator('.xterm-rows').innerText();
    t.false(text.includes('\u001b'), text);
    await page.keyboard.press('Control+c');

    const socket = await opening;
    const resized = socket.waitForEvent('framesent', ({payload}) => String(payload).startsWith('\u0004'));
    const columns = await page.locator('.xterm-rows').evaluate(element => element.clientWidth);
    await page.setViewportSize({width: 700, height: 800});
    const {Width: narrow} = JSON.parse(String((await resized).payload).slice(1)) as {Width: number};
    t.true(narrow > 40 && narrow < columns / 6, `${narrow} of ${columns}`);
    await page.setViewportSize({width: 1280, height: 800});

    const focused = () => page.evaluate('document.activeElement.className + document.activeElement.textContent');
    t.regex(String(await focused()), /xterm/);
    await page.keyboard.press('Tab');
    t.regex(String(await focused()), /xterm/);
    await page.keyboard.press('Shift+Tab');
    t.is(await focused(), 'Disconnect');
    await page.locator('.command-screen').click();
    await page.keyboard.type('exit 3');
    await page.keyboard.press('Enter');
    await page.getByText('The command has ended with 3.').waitFor();
  });
});

inBrowser('a port of a pod is forwarded to one of this machine, until it is ended', async t => {
  const [pod] = (await plane.client().list(kinds.pods, {namespace: 'default', labelSelector: 'app=web'})).items;
  await opened(t, `#/objects/core/pods/default/${pod!.metadata.name}?tab=ports`, async () => {
    await page.getByRole('button', {name: 'Forward', exact: true}).click();
    const link = page.getByRole('link', {name: /^http:\/\/localhost:/});
    const address = (await link.innerText()).replace('localhost', '127.0.0.1');
    const response = await fetch(address, {headers: {connection: 'close'}});
    t.is(response.status, 200);
    t.regex(await response.text(), /simulated/);
    await page.getByRole('button', {name: 'End'}).click();
    await link.waitFor({state: 'detached'});
    await t.throwsAsync(fetch(address));
  });
});

inBrowser('a certificate request says what is asked for, and is approved', async t => {
  await aRequest(plane, 'wanted');
  await opened(t, '#/certificates', async () => {
    await page.getByRole('link', {name: 'wanted'}).click();
    await page.getByText('It waits for somebody').waitFor();
    t.regex(
      await page.locator('.request').innerText(),
      /Subject\s+O=team, CN=somebody\s+Names\s+DNS web.example.com, IP 10.0.0.1\s+Key\s+ECDSA P-256/,
    );
    await page.getByRole('button', {name: 'Approve'}).click();
    await page.getByText('wanted is approved.').waitFor();
  });
  const request = await plane.client().get(kinds.certificateSigningRequests, {name: 'wanted'});
  t.like(request?.status?.conditions?.[0], {type: 'Approved', message: 'Approved in plat console'});
});

inBrowser('the history says who did what, and rewinds the page', async t => {
  await opened(t, '#/history', async () => {
    const created = page.getByRole('row', {name: /created create.*deployments default\/web/});
    await created.getByRole('button', {name: /deployments/}).click();
    await page.getByText('deployments default/web created by plat-admin').waitFor();
    await created.getByRole('button').first().click();
    await page.getByText('The page shows this moment').waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('p');
    await page.getByText('There are no pods.').waitFor();
    await page.keyboard.press('b');
    await page.getByRole('link', {name: 'waits'}).waitFor();
    t.pass();
  });
});

inBrowser('lists of a moment that is past take the selectors that the server takes', async t => {
  const shows = async (filter: string, names: readonly RegExp[]) => {
    await goTo(`#/objects/core/pods?filter=${encodeURIComponent(filter)}`);
    await page.locator('.count', {hasText: new RegExp(`^${names.length}$`)}).waitFor();
    const links = await page.getByRole('table').getByRole('link').allInnerTexts();
    names.forEach((name, index) => t.regex(links.sort()[index] ?? '', name, filter));
  };
  await opened(t, '#/history', async () => {
    const later = page.getByRole('row', {name: /created create.*certificatesigningrequests wanted/});
    await later.getByRole('button').first().click();
    await page.getByText('The page shows this moment').waitFor();
    await shows('label:app notin (web, other)', [/^waits$/]);
    await shows('label:app in (web),app', [/^web-/, /^web-/, /^web-/]);
    await shows('label:!app field:metadata.name!=other', [/^waits$/]);
    await goTo(`#/objects/core/pods?filter=${encodeURIComponent('label:app in')}`);
    await page.getByText(/unable to parse requirement/).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('b');
  });
});

inBrowser('a change leads back to the reconcile that made it, and to what caused that', async t => {
  await opened(t, '#/objects/apps/deployments/default/web?tab=history', async () => {
    const first = page.getByRole('row', {name: /updated update \/status/}).last();
    await first.getByRole('button', {name: 'updated'}).click();
    t.regex(
      await page.locator('.chain').innerText(),
      /^deployment-controller default\/web .*because deployments default\/web was created by plat-admin/s,
    );
  });
});

inBrowser('reconciles are in lanes by controller, joined by what caused them', async t => {
  await opened(t, '#/reconciles', async () => {
    await page.getByLabel('Last').selectOption('all');
    const lanes = page.locator('.lanes');
    await lanes.getByText('replicaset-controller', {exact: true}).waitFor();
    t.true((await lanes.locator('path.cause').count()) > 0);
    t.is(await page.getByText('triggers itself').count(), 0);
    await lanes.locator('rect', {hasText: 'replicaset-controller default/web-'}).first().dispatchEvent('click');
    t.regex(
      await page.locator('.reconciles .panel').innerText(),
      /because replicasets web-\w+ added by deployment-controller\s+create pods/,
    );
  });
});

inBrowser('virtual time is advanced and run from the page', async t => {
  const before = clock.now();
  await opened(t, '#/time', async () => {
    await page.getByRole('button', {name: '1 min'}).click();
    await page.getByText(new Date(before + 60_000).toISOString().slice(11, 23)).waitFor();
    t.is(clock.now(), before + 60_000);
    await page.getByRole('button', {name: 'To the next event'}).click();
    await page.getByRole('button', {name: '60 ×'}).click();
    await page.getByRole('button', {name: 'Pause'}).click();
    await page.getByText('stands still').waitFor();
    t.true(clock.now() > before + 60_000);
  });
});

inBrowser('a list that is longer than its first page is shown whole, in order, and follows the cluster', async t => {
  const client = plane.client();
  const names = Array.from({length: 400}, (_, at) => `many-${String(at).padStart(3, '0')}`);
  // What stands between rows stands in texts too.
  const annotations = {like: '},{"cells":[],"rows":['};
  await Promise.all(names.map(name => client.create(kinds.configMaps, {metadata: {name, namespace: 'default', annotations}})));
  await opened(t, '#/objects/core/configmaps?filter=many-', async () => {
    await page.locator('.count', {hasText: /^400 of/}).waitFor();
    await page.getByRole('link', {name: 'many-000'}).waitFor();
    await page.locator('.grid').focus();
    await page.keyboard.press('End');
    await page.getByRole('link', {name: 'many-399'}).waitFor();
    await client.delete(kinds.configMaps, {namespace: 'default', name: 'many-399'});
    await page.locator('.count', {hasText: /^399 of/}).waitFor();
  });
});

inBrowser('among a thousand pods, those of a deployment are found, and all that was recorded of it', async t => {
  const client = plane.client();
  const spec = {schedulingGates: [{name: 'example.com/never'}], containers: [{name: 'a', image: 'a'}]};
  const names = Array.from({length: 1000}, (_, at) => `a-${at}`);
  await Promise.all(names.map(name => client.create(kinds.pods, {metadata: {name, namespace: 'default'}, spec})));
  for (let revision = 1; revision <= 4000; revision++) {
    const object = {group: '', resource: 'configmaps', namespace: 'default', name: 'busy'};
    plane.recorder!.change({kind: 'change', type: 'updated', object, verb: 'update', revision, user: 'u'}, {jsonFrom: 0});
  }
  const web = '#/objects/apps/deployments/default/web';
  await opened(t, `${web}?tab=graph`, async () => {
    const owned = page.locator('.graph-view ul li', {hasText: /^web-\w+ owns web-/});
    await owned.nth(2).waitFor({state: 'attached'});
    t.is(await owned.count(), 3);
    await page.keyboard.press('d');
    await page.getByRole('dialog').getByText('3 pods').waitFor();
    await page.keyboard.press('Escape');
    await goTo(`${web}?tab=history`);
    await page.getByRole('row', {name: /created create/}).waitFor();
  });
});
