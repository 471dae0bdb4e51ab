// What the pages of the tests and of the pictures show.

import {existsSync} from 'node:fs';
import {kinds} from '#src/api/kinds/index.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import type {ServedConsole} from '#src/console/served-console.js';
import type {Plane} from '#src/plane/plane.js';
import type {ExecutionContext} from 'ava';
import type {Browser, Page, Request} from 'playwright-core';

/**
 * Returns the path of a Chromium of this machine; undefined without one. The one without windows takes a quarter less
 * processor time.
 */
export const chromiumPath = (): string | undefined =>
  ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(file =>
    existsSync(file),
  );

export const chromiumFlags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const labels = {app: 'web'};
const namespace = 'default';

/** Creates a deployment that runs, with what it refers to, and a pod that waits. */
export const fillPlane = async (plane: Plane, clock: VirtualClock): Promise<void> => {
  const client = plane.client();
  await client.create(kinds.configMaps, {metadata: {name: 'web', namespace}, data: {greeting: 'hello'}});
  await client.create(kinds.services, {metadata: {name: 'web', namespace}, spec: {selector: labels, ports: [{port: 80}]}});
  await client.create(kinds.deployments, {
    metadata: {name: 'web', namespace},
    spec: {
      replicas: 3,
      selector: {matchLabels: labels},
      template: {
        metadata: {labels},
        spec: {
          containers: [{name: 'web', image: 'web', ports: [{containerPort: 80}], envFrom: [{configMapRef: {name: 'web'}}]}],
          volumes: [{name: 'tls', secret: {secretName: 'web-tls', optional: true}}],
        },
      },
    },
  });
  await client.create(kinds.pods, {
    metadata: {name: 'waits', namespace},
    spec: {containers: [{name: 'large', image: 'large', resources: {requests: {cpu: '4000'}}}]},
  });
  await clock.advance(60_000);
};

/** A page of Chromium with the console of a plane. */
export interface ShownPage {
  readonly browser: Browser;
  readonly page: Page;
  readonly served: ServedConsole;
  /** What the browser reported as errors. */
  readonly errors: string[];
  /** Shows a place, as `#/pods`. */
  goTo(hash: string): Promise<unknown>;
  /** Logs what the page shows and waits for, if a test has failed. */
  explain(t: ExecutionContext): Promise<void>;
}

/** So many failures are kept, and so much of each. */
const [keptFailures, failureLength] = [20, 160];

/** Returns what says why a page does not show what it should. */
const explainer = (page: Page): ShownPage['explain'] => {
  const asked = new Set<Request>();
  let failures: string[] = [];
  const keep = (text: string): void => {
    failures = [...failures, text.slice(0, failureLength)].slice(-keptFailures);
  };
  page.on('request', request => void asked.add(request));
  page.on('requestfinished', request => void asked.delete(request));
  page.on('requestfailed', request => {
    asked.delete(request);
    keep(`${request.failure()?.errorText} ${request.url()}`);
  });
  page.on('pageerror', error => keep(error.message));
  page.on('console', message => {
    if (message.type() === 'error') keep(message.text());
  });
  page.on('response', response => {
    if (!response.ok()) keep(`${response.status()} ${response.url()}`);
  });
  const textOf = (place: string): Promise<string> =>
    page
      .locator(place)
      .first()
      .innerText({timeout: 2000})
      .catch(() => 'none');
  return async t => {
    if (t.passed) return;
    t.log(`the page is at ${page.url()}`);
    for (const place of ['dialog', 'main', '.messages']) t.log(`${place}:\n${await textOf(place)}`);
    t.log(`it waits for:\n${[...asked].map(request => `${request.method()} ${request.url()}`).join('\n') || 'nothing'}`);
    t.log(`failures:\n${failures.join('\n') || 'none'}`);
  };
};

/** Opens the console of a plane in Chromium. */
export const shownPage = async (plane: Pick<Plane, 'console'>, executablePath: string): Promise<ShownPage> => {
  const served = await plane.console();
  const {chromium} = await import('playwright-core');
  const browser = await chromium.launch({executablePath, args: chromiumFlags});
  const page = await browser.newPage({viewport: {width: 1280, height: 800}, colorScheme: 'light'});
  const errors: string[] = [];
  page.setDefaultTimeout(20_000);
  page.on('pageerror', error => errors.push(error.message));
  page.on('console', message => {
    // A refusal of the server, which the page shows, is reported too.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) errors.push(message.text());
  });
  const explain = explainer(page);
  await page.goto(served.link());
  const goTo = (hash: string) =>
    page.evaluate(place => void ((globalThis as unknown as {location: {hash: string}}).location.hash = place), hash);
  return {browser, page, served, errors, goTo, explain};
};
