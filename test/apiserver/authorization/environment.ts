import {mkdtempSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {naming, type NamingName} from '#src/api/naming.js';
import type {SubjectAccessReview} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import {systemFiles} from '#src/base/files/files.js';
import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {parseFlags} from '#src/options/parse.js';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {createAuthorizers} from '#src/plane/api-server/authorization.js';
import {json, startWebhook, type Seen, type TestWebhook} from '#test/apiserver/webhook-server.js';

const folder = mkdtempSync(join(tmpdir(), 'plat-authorization-'));
let files = 0;

/** A new file with this content. */
export const aFile = (content: string): string => {
  const path = join(folder, `file-${files++}`);
  writeFileSync(path, content);
  return path;
};

/** A kubeconfig for a webhook. */
export const settingsFor = ({url, caBundle}: Pick<TestWebhook, 'url' | 'caBundle'>, path = '/authorize'): string =>
  aFile(
    JSON.stringify({
      clusters: [{name: 'c', cluster: {server: `${url}${path}`, 'certificate-authority-data': caBundle}}],
      users: [{name: 'u', user: {token: 'letter'}}],
      contexts: [{name: 'x', context: {cluster: 'c', user: 'u'}}],
      'current-context': 'x',
    }),
  );

export type ReviewStatus = Partial<NonNullable<SubjectAccessReview['status']>>;
export type Review = Omit<SubjectAccessReview, 'spec'> & {readonly spec: SubjectAccessReview['spec'] & {readonly group?: string[]}};

export const reviewIn = ({body}: Seen): Review => JSON.parse(body) as Review;

/** A webhook that gives each review the status that `decide` returns, in its own version. */
export const aReviewer = (decide: (review: Review) => ReviewStatus): Promise<TestWebhook> =>
  startWebhook((seen, response) => {
    const review = reviewIn(seen);
    json(response, {...review, status: decide(review)});
  });

export interface TestOptions {
  readonly clock?: Clock;
  readonly naming?: NamingName;
}

/** What authorizers depend on. */
export const chainParts = ({clock = new VirtualClock(), naming: name = 'plat'}: TestOptions = {}) => ({
  naming: naming(name),
  clock,
  random: seededRandom(1),
  log: noLog,
  meter: new MetricsRegistry(),
  files: systemFiles,
});

/** The authorizers of a server with these flags. */
export const authorizersWith = async (args: readonly string[], settings: TestOptions = {}) => {
  const ending = new AbortController();
  const {options} = parseFlags(apiserverFlags, args);
  const parts = chainParts(settings);
  try {
    const {authorizer, rulesFor} = await createAuthorizers(options, {...parts, signal: ending.signal, gate: () => true});
    return {
      authorize: authorizer.authorize.bind(authorizer),
      rulesFor: (user: UserInfo, namespace = 'default') => rulesFor(user, namespace),
      metrics: parts.meter,
      [Symbol.dispose]: () => ending.abort(),
    };
  } catch (error) {
    ending.abort();
    throw error;
  }
};

/** The flags of mode Webhook. */
export const webhookArgs = (webhook: TestWebhook, ...more: readonly string[]): string[] => [
  '--authorization-mode=Webhook',
  `--authorization-webhook-config-file=${settingsFor(webhook)}`,
  ...more,
];
