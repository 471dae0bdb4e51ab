import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {ask} from '#test/dns/server.js';
import {aServerHere} from './here.js';
import {Program, run} from './programs.js';

const offPages = ['--health-address=', '--ready-address=', '--metrics-address='];

test('the DNS server as a program answers for a cluster, and serves the pages of CoreDNS', async t => {
  await using server = await aServerHere('kubernetes');
  const {client} = server;
  await client
    .resource(kinds.services)
    .create({metadata: {name: 'web', namespace: 'default'}, spec: {clusterIP: 'None', ports: [{port: 80}], selector: {}}});
  await client.resource(kinds.endpointSlices).create({
    metadata: {name: 'web-1', namespace: 'default', labels: {'kubernetes.io/service-name': 'web'}},
    addressType: 'IPv4',
    endpoints: [{addresses: ['10.244.0.1']}],
    ports: [{port: 80}],
  });
  const dns = new Program('plat-dns', [
    `--kubeconfig=${server.settings}`,
    '--bind-address=127.0.0.1',
    '--port=0',
    '--forward=',
    '--ttl=7s',
    '--cluster-domain=example.test',
    ...['health', 'ready', 'metrics'].map(page => `--${page}-address=127.0.0.1:0`),
  ]);
  const [, port = ''] = await dns.waitFor(
    /^ready: answering for example\.test at 127\.0\.0\.1:(\d+) against https:\S+ \(kubernetes naming\)$/m,
  );
  const found = await ask({address: '127.0.0.1', port: Number(port)}, 'web.default.svc.example.test');
  t.like(found.answers?.[0], {data: '10.244.0.1', ttl: 7});

  const [, pages = ''] = await dns.waitFor(/"serving".*port="?(\d+)/);
  const page = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${pages}${path}`);
    return [response.status, await response.text()] as const;
  };
  t.deepEqual(await page('/health'), [200, 'OK']);
  t.deepEqual(await page('/ready'), [200, 'OK']);
  t.regex(
    (await page('/metrics'))[1],
    /^coredns_dns_requests_total\{server="dns:\/\/127\.0\.0\.1:\d+",zone=".",view="",proto="udp",family="1",type="A"\} 1$/m,
  );
  t.is((await dns.stop()).code, 0);
});

test('a program that forwards to itself ends with the reason', async t => {
  await using server = await aServerHere('plat');
  const common = [`--kubeconfig=${server.settings}`, '--bind-address=127.0.0.1', ...offPages];
  const first = new Program('plat-dns', [...common, '--port=0', '--forward=']);
  const [, port = ''] = await first.waitFor(/^ready: .* at 127\.0\.0\.1:(\d+) /m);
  await first.stop();
  const {code, stderr} = await run('plat-dns', [...common, `--port=${port}`, `--forward=127.0.0.1:${port}`]);

  t.is(code, 1);
  t.regex(stderr, /^plat-dns: loop \(127\.0\.0\.1:\d+ -> dns:\/\/127\.0\.0\.1:\d+\) detected: the query "HINFO /m);
});

for (const [what, args, stderr] of [
  ['a domain that is none', ['--cluster-domain=a..b'], /^plat-dns: --cluster-domain: "a\.\.b" is no domain\n$/],
  [
    'an address of a page that is none',
    ['--ready-address=8181'],
    /^plat-dns: invalid value for --ready-address: must be empty or HOST:PORT/,
  ],
  [
    'a way to answer for pods that it does not know',
    ['--pods=all'],
    /^plat-dns: invalid value for --pods: "all" is not one of disabled, insecure, verified\n$/,
  ],
] as const) {
  test(`the DNS server refuses ${what} in one line`, async t => {
    const ended = await run('plat-dns', [...args]);

    t.is(ended.code, 1);
    t.regex(ended.stderr, stderr);
  });
}
