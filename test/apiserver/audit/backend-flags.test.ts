import {mkdtempSync, readFileSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {naming as namingOf} from '#src/api/naming.js';
import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {parseFlags} from '#src/options/parse.js';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {openAudit} from '#src/plane/api-server/audit.js';
import {requestInfo} from '#src/apiserver/request/request-info.js';
import {startWebhook} from '#test/apiserver/webhook-server.js';

const [folder, url] = [mkdtempSync(join(tmpdir(), 'plat-audit-flags-')), '/api/v1/namespaces/default/pods'];
const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const policy = file('policy.yaml', '{kind: Policy, apiVersion: audit.plat.io/v1, rules: [{level: RequestResponse}]}');
const jane = {name: 'jane', groups: []};
let opened = 0;

interface Event {
  readonly requestObject?: unknown;
}

/** Opens the audit with one backend, whose flags begin with its name. */
const backendOf = async (t: ExecutionContext, backend: 'log' | 'webhook', flags: readonly string[]) => {
  const clock = new VirtualClock();
  const webhook = await startWebhook((_, response) => void response.writeHead(200).end());
  const log = join(folder, `${++opened}.log`);
  const cluster = `{server: "${webhook.url}", certificate-authority-data: ${webhook.caBundle}}`;
  const settings = file(
    `${opened}.yaml`,
    `apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: ${cluster}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n`,
  );
  const place = backend === 'log' ? [`--audit-log-path=${log}`, '--audit-log-mode=batch'] : [`--audit-webhook-config-file=${settings}`];
  const {options} = parseFlags(apiserverFlags, [
    '--service-account-issuer=https://plat.test',
    `--audit-policy-file=${policy}`,
    ...place,
    ...flags.map(flag => `--audit-${backend}-${flag}`),
  ]);
  const metrics = new MetricsRegistry({release: '1.35'});
  const {auditor, close} = await openAudit(options, {naming: namingOf('plat'), clock, random: seededRandom(1), log: noLog, metrics});
  t.teardown(async () => {
    await close();
    await webhook.close();
  });
  /** Records events, each with an object of a size. */
  const record = async (count: number, bytes = 0): Promise<void> => {
    for (let index = 0; index < count; index++) {
      const request = {method: 'POST', url, headers: {}, remoteAddress: '', caller: {user: jane}, signal: new AbortController().signal};
      const times = {startedAt: clock.monotonic(), webhooksMs: 0};
      const audit = auditor!.audit({request, info: requestInfo('POST', url), auditId: `${index}`, times}, jane)!;
      audit.notes.requested(undefined, () => Buffer.from(`{"filler":"${'x'.repeat(bytes)}"}`));
      await audit.received();
    }
    await clock.drain();
  };
  const events = (): Event[] =>
    backend === 'log'
      ? readFileSync(log, 'utf8')
          .split('\n')
          .filter(Boolean)
          .map(line => JSON.parse(line) as Event)
      : webhook.seen.flatMap(({body}) => (JSON.parse(body) as {items: Event[]}).items);
  const lists = () => webhook.seen.map(({body}) => JSON.parse(body) as {items: Event[]});
  const lost = (plugin: string) => metrics.value('apiserver_audit_error_total', {plugin}) ?? 0;
  return {clock, record, events, lists, lost};
};

for (const backend of ['log', 'webhook'] as const) {
  const name = `--audit-${backend}`;

  test(`${name}-batch-max-size and ${name}-batch-max-wait say when events are passed on`, async t => {
    const {clock, record, events} = await backendOf(t, backend, ['batch-max-size=3', 'batch-max-wait=7s']);

    await record(2);
    await clock.advance(6999);
    t.is(events().length, 0);
    await clock.advance(1);
    t.is(events().length, 2);
    await record(3);
    t.is(events().length, 5);
  });

  test(`${name}-batch-buffer-size limits the events that wait`, async t => {
    const {clock, record, events, lost} = await backendOf(t, backend, ['batch-buffer-size=4', 'batch-max-size=4', 'batch-max-wait=1s']);

    await record(3);
    t.is(lost('buffered'), 0);
    const other = await backendOf(t, backend, [
      'batch-buffer-size=2',
      'batch-max-size=2',
      'batch-throttle-enable=true',
      'batch-throttle-qps=0.01',
      'batch-throttle-burst=1',
    ]);
    await other.record(2);
    await other.record(4);
    t.is(other.lost('buffered'), 2);
    t.is(other.events().length, 2);
    await clock.advance(1000);
    t.is(events().length, 3);
  });

  test(`${name}-batch-throttle-qps and -burst limit the batches, unless ${name}-batch-throttle-enable is false`, async t => {
    const throttled = await backendOf(t, backend, [
      'batch-max-size=1',
      'batch-throttle-enable=true',
      'batch-throttle-qps=0.5',
      'batch-throttle-burst=2',
    ]);
    const free = await backendOf(t, backend, [
      'batch-max-size=1',
      'batch-throttle-enable=false',
      'batch-throttle-qps=0.5',
      'batch-throttle-burst=2',
    ]);

    await throttled.record(4);
    await free.record(4);

    t.deepEqual([throttled.events().length, free.events().length], [2, 4]);
    await throttled.clock.advance(2000);
    t.is(throttled.events().length, 3);
    await throttled.clock.advance(2000);
    t.is(throttled.events().length, 4);
  });

  test(`${name}-truncate-enabled and its sizes cut events and batches`, async t => {
    const sizes = ['truncate-max-event-size=2000', 'truncate-max-batch-size=5000', 'batch-max-size=10', 'batch-max-wait=1s'];
    const cut = await backendOf(t, backend, ['truncate-enabled', ...sizes]);
    const whole = await backendOf(t, backend, sizes);
    for (const {record, clock} of [cut, whole]) {
      await record(1, 3000);
      await record(4, 1500);
      // What is left of a full batch waits for the next.
      await clock.advance(2000);
    }

    t.deepEqual(
      [cut, whole].map(({events}) => events().map(({requestObject}) => requestObject !== undefined)),
      [
        [false, true, true, true, true],
        [true, true, true, true, true],
      ],
    );
    if (backend === 'webhook') t.deepEqual([cut.lists().length > 1, whole.lists().length], [true, 1]);
  });
}
