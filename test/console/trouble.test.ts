// What the page shows of a server that fails, refuses WebSockets, or lets its user read and not watch.

import test from 'ava';
import type {Page} from 'playwright-core';
import {kinds} from '#src/api/kinds/index.js';
import {forbidden, serviceUnavailable, statusError} from '#src/api/status.js';
import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import {systemClock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {openConsole} from '#src/console/console.js';
import {realTime} from '#src/console/time.js';
import {upstreamInProcess} from '#src/console/upstream.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {chromiumPath, fillPlane, shownPage, type ShownPage} from './scene.js';

const executablePath = chromiumPath();
const inBrowser = executablePath ? test.serial : test.serial.skip;
const clock = new VirtualClock();
let plane: Plane;
let shown: ShownPage;
let page: Page;

/** Throws what the server refuses a request with. */
let refuse: (request: ApiRequest) => void = () => {};

/** Whether a WebSocket is closed as soon as it is open. */
let closes: (request: ApiRequest) => boolean = () => false;

/** The response to a watch that ends before its first event. */
const ended = (response: ApiResponse): ApiResponse => {
  const {body} = response;
  if (body?.kind !== 'watch') return response;
  const start: typeof body.start = sink => {
    sink.end();
    return {[Symbol.dispose]() {}};
  };
  return {...response, body: {...body, start}};
};

const isRead = ({url, upgradable}: ApiRequest, path: string): boolean => !upgradable && url.split('?')[0] === path;
const isWatch = ({url, upgradable}: ApiRequest): boolean => !upgradable && /[?&]watch=1/.test(url);

/** As a proxy that passes no WebSockets. */
const refuseSockets = ({upgradable}: ApiRequest): void => {
  if (upgradable) throw statusError('BadRequest', 'no WebSockets');
};

if (executablePath) {
  test.before(async () => {
    plane = await startPlane({listen: false, clock, nodes: 1});
    await fillPlane(plane, clock);
    const upstream = upstreamInProcess(plane.api.handler, {name: 'admin', groups: ['system:masters', 'system:authenticated']});
    const open = () =>
      openConsole({
        async upstream(request) {
          refuse(request);
          const response = await upstream(request);
          return closes(request) ? ended(response) : response;
        },
        server: 'the cluster',
        version: '1.2.3',
        time: realTime(systemClock),
        clock: systemClock,
        random: seededRandom(1),
        log: noLog,
        at: {address: '127.0.0.1', port: 0},
      });
    shown = await shownPage({console: open}, executablePath);
    ({page} = shown);
  });
  test.after.always(async () => {
    await shown?.browser.close();
    await shown?.served[Symbol.asyncDispose]();
    await plane?.stop();
  });
  test.afterEach.always('what a page shows that fails', t => shown?.explain(t));
  test.afterEach.always('what is refused', () => {
    refuse = () => {};
    closes = () => false;
  });
}

const web = '/apis/apps/v1/namespaces/default/deployments/web';
const webPage = '#/objects/apps/deployments/default/web';
const dialog = () => page.getByRole('dialog');

/** Shows a place as if nothing had been shown before. */
const opened = async (hash: string): Promise<void> => {
  await shown.goTo('#/objects');
  await page.getByRole('heading', {name: 'Objects'}).waitFor();
  await shown.goTo(hash);
};

const late = () => page.getByText('Changes are shown some seconds late: the WebSocket that would bring them at once is refused');

/** Another page, whose time the test moves on. */
const pageOnOwnTime = async (): Promise<Page> => {
  const own = await shown.browser.newPage();
  await own.clock.install();
  await own.goto(shown.served.link());
  await own.getByRole('navigation', {name: 'Views'}).waitFor();
  return own;
};

inBrowser('the first of two keys is forgotten when the page shows something else, and after a while', async t => {
  await opened('#/overview');
  await page.keyboard.press('g');
  await shown.goTo(webPage);
  await page.getByText('3/3 ready').waitFor();
  await page.keyboard.press('d');
  await dialog().waitFor();
  await page.keyboard.press('Escape');

  const other = await pageOnOwnTime();
  await other.keyboard.press('g');
  await other.clock.runFor(2000);
  await other.keyboard.press('t');
  await other.getByRole('button', {name: 'Light'}).waitFor();
  t.true(other.url().endsWith('#/overview'));
  await other.keyboard.press('g');
  await other.keyboard.press('Shift');
  await other.keyboard.press('j');
  await other.getByRole('heading', {name: 'Objects'}).waitFor();
  await other.close();
});

inBrowser('an object that cannot be read again stays, with the dialog about it, and says why', async t => {
  const gone = ({url}: ApiRequest) => {
    if (url.includes('watch=1')) throw statusError('Expired', 'too old');
  };
  refuse = gone;
  await opened(webPage);
  await page.getByText('3/3 ready').waitFor();
  await page.keyboard.press('d');
  await dialog().getByText('3 pods').waitFor();
  refuse = request => {
    gone(request);
    if (isRead(request, web)) throw serviceUnavailable('not now');
  };
  await page.locator('main .notice', {hasText: 'not now'}).waitFor();

  t.true(await dialog().isVisible());
  t.regex(await dialog().innerText(), /3 pods/);
  t.regex(await page.locator('.yaml').innerText(), /replicas: 3/);
  refuse = gone;
  await page.locator('main .notice', {hasText: 'not now'}).waitFor({state: 'detached'});
  t.true(await dialog().isVisible());
  await page.keyboard.press('Escape');
});

inBrowser('what goes along with an object is read again where that fails, and what cannot be read is named', async t => {
  const pods = '/api/v1/namespaces/default/pods';
  let failed = 0;
  refuse = request => {
    if (isRead(request, pods) && failed++ < 2) throw serviceUnavailable('not now');
    if (isRead(request, '/api/v1/namespaces/default/secrets')) throw forbidden({group: '', resource: 'secrets'}, '', 'not yours');
  };
  await opened(webPage);
  await page.getByText('3/3 ready').waitFor();
  await page.keyboard.press('d');
  await dialog().getByText('3 pods').waitFor();
  t.regex(await dialog().innerText(), /There may be more\. Not read whole: secrets \(forbidden\)\./);
  await page.keyboard.press('Escape');

  refuse = request => {
    if (isRead(request, pods)) throw serviceUnavailable('not now');
  };
  await opened(`${webPage}?tab=graph`);
  await page.getByText('Not read whole: pods (not now).').waitFor();
  await page.locator('.node', {hasText: 'ReplicaSet'}).waitFor();
  await page.keyboard.press('d');
  await dialog().getByText('1 replicasets').waitFor();
  t.regex(await dialog().innerText(), /Not read whole: pods \(not now\)/);
  await page.keyboard.press('Escape');
});

inBrowser('where WebSockets are refused, lists and objects are asked for, say so, and follow again once they are not', async t => {
  const configMaps = plane.client().resource(kinds.configMaps);
  refuse = refuseSockets;
  await opened('#/objects/core/configmaps');
  await late().waitFor();
  await configMaps.create({metadata: {name: 'late', namespace: 'default'}, data: {is: 'one'}});
  await page.getByRole('link', {name: 'late'}).click();
  await page.locator('.yaml', {hasText: 'is: one'}).waitFor();
  await late().waitFor();
  await configMaps.patch('late', 'merge', {data: {is: 'two'}}, {namespace: 'default'});
  await page.locator('.yaml', {hasText: 'is: two'}).waitFor();
  t.true(await late().isVisible());

  refuse = () => {};
  await late().waitFor({state: 'detached'});
  await configMaps.patch('late', 'merge', {data: {is: 'three'}}, {namespace: 'default'});
  await page.locator('.yaml', {hasText: 'is: three'}).waitFor();
  t.is(await page.locator('.notice').count(), 0);
});

inBrowser('what is closed again and again is said to be late, until it stays open, though nothing changes', async t => {
  let closed = 0;
  closes = ({url, upgradable}) => Boolean(upgradable) && url.startsWith('/api/v1/configmaps') && ++closed <= 2;
  const other = await pageOnOwnTime();
  await other.evaluate(`location.hash = '#/objects/core/configmaps'`);
  await other.getByRole('link', {name: 'web'}).waitFor();
  const isLate = () => other.getByText('Changes are shown some seconds late').isVisible();
  const untilLate = async (wanted: boolean): Promise<void> => {
    for (let second = 0; second < 60 && (await isLate()) !== wanted; second++) await other.clock.runFor(1000);
    t.is(await isLate(), wanted);
  };

  await untilLate(true);
  await untilLate(false);
  t.is(closed, 3);
  await other.close();
});

inBrowser('where WebSockets are refused, history and reconciles are asked for, and say so', async t => {
  const configMaps = plane.client().resource(kinds.configMaps);
  refuse = refuseSockets;
  await opened('#/history');
  await late().waitFor();
  await configMaps.create({metadata: {name: 'recorded', namespace: 'default'}});
  await page.getByRole('row', {name: /created create.*configmaps default\/recorded/}).waitFor();
  await opened('#/reconciles');
  await late().waitFor();

  refuse = request => {
    refuseSockets(request);
    if (request.url.startsWith('/recorder/v1/records')) throw serviceUnavailable('not now');
  };
  await page.getByText('What is shown does not follow the cluster: not now').waitFor();
  refuse = () => {};
  await page.locator('.notice', {hasText: /follow|late/}).waitFor({state: 'detached'});
  t.pass();
});

inBrowser('what its user may read and not watch is read anew, and the page says so', async t => {
  refuse = request => {
    refuseSockets(request);
    if (isWatch(request)) throw forbidden({group: '', resource: 'configmaps'}, '', 'you cannot watch');
  };
  for (const place of ['#/objects/core/configmaps', '#/objects/core/configmaps/default/web']) {
    await opened(place);
    await page.getByText(/This is read anew every 30 s, since it cannot be watched: .*you cannot watch/).waitFor();
    await page.locator('main', {hasText: 'web'}).waitFor();
  }
  t.is(await page.getByRole('alert').count(), 0);
});

inBrowser('an object with a backslash in its name has a page', async t => {
  const name = String.raw`team\admin`;
  await plane.client().create(kinds.clusterRoles, {metadata: {name}, rules: []});
  await opened('#/objects/rbac.authorization.k8s.io/clusterroles?filter=team');
  await page.getByRole('link', {name}).click();
  await page.locator('.yaml', {hasText: `name: ${JSON.stringify(name)}`}).waitFor();
  await page.keyboard.press('d');
  await dialog().getByText('Nothing else goes along.').waitFor();
  await dialog().getByRole('button', {name: 'Delete', exact: true}).click();
  await page.getByText('Deleted').first().waitFor();
  t.is(await plane.client().get(kinds.clusterRoles, {name}), undefined);
});

inBrowser('a page that the browser has stopped for a while follows again, whatever it has missed', async t => {
  const configMaps = plane.client().resource(kinds.configMaps);
  const annotations = {filler: 'x'.repeat(200_000)};
  await configMaps.create({metadata: {name: 'busy', namespace: 'default', annotations}});
  await opened('#/objects/core/configmaps');
  await page.getByRole('link', {name: 'busy'}).waitFor();
  const browser = await page.context().newCDPSession(page);
  await browser.send('Page.setWebLifecycleState', {state: 'frozen'});
  // Some 20 MB of events.
  for (let change = 0; change < 100; change++)
    await configMaps.patch('busy', 'merge', {metadata: {labels: {change: String(change)}}}, {namespace: 'default'});
  await configMaps.create({metadata: {name: 'missed', namespace: 'default'}});
  await browser.send('Page.setWebLifecycleState', {state: 'active'});

  await page.getByRole('link', {name: 'missed'}).waitFor();
  await configMaps.delete('missed', {namespace: 'default'});
  await page.getByRole('link', {name: 'missed'}).waitFor({state: 'detached'});
  // It may have been disconnected more than once on the way.
  await page.locator('.notice').waitFor({state: 'detached'});
  t.pass();
});
